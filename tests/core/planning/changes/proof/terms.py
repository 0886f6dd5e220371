"""The expressions in projections and conditions, and how they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TypeVar

from tests.core.planning.changes.proof.queries import (
    DAY,
    INT,
    LIST,
    TEXT,
    Ref,
    Relations,
    Role,
    Term,
)

T = TypeVar("T")
Form = tuple[str, str, tuple[str, ...]]
"""A type, a text, and the types of the columns that it reads; ``any`` for those that compare."""

PLAIN: Sequence[Form] = (
    (INT, "{0} + 1", (INT,)),
    (INT, "COALESCE({0}, 0)", (INT,)),
    (INT, "CASE WHEN {0} > 1 THEN 1 ELSE {0} END", (INT,)),
    (INT, "{0} + {1}", (INT, INT)),
    (INT, "CASE WHEN {0} = 'x' THEN 1 ELSE {1} END", (TEXT, INT)),
    (INT, "LENGTH({0})", (TEXT,)),
    (INT, "DAY({0})", (DAY,)),
    (TEXT, "UPPER({0})", (TEXT,)),
    (TEXT, "COALESCE({0}, 'n')", (TEXT,)),
    (TEXT, "CASE WHEN {0} IS NULL THEN 'n' ELSE {1} END", (INT, TEXT)),
    (TEXT, "CAST({0} AS STRING)", (INT,)),
    (DAY, "COALESCE({0}, DATE '2024-01-02')", (DAY,)),
    (DAY, "CASE WHEN {0} > DATE '2024-01-01' THEN {0} END", (DAY,)),
    (DAY, "GREATEST({0}, DATE '2024-01-02')", (DAY,)),
)
LITERALS = {
    INT: ("1", "2", "CAST(NULL AS INT)"),
    TEXT: ("'one'", "'two'"),
    DAY: ("DATE '2024-01-02'", "DATE '2024-01-03'"),
}
AGGREGATES: Sequence[Form] = (
    (INT, "COUNT(*)", ()),
    (INT, "COUNT({0})", ("any",)),
    (INT, "SUM({0})", (INT,)),
    (INT, "COUNT(DISTINCT {0})", ("any",)),
    (INT, "COALESCE(MAX({0}), 0) + 1", (INT,)),
    (INT, "SUM({0}) FILTER (WHERE {1} > 0)", (INT, INT)),
    (INT, "MIN({0})", (INT,)),
    (TEXT, "MAX({0})", (TEXT,)),
    (TEXT, "MIN({0})", (TEXT,)),
    (DAY, "MAX({0})", (DAY,)),
    (DAY, "MIN({0})", (DAY,)),
)
WINDOWS: Sequence[Form] = (
    (INT, "RANK() OVER (PARTITION BY {0} ORDER BY {1})", ("any", "any")),
    (INT, "COUNT(*) OVER (PARTITION BY {0})", ("any",)),
    (INT, "SUM({0}) OVER (PARTITION BY {1})", (INT, "any")),
    (INT, "DENSE_RANK() OVER (ORDER BY {0} DESC)", ("any",)),
    (INT, "MAX({0}) OVER (PARTITION BY {1} ORDER BY {2})", (INT, "any", "any")),
    (INT, "COUNT({0}) OVER ()", ("any",)),
    (TEXT, "MAX({0}) OVER (PARTITION BY {1})", (TEXT, "any")),
    (DAY, "MIN({0}) OVER (PARTITION BY {1})", (DAY, "any")),
)
CONDITIONS: Sequence[Form] = (
    (INT, "{0} > 1", (INT,)),
    (INT, "{0} IS NOT NULL", ("any",)),
    (INT, "{0} BETWEEN 1 AND 2", (INT,)),
    (INT, "{0} = 1", (INT,)),
    (INT, "({0} = 1 OR {0} IS NULL)", (INT,)),
    (INT, "{0} IN (0, 2)", (INT,)),
    (INT, "NOT {0} = 2", (INT,)),
    (INT, "{0} < {1}", (INT, INT)),
    (INT, "{0} = 'x'", (TEXT,)),
    (INT, "{0} <> 'x'", (TEXT,)),
    (INT, "({0} IS NULL OR {1} > 0)", (TEXT, INT)),
    (INT, "{0} >= DATE '2024-01-02'", (DAY,)),
)
MATCHES: Sequence[tuple[str, str]] = (
    ("{0} = {1}", "any"),
    ("{0} IS NOT DISTINCT FROM {1}", "any"),
    ("{0} < {1}", INT),
    ("{0} = {1} + 1", INT),
)
"""Conditions on a column of each of two tables, of one type."""
SUBQUERIES: Sequence[str] = (
    "EXISTS (SELECT 1 FROM {r} AS s WHERE {1} = {0})",
    "{0} IN (SELECT {1} FROM {r} AS s)",
    "NOT EXISTS (SELECT 1 FROM {r} AS s WHERE {1} = {0} AND {2} IS NOT NULL)",
    "{0} NOT IN (SELECT {1} FROM {r} AS s WHERE {2} IS NOT NULL)",
    "{0} > (SELECT MIN({1}) FROM {r} AS s)",
)
"""Conditions on a column and the rows of another table; ``{2}`` is any column of that."""
SCALARS: Sequence[tuple[str, bool]] = (
    ("(SELECT MAX({0}) FROM {r} AS s)", False),
    ("(SELECT COUNT(*) FROM {r} AS s WHERE {0} IS NOT NULL)", False),
    ("(SELECT MAX({0}) FROM {r} AS s WHERE {1} = {2})", True),
    ("(SELECT COUNT({0}) FROM {r} AS s WHERE {1} = {2})", True),
)
"""Columns out of the rows of another table, and whether ``{2}`` is a column of this one."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices that follow from one number."""

    random: Random
    _names: count[int] = field(default_factory=lambda: count(1))

    def name(self) -> str:
        """A name that no column of the project has."""
        return f"n{next(self._names)}"

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return self.random.choice(options)

    def number(self, last: int) -> int:
        """A number from 0 to the last, both included."""
        return self.random.randint(0, last)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.number(99) < percent

    def some(self, options: Sequence[T], most: int) -> list[T]:
        """At least one of some options, and at most so many, in their order."""
        wanted = 1 + self.number(min(most, len(options)) - 1)
        return [options[at] for at in sorted(self.random.sample(range(len(options)), wanted))]

    def form(
        self, forms: Sequence[Form], columns: Sequence[Ref], role: Role, type_: str = ""
    ) -> Term | None:
        """A term of some forms over columns; None where none of them can be had."""
        types = {each.type for each in columns}
        fits = [
            each
            for each in forms
            if type_ in ("", each[0])
            and all(want in types or (want == "any" and columns) for want in each[2])
        ]
        if not fits:
            return None
        kind, text, wanted = self.pick(fits)
        return Term(text, tuple(self.column(columns, want) for want in wanted), kind, role)

    def column(self, columns: Sequence[Ref], type_: str) -> Ref:
        """A column of a type; lists are none that compare."""
        plain = [each for each in columns if each.type != LIST] or columns
        return self.pick([each for each in plain if type_ in ("any", each.type)])

    def literal(self, type_: str = INT) -> Term:
        """A constant."""
        return Term(self.pick(LITERALS[type_]), (), type_, Role.LITERAL)

    def like(self, type_: str, columns: Sequence[Ref]) -> Term:
        """A column of a type; a constant where there is none."""
        fits = [each for each in columns if each.type == type_]
        return Term("{0}", (self.pick(fits),), type_) if fits else self.literal(type_)

    def condition(self, columns: Sequence[Ref], relations: Relations) -> Term:
        """A condition on columns, now and then on the rows of another table."""
        if self.chance(20):
            relation = self.relation(relations)
            inner = [Ref("s", *each) for each in relations[relation].items()]
            outer, matching = self._pair(columns, inner)
            if outer is not None and matching is not None:
                refs = (outer, matching, self.column(inner, "any"))
                return Term(self.pick(SUBQUERIES), refs, INT, Role.PLAIN, relation)
        found = self.form(CONDITIONS, columns, Role.PLAIN)
        return found or Term("TRUE", (), INT, Role.LITERAL)

    def match(self, left: Sequence[Ref], right: Sequence[Ref]) -> Term:
        """A condition of a join."""
        one, other = self._pair(left, right)
        if one is None or other is None:
            return Term("TRUE", (), INT, Role.LITERAL)
        fits = [text for text, type_ in MATCHES if type_ in ("any", one.type)]
        return Term(self.pick(fits), (one, other))

    def _pair(
        self, left: Sequence[Ref], right: Sequence[Ref]
    ) -> tuple[Ref, Ref] | tuple[None, None]:
        """A column of each side, of one type."""
        types = {each.type for each in right} - {LIST}
        fits = [each for each in left if each.type in types]
        if not fits:
            return None, None
        one = self.pick(fits)
        return one, self.column(right, one.type)

    def scalar(self, columns: Sequence[Ref], relations: Relations) -> Term:
        """A column out of another table's rows."""
        relation = self.relation(relations)
        inner = [Ref("s", *each) for each in relations[relation].items()]
        outer, matching = self._pair(columns, inner)
        numbers = [each for each in inner if each.type == INT]
        if not numbers:
            return self.literal()
        fits = [each for each in SCALARS if outer is not None or not each[1]]
        text, correlated = self.pick(fits)
        if not correlated or outer is None or matching is None:
            return Term(text, (self.pick(numbers),), INT, Role.LITERAL, relation)
        return Term(text, (self.pick(numbers), matching, outer), INT, Role.PLAIN, relation)

    def relation(self, relations: Relations) -> str:
        """What to read: rather a late model than a source."""
        names = list(relations)
        models = [each for each in names if not each.startswith("raw.")]
        return self.pick(models[::-1]) if models and self.chance(92) else self.pick(names)
