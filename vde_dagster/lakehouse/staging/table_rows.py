"""Rows of tables as DataFrames: as inputs name them, in some intervals, and for users' own assets.

Beside them are the sums of rows by the interval unit that each belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, assert_never

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.audits.results import outside
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.earlier_schemas import EarlierSchemas
from vde_dagster.core.ledger.unit_of_work import AddedBetween, AsOf, Input, OwnRows, RowsWithin
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import EPOCH, Interval, merge
from vde_dagster.lakehouse.digest import Figures, row_sums, watched
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.spark.connect import is_remote
from vde_dagster.lakehouse.staging.storable import stored_type
from vde_dagster.lakehouse.staging.stored_values import as_type, present_columns_sql
from vde_dagster.ports.engine import Sought, TableRows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from vde_dagster.core.audits.values import AuditResult


def table_sql(catalog: str, name: TableName) -> str:
    """The quoted name of a table for Spark, in ``catalog`` unless it names its own."""
    return exp.table_(
        name.name, db=name.namespace, catalog=name.catalog or catalog, quoted=True
    ).sql("spark")


def input_frame(spark: SparkSession, catalog: str, wanted: Input) -> DataFrame:
    """Exactly the rows that an input names (see `input_sql`)."""
    return spark.sql(_selected(input_sql(catalog, wanted)))


def rows_at(
    spark: SparkSession,
    catalog: str,
    table: TableName,
    schemas: EarlierSchemas,
    snapshot_id: int | None,
) -> DataFrame:
    """A table's rows at an Iceberg snapshot, with its present columns; no rows for None."""
    columns = schemas.columns(snapshot_id)
    wanted = AsOf(table=table, iceberg_snapshot_id=snapshot_id, columns=columns)
    return input_frame(spark, catalog, wanted)


def input_sql(catalog: str, wanted: Input) -> str:
    """What reads exactly the rows that an input names, behind FROM and in front of an alias.

    They are pinned, whatever is committed meanwhile (rule R3), and have the columns that their
    table has now, even if they are older, as the input says, and none of Iceberg's metadata columns
    (`_file`, `_pos`), which a compaction changes. It is a text and no temporary view, since Spark
    analyses each view twice: when it is made, and where it is read.
    """
    name = table_sql(catalog, wanted.table)
    none = f"({_selected(name, where='false')})"
    match wanted:
        case AsOf(iceberg_snapshot_id=None):
            return none
        case AsOf(iceberg_snapshot_id=at, columns=columns, hidden_rows=hidden):
            chosen = present_columns_sql(columns) if columns else "*"
            visible = hidden.visible.sql("spark") if hidden is not None else ""
            return f"({_selected(f'{name} VERSION AS OF {at}', chosen, where=visible)})"
        case AddedBetween(after=after, until=until):
            between = f"'start-snapshot-id' = '{after}', 'end-snapshot-id' = '{until}'"
            return none if after == until else f"({_selected(f'{name} WITH ({between})')})"
        case RowsWithin(table=table, iceberg_snapshot_id=at):
            whole = AsOf(table=table, iceberg_snapshot_id=at, columns=wanted.columns)
            condition = inside(wanted.axis, wanted.intervals).sql("spark")
            return f"({_selected(input_sql(catalog, whole), where=condition)})"
        case OwnRows():
            raise AssertionError("own rows are read while they are written")
        case _:
            assert_never(wanted)


def _selected(source: str, columns: str = "*", *, where: str = "") -> str:
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {columns} FROM {source}{condition}"  # noqa: S608 - all of it is our own


def inside(axis: TimeAxisSpec, intervals: Iterable[Interval]) -> exp.Expr:
    """The condition that a row's time is in one of the intervals."""
    column = exp.column(axis.column, quoted=True)
    ranges = [
        within(column, each, time_type=axis.type, time_format=axis.format)
        for each in merge(intervals)
    ]
    return exp.or_(*ranges) if ranges else exp.false()


def spark_column(condition: exp.Expr) -> Column:
    """A condition for Spark."""
    return F.expr(condition.sql("spark"))


def rows_inside(rows: DataFrame, axis: TimeAxisSpec, intervals: Iterable[Interval]) -> DataFrame:
    """The rows whose time is in one of the intervals."""
    return rows.where(inside(axis, intervals).sql("spark"))


def with_times(rows: DataFrame, axis: TimeAxisSpec) -> tuple[DataFrame, Figures]:
    """The rows, and what is known of their times once they are written."""
    column = F.col(quoted(axis.column))
    text = column.cast("string")
    end = r"\z" if axis.type == "bigint" else ""  # a text is ordered by how it begins
    written = text.rlike(rf"\A{_format(axis).expression}{end}")
    is_time = written if axis.is_formatted else column.isNotNull()
    named = {"returned": F.count(F.lit(1)), "timed": F.count_if(is_time)}
    named |= {"first": F.min(text), "last": F.max(text)}
    return watched(rows, *(figure.alias(name) for name, figure in named.items()))


