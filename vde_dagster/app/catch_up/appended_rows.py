"""A stateless session of a table whose rows belong to no interval: one write in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.pinned_reading import (
    PinnedReading,
    input_name,
    rendered,
    with_inputs,
)
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry, LedgerOperation
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.without_times import is_rebuilt
from vde_dagster.core.ledger.unit_of_work import AddedBetween, AsOf, Input, SqlRows
from vde_dagster.core.model.writes import AppendRows
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import END_OF_TIME, Interval


def appended_rows(
    services: Services, binding: Binding, node: Node, session: Load, *, where_emptied: str
) -> PreparedUnit:
    """All rows of the source's new files, whatever their time; or the whole table again.

    They are recorded with the interval that became due, or else with the last one. Its entry has no
    trace: what the rows follow from is between two marks.
    """
    key, work_id = binding.key(node.name), services.ids.new()
    entries = services.state.ledger([key]).get(key, ())
    rebuilt = is_rebuilt(session)
    recorded = session.fill[-1] if session.fill else entries[-1].interval
    first = recorded.start if rebuilt else entries[0].interval.start
    batch = SequentialBatch(
        evaluated=recorded, recorded=recorded, operation=_operation(session, entries, rebuilt)
    )
    return PreparedUnit(
        work_id=work_id,
        interval=recorded,
        readings=(_reading(services, binding, node, session, first=first, work_id=work_id),),
        writes=(AppendRows(interval=recorded),),
        batches=(batch,),
        session=session,
        where_emptied=where_emptied if rebuilt else "",
    )


def _operation(session: Load, entries: Sequence[LedgerEntry], rebuilt: bool) -> LedgerOperation:
    if rebuilt and entries:
        return LedgerOperation.REPLACE_ALL
    return LedgerOperation.REPLACE if session.fill else LedgerOperation.CHANGE


def _reading(
    services: Services,
    binding: Binding,
    node: Node,
    session: Load,
    *,
    first: datetime,
    work_id: str,
) -> PinnedReading:
    """The query over the rows that the mark moves over; without one, over all up to it.

    What the query compares with the end of the interval is true of every row, since each is read
    only once.
    """
    found = session.only
    table = TableName(found.name.schema, found.name.name)
    rows: Input = AsOf(table=table, iceberg_snapshot_id=found.after.iceberg_snapshot_id)
    if not is_rebuilt(session):
        assert found.before is not None, "rows are added to what an earlier session loaded"
        rows = AddedBetween(
            table=table,
            after=found.before.iceberg_snapshot_id,
            until=found.after.iceberg_snapshot_id,
        )
    query = rendered(binding, node, Interval(first, END_OF_TIME), services.clock.now())
    view = input_name(work_id, 0)
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(query, {found.name: view})),
        inputs={view: rows},
        pinned={found.name: found.after.iceberg_snapshot_id},
    )
