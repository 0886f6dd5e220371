"""Running a stateful session: each changed interval is overwritten, all of them in one commit.

A model that reads itself is evaluated unit by unit, each from the one before it on the branch. It
goes on after what has changed until a unit comes out as it was, and then jumps to the next changed
one: a unit reads nothing of itself but the unit before, so that none between them can differ. It
ends before a unit of which a source has lost rows, unless that is asked for: it keeps its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import traces_of_parts
from vde_dagster.app.evaluate.parent_ledgers import ParentLedgers, read_ledgers
from vde_dagster.app.evaluate.pinned_reading import (
    PinnedReading,
    input_name,
    read_parts,
    rendered,
    with_inputs,
)
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.late.decision import Load, Stop
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import StatelessQuestion
from vde_dagster.core.ledger.late.stateless import is_rebuilt
from vde_dagster.core.ledger.traces import evaluated_parts
from vde_dagster.core.ledger.unit_of_work import AddedBetween, AsOf, Input, SqlRows
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.reads.input_ranges import InputRange, together
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.intervals import EVER, Interval, common, meets, merge
from vde_dagster.ports.state import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A range that is evaluated by itself; see `PlannedWrite` for what follows and what is held."""

    interval: Interval
    follows: bool = False
    held: RowSum | None = None


def run_stateful(
    services: Services,
    binding: Binding,
    node: Node,
    changed: Sequence[Interval],
    lease: Lease,
    *,
    session: Load | None = None,
) -> Evaluated:
    """Overwrite what has changed, as of one state of all that is read.

    Args:
        services: The ports.
        binding: The versions.
        node: The model.
        changed: What is overwritten, and what follows from it if the model reads itself.
        lease: On the model's version.
        session: What a session decided; None if a person asked for the intervals.

    Raises:
        Refused: An interval would lose all of its rows, or something that is read is not loaded.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    work_id, now = services.ids.new(), services.execution_time
    pending = session.pending if session is not None else _left_by_now(services, binding, node)
    parts = _parts(services, binding, node, changed, pending)
    intervals = [each.interval for each in parts]
    readings = _readings(services, binding, node, intervals, session=session, work_id=work_id)
    writes = tuple(node.write(each, now) for each in intervals)
    prepared = PreparedUnit(
        work_id=work_id,
        interval=Interval(intervals[0].start, intervals[-1].end),
        readings=readings,
        writes=writes,
        session=session,
        traces=traces_of_parts(services, binding, node, writes, readings),
        follows=frozenset(number for number, each in enumerate(parts) if each.follows),
        held=tuple(each.held for each in parts),
    )
    return run_unit_of_work(services, binding, node, prepared, lease)


def _parts(
    services: Services,
    binding: Binding,
    node: Node,
    changed: Sequence[Interval],
    pending: Sequence[Pending],
) -> list[_Part]:
    """What is evaluated, in order."""
    if not node.model.reads_itself:
        return [_Part(interval=each) for each in evaluated_parts(binding.graph, node, changed)]
    key, unit = binding.key(node.name), node.model.unit
    after = [Interval(changed[0].start, EVER.end)]
    holding = services.state.holdings([key]).get(key, NOTHING)
    entries = services.state.entries_within(key, after)
    held = {
        each.interval: each.rows
        for each in entries
        if each.algorithm == services.algorithm and each.columns == holding.columns
    }
    times = merge([*changed, *common(holding.recorded, after)])
    lost = [each.interval for each in pending if each.reason is PendingReason.REMOVED]
    parts: list[_Part] = []
    goes_on = False
    for cell in (cell for each in times for cell in unit.cells(each)):
        follows = not meets(changed, cell)
        goes_on = not follows or (goes_on and not meets(lost, cell))
        if goes_on:
            parts.append(_Part(interval=cell, follows=follows, held=held.get(cell)))
    return parts


def _left_by_now(services: Services, binding: Binding, node: Node) -> tuple[Pending, ...]:
    """What a session of a model that reads itself would leave now; of others nothing is asked."""
    if not node.model.reads_itself:
        return ()
    decision = detect(services, binding, node.name)
    return () if isinstance(decision, Stop) else decision.pending


def _readings(
    services: Services,
    binding: Binding,
    node: Node,
    parts: Sequence[Interval],
    *,
    session: Load | None,
    work_id: str,
) -> tuple[PinnedReading, ...]:
    """What each part reads: sources as of the session's marks, models as of one read of ledgers."""
    ledgers = _ledgers(services, binding, node, parts)
    pins: dict[ModelName, int | None] = {
        each.name: each.after.iceberg_snapshot_id
        for each in (session.sources if session is not None else ())
        if binding.graph[each.name].model.kind.is_source
    }
    return read_parts(services, binding, node, parts, ledgers, pins=pins, work_id=work_id)