def check_times(
    times: Figures, axis: TimeAxisSpec, intervals: Iterable[Interval], *, place: str
) -> tuple[AuditResult, ...]:
    """What is to be said of rows none of which is in the intervals.

    Args:
        times: What is known of what a function returned for the intervals.
        axis: The time column.
        intervals: They are loaded without any row.
        place: The function, for people.

    Raises:
        EvaluationFailed: There are rows, and none of them has a time at all; or Spark does not say
            whether there are any.
    """
    found = times.found()
    wanted = ", ".join(map(str, merge(intervals)))
    if found is None:
        raise EvaluationFailed(
            f"Spark did not report which rows {place} returns for {wanted}. Nothing was loaded",
            advice="Evaluate it again.",
        )
    if not found.get("returned"):
        return ()
    first, last = found["first"], found["last"]
    if not found["timed"]:
        form = f" in the format {_format(axis).pattern!r}" if axis.is_formatted else ""
        raise EvaluationFailed(
            f"{place} returns {found['returned']:,} rows for {wanted}, but {axis.column} is not a "
            f"time{form} in any of them, for example {first!r}. Nothing was loaded",
            advice=f"let the function return a time in {axis.column}, or change the format of "
            "`time_column`.",
        )
    return (outside(place, axis.column, wanted, first=first, last=last),)


def _format(axis: TimeAxisSpec) -> TimeFormat:
    return TimeFormat(axis.format or ISO_DATE)


_MICROSECOND: Final = Grain.MICROSECOND.longest
_DAY_MICROS: Final = Grain.DAY.longest // _MICROSECOND
_MINUTE_MICROS: Final = Grain.MINUTE.longest // _MICROSECOND


def unit_sums(
    rows: DataFrame, axis: TimeAxisSpec, algorithm: str
) -> Mapping[Interval | None, RowSum]:
    """The sums of rows by their units; under None those of rows whose column has no time."""
    sums: dict[Interval | None, RowSum] = {}
    time_of = _time_of(axis)
    for key, found in row_sums(rows, algorithm, F.expr(_unit_key(axis))).items():
        instant = time_of(key)
        unit = None
        if instant is not None:
            start = axis.unit.floor(instant)
            unit = Interval(start, axis.unit.following(start))
        sums[unit] = sums.get(unit, RowSum()) + found
    return sums


def _unit_key(axis: TimeAxisSpec) -> str:
    """A key that the rows of a unit, or of a day in it, share: microseconds, a text or number."""
    column = quoted(axis.column)
    if axis.is_formatted:
        return f"CAST({column} AS STRING)"
    micros = _micros(column, axis.type)
    # Months and years are grouped by days: no function is used that asks for the session's zone,
    # which a model's own statements may have set.
    length = min(axis.unit.longest, Grain.DAY.longest) // _MICROSECOND
    return f"{micros} - pmod({micros}, {length}L)"


def _micros(column: str, axis_type: str) -> str:
    """Microseconds since 1970 to the minute at least; the clock's reading of types without zone."""
    match axis_type:
        case "date":
            return f"CAST(unix_date({column}) AS BIGINT) * {_DAY_MICROS}L"
        case "timestamp_ntz":
            # Spark takes it for a time of the session's zone wherever it makes a number of it.
            minutes = f"CAST(hour({column}) * 60 + minute({column}) AS BIGINT)"
            return f"{_micros(f'CAST({column} AS DATE)', 'date')} + {minutes} * {_MINUTE_MICROS}L"
        case _:
            return f"unix_micros(CAST({column} AS TIMESTAMP))"


def _time_of(axis: TimeAxisSpec) -> Callable[[object], datetime | None]:
    """Reads what `_unit_key` gives for a row."""
    if axis.is_formatted:
        written = TimeFormat(axis.format or ISO_DATE)
        return lambda key: written.read(str(key))
    return lambda key: EPOCH + timedelta(microseconds=key) if isinstance(key, int) else None


def sums_of(rows: DataFrame, sought: Sought, algorithm: str) -> Mapping[Interval | None, RowSum]:
    """The requested sums of a table's rows, in one Spark job over those that they cover.

    Columns have the requested types: a table's types only ever widen, and its structs only get
    fields (rule R11), so this gives every value as it was when it was recorded, or as it is now.
    """
    if sought.axis is not None and sought.intervals is not None:
        rows = rows_inside(rows, sought.axis, sought.intervals)
    if sought.hidden_rows is not None:
        rows = rows.where(sought.hidden_rows.visible.sql("spark"))
    types = {each.name.lower(): each.dataType for each in rows.schema.fields}
    then = rows.select(
        *[
            as_type(
                rows[quoted(each.name)], types[each.name.lower()], stored_type(each.type)
            ).alias(each.name)
            for each in sought.columns
        ]
    )
    if sought.axis is None:
        return {None: total(row_sums(then, algorithm).values())}
    return unit_sums(then, sought.axis, algorithm)


def rows_for_users(spark: SparkSession, catalog: str, wanted: TableRows) -> DataFrame:
    """The requested rows, lazily, in the session of users' code.

    Those at an Iceberg snapshot have the columns that the table had then.
    """
    name = table_sql(catalog, wanted.table)
    if wanted.iceberg_snapshot_id is None:
        rows = spark.table(name)
    else:
        pinned = spark.read.option("versionAsOf", str(wanted.iceberg_snapshot_id))
        rows = pinned.format("iceberg").load(name)
    if wanted.axis is not None:
        rows = rows_inside(rows, wanted.axis, wanted.intervals)
    if wanted.hidden_rows is not None:
        rows = rows.where(wanted.hidden_rows.visible.sql("spark"))
    if wanted.columns:
        rows = rows.select(*map(quoted, wanted.columns))
    if is_remote(rows):
        _ = rows.schema  # else what is missing is only found where the rows are used
    return rows
