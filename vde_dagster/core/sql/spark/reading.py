"""Parsing Spark's SQL as Spark does, where sqlglot's parser differs.

The precedence of operators is that of Spark's grammar (SqlBaseParser.g4, ``valueExpression``): a
sign, then ``* / % DIV``, then ``+ - ||``, then shifts, then ``&``, then ``^``, then ``|``, and each
from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

ExprT = TypeVar("ExprT", bound=exp.Expr)


def token_types(names: str) -> frozenset[TokenType]:
    """Kinds of tokens, by sqlglot's names for them."""
    return frozenset(TokenType[each] for each in names.split())


_LEVELS: Final[dict[type[exp.Expr], int]] = {
    exp.Mul: 6,
    exp.Div: 6,
    exp.IntDiv: 6,
    exp.Mod: 6,
    exp.Add: 5,
    exp.Sub: 5,
    exp.DPipe: 5,
    exp.BitwiseLeftShift: 4,
    exp.BitwiseRightShift: 4,
    exp.Distance: 4,
    exp.BitwiseAnd: 3,
    exp.BitwiseXor: 2,
    exp.BitwiseOr: 1,
}
"""Binary operators, those that bind most tightly with the highest number."""
_AS_ELSEWHERE: Final = frozenset({exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Add, exp.Sub})
"""Operators that sqlglot binds among themselves as Spark does."""
_UNSIGNED_SHIFT: Final = TokenType.LR_ARROW
"""The parser's stand-in for ``>>>``, which it does not know: an operator that Spark lacks."""
WEIGHTED_PERCENTILE: Final = "percentile_of_frequencies"
"""The name of PERCENTILE with frequencies in a tree."""
OTHER_UNIT: Final = "_by"
"""The suffix of DATE_TRUNC and TRUNC in a tree if the parser would change their unit."""
_POSITIVE: Final = TokenType.DPIPE_SLASH
"""The stand-in for a plus before an operand, which the parser leaves out: ``|/`` (a root)."""
_BEFORE_OPERANDS: Final = token_types(
    """
    AMP AND ARROW BETWEEN CARET CASE COMMA DASH DISTINCT DIV DPIPE ELSE EQ GT GTE HAVING
    LIKE LT LTE L_BRACKET L_PAREN MOD NEQ NOT NULLSAFE_EQ ON OR PIPE PLUS SELECT SLASH STAR
    THEN TILDE WHEN WHERE
    """
)
"""Tokens after which an operand begins."""
_BEHIND_TYPES: Final = token_types("COMMA COMMENT GT NOT R_PAREN")
"""What may follow the end of nested types, such as ``ARRAY<ARRAY<INT>>``."""
_LOSE_COMMENTS: Final = token_types("AMP CARET DPIPE PIPE TILDE") | {_POSITIVE, _UNSIGNED_SHIFT}
"""Operators after which the parser leaves comments out."""
_READ_OTHERWISE: Final = token_types("AMP CARET DCOLON DPIPE GT LT PIPE") | {
    _POSITIVE,
    _UNSIGNED_SHIFT,
}
"""Tokens without which a tree is always the same as Spark's."""


