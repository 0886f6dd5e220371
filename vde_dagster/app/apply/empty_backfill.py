"""Recording intervals as loaded without rows and without evaluating them.

A result with the right columns and no rows is staged, so that the table exists and the record is
written by the same steps as any other (rules R3 to R5). The entries are marked as empty: their
environment does not evaluate them, and everywhere else they count as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlglot import exp

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import writable, writing
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, input_name, rendered, with_inputs
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.recover.recovery import recover
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.unit_of_work import AsOf, SqlRows
from vde_dagster.core.model.model import PythonFunction
from vde_dagster.core.model.writes import OverwriteIntervals, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, subtract


def record_empty(
    services: Services,
    binding: Binding,
    name: ModelName,
    intervals: Sequence[Interval],
    *,
    reason: str,
) -> Evaluated | None:
    """Record the intervals of some ranges that have no entry as loaded without rows, if any.

    Existing entries are left alone, so no row is ever taken away. None if all have an entry.

    Args:
        services: The ports.
        binding: The versions.
        name: A model with rows that is not a seed.
        intervals: Contiguous ranges of whole units.
        reason: Why, for people; it is recorded in the ledger.

    Raises:
        Refused: The model is a source, or another environment owns its version.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The query does not fit what it reads.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    with writing(services, binding, key) as lease:
        recover(services, key, lease)
        there = services.state.holdings([key]).get(key, NOTHING).recorded
        if node.model.kind.is_by_interval:
            left = subtract(intervals, there)
        else:
            left = () if there else tuple(intervals)
        if not left:
            return None
        work_id = services.ids.new()
        whole = Interval(left[0].start, left[-1].end)
        prepared = PreparedUnit(
            work_id=work_id,
            interval=whole,
            readings=(_no_rows(binding, node, whole, services.execution_time, work_id),),
            writes=(_write(node, left, services.execution_time),),
            status=EntryStatus.EMPTY,
            reason=reason,
        )
        return run_unit_of_work(services, binding, node, prepared, lease)


def _write(node: Node, intervals: tuple[Interval, ...], now: datetime) -> Write:
    axis = node.time_axis
    if axis is not None:
        return OverwriteIntervals(intervals=intervals, axis=axis)
    return node.write(intervals[0], now)


def _no_rows(
    binding: Binding, node: Node, interval: Interval, now: datetime, work_id: str
) -> PinnedReading:
    """The columns of a model's rows. Its inputs are bound, but no rows are read."""
    if isinstance(node.model.body, PythonFunction):
        return PinnedReading(
            rows=SqlRows(sql=_typed_nothing(node).sql("spark")), inputs={}, pinned={}
        )
    query = rendered(binding, node, interval, now)
    names = {
        name: input_name(work_id, position)
        for position, name in enumerate(
            sorted(name for name in query.tables if name in binding.graph)
        )
    }
    hole = exp.Var(this="")
    rows = exp.Subquery(this=hole, alias=exp.TableAlias(this=exp.to_identifier("rows_of_model")))
    nothing = query.around(
        exp.select("*").from_(rows, copy=False).where(exp.false(), copy=False), hole
    )
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(nothing, names)),
        inputs={
            view: AsOf(table=binding.table(name), iceberg_snapshot_id=None)
            for name, view in names.items()
        },
        pinned={},
    )


def _typed_nothing(node: Node) -> exp.Select:
    """An empty result with the columns that a Python model declares; its function is not called."""
    columns = (
        exp.cast(exp.null(), exp.DataType.build(column.type, dialect="spark")).as_(
            exp.to_identifier(column.name, quoted=True)
        )
        for column in node.model.columns
    )
    return exp.select(*columns).where(exp.false(), copy=False)
