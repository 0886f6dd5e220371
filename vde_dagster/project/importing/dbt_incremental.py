"""Which kind an incremental model of dbt becomes, by both forms of its query.

The full form is what dbt runs at first, the incremental form what it runs from then on. Where they
differ by one filter, `time > (select max(time) from the table itself)`, an interval of ours stands
in its place. What else `is_incremental()` may say is left to a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from sqlglot import exp

from vde_dagster.project.importing.dbt_nodes import data_type, is_date, name_in
from vde_dagster.project.importing.spark_sql import listed

_DAYS: Final = {"HOUR": 1 / 24, "MINUTE": 1 / 1440, "SECOND": 1 / 86400, "DAY": 1, "WEEK": 7}
_LONG: Final = {"MONTH": 31, "QUARTER": 92, "YEAR": 366}
_THROUGH: Final = (exp.Paren, exp.Cast, exp.TryCast, exp.Subquery, exp.Alias, exp.Coalesce)
"""What changes nothing about which column a value is the newest of."""
_SINCE: Final = (exp.Sub, exp.DateSub, exp.TimestampSub, exp.DatetimeSub)
_PLUS: Final = (exp.Add, exp.DateAdd, exp.TimestampAdd, exp.DatetimeAdd, exp.TsOrDsAdd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What a model's configuration says of how its rows are loaded.

    Args:
        own: Its name here.
        dialect: Of its SQL.
        name: merge, delete+insert, append or insert_overwrite; empty for the adapter's own.
        keys: Of rows, as expressions for Spark.
        partitions: Columns or expressions for Spark.
        types: Of its columns, as far as they are known.
    """

    own: str
    dialect: str
    name: str = ""
    keys: Sequence[str] = ()
    partitions: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A filter by time that was found, and the query with our interval in its place.

    Args:
        column: Of the model, whose newest value the filter begins at.
        filtered: Of what is read, which is compared.
        lookback: In days.
        query: The incremental form with `BETWEEN` the ends of an interval.
    """

    column: str
    filtered: str
    lookback: int
    query: exp.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A kind with its options, and the query that it evaluates.

    ``is_ranged`` says that it has an interval in it; ``is_understood`` is false where
    `is_incremental()` says something that only a person can decide.
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    query: exp.Expr
    is_ranged: bool = False
    is_understood: bool = True


def loading(full: exp.Expr, incremental: exp.Expr | None, strategy: Strategy) -> Loading:
    """How a model is loaded here.

    Args:
        full: Its query where `is_incremental()` is false.
        incremental: The same where it is true; None if it is not known.
        strategy: What its configuration says.
    """
    if incremental is not None and incremental == full:
        return _whole(full, strategy)
    found = time_range(full, incremental, strategy) if incremental is not None else None
    ranged = _ranged(full, found, strategy) if found else None
    return ranged or Loading(kind="FULL", query=full, is_understood=False)


def _whole(query: exp.Expr, strategy: Strategy) -> Loading:
    """A query that is the same each time."""
    if strategy.name == "insert_overwrite":
        kind = "INCREMENTAL_BY_PARTITION" if strategy.partitions else "FULL"
        return Loading(kind=kind, query=query)
    if strategy.keys and strategy.name != "append":
        options = {"unique_key": listed(strategy.keys)}
        return Loading(kind="INCREMENTAL_BY_UNIQUE_KEY", options=options, query=query)
    return Loading(kind="INCREMENTAL_UNMANAGED", query=query)


def _ranged(full: exp.Expr, found: Range, strategy: Strategy) -> Loading | None:
    """A query that reads an interval; None where no kind loads the same rows."""
    lookback = {"lookback": str(found.lookback)} if found.lookback else {}
    whole = _whole(found.query, strategy)
    options = {**whole.options, **lookback}
    is_own = is_plain_output(full, found.column, found.filtered)
    if whole.kind == "INCREMENTAL_UNMANAGED" and is_own:
        options = {"time_column": found.column, **lookback}
        return Loading(
            kind="INCREMENTAL_BY_TIME_RANGE", options=options, query=found.query, is_ranged=True
        )
    by_time = whole.kind == "INCREMENTAL_BY_PARTITION" and list(strategy.partitions) == [
        found.column
    ]
    by_key = whole.kind == "INCREMENTAL_BY_UNIQUE_KEY"
    appended = whole.kind == "INCREMENTAL_UNMANAGED"
    if by_key or ((appended or (by_time and is_own)) and not lookback):
        return Loading(kind=whole.kind, options=options, query=found.query, is_ranged=True)
    return None


def time_range(full: exp.Expr, incremental: exp.Expr, strategy: Strategy) -> Range | None:
    """The one filter by time that the incremental form has in addition, if that is all."""
    tree = incremental.copy()
    comparisons = list(tree.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE))
    found = [
        (index, filtered, newest)
        for index, each in enumerate(comparisons)
        for filtered, bound in [_sides(each)]
        if (newest := _newest(bound, strategy)) is not None
    ]
    if len(found) != 1:
        return None
    ((index, filtered, newest),) = found
    columns = {each.name.lower() for each in filtered.find_all(exp.Column)}
    is_date = _is_date(comparisons[index], newest.column, strategy)
    if len(columns) != 1 or is_date is None or not _cut(comparisons[index]) or tree != full:
        return None
    query = incremental.copy()
    comparison = list(query.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE))[index]
    comparison.replace(between(_sides(comparison)[0].copy(), is_date=is_date))
    return Range(
        column=newest.column,
        filtered=columns.pop(),
        lookback=ceil(newest.days),
        query=query,
    )


def between(value: exp.Expr, *, is_date: bool) -> exp.Between:
    """A value that lies in the interval that is evaluated."""
    ends = ("vde__start_date", "vde__end_date") if is_date else ("vde__start_ts", "vde__end_ts")
    low, high = (exp.column(end) for end in ends)
    return exp.Between(this=value, low=low, high=high)


def with_intervals(tree: exp.Expr, columns: Mapping[str, tuple[str, bool]]) -> exp.Expr:
    """A query whose parents are read in the interval alone, as dbt does it for a microbatch.

    Args:
        tree: The query.
        columns: Of each such parent its time, and whether it is a date.
    """
    query = tree.copy()
    for table in list(query.find_all(exp.Table)):
        name = name_in(table)
        if name in columns:
            column, is_date = columns[name]
            condition = between(exp.column(column), is_date=is_date)
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
            source = exp.to_table(name)
            inner = exp.select("*").from_(source).where(condition)
            table.replace(exp.Subquery(this=inner, alias=alias.copy()))
    return query


def is_plain_output(query: exp.Expr, column: str, filtered: str) -> bool:
    """Whether a query returns the column that it is filtered by, row by row, under a name."""
    if not isinstance(query, exp.Select):
        return False
    groups = query.args.get("group")
    for each in query.selects:
        if each.is_star and column == filtered and groups is None:
            return True
        if each.alias_or_name.lower() == column:
            inner = each.unalias()
            return isinstance(inner, exp.Column) and inner.name.lower() == filtered
    return False


@dataclass(frozen=True, slots=True)
class _Newest:
    column: str
    days: float


def _sides(comparison: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """What is compared, and what it is later than."""
    sides = (comparison.this, comparison.expression)
    return sides if isinstance(comparison, exp.GT | exp.GTE) else (sides[1], sides[0])


def _newest(value: exp.Expr, strategy: Strategy) -> _Newest | None:
    """The column of the model itself that a value is the newest one of, less some days."""
    match value:
        case exp.Select():
            return _newest(value.selects[0], strategy) if _reads_itself(value, strategy) else None
        case exp.Max(this=exp.Column() as column):
            return _Newest(column.name.lower(), 0)
        case _ if isinstance(value, _THROUGH):
            return _newest(value.this, strategy)
        case _ if isinstance(value, (*_SINCE, *_PLUS)):
            found, days = _newest(value.this, strategy), _days(value)
            return _Newest(found.column, found.days + days) if found and days > 0 else None
    return None


def _reads_itself(query: exp.Select, strategy: Strategy) -> bool:
    """Whether a query is one value of the model's own table, whole."""
    tables = list(query.find_all(exp.Table))
    others = [query.args.get(key) for key in ("where", "group", "joins", "having")]
    names = [name_in(each).lower() for each in tables]
    return len(query.selects) == 1 and names == [strategy.own] and not any(others)


