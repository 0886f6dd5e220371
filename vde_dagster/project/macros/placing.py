"""Where a macro stands, by the words around it, and what is put there.

What it gives gets parentheses unless they can mean nothing; where it gives nothing, what means
nothing without it goes, too: a comma, an operator, an alias, a whole clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.star_macro import UNION
from vde_dagster.core.sql.text import closed
from vde_dagster.project.macros.texts import Piece, Written, joined, names_of, read_part, text_of
from vde_dagster.project.macros.tokens import MacroError

NO_MEMBERS: Final = "SELECT NULL WHERE FALSE"
"""An empty list for IN: nothing is in it, not even NULL."""
_T: Final = TokenType
_Kind = TokenType | None
_CLAUSES: Final = frozenset(
    {_T.WHERE, _T.HAVING, _T.QUALIFY, _T.LIMIT, _T.OFFSET, _T.GROUP_BY, _T.ORDER_BY}
)
"""Clauses that go if nothing is in them."""
_SORTS: Final = frozenset({_T.SORT_BY, _T.CLUSTER_BY, _T.DISTRIBUTE_BY})
_BRANCHES: Final = frozenset({_T.WHEN, _T.THEN, _T.ELSE, _T.ON})
_SETS: Final = frozenset({_T.UNION, _T.EXCEPT, _T.INTERSECT})
_JOINS: Final = frozenset({_T.JOIN, _T.LEFT, _T.RIGHT, _T.INNER, _T.CROSS, _T.FULL, _T.LATERAL})
_LISTS: Final = _SORTS | {
    _T.SELECT,
    _T.COMMA,
    _T.L_PAREN,
    _T.L_BRACKET,
    _T.GROUP_BY,
    _T.ORDER_BY,
    _T.PARTITION_BY,
    _T.VALUES,
}
"""What may stand before the items of a list."""
_STARTS: Final[frozenset[_Kind]] = _LISTS | _CLAUSES | _BRANCHES | {None, _T.CASE, _T.ARROW}
"""What an expression may follow without parentheses, whatever its operators."""
_ENDS: Final[frozenset[_Kind]] = (
    _CLAUSES
    | _SORTS
    | _BRANCHES
    | _SETS
    | _JOINS
    | {None, _T.COMMA, _T.R_PAREN, _T.R_BRACKET, _T.FROM, _T.END, _T.WINDOW}
)
"""What may follow an expression likewise."""
_ORDERS: Final = frozenset({_T.ORDER_BY, _T.SORT_BY})
_DIRECTIONS: Final = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
_CONNECTORS: Final = frozenset({_T.AND, _T.OR})
_NAMES: Final = frozenset({_T.VAR, _T.IDENTIFIER})
_OPERANDS: Final = frozenset({*_NAMES, _T.STRING, _T.NUMBER, _T.R_PAREN, _T.R_BRACKET})
_BEFORE_TABLES: Final = frozenset({_T.FROM, _T.JOIN, _T.INTO, _T.UPDATE, _T.TABLE})
_BEFORE_QUERIES: Final[frozenset[_Kind]] = _OPERANDS | _SETS | {None, _T.ALIAS, _T.ALL, _T.DISTINCT}
"""After these a query is a part of a statement, and no value."""
_QUERIES: Final = frozenset({_T.SELECT, _T.WITH})
_OPERATORS: Final = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.AtTimeZone)
_CALLS: Final = Parser.FUNC_TOKENS - Parser.SUBQUERY_PREDICATES.keys() - {_T.IN}
_TABLE_ADVICE: Final = "Make the macro return the name of one model or source, or a query."


@dataclass(frozen=True, slots=True)
class Change:
    """The tokens from the first to the last place that a text replaces."""

    first: int
    last: int
    text: Written = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A macro among the tokens of a text, in which each macro is one token."""

    tokens: Sequence[Token]
    at: int
    dialect: Dialect

    def put(self, found: Sequence[Written]) -> Change:
        """What replaces the macro if it gives these texts: none, one or several.

        Raises:
            MacroError: They do not fit there.
        """
        before, after = self._kind(self.at - 1), self._kind(self.at + 1)
        if self._is_table():
            return self._table(found)
        opening = self._opening()
        if before is _T.IN or (opening is not None and self._kind(opening - 1) is _T.IN):
            return self._members(found, opening)
        if not found:
            return self._nothing()
        if len(found) > 1:
            if before not in _LISTS | {_T.DISTINCT} or after not in _ENDS:
                message = f"one expression is needed here, but the macro returns {len(found)} "
                advice = "Make the macro return one expression, or use it where a list is possible."
                raise MacroError(f"{message}expressions", advice)
            return Change(self.at, self.at, joined(found, ", "))
        return Change(self.at, self.at, self._one(found[0], before, after))

    def _kind(self, at: int) -> _Kind:
        return self.tokens[at].token_type if 0 <= at < len(self.tokens) else None

    def _tree(self, written: Written) -> exp.Expr | None:
        try:
            return read_part(written, self.dialect)
        except SQL_ERRORS:
            return None

    def _is_query(self, written: Written) -> bool:
        tokens = self.dialect.tokenize(text_of(written))
        return bool(tokens) and tokens[0].token_type in _QUERIES

    def _one(self, value: Written, before: _Kind, after: _Kind) -> Written:
        if self._is_query(value):
            return self._query(value, before, after)
        if before is _T.L_PAREN and self._kind(self.at - 2) is _T.ALIAS and after is _T.R_PAREN:
            message = "a query is needed here, but the macro returns an expression"
            raise MacroError(message, "Make the macro return a SELECT.")
        if before is _T.DOT or after is _T.DOT or (before is _T.ALIAS and not self._is_cast()):
            return self._name(value)
        named = after is _T.ALIAS
        if before in _STARTS and after in _ENDS:
            return value
        tree = self._tree(value)
        if isinstance(tree, exp.Alias):
            advice = "Remove the name in the macro, or the name after it."
            raise MacroError(
                "the macro returns an expression with a name, which is not possible here", advice
            )
        whole = isinstance(tree, exp.Paren | exp.Dot) or not isinstance(tree, _OPERATORS)
        negative = before is _T.INTERVAL and isinstance(tree, exp.Neg)
        return value if whole or negative or (named and before in _STARTS) else wrapped(value)

    def _query(self, value: Written, before: _Kind, after: _Kind) -> Written:
        is_union = text_of(value).startswith(f"SELECT {UNION}(")
        if is_union and after in (_JOINS | _CLAUSES) - {_T.ORDER_BY, _T.LIMIT, _T.OFFSET}:
            what = self.tokens[self.at + 1].text.upper()
            advice = "Write SELECT ... FROM (@UNION(a, b)), followed by that clause."
            raise MacroError(f"the {what} after @UNION has no SELECT to belong to", advice)
        if before is _T.L_PAREN and after is _T.R_PAREN:
            is_call = self._kind(self.at - 2) in _CALLS
            return wrapped(value) if is_call else value
        if before in _BEFORE_QUERIES and after in _ENDS:
            return value
        if is_union:
            raise MacroError(
                "@UNION has to be a query of its own", "Write SELECT ... FROM (@UNION(a, b))."
            )
        return wrapped(value)

    def _name(self, value: Written) -> Written:
        tree = self._tree(value)
        names = names_of(tree) if tree is not None else None
        if names is None or not all(names):
            if self._kind(self.at + 1) is _T.DOT and self._kind(self.at - 1) is not _T.DOT:
                return value if not isinstance(tree, _OPERATORS) else wrapped(value)
            message = "a name is needed here, but the macro returns something else"
            raise MacroError(message, "Make the macro return a name, or the text of one.")
        if not isinstance(tree, exp.Literal):
            return value
        return (self._made(value, _quoted(tree.name, self.dialect)),)

    def _made(self, value: Written, text: str) -> Piece:
        line = value[0].line if value else self.tokens[self.at].line
        return Piece(text, line, is_made=True)

    def _is_cast(self) -> bool:
        opening = self._opening()
        return opening is not None and self._kind(opening - 1) in _CALLS

    def _is_table(self) -> bool:
        """Whether this is the place of a table: behind FROM, but not in a call such as EXTRACT."""
        before, clause = self._kind(self.at - 1), self._clause()
        if before is _T.COMMA:
            return clause is _T.FROM
        if before is _T.FROM:
            return clause is _T.FROM and self._kind(self.at - 2) is not _T.DISTINCT
        return before in _BEFORE_TABLES

    def _before(self, at: int) -> Iterator[tuple[int, _Kind]]:
        """The tokens before one, outside of other brackets; last the bracket around it, if any."""
        depth = 0
        for index in range(at - 1, -1, -1):
            kind = self._kind(index)
            depth += (kind in _CLOSING) - (kind in _OPENING)
            if depth < 0:
                yield index, kind
                return
            if depth == 0 and kind not in _OPENING:
                yield index, kind

    def _clause(self) -> _Kind:
        """The clause that the macro is in; FROM only if it is that of a query."""
        from_ = False
        for _, kind in self._before(self.at):
            if from_ and kind in (_T.SELECT, _T.DELETE):
                return _T.FROM
            if kind is _T.FROM:
                from_ = True
            elif not from_ and (kind in _CLAUSES | _ORDERS or kind in (_T.SELECT, _T.ON)):
                return kind
        return None

    def _opening(self) -> int | None:
        """Where the parenthesis around the macro opens, if it is an item of its own in it."""
        before, after = self._kind(self.at - 1), self._kind(self.at + 1)
        if before not in (_T.L_PAREN, _T.COMMA, _T.ALIAS) or after not in (_T.R_PAREN, _T.COMMA):
            return None
        *_, (last, kind) = self._before(self.at)
        return last if kind is _T.L_PAREN else None

    def _is_direction(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].text.upper() in _DIRECTIONS

    def _is_sign(self, at: int) -> bool:
        return self._kind(at) is _T.DASH and self._kind(at - 1) not in _OPERANDS

    def _table(self, found: Sequence[Written]) -> Change:
        if len(found) != 1:
            what = f"{len(found)} expressions" if found else "nothing"
            message = f"one table is needed here, but the macro returns {what}"
            raise MacroError(message, _TABLE_ADVICE)
        value = found[0]
        if self._is_query(value):
            return Change(self.at, self.at, wrapped(value))
        tree = self._tree(value)
        inner = tree.unalias() if tree is not None else None
        if isinstance(inner, exp.Subquery):
            return Change(self.at, self.at, value)
        names = names_of(inner) if inner is not None else None
        if names is None or not 1 <= len(names) <= 3 or not all(names):
            message = "a table is needed here, but the macro returns something else"
            raise MacroError(message, _TABLE_ADVICE)
        if isinstance(inner, exp.Literal):
            text = ".".join(_quoted(each, self.dialect) for each in names)
            return Change(self.at, self.at, (self._made(value, text),))
        return Change(self.at, self.at, value)

    def _members(self, found: Sequence[Written], opening: int | None) -> Change:
        """The members of IN: a list counts as its items, and an empty list as no member."""
        members = [item for each in found for item in self._items(each)]
        text = joined(members, ", ")
        after = self._kind(self.at + 1)
        alone = opening is None or (opening + 1 == self.at and after is _T.R_PAREN)
        if not members and not alone:
            return self._without_comma(self.at, self.at)
        if not members:
            text = (self._made((), NO_MEMBERS),)
        is_whole = opening is None and len(members) == 1 and text_of(text).startswith("(SELECT")
        return Change(self.at, self.at, text if opening is not None or is_whole else wrapped(text))

    def _items(self, value: Written) -> list[Written]:
        tree = self._tree(value) if any(each in text_of(value) for each in "([") else None
        if not isinstance(tree, exp.Array | exp.Tuple):
            return [value]
        texts = (each.sql(self.dialect) for each in tree.expressions)
        return [(self._made(value, text),) for text in texts]

    def _nothing(self) -> Change:
        first = last = self.at
        while True:
            before, after = self._kind(first - 1), self._kind(last + 1)
            if before is _T.L_PAREN and after is _T.R_PAREN:
                outer = self._kind(first - 2)
                if outer in _CALLS:
                    return Change(first, last)
                if outer not in _STARTS | _CONNECTORS | {_T.NOT, _T.DASH}:
                    raise _needed()
                first, last = first - 1, last + 1
            elif before is _T.NOT or self._is_sign(first - 1):
                first -= 1
            elif after is _T.ALIAS:
                last += 2
            elif self._is_direction(last + 1) or (
                after in _NAMES and before in (_T.SELECT, _T.COMMA)
            ):
                last += 1
            else:
                return self._end(first, last)

    def _end(self, first: int, last: int) -> Change:
        """What goes on one side of a part that vanishes."""
        before, after = self._kind(first - 1), self._kind(last + 1)
        if before is _T.AND and self._is_of_between(first - 1):
            raise _needed()
        if after in _CONNECTORS and (before in _STARTS or (before is _T.OR and after is _T.AND)):
            return Change(first, last + 1)
        if before in _CONNECTORS and (after in _ENDS or after in _CONNECTORS):
            return Change(first - 1, last)
        if before in _LISTS and after in _ENDS and _T.COMMA in (before, after):
            return self._without_comma(first, last)
        if before in _CLAUSES and after in _ENDS:
            return Change(first - 1, last)
        if before is _T.SELECT and after in _ENDS:
            raise MacroError("this SELECT has no columns left", "Give @IF another branch.")
        if before is _T.DISTINCT and after is _T.R_PAREN:
            raise MacroError("nothing is left here", "Give @IF another branch.")
        raise _needed()

    def _without_comma(self, first: int, last: int) -> Change:
        if self._kind(last + 1) is _T.COMMA:
            return Change(first, last + 1)
        return Change(first - 1, last)

    def _is_of_between(self, at: int) -> bool:
        """Whether an AND is the one of BETWEEN."""
        kinds = (kind for _, kind in self._before(at))
        return next((kind for kind in kinds if kind in (_T.AND, _T.BETWEEN)), None) is _T.BETWEEN


_OPENING: Final = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE})
_CLOSING: Final = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE})


def wrapped(value: Written) -> Written:
    """A text in parentheses, which a comment at its end does not hide."""
    line, last = value[0].line, value[-1]
    rest = closed(last.text)
    return (
        Piece("(", line, is_made=True),
        *value[:-1],
        Piece(rest, last.line, is_made=last.is_made),
        Piece(")", last.line_at(len(last.text)), is_made=True),
    )


def _quoted(name: str, dialect: Dialect) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect)


def _needed() -> MacroError:
    message = "the macro returns nothing here, where something is needed"
    return MacroError(message, "Give @IF another branch.")
