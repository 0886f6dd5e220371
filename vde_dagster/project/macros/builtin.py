"""The macros of the language: @VAR, @IF, @EACH, @DEF, @STAR and @UNION."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.sql.macros import TIME_MACROS, time_macro_in_text
from vde_dagster.core.sql.star_macro import UnionKind, star_call, union_query
from vde_dagster.project.macros.expansion import Builtin, Expander
from vde_dagster.project.macros.scope import Definition, Frame
from vde_dagster.project.macros.texts import Written, name_of, names_of
from vde_dagster.project.macros.tokens import (
    Call,
    MacroError,
    Tokens,
    group_of,
    keyword_of,
    lambda_of,
    split_commas,
    word_of,
)
from vde_dagster.project.macros.user import items_of
from vde_dagster.project.problems import suggestion


def _var(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    given = _arguments(call, 1, 2)
    written = expander.one(given[0], replace(frame, as_texts=True), what="the name in @VAR")
    name = name_of(expander.tree(written))
    if not name:
        raise MacroError("the name in @VAR is not a text", "Write @VAR('name').")
    found = expander.variable(name.lower(), call)
    if found is not None:
        return [found]
    if len(given) == 2:
        return [expander.one(given[1], frame, what="the default of @VAR")]
    known = sorted(expander.scope.variables)
    advice = suggestion(name.lower(), known) if known else "The project has no variables. "
    advice = f"{advice} Or give a default: @VAR('{name}', default)."
    raise MacroError(f"the variable {name!r} is not declared", advice.replace("  ", " "))


def _if(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    given = _arguments(call, 2, 3)
    written = expander.one(given[0], replace(frame, as_texts=True), what="the condition of @IF")
    condition = expander.tree(written)
    _refuse_times(condition)
    try:
        holds = is_true(condition)
    except NotConstant as error:
        part = error.part.sql(dialect=expander.dialect)
        message = f"@IF is decided before the query runs, but in its condition `{part}` {error.why}"
        advice = "Use CASE WHEN for differences between rows or intervals; write texts in quotes."
        raise MacroError(message, advice) from None
    if holds:
        return expander.expand(given[1], frame, is_statement=is_statement)
    if len(given) < 3:
        return []
    return expander.expand(given[2], frame, is_statement=is_statement)


def _refuse_times(condition: exp.Expr) -> None:
    """Refuse a condition that differs by interval, also if its time macro is in quotes."""
    for node in condition.walk():
        text = node.name if isinstance(node, exp.Literal) and node.is_string else ""
        if time_macro_in_text(text) is not None:
            why = f"'{text}' is a text, and macros in texts are not expanded"
        elif isinstance(node, exp.Parameter) and node.name.lower() in TIME_MACROS:
            why = f"@{node.name.lower()} differs between intervals"
        else:
            continue
        advice = "For a value, use CASE WHEN; for a filter, combine both with AND and OR."
        message = f"the condition of @IF is decided when the project loads, but {why}"
        raise MacroError(message, advice)


def _each(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    items, body = _arguments(call, 2, 2)
    function = lambda_of(body)
    if function is None:
        raise MacroError("the second argument of @EACH has to be a function", _write(call))
    parameters, tokens = function
    found: list[Written] = []
    for item in _items(expander, items, frame, call):
        values = [item] if len(parameters) == 1 else _parts(expander, item, call)
        if len(values) != len(parameters):
            message = f"@EACH needs items of {len(parameters)} values here, not of {len(values)}"
            raise MacroError(message, "Write @EACH([(a, 1), (b, 2)], (x, y) -> ...).")
        inner = frame.binding(dict(zip(parameters, values, strict=True)))
        found += expander.expand(tokens, inner, is_statement=is_statement)
    return found


def _items(expander: Expander, tokens: Tokens, frame: Frame, call: Call) -> list[Written]:
    """The items of a list: in brackets, in parentheses, of an array, or a single one."""
    lists = _bracketed(expander, tokens)
    if lists is not None:
        within, inner = lists
        return [item for each in split_commas(inner) for item in within.expand(each, frame)]
    found = expander.expand(tokens, frame)
    return _parts(expander, found[0], call) if len(found) == 1 else found


def _parts(expander: Expander, item: Written, call: Call) -> list[Written]:
    """The items of an array or a tuple; a value that is neither is its own only item."""
    tree = expander.tree(item)
    if not isinstance(tree, exp.Array | exp.Tuple | exp.Paren):
        return [item]
    return [expander.made(each, call) for each in items_of(tree)]


def _bracketed(expander: Expander, tokens: Tokens) -> tuple[Expander, Tokens] | None:
    """The tokens in a list's brackets, also if the dialect reads brackets as quotes."""
    inner = group_of(tokens)
    first = tokens[0] if tokens else None
    if inner is None and first is not None and first.token_type is TokenType.IDENTIFIER:
        is_list = len(tokens) == 1 and "," in first.text and expander.text[first.start] == "["
        within = replace(expander, text=first.text, made_at=expander.made_at or first.line)
        return (within, tuple(expander.dialect.tokenize(first.text))) if is_list else None
    if inner is None or (inner and inner[0].token_type in {TokenType.SELECT, TokenType.WITH}):
        return None
    return expander, inner