def _days(value: exp.Expr) -> float:
    """How many days something is moved back; 0 if that is not known, or forward."""
    amount = value.expression
    unit = value.args.get("unit")
    if isinstance(amount, exp.Interval):
        amount, unit = amount.this, amount.args.get("unit")
    sign = -1 if isinstance(value, _PLUS) else 1
    while isinstance(amount, exp.Neg | exp.Paren | exp.Cast):
        sign *= -1 if isinstance(amount, exp.Neg) else 1
        amount = amount.this
    name = unit.name.upper().removesuffix("S") if unit is not None else "DAY"
    try:
        return sign * float(amount.name) * {**_DAYS, **_LONG}.get(name, 0)
    except ValueError:
        return 0


def _is_date(comparison: exp.Expr, column: str, strategy: Strategy) -> bool | None:
    """Whether dates are compared; false for times, None where neither is known."""
    filtered = _sides(comparison)[0].unnest()
    known = data_type(strategy.types.get(column, ""), strategy.dialect)
    casts = [each.to for each in comparison.find_all(exp.Cast)]
    own = [filtered.to] if isinstance(filtered, exp.Cast) else []
    kind = next(iter([*own, *([known] if known else casts)]), None)
    if kind is None:
        return False if comparison.find(exp.Interval) else None
    is_time = kind.is_type(*exp.DataType.TEMPORAL_TYPES)
    return is_date(kind) if is_time else None


def _cut(comparison: exp.Expr) -> bool:
    """Take a condition out of a WHERE; false where it is not a part that is needed alone."""
    while isinstance(comparison.parent, exp.Paren):
        comparison = comparison.parent
    parent = comparison.parent
    if isinstance(parent, exp.And):
        other = parent.expression if parent.this is comparison else parent.this
        parent.replace(other)
        return True
    if isinstance(parent, exp.Where):
        parent.pop()
        return True
    return False
