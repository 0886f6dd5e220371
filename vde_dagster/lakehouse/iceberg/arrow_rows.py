"""Rows of tables in Arrow's memory, read by pyiceberg: no JVM is started."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyiceberg import expressions
from pyiceberg.expressions.literals import Literal, literal

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.time.formats import ISO_DATE, first_written
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.engine import TableRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table


def arrow_rows(table: Table, wanted: TableRows) -> pa.Table:
    """The requested rows; those at an Iceberg snapshot have the columns that the table had then.

    Raises:
        EvaluationFailed: pyiceberg cannot read such files.
    """
    scan = table.scan(
        row_filter=_inside(wanted),
        selected_fields=wanted.columns or ("*",),
        case_sensitive=False,
        snapshot_id=wanted.iceberg_snapshot_id,
    )
    try:
        found = scan.to_arrow()
    except (NotImplementedError, ValueError) as error:  # deletes by equality, for one
        raise EvaluationFailed(
            f"{wanted.table} cannot be read by pyiceberg: {error}",
            advice="Annotate the input with `pyspark.sql.DataFrame`, which Spark reads.",
        ) from error
    if not wanted.columns:
        return found
    names = {name.lower(): name for name in found.column_names}
    return found.select([names[each.lower()] for each in wanted.columns])


def weight(table: Table, iceberg_snapshot_id: int | None) -> int | None:
    """The bytes of a table's files at an Iceberg snapshot.

    None where it is not certain that they are read as they are shown. The counts in the summary
    are those that Iceberg's library keeps; another writer may leave them out.
    """
    if iceberg_snapshot_id is None:
        return 0
    snapshot = table.snapshot_by_id(iceberg_snapshot_id)
    if snapshot is None or snapshot.summary is None:
        return None
    if snapshot.schema_id != table.metadata.current_schema_id:
        return None  # it would be read by the names that columns had then
    counts = snapshot.summary.additional_properties
    size, deletes = (counts.get(key, "") for key in ("total-files-size", "total-delete-files"))
    by_equality = counts.get("total-equality-deletes", "")
    only_by_position = by_equality == "0" and table.format_version <= _POSITIONS_IN_PARQUET
    return int(size) if size.isdigit() and (deletes == "0" or only_by_position) else None


_POSITIONS_IN_PARQUET: Final = 2
"""The last format whose deletes by position are files of rows; later ones have vectors."""


def _inside(wanted: TableRows) -> expressions.BooleanExpression:
    visible = _visible(wanted.hidden_rows)
    if wanted.axis is None:
        return visible
    parts = [_within(wanted.axis, each) for each in merge(wanted.intervals)]
    inside = reduce(expressions.Or, parts) if parts else expressions.AlwaysFalse()
    return expressions.And(visible, inside)


def _visible(hidden: HiddenRows | None) -> expressions.BooleanExpression:
    if hidden is None:
        return expressions.AlwaysTrue()
    missing = expressions.IsNull(term=expressions.Reference(hidden.column))
    if not hidden.values:
        return ~missing if hidden.is_null else missing
    values: set[Literal[Any]] = {literal(each) for each in hidden.values}
    others = expressions.NotIn(term=expressions.Reference(hidden.column), values=values)
    return expressions.Or(missing, others)


def _within(axis: TimeAxisSpec, interval: Interval) -> expressions.BooleanExpression:
    time = expressions.Reference(axis.column)
    low, high = (_first(axis, each) for each in (interval.start, interval.end))
    return expressions.And(
        expressions.GreaterThanOrEqual(term=time, value=low),
        expressions.LessThan(term=time, value=high),
    )


def _first(axis: TimeAxisSpec, instant: datetime) -> Literal[Any]:
    """The first value of a time column that is not before an instant."""
    match axis.type:
        case "date":
            return literal(Grain.DAY.ceil(instant).date())
        case "timestamp_ntz":
            return literal(instant.replace(tzinfo=None))
        case "string":
            return literal(first_written(instant, axis.format or ISO_DATE))
        case "bigint":
            return literal(int(first_written(instant, axis.format or ISO_DATE)))
        case _:
            return literal(instant)