def _ledgers(
    services: Services, binding: Binding, node: Node, parts: Sequence[Interval]
) -> ParentLedgers:
    reads = reads_of(binding.graph, node.name)
    cells = [cell for each in parts for cell in node.model.unit.cells(each)]
    every = [reads.at(each) for each in cells]
    ranges: Mapping[ModelName, InputRange] = {
        name: together(each[name] for each in every) for name in reads.demands
    }
    return read_ledgers(services, binding, ranges)


def appended_rows(services: Services, binding: Binding, node: Node, session: Load) -> PreparedUnit:
    """The rows of new files and of due intervals, or the whole table again.

    Late rows are recorded with the last interval before a gap, or of all. No entry has a trace:
    what its rows follow from is between two marks.
    """
    work_id = services.ids.new()
    key = binding.key(node.name)
    recorded = services.state.holdings([key]).get(key, NOTHING).recorded
    lasts = {each: _last(services, key, each) for each in recorded}
    parts = _appended(session, lasts)
    columns = _present_columns(services, session) if any(not each.new for each in parts) else ()
    now = services.execution_time
    until = session.only.after.iceberg_snapshot_id
    whole = AsOf(table=_table(session), iceberg_snapshot_id=until, columns=columns)
    queries = [rendered(binding, node, each.range, now) for each in parts]
    readings = tuple(
        added_rows(query, session, f"{work_id}_{number}")
        if each.new
        else _over(query, session, whole, f"{work_id}_{number}")
        for number, (query, each) in enumerate(zip(queries, parts, strict=True))
    )
    touched = [each.recorded for each in parts]
    return PreparedUnit(
        work_id=work_id,
        interval=Interval(min(e.start for e in touched), max(e.end for e in touched)),
        readings=readings,
        writes=tuple(node.write(each.recorded, now) for each in parts),
        batches=tuple(
            SequentialBatch(
                evaluated=each.recorded, recorded=each.recorded, operation=each.operation
            )
            for each in parts
        ),
        session=session,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Appended:
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


def _appended(session: Load, lasts: Mapping[Interval, Interval]) -> tuple[_Appended, ...]:
    """The writes, for each recorded time without gaps and the last interval of it, in order."""
    if is_rebuilt(session):
        first = LedgerOperation.REPLACE_ALL if lasts else LedgerOperation.REPLACE
        return tuple(
            _Appended(
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
        return (_Appended(range=every, new=True, recorded=recorded, operation=operation),)
    late = (
        _Appended(range=each, new=True, recorded=last, operation=LedgerOperation.CHANGE)
        for each, last in lasts.items()
        if common([each], session.loaded)
    )
    due = (
        _Appended(range=each, new=False, recorded=each, operation=LedgerOperation.REPLACE)
        for each in session.fill
    )
    return (*late, *due)


def _is_by_time(session: Load) -> bool:
    asked = session.question
    assert isinstance(asked, StatelessQuestion), "stateless sessions alone append rows"
    return asked.without_times is not None and asked.without_times.by_time


def _present_columns(services: Services, session: Load) -> tuple[PresentColumn, ...]:
    """The source's present columns, if it had others at the mark that the session moves to."""
    found = services.source(session.only.name)
    return () if found is None else found.schemas.columns(session.only.after.iceberg_snapshot_id)


def added_rows(query: SqlText, session: Load, name: str) -> PinnedReading:
    """The query over the rows of the files that were added between the two marks of a session."""
    before, after = session.only.before, session.only.after
    assert before is not None, "rows are added to what an earlier session loaded"
    rows = AddedBetween(
        table=_table(session), after=before.iceberg_snapshot_id, until=after.iceberg_snapshot_id
    )
    return _over(query, session, rows, name)


def _over(query: SqlText, session: Load, rows: Input, name: str) -> PinnedReading:
    source, view = session.only.name, input_name(name, 0)
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(query, {source: view})),
        inputs={view: rows},
        pinned={source: session.only.after.iceberg_snapshot_id},
    )


def _table(session: Load) -> TableName:
    return TableName(session.only.name.schema, session.only.name.name)