def _def(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    name_tokens, body = _arguments(call, 2, 2)
    name = word_of(name_tokens)
    if not is_statement:
        raise MacroError(
            "@DEF has to be a statement of its own", "Write it before the query, followed by `;`."
        )
    if name is None:
        raise MacroError(
            "the first argument of @DEF has to be a name", "Write @DEF(name, expression)."
        )
    if name in TIME_MACROS or name in expander.builtins:
        raise MacroError(f"@{name} is a built-in macro", "Choose another name.")
    function = lambda_of(body)
    parameters, body = (None, body) if function is None else function
    expander.definitions[name] = Definition(
        parameters=parameters, body=body, text=expander.text, made_at=expander.made_at
    )
    return []


def _star(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    values: dict[str, list[exp.Expr]] = {}
    places = iter(("relation", "alias"))
    for tokens in call.arguments or ():
        key, value = keyword_of(tokens)
        key = _STAR_KEYS.get(key, key) if key is not None else next(places, None)
        if key not in _STAR_OPTIONS or key in values:
            raise MacroError("@STAR has wrong arguments", _write(call))
        inner = replace(frame, as_texts=key != "relation")
        values[key] = [expander.tree(each) for each in _items(expander, value, inner, call)]
    texts = {key: [name_of(each) for each in values.get(key, [])] for key in _STAR_OPTIONS[1:]}
    names = [names_of(each) for each in values.get("relation", [])]
    single = all(len(texts[key]) <= 1 for key in ("alias", "prefix", "suffix"))
    if len(names) != 1 or names[0] is None or not single:
        raise MacroError("@STAR needs the name of a relation", _write(call))
    if any(text is None for found in texts.values() for text in found):
        raise MacroError("an option of @STAR is neither a name nor a text", _write(call))
    known = {key: [text or "" for text in found] for key, found in texts.items()}
    node = star_call(
        names[0],
        alias=next(iter(known["alias"]), ""),
        excluded=known["except"],
        prefix=next(iter(known["prefix"]), ""),
        suffix=next(iter(known["suffix"]), ""),
    )
    return [expander.made(node, call)]


_STAR_OPTIONS: Final = ("relation", "alias", "except", "prefix", "suffix")
_STAR_KEYS: Final = {"exclude": "except", "except_": "except"}


def _union(expander: Expander, call: Call, frame: Frame, is_statement: bool) -> list[Written]:
    found = [each for tokens in call.arguments or () for each in expander.trees(tokens, frame)]
    kind = UnionKind.ALL
    if found and isinstance(found[0], exp.Literal) and found[0].is_string:
        word = found.pop(0).name.lower()
        if word not in {each.value for each in UnionKind}:
            raise MacroError(
                f"the type of @UNION has to be 'all' or 'distinct', not {word!r}", _write(call)
            )
        kind = UnionKind(word)
    names = [names_of(each) for each in found]
    relations = [each for each in names if each is not None]
    if not relations or len(relations) != len(names):
        raise MacroError("@UNION needs the names of relations", _write(call))
    return [expander.made(union_query(relations, kind=kind), call)]


def _write(call: Call) -> str:
    return f"Write {BUILTINS[call.name].usage}."


def _arguments(call: Call, least: int, most: int) -> tuple[Tokens, ...]:
    given = call.arguments or ()
    if not least <= len(given) <= most:
        raise MacroError(f"@{call.name.upper()} has {len(given)} arguments", _write(call))
    return given


BUILTINS: Final[Mapping[str, Builtin]] = {
    "def": Builtin(
        "@DEF(name, expression)",
        "Defines `@name` for this file, or `@name(a)` by `@DEF(name, a -> expression)`.",
        _def,
    ),
    "each": Builtin(
        "@EACH([a, b], x -> expression)",
        "Writes the expression for each item. `(x, y) -> ...` takes items of two values.",
        _each,
    ),
    "if": Builtin(
        "@IF(condition, then) or @IF(condition, then, else)",
        "Writes one of both. The condition is decided when the project is loaded. Without `else` "
        "the place is left out, with the comma, operator, alias or clause around it.",
        _if,
    ),
    "star": Builtin(
        "@STAR(relation, alias, except := [a, b], prefix := 'p_', suffix := '_s')",
        "Writes the known columns of a relation. Only the relation is required.",
        _star,
    ),
    "union": Builtin(
        "@UNION('all', a, b) or @UNION('distinct', a, b)",
        "Writes the union of relations over their common columns; without a word `'all'`.",
        _union,
    ),
    "var": Builtin(
        "@VAR('name') or @VAR('name', default)",
        "Writes a variable of `vde.yaml`; so does `@name`.",
        _var,
    ),
}


T = TypeVar("T")
Scalar = str | bool | Decimal | None
_Function = Callable[[Any, Any], Any]

_COMPARISONS: Final[dict[type[exp.Expr], _Function]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_OPERATORS: Final[dict[type[exp.Expr], tuple[type[Any], _Function]]] = {
    exp.Add: (Decimal, operator.add),
    exp.Sub: (Decimal, operator.sub),
    exp.Mul: (Decimal, operator.mul),
    exp.Div: (Decimal, operator.truediv),
    exp.Mod: (Decimal, operator.mod),
    exp.DPipe: (str, operator.add),
}
_TYPES: Final[dict[type, str]] = {
    bool: "is not a condition",
    Decimal: "is not a number",
    str: "is a concatenation of something that is not a text",
}


class NotConstant(Exception):
    """A part of a condition has no value at load time: ``part``, and why."""

    def __init__(self, part: exp.Expr, why: str = "is known only when the query runs") -> None:
        self.part, self.why = part, why
        super().__init__(why)


def is_true(condition: exp.Expr) -> bool:
    """Whether a condition is true; NULL is not.

    Raises:
        NotConstant: It reads a column or uses what is not evaluated here, or is not a condition.
    """
    return _typed(condition, bool) is True


def evaluate(node: exp.Expr) -> Scalar:  # noqa: PLR0911, PLR0912 - one case for each form
    """The value of a constant expression.

    Raises:
        NotConstant: As for `is_true`.
    """
    match node:
        case exp.Paren():
            return evaluate(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return node.name if node.is_string else _number(node)
        case exp.Not():
            return _not(_typed(node.this, bool))
        case exp.Or():
            return _or([_typed(node.this, bool), _typed(node.expression, bool)])
        case exp.And():
            return _and([_typed(node.this, bool), _typed(node.expression, bool)])
        case exp.Between(args={"low": low, "high": high}):
            return _and([_compare(exp.GTE, node.this, low), _compare(exp.LTE, node.this, high)])
        case exp.In() if node.expressions:
            return _or([_compare(exp.EQ, node.this, each) for each in _members(node)])
        case exp.Neg():
            number = _typed(node.this, Decimal)
            return None if number is None else -number
        case exp.NullSafeEQ():
            left, right = evaluate(node.this), evaluate(node.expression)
            return type(left) is type(right) and left == right
        case exp.Is():
            return evaluate(node.this) is _typed(node.expression, bool)
        case exp.Binary() if type(node) in _COMPARISONS:
            return _compare(type(node), node.this, node.expression)
        case exp.Binary() if type(node) in _OPERATORS:
            return _calculate(node, *_OPERATORS[type(node)])
        case _:
            raise NotConstant(node)


def _number(node: exp.Expr) -> Decimal:
    try:
        return Decimal(node.name)
    except InvalidOperation:
        raise NotConstant(node, _TYPES[Decimal]) from None


def _typed(node: exp.Expr, kind: type[T]) -> T | None:
    value = evaluate(node)
    if value is not None and not isinstance(value, kind):
        raise NotConstant(node, _TYPES[kind])
    return value


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _or(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _and(values: Sequence[bool | None]) -> bool | None:
    return _not(_or([_not(each) for each in values]))


def _members(node: exp.In) -> list[exp.Expr]:
    """The members of IN; those of a list are its items."""
    return [
        item
        for each in node.expressions
        for item in (each.expressions if isinstance(each, exp.Array | exp.Tuple) else [each])
    ]


def _compare(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> bool | None:
    first, second = evaluate(left), evaluate(right)
    if first is None or second is None:
        return None
    if type(first) is not type(second):
        compared = kind(this=left.copy(), expression=right.copy())
        raise NotConstant(compared, "compares values of different types")
    return bool(_COMPARISONS[kind](first, second))


def _calculate(node: exp.Expr, kind: type[Any], function: _Function) -> Scalar:
    left, right = _typed(node.this, kind), _typed(node.expression, kind)
    if left is None or right is None:
        return None
    try:
        found: Scalar = function(left, right)
    except ArithmeticError:
        raise NotConstant(node, "has no result") from None
    return found
