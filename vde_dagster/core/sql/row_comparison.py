"""Queries in Spark's dialect that compare the rows of two tables, by keys or as a whole.

Nulls are equal to nulls. Rows are joined only by keys that no two rows of a table share, which
`repeated_keys` finds out; else rows are counted as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from sqlglot import exp

from vde_dagster.core.names import ModelName

BEFORE: Final = ModelName("vde_before", "rows")
AFTER: Final = ModelName("vde_after", "rows")
"""The names of the two tables in the queries."""
_THERE: Final = "_there"
_TIMES: Final = "_times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared: the columns of both, and by what rows belong to each other.

    ``keys`` is empty if rows are compared as a whole. ``inside`` is a condition on the columns of
    each table for the rows that are compared; None for all.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    inside: exp.Expr | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are no keys."""
        return tuple(each for each in self.columns if each not in self.keys)


def rows_of(comparison: Comparison, table: ModelName) -> exp.Query:
    """How many rows of a table are compared."""
    return exp.select(_named(_count(), "n")).from_(_side(comparison, table, ()))


def repeated_keys(comparison: Comparison, table: ModelName) -> exp.Query:
    """The keys that several rows of a table share, with the number of these rows."""
    keys = [_column(each) for each in comparison.keys]
    more = exp.GT(this=_count(), expression=exp.Literal.number(1))
    shown = [*keys, _named(_count(), _TIMES)]
    found = exp.select(*shown).from_(_side(comparison, table, comparison.keys))
    return found.group_by(*(each.copy() for each in keys)).having(more)


def joined_counts(comparison: Comparison) -> exp.Query:
    """Numbers of rows: added, removed and changed, and changed by each value in order."""
    differs = [_differs(each) for each in comparison.values]
    any_differs = reduce(lambda a, b: exp.Or(this=a, expression=b), differs, _false())
    counted = [_is_added(), _is_removed(), _both(any_differs), *map(_both, differs)]
    shown = [
        _named(_whole_number(exp.CountIf(this=each.copy())), f"n{number}")
        for number, each in enumerate(counted)
    ]
    return _joined(comparison, shown)


def only_in(comparison: Comparison, table: ModelName) -> exp.Query:
    """The rows that one table has and the other one lacks, by keys."""
    alias, condition = ("b", _is_added()) if table == AFTER else ("a", _is_removed())
    shown = [_named(_column(each, alias), each) for each in comparison.columns]
    order = [_column(each, alias) for each in comparison.keys]
    return _joined(comparison, shown).where(condition).order_by(*order)


def changed(comparison: Comparison) -> exp.Query:
    """Keys of rows that both have with other values: the keys, then all values of both."""
    differs = [_differs(each) for each in comparison.values]
    any_differs = reduce(lambda a, b: exp.Or(this=a, expression=b), differs, _false())
    shown = [
        _named(_column(each, "a"), f"k{number}") for number, each in enumerate(comparison.keys)
    ]
    for alias in ("a", "b"):
        shown += [
            _named(_column(each, alias), f"{alias}{number}")
            for number, each in enumerate(comparison.values)
        ]
    order = [_column(each, "a") for each in comparison.keys]
    return _joined(comparison, shown).where(_both(any_differs)).order_by(*order)


def whole_counts(comparison: Comparison) -> exp.Query:
    """Numbers of rows that are added and removed, where each row counts as often as it is there."""
    times = exp.column(_TIMES)
    zero = exp.Literal.number(0)
    added = exp.case().when(exp.GT(this=times, expression=zero), times.copy()).else_(zero.copy())
    fewer = exp.Neg(this=times.copy())
    removed = exp.case().when(exp.LT(this=times.copy(), expression=zero.copy()), fewer)
    sums = [_total(added), _total(removed.else_(zero.copy()))]
    shown = [_named(_whole_number(each), f"n{number}") for number, each in enumerate(sums)]
    return exp.select(*shown).from_(_whole(comparison).subquery("q"))


def whole_sample(comparison: Comparison, table: ModelName) -> exp.Query:
    """Rows that one table has more often than the other one."""
    zero = exp.Literal.number(0)
    kind = exp.GT if table == AFTER else exp.LT
    condition = kind(this=exp.column(_TIMES), expression=zero)
    shown = [_column(each) for each in comparison.columns]
    return exp.select(*shown).from_(_whole(comparison).subquery("q")).where(condition)


def _whole(comparison: Comparison) -> exp.Select:
    """Each row, with how many more of it the second table has."""
    one, other = (
        exp.select(*map(_column, comparison.columns), _named(number, _TIMES)).from_(
            _side(comparison, table, comparison.columns)
        )
        for table, number in ((BEFORE, _minus_one()), (AFTER, exp.Literal.number(1)))
    )
    rows = exp.union(one, other, distinct=False).subquery("r")
    found = exp.select(*map(_column, comparison.columns))
    found = found.select(_named(exp.Sum(this=exp.column(_TIMES)), _TIMES)).from_(rows)
    total = exp.Sum(this=exp.column(_TIMES, table="r"))
    unequal = exp.NEQ(this=total, expression=exp.Literal.number(0))
    return found.group_by(*map(_column, comparison.columns)).having(unequal)


def _side(comparison: Comparison, table: ModelName, columns: Sequence[str]) -> exp.Subquery:
    """The compared rows of one table."""
    shown = [_column(each) for each in columns]
    there = _named(exp.Boolean(this=True), _THERE)
    named = exp.table_(table.name, db=table.schema, quoted=True)
    found = exp.select(there, *shown).from_(named)
    if comparison.inside is not None:
        found = found.where(comparison.inside.copy())
    return found.subquery("s")


def _joined(comparison: Comparison, shown: Sequence[exp.Expr]) -> exp.Select:
    sides = [_side(comparison, each, comparison.columns) for each in (BEFORE, AFTER)]
    for side, alias in zip(sides, ("a", "b"), strict=True):
        side.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    same: list[exp.Expr] = [
        exp.NullSafeEQ(this=_column(each, "a"), expression=_column(each, "b"))
        for each in comparison.keys
    ]
    on = reduce(lambda a, b: exp.And(this=a, expression=b), same[1:], same[0])
    return exp.select(*shown).from_(sides[0]).join(sides[1], on=on, join_type="full")


def _differs(column: str) -> exp.Expr:
    same = exp.NullSafeEQ(this=_column(column, "a"), expression=_column(column, "b"))
    return exp.Not(this=exp.paren(same))


def _there(alias: str) -> exp.Column:
    return _column(_THERE, alias)


def _is_added() -> exp.Expr:
    return exp.Is(this=_there("a"), expression=exp.Null())


def _is_removed() -> exp.Expr:
    return exp.Is(this=_there("b"), expression=exp.Null())


def _both(condition: exp.Expr) -> exp.Expr:
    """A condition on rows that both tables have."""
    there = exp.And(this=_there("a"), expression=_there("b"))
    known = exp.Coalesce(this=there, expressions=[_false()])
    return exp.And(this=known, expression=exp.paren(condition))


def _total(of: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=exp.Sum(this=of), expressions=[exp.Literal.number(0)])


def _whole_number(of: exp.Expr) -> exp.Expr:
    return exp.cast(of, exp.DataType.Type.BIGINT)


def _false() -> exp.Expr:
    return exp.Boolean(this=False)


def _minus_one() -> exp.Expr:
    return exp.Neg(this=exp.Literal.number(1))


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _named(of: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(of, name, quoted=True)


def _column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=table)
