"""A stateless session of a table whose rows have no time column, in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

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
from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.question import StatelessQuestion
from vde_dagster.core.ledger.late.without_times import is_rebuilt
from vde_dagster.core.ledger.unit_of_work import AddedBetween, AsOf, Input, SqlRows
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import AppendRows
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.intervals import Interval, common


def appended_rows(services: Services, binding: Binding, node: Node, session: Load) -> PreparedUnit:
    """The rows of new files and those of what is due, or the whole table again.

    Late rows are recorded with the last interval before a gap, or of all. No entry has a trace:
    what its rows follow from is between two marks.
    """
    work_id = services.ids.new()
    key = binding.key(node.name)
    recorded = services.state.holdings([key]).get(key, NOTHING).recorded
    lasts = {each: _last(services, key, each) for each in recorded}
    parts = _parts(session, lasts)
    columns = _columns(services, session) if any(not each.new for each in parts) else ()
    now = services.execution_time
    readings = tuple(
        _reading(
            rendered(binding, node, each.range, now),
            session,
            each,
            f"{work_id}_{number}",
            columns=columns,
        )
        for number, each in enumerate(parts)
    )
    touched = [each.recorded for each in parts]
    return PreparedUnit(
        work_id=work_id,
        interval=Interval(min(e.start for e in touched), max(e.end for e in touched)),
        readings=readings,
        writes=tuple(AppendRows(interval=each.recorded) for each in parts),
        batches=tuple(
            SequentialBatch(
                evaluated=each.recorded, recorded=each.recorded, operation=each.operation
            )
            for each in parts
        ),
        session=session,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One write: rows of a range, of ``new`` files only or of all, and where they are recorded."""

    range: Interval
    new: bool
    recorded: Interval
    operation: LedgerOperation


def _last(services: Services, key: VersionKey, recorded: Interval) -> Interval:
    """The last interval of a version in a recorded time without gaps; its lease is held."""
    end = Interval(recorded.end - timedelta(microseconds=1), recorded.end)
    (entry,) = services.state.entries_within(key, (end,))
    return entry.interval


def _parts(session: Load, lasts: Mapping[Interval, Interval]) -> tuple[_Part, ...]:
    """The writes, for each recorded time without gaps and the last interval of it, in order."""
    if is_rebuilt(session):
        first = LedgerOperation.REPLACE_ALL if lasts else LedgerOperation.REPLACE
        return tuple(
            _Part(
                range=each,
                new=False,
                recorded=each,
                operation=LedgerOperation.REPLACE if number else first,
            )
            for number, each in enumerate(session.fill)
        )
    if not _is_by_time(session):
        # all rows of the new files, which are recorded with what became due
        last = [*lasts.values()][-1]
        recorded, operation = (
            (session.fill[0], LedgerOperation.REPLACE)
            if session.fill
            else (last, LedgerOperation.CHANGE)
        )
        every = Interval(next(iter(lasts)).start, last.end)
        return (_Part(range=every, new=True, recorded=recorded, operation=operation),)
    late = (
        _Part(range=each, new=True, recorded=last, operation=LedgerOperation.CHANGE)
        for each, last in lasts.items()
        if common([each], session.loaded)
    )
    due = (
        _Part(range=each, new=False, recorded=each, operation=LedgerOperation.REPLACE)
        for each in session.fill
    )
    return (*late, *due)


def _is_by_time(session: Load) -> bool:
    asked = session.question
    assert isinstance(asked, StatelessQuestion), "stateless sessions alone append rows"
    return asked.without_times is not None and asked.without_times.by_time


def _columns(services: Services, session: Load) -> tuple[PresentColumn, ...]:
    """The source's present columns, if it had others at the mark that the session moves to."""
    found = services.source(session.only.name)
    return () if found is None else found.schemas.columns(session.only.after.iceberg_snapshot_id)


def _reading(
    query: SqlText, session: Load, part: _Part, name: str, *, columns: tuple[PresentColumn, ...]
) -> PinnedReading:
    """The query over the rows that the mark moves over, or over all up to where it is then."""
    found = session.only
    table, until = TableName(found.name.schema, found.name.name), found.after.iceberg_snapshot_id
    rows: Input = AsOf(table=table, iceberg_snapshot_id=until, columns=columns)
    if part.new:
        assert found.before is not None, "rows are added to what an earlier session loaded"
        rows = AddedBetween(table=table, after=found.before.iceberg_snapshot_id, until=until)
    view = input_name(name, 0)
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(query, {found.name: view})),
        inputs={view: rows},
        pinned={found.name: until},
    )