def spark_tokens(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens of a text as Spark reads them.

    ``>>>`` is one operator, ``X 'ff'`` one literal, ``window`` before a parenthesis a function, and
    a plus before an operand an operator: it makes a number of a text. A doubled quote inside of
    quotes is one quote in the literal.
    """
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if found and _is_doubled_quote(found[-1], tokens[at], text):
            both = f"{found[-1].text}{text[tokens[at].start]}{tokens[at].text}"
            found[-1] = _joined(found[-1], tokens[at], TokenType.STRING, both)
            at += 1
            continue
        kind, word, width = _read_as(tokens, at)
        last = tokens[at + width - 1]
        found.append(tokens[at] if kind is None else _joined(tokens[at], last, kind, word))
        at += width
    return _with_kept_comments(found)


def _read_as(  # noqa: PLR0911 - one line for each form of a token
    tokens: Sequence[Token], at: int
) -> tuple[TokenType | None, str, int]:
    """What Spark reads a token as, and how many tokens that takes; no kind if it is what it is."""
    word = tokens[at].text
    if _is_unsigned_shift(tokens, at):
        return _UNSIGNED_SHIFT, ">>>", 3
    if _is_weighted_percentile(tokens, at):
        return TokenType.VAR, WEIGHTED_PERCENTILE, 1
    if _is_odd_unit(tokens, at):
        return TokenType.VAR, f"{word.lower()}{OTHER_UNIT}", 1
    if _is_sign(tokens, at):
        return _POSITIVE, "+", 1
    if tokens[at].token_type is TokenType.WINDOW and _is_call(tokens, at):
        return TokenType.VAR, word, 1
    if _is_spaced_hex(tokens, at):
        return TokenType.HEX_STRING, tokens[at + 1].text, 2
    return None, word, 1


def _with_kept_comments(tokens: Sequence[Token]) -> list[Token]:
    """Move comments that the parser would leave out after an operator to the operand."""
    found: list[Token] = []
    waiting: list[str] = []
    for at, token in enumerate(tokens):
        comments = [*waiting, *token.comments]
        waiting = comments if _loses_comments(tokens, at) else []
        kept = [] if waiting else comments
        found.append(token if kept == token.comments else _commented(token, kept))
    return found


def _loses_comments(tokens: Sequence[Token], at: int) -> bool:
    token, before = tokens[at], tokens[at - 1] if at else None
    if token.token_type is TokenType.DASH:
        return before is None or before.token_type in _BEFORE_OPERANDS
    if token.token_type in (TokenType.LT, TokenType.GT):  # the second of a shift
        kind = before.token_type if before is not None and before.end + 1 == token.start else None
        return kind is token.token_type
    return token.token_type in _LOSE_COMMENTS


def _commented(token: Token, comments: list[str]) -> Token:
    kind, text = token.token_type, token.text
    return Token(kind, text, token.line, token.col, token.start, token.end, comments)


def _is_doubled_quote(one: Token, other: Token, text: str) -> bool:
    """Whether two literals are one, with a quote where they meet; raw ones are not."""
    touching = one.end + 1 == other.start and other.start < len(text)
    strings = one.token_type is TokenType.STRING and other.token_type is TokenType.STRING
    return strings and touching and text[one.end] == text[other.start] in ("'", '"')


def _is_unsigned_shift(tokens: Sequence[Token], at: int) -> bool:
    three = tokens[at : at + 3]
    shifts = len(three) == 3 and all(each.token_type is TokenType.GT for each in three)
    after = tokens[at + 3].token_type if at + 3 < len(tokens) else TokenType.R_PAREN
    return shifts and three[0].end + 2 == three[2].start and after not in _BEHIND_TYPES


def _is_call(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN


def _is_weighted_percentile(tokens: Sequence[Token], at: int) -> bool:
    """Whether a call of PERCENTILE has frequencies, which the parser leaves out."""
    named = tokens[at].text.upper() == "PERCENTILE" and _is_call(tokens, at)
    return named and len(list(_arguments(tokens, at + 1))) > 2


def _is_odd_unit(tokens: Sequence[Token], at: int) -> bool:
    """Whether a call truncates to something that is not certainly a unit.

    The parser reads columns as units, and accepts abbreviations of units that Spark does not know.
    """
    name = tokens[at].text.upper()
    if name not in ("DATE_TRUNC", "TRUNC") or not _is_call(tokens, at):
        return False
    arguments = list(_arguments(tokens, at + 1))
    unit = arguments[0 if name == "DATE_TRUNC" else -1]
    plain = len(unit) == 1 and unit[0].token_type is TokenType.STRING
    return not plain or unit[0].text.upper() in exp.TimeUnit.UNABBREVIATED_UNIT_NAME


def _arguments(tokens: Sequence[Token], opening: int) -> Iterator[list[Token]]:
    """The tokens of each argument of a call, given the position of its parenthesis."""
    depth, argument = 0, list[Token]()
    for token in tokens[opening:]:
        depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)
        if depth == 0 and token.token_type is TokenType.R_PAREN:
            break
        if depth == 1 and token.token_type is TokenType.COMMA:
            yield argument
            argument = []
        elif depth:
            argument.append(token)
        depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET)
    yield argument


def _is_sign(tokens: Sequence[Token], at: int) -> bool:
    before = tokens[at - 1].token_type if at else TokenType.L_PAREN
    return tokens[at].token_type is TokenType.PLUS and before in _BEFORE_OPERANDS


def _is_spaced_hex(tokens: Sequence[Token], at: int) -> bool:
    """Whether an X is the prefix of a literal, and no column with an alias after it."""
    if at + 1 == len(tokens) or tokens[at].text not in ("X", "x"):
        return False
    kinds = [each.token_type for each in tokens[at : at + 2]]
    before = tokens[at - 1].token_type if at else None
    is_alone = before not in (TokenType.DOT, TokenType.ALIAS)
    return kinds == [TokenType.VAR, TokenType.STRING] and is_alone


def _joined(first: Token, last: Token, kind: TokenType, text: str) -> Token:
    comments = [*first.comments, *last.comments]
    return Token(kind, text, first.line, first.col, first.start, last.end, comments)


def read_spark(text: str) -> exp.Expr:
    """The tree of one statement, in which names have positions in the text.

    Raises:
        sqlglot.errors.SqlglotError: It is not a single statement.
    """
    spark = Dialect.get_or_raise("spark")
    tokens = spark_tokens(spark.tokenize(text), text)
    found = spark.parser().parse(tokens, text)
    if len(found) != 1 or found[0] is None:
        raise ParseError("there is not one statement")
    tree = with_spark_precedence(with_closed_sums(found[0]), tokens)
    bind_lambdas(tree)
    return tree


def with_spark_precedence(tree: ExprT, tokens: Sequence[Token]) -> ExprT:
    """Let operators bind as in Spark; the tree is changed, its parentheses are kept.

    A number with a minus is a literal, so ``-1::STRING`` is the text of minus one.

    Args:
        tree: Parsed from the tokens.
        tokens: As `spark_tokens` returns them.
    """
    if not any(each.token_type in _READ_OTHERWISE for each in tokens):
        return tree
    holder = exp.Tuple(expressions=[tree])
    for node in list(holder.find_all(*_LEVELS)):
        if type(node.parent) not in _LEVELS and _is_mixed(node):
            node.replace(_bound(list(_in_order(node))))
    pairs = pairwise(tokens)
    signed = {each.start for sign, each in pairs if sign.token_type is TokenType.DASH}
    for node in list(holder.find_all(exp.Neg)):
        operand = node.this
        number = _cast_number(operand) if isinstance(operand, exp.Cast) else None
        if number is not None and number.meta.get("start") in signed:
            number.replace(exp.Neg(this=number.copy()))
            node.replace(operand)
    for node in list(holder.find_all(exp.Distance)):
        sides = [node.this, node.expression]
        node.replace(exp.Anonymous(this="shiftrightunsigned", expressions=sides))
    for node in list(holder.find_all(exp.Cbrt)):
        if node.meta.get("start") is None:  # no call of the function
            node.replace(exp.Anonymous(this="positive", expressions=[node.this]))
    (bound,) = holder.expressions
    return bound.pop()  # type: ignore[no-any-return]


def _is_mixed(root: exp.Expr) -> bool:
    """Whether a chain of operators has one that sqlglot binds differently from Spark."""
    return any(
        isinstance(each, tuple(_LEVELS)) and type(each) not in _AS_ELSEWHERE
        for each in _in_order(root)
    )


def _in_order(root: exp.Expr) -> Iterator[exp.Expr]:
    """Operands and operators from left to right, as in the text."""
    waiting: list[tuple[exp.Expr, bool]] = [(root, False)]
    while waiting:
        node, is_open = waiting.pop()
        if is_open or type(node) not in _LEVELS:
            yield node
        else:
            waiting += [(node.args["expression"], False), (node, True), (node.this, False)]


def _bound(pieces: Sequence[exp.Expr]) -> exp.Expr:
    """One tree of operands with operators between them, by their levels."""
    operands: list[exp.Expr] = [pieces[0]]
    operators: list[exp.Expr] = []

    def reduce() -> None:
        operator, right, left = operators.pop(), operands.pop(), operands.pop()
        made = type(operator)(**{**operator.args, "this": left, "expression": right})
        made.comments = operator.comments
        operands.append(made)

    for operator, operand in zip(pieces[1::2], pieces[2::2], strict=True):
        while operators and _LEVELS[type(operators[-1])] >= _LEVELS[type(operator)]:
            reduce()
        operators.append(operator)
        operands.append(operand)
    while operators:
        reduce()
    return operands[0]


def _cast_number(node: exp.Expr) -> exp.Literal | None:
    """The number that casts are around."""
    while isinstance(node, exp.Cast):
        node = node.this
    return node if isinstance(node, exp.Literal) and not node.is_string else None


def bind_lambdas(tree: exp.Expr) -> None:
    """Turn names in lambdas that are parameters from columns into names; the tree is changed.

    The parser does so only if a name has the same case as the parameter.
    """
    for around in list(tree.find_all(exp.Lambda)):
        names = {each.name.lower() for each in around.expressions}
        for column in list(around.this.find_all(exp.Column)):
            if column.parts[0].name.lower() in names:
                column.replace(column.to_dot() if column.table else column.this)


def with_closed_sums(tree: ExprT) -> ExprT:
    """Make each part of an interval of several parts its own operand; the tree is changed.

    sqlglot reads an interval of several parts as a sum of intervals and writes it without
    parentheses: ``t - INTERVAL 3 DAYS 2 HOURS`` would become ``t - INTERVAL 3 DAYS + INTERVAL 2
    HOURS``. Each part is subtracted by itself, since Spark does not add months and days. A sum that
    a person wrote has parentheses of its own there.
    """
    for node in list(tree.find_all(exp.Add)):
        parent = node.parent
        if isinstance(parent, exp.Mul | exp.Div | exp.IntDiv | exp.Mod | exp.Neg):
            node.replace(exp.paren(node.copy(), copy=False))
        elif isinstance(parent, exp.Add | exp.Sub) and parent.expression is node:
            first = type(parent)(this=parent.this, expression=node.this)
            parent.set("this", first)
            parent.set("expression", node.expression)
    return tree
