"""Queries in Spark's dialect that compare the rows of two tables, by keys or as a whole.

Nulls are equal to nulls. Rows are joined only by keys that no two rows of a table share, which
`repeated_keys` finds out; else rows are counted as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        """The columns that are not keys."""
        return tuple(each for each in self.columns if each not in self.keys)


def rows_of(comparison: Comparison, table: ModelName) -> exp.Query:
    """How many rows of a table are compared."""
    return exp.select(_named(_count(), "n")).from_(_side(comparison, table, ()))


def repeated_keys(comparison: Comparison, table: ModelName) -> exp.Query:
    """The keys that several rows of a table share, with the number of these rows."""
    keys = [_column(each) for each in comparison.keys]
    found = exp.select(*keys, _named(_count(), _TIMES))
    found = found.from_(_side(comparison, table, comparison.keys))
    return found.group_by(*keys).having(_count() > 1)


def joined_counts(comparison: Comparison) -> exp.Query:
    """Numbers of rows: added, removed and changed, and changed by each value in order."""
    differs = [_differs(each) for each in comparison.values]
    counted = [
        _is_missing("a"),
        _is_missing("b"),
        _both(exp.or_(exp.false(), *differs)),
        *map(_both, differs),
    ]
    return _joined(comparison, _numbers([exp.CountIf(this=each) for each in counted]))


def only_in(comparison: Comparison, table: ModelName) -> exp.Query:
    """The rows that one table has and the other one lacks, by keys."""
    alias, other = ("b", "a") if table == AFTER else ("a", "b")
    shown = [_named(_column(each, alias), each) for each in comparison.columns]
    order = [_column(each, alias) for each in comparison.keys]
    return _joined(comparison, shown).where(_is_missing(other)).order_by(*order)


def changed(comparison: Comparison) -> exp.Query:
    """Keys of rows that both have with other values: the keys, then all values of both."""
    differs = exp.or_(exp.false(), *(_differs(each) for each in comparison.values))
    keys, values = comparison.keys, comparison.values
    shown = [
        _named(_column(each, alias), f"{prefix}{number}")
        for prefix, alias, columns in (("k", "a", keys), ("a", "a", values), ("b", "b", values))
        for number, each in enumerate(columns)
    ]
    order = [_column(each, "a") for each in keys]
    return _joined(comparison, shown).where(_both(differs)).order_by(*order)


def whole_counts(comparison: Comparison) -> exp.Query:
    """Numbers of rows that are added and removed, where each row counts as often as it is there."""
    times = exp.column(_TIMES)
    parts = ((times > 0, times), (times < 0, -times))
    sums = [exp.Sum(this=exp.case().when(which, part).else_("0")) for which, part in parts]
    shown = _numbers([exp.func("coalesce", each, 0) for each in sums])
    return exp.select(*shown).from_(_whole(comparison).subquery("q"))


def whole_sample(comparison: Comparison, table: ModelName) -> exp.Query:
    """Rows that one table has more often than the other one."""
    times = exp.column(_TIMES)
    shown = map(_column, comparison.columns)
    rows = exp.select(*shown).from_(_whole(comparison).subquery("q"))
    return rows.where(times > 0 if table == AFTER else times < 0)


def _whole(comparison: Comparison) -> exp.Select:
    """Each row, with how many more of it the second table has."""
    columns = [_column(each) for each in comparison.columns]
    one, other = (
        exp.select(*columns, _named(number, _TIMES)).from_(
            _side(comparison, table, comparison.columns)
        )
        for table, number in ((BEFORE, exp.convert(-1)), (AFTER, exp.convert(1)))
    )
    more = exp.Sum(this=exp.column(_TIMES, table="r"))
    rows = exp.select(*columns, _named(more, _TIMES))
    rows = rows.from_(exp.union(one, other, distinct=False).subquery("r"))
    return rows.group_by(*columns).having(more.neq(0))


def _side(comparison: Comparison, table: ModelName, columns: Sequence[str]) -> exp.Subquery:
    """The compared rows of one table."""
    shown = [_named(exp.true(), _THERE), *map(_column, columns)]
    named = exp.table_(table.name, db=table.schema, quoted=True)
    return exp.select(*shown).from_(named).where(comparison.inside).subquery("s")


def _joined(comparison: Comparison, shown: Sequence[exp.Expr]) -> exp.Select:
    one, other = (_side(comparison, each, comparison.columns) for each in (BEFORE, AFTER))
    for side, alias in ((one, "a"), (other, "b")):
        side.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    on = exp.and_(*(_is_same(each) for each in comparison.keys))
    return exp.select(*shown).from_(one).join(other, on=on, join_type="full")


def _is_same(column: str) -> exp.Expr:
    return exp.NullSafeEQ(this=_column(column, "a"), expression=_column(column, "b"))


def _differs(column: str) -> exp.Expr:
    return exp.not_(exp.paren(_is_same(column)))


def _is_missing(alias: str) -> exp.Expr:
    """A condition on rows that one of the tables lacks."""
    return _column(_THERE, alias).is_(exp.null())


def _both(condition: exp.Expr) -> exp.Expr:
    """A condition on rows that both tables have."""
    there = exp.and_(_column(_THERE, "a"), _column(_THERE, "b"))
    return exp.and_(exp.func("coalesce", there, exp.false()), condition)


def _numbers(found: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Whole numbers as columns n0, n1 and so on."""
    return [_named(exp.cast(each, "bigint"), f"n{at}") for at, each in enumerate(found)]


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _named(of: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(of, name, quoted=True)


def _column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=table)
