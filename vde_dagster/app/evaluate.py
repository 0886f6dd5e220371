"""Evaluating a model: intent, stage, publish, finalize (DESIGN.md section 4, rules R3 to R5).

One unit of work writes one version under its lease. Before anything new is begun, what an earlier
process left behind is finished or undone, from the state and the catalog's metadata alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster import kinds
from vde_dagster.app.auditing import Audited, audits_for, record_audits
from vde_dagster.app.binding import Binding
from vde_dagster.app.cumulative import Turn, turns
from vde_dagster.app.evaluated import Evaluated
from vde_dagster.app.heads import head_of
from vde_dagster.app.leases import held
from vde_dagster.app.physical_views import make_view
from vde_dagster.app.planning import may_write
from vde_dagster.app.reading import Reading, read_whole
from vde_dagster.app.recovery import book, give_up, publish, recover
from vde_dagster.app.reuse import (
    Reuse,
    Saved,
    book_kept,
    keeping,
    look,
    traces_of,
    turn_traces,
)
from vde_dagster.app.services import Services
from vde_dagster.app.statements import Beside, statements_of
from vde_dagster.core.dsha import ALGORITHMS, total
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval, common, merge, subtract
from vde_dagster.core.kind import Embedded, External, View
from vde_dagster.core.late_data import HighWaterMark, Load
from vde_dagster.core.ledger import (
    LedgerChange,
    LedgerEntry,
    LedgerMismatch,
    LedgerOperation,
    Standing,
    Trace,
    apply_changes,
    held_intervals,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.core.work import (
    AppendToIntervals,
    Intent,
    Part,
    Publication,
    ReplaceTable,
    Staged,
    Staging,
    Work,
    Write,
)
from vde_dagster.kinds.storage import storage_of
from vde_dagster.ports.catalog import TableMoved
from vde_dagster.ports.state import Lease, version_resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One unit of work, ready to be staged. ``mark`` is the high-water mark after it.

    ``standing`` is what its rows are worth, and ``reason`` why they are not the computed ones.
    ``turns`` say of a sequential kind where each write is booked. ``traces`` are what the rows of
    the intervals are computed from, ``reuse`` tells which intervals beside them are kept.
    """

    work_id: str
    interval: Interval
    readings: tuple[Reading, ...]
    writes: tuple[Write, ...]
    mark: HighWaterMark | None = None
    session: Load | None = None
    standing: Standing = Standing.COMPUTED
    reason: str = ""
    turns: tuple[Turn, ...] = ()
    traces: Mapping[Interval, Trace] = field(default_factory=dict)
    reuse: Reuse | None = None

    @property
    def anew(self) -> bool:
        """Whether the table is made from nothing, by several writes."""
        return bool(self.turns) and self.turns[0].operation is LedgerOperation.REPLACE_ALL


Read = Callable[[Interval, str], Reading]
"""What evaluating an interval reads; the text makes names of temporary views unique."""


def evaluate(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval,
    *,
    force: bool = False,
) -> Evaluated:
    """Make a model hold one contiguous range, and publish it.

    What would come out as it is held already is kept, unless ``force`` (rule R2). Models with late
    data have their own way in, `vde_dagster.app.catch_up.load`.

    Raises:
        Refused: The model is a source, another environment owns its version, or a parent does not
            hold what is read.
        Conflict: Another process writes this version right now.
        ForeignWrite: Somebody else wrote to the version's table.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    with writing(services, binding, key) as lease:
        finished = recover(services, key, lease)
        if isinstance(node.model.kind, View):
            return make_view(services, binding, node, lease, force=force)
        if kinds.of(node.model).is_sequential:
            left = _left(services, key, interval, finished)
            if left is None:
                return _finished(services, finished[-1])
            step = _in_turn(services, binding, node, left, services.ids.new())
            return carry_out(services, binding, node, step, lease)

        now = services.clock.now()

        def read(each: Interval, work_id: str) -> Reading:
            return read_whole(services, binding, node, each, now, work_id=work_id)

        return fill(services, binding, node, interval, lease, read=read, force=force)


def fill(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    lease: Lease,
    *,
    read: Read,
    force: bool,
) -> Evaluated:
    """Make a version hold a range: what may have changed is computed, and the rest is kept."""
    started, work_id = services.clock.now(), services.ids.new()
    key, write = binding.key(node.name), kinds.of(node.model).write
    reading = read(interval, work_id)
    whole = write(node, interval, started)
    found = look(services, binding, node, whole, reading, force=force)
    if not found.computed:
        head = head_of(services, key)
        entries = book_kept(
            services, binding, key, found.kept, reading, work_id=work_id, lease=lease
        )
        return Evaluated(
            work_id=work_id,
            key=key,
            interval=interval,
            rows=0,
            entries=entries,
            iceberg_snapshot_id=head,
            seconds=(services.clock.now() - started).total_seconds(),
            saved=Saved.by(entries),
            reason=found.reason,
            reused=True,
        )
    readings: tuple[Reading, ...] = (reading,)
    writes: tuple[Write, ...] = (whole,)
    traces = found.traces
    if found.kept:
        readings = tuple(read(each, f"{work_id}_{at}") for at, each in enumerate(found.computed))
        writes = tuple(write(node, each, started) for each in found.computed)
        traces = traces_of_parts(services, binding, node, writes, readings)
    step = Step(
        work_id=work_id,
        interval=interval,
        readings=readings,
        writes=writes,
        traces=traces,
        reuse=found,
    )
    return carry_out(services, binding, node, step, lease)


def traces_of_parts(
    services: Services,
    binding: Binding,
    node: Node,
    writes: Sequence[Write],
    readings: Sequence[Reading],
) -> dict[Interval, Trace]:
    """The traces of all that several parts write."""
    return {
        interval: trace
        for write, reading in zip(writes, readings, strict=True)
        for interval, trace in traces_of(services, binding, node, write, reading).items()
    }


def _left(
    services: Services, key: VersionKey, interval: Interval, finished: Sequence[Work]
) -> Interval | None:
    """What a sequential kind still has to evaluate after earlier work was finished; None: nothing.

    Who asks again after a crash means the interval that a recovery has just booked, and not to
    build it on itself.
    """
    held_now = held_intervals(services.state.ledger([key]).get(key, ()))
    done = merge(each for work in finished for each in work.intent.intervals)
    left = subtract([interval], common(done, held_now))
    return Interval(left[0].start, left[-1].end) if left else None


def _finished(services: Services, work: Work) -> Evaluated:
    """What a unit of work did that an earlier process staged and this one has booked."""
    assert work.publication is not None, "finished work says what it published"
    intent, publication = work.intent, work.publication
    ledger = services.state.ledger([intent.key]).get(intent.key, ())
    return Evaluated(
        work_id=intent.work_id,
        key=intent.key,
        interval=Interval(intent.intervals[0].start, intent.intervals[-1].end),
        rows=sum(change.rows.rows for change in publication.changes),
        entries=_written(ledger, publication.changes),
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        seconds=0.0,
        session=intent.session,
    )


def _in_turn(
    services: Services, binding: Binding, node: Node, interval: Interval, work_id: str
) -> Step:
    """The unit of work that makes a sequential kind hold an interval."""
    key, execution_time = binding.key(node.name), services.clock.now()
    entries = services.state.ledger([key]).get(key, ())
    found = turns(node.model, entries, interval, environment=binding.environment)
    write = kinds.of(node.model).write
    readings: list[Reading] = []
    for number, each in enumerate(found):
        readings.append(
            read_whole(
                services,
                binding,
                node,
                each.evaluated,
                execution_time,
                source_pins=readings[0].pinned if readings else None,
                work_id=f"{work_id}_{number}",
            )
        )
    return Step(
        work_id=work_id,
        interval=Interval(found[0].evaluated.start, found[-1].evaluated.end),
        readings=tuple(readings),
        writes=tuple(write(node, each.evaluated, execution_time) for each in found),
        turns=found,
        traces=turn_traces(
            services, binding, node, entries, list(zip(found, readings, strict=True))
        ),
    )


def writing(services: Services, binding: Binding, key: VersionKey) -> AbstractContextManager[Lease]:
    """Hold the lease on a version for the time of a ``with`` block; never two under one name.

    Raises:
        Conflict: Another process writes this version right now.
    """
    holder = f"a run of {binding.environment} ({services.ids.new()[:12]})"
    return held(services.state, version_resource(key), holder=holder, ttl=services.lease_ttl)


def writable(services: Services, binding: Binding, name: ModelName) -> Node:
    """A model that this environment may write.

    Raises:
        Refused: It is a source or EMBEDDED, or another environment owns its version (rule R9).
    """
    node = binding.node(name)
    if isinstance(node.model.kind, External):
        raise Refused(f"{name} is a source: others write it, so it cannot be evaluated.")
    if isinstance(node.model.kind, Embedded):
        raise Refused(
            f"{name} is EMBEDDED: it has no table, so it cannot be evaluated; evaluate the models "
            "that read it."
        )
    key = binding.key(name)
    owner = services.state.owners([key]).get(key)
    if not may_write(binding.environment, owner):
        raise Refused(
            f"{name} has the same version in {owner}, which owns it: it is evaluated there, and "
            f"{binding.environment} shows the result. Change the model to get a version of its own."
        )
    return node


def carry_out(
    services: Services, binding: Binding, node: Node, step: Step, lease: Lease
) -> Evaluated:
    """Stage, publish and book one unit of work under a lease on its version.

    Where the table's files were compacted meanwhile, it is done again on what is there (rule R4).

    Raises:
        ForeignWrite: Somebody else wrote to the version's table.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    key = binding.key(node.name)
    for left in reversed(range(_TRIES)):
        base = head_of(services, key)
        try:
            return _carry_out(services, binding, node, step, base, lease=lease)
        except TableMoved as error:
            give_up(services, key, step.work_id, reason=str(error), lease=lease)
            head_of(services, key)  # says so where it was no compaction
            if not left:
                raise
            step = replace(step, work_id=services.ids.new())
    raise AssertionError("the loop returns or raises")


_TRIES: Final = 3


def _carry_out(
    services: Services,
    binding: Binding,
    node: Node,
    step: Step,
    base: int | None,
    *,
    lease: Lease,
) -> Evaluated:
    started = services.clock.now()
    key = binding.key(node.name)
    services.state.record_intent(
        Intent(
            work_id=step.work_id,
            key=key,
            environment=binding.environment,
            intervals=(step.interval,),
            inputs={
                name: snapshot
                for reading in step.readings
                for name, snapshot in reading.pinned.items()
            },
            base=base,
            execution_time=started,
            session=step.session,
        ),
        lease=lease,
    )
    audited = audits_for(
        services,
        binding,
        node,
        interval=step.interval,
        readings=step.readings,
        execution_time=started,
    )
    beside = statements_of(
        services,
        binding,
        node,
        step.interval,
        readings=step.readings,
        execution_time=started,
        work_id=step.work_id,
    )
    algorithm = _algorithm(services, key, step)
    staging = _staging(
        node, key, step, base=base, audited=audited, beside=beside, algorithm=algorithm
    )
    try:
        staged = services.engine.stage(staging)
    except EvaluationFailed as error:
        give_up(services, key, step.work_id, reason=str(error), lease=lease)
        raise
    record_audits(services, key, step.work_id, staged.audits, lease=lease)
    written = _changes(step, staged)
    kept = step.reuse.kept if step.reuse is not None else {}
    took = (services.clock.now() - started).total_seconds()
    publication = Publication(
        iceberg_snapshot_id=staged.iceberg_snapshot_id,
        changes=(*_traced(written, step.traces, took), *keeping(kept)),
        columns=staged.columns,
        mark=step.mark,
        algorithm=algorithm,
    )
    _check_bookable(services, key, step.work_id, publication, lease=lease)
    services.state.record_staged(step.work_id, publication, lease=lease)
    services.state.renew_lease(lease, ttl=services.lease_ttl)
    publish(services, key, base, publication)
    ledger = book(services, binding.environment, key, step.work_id, publication, lease=lease)
    return Evaluated(
        work_id=step.work_id,
        key=key,
        interval=step.interval,
        rows=sum(change.rows.rows for change in written),
        entries=_at(ledger, {*kept, *(change.interval for change in written)}),
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        seconds=(services.clock.now() - started).total_seconds(),
        session=step.session,
        saved=Saved.by(list(kept.values())) if kept else None,
        reason=step.reuse.reason if step.reuse is not None else "",
    )


def _check_bookable(
    services: Services, key: VersionKey, work_id: str, publication: Publication, *, lease: Lease
) -> None:
    """Refuse before publishing what could not be booked afterwards.

    The lease is ours, so the ledger is the same when it is booked.
    """
    try:
        apply_changes(
            services.state.ledger([key]).get(key, ()),
            publication.changes,
            columns=publication.columns,
            work_id=work_id,
            iceberg_snapshot_id=publication.iceberg_snapshot_id,
            algorithm=publication.algorithm,
        )
    except LedgerMismatch as error:
        give_up(services, key, work_id, reason=str(error), lease=lease)
        raise


def _algorithm(services: Services, key: VersionKey, step: Step) -> str:
    """What rows are hashed with: as those that stay, so that the table's sum is one; else as asked.

    A version therefore changes its algorithm when all of its rows are replaced.
    """
    if step.anew or any(isinstance(write, ReplaceTable) for write in step.writes):
        return services.algorithm
    entries = services.state.ledger([key]).get(key, ())
    known = [each.algorithm for each in entries if each.algorithm in ALGORITHMS]
    return known[-1] if known else services.algorithm


def _staging(
    node: Node,
    key: VersionKey,
    step: Step,
    *,
    base: int | None,
    audited: Audited,
    beside: Beside,
    algorithm: str,
) -> Staging:
    return Staging(
        work_id=step.work_id,
        target=key,
        base=base,
        parts=tuple(
            Part(rows=reading.rows, inputs=reading.inputs, write=write)
            for reading, write in zip(step.readings, step.writes, strict=True)
        ),
        columns=node.model.columns,
        descriptions={
            column.name: column.description for column in node.columns if column.description
        },
        anew=step.anew,
        storage=storage_of(node),
        comment=node.model.description,
        audits=audited.audits,
        audit_inputs=audited.inputs,
        algorithm=algorithm,
        returned=frozenset(column.name.lower() for column in node.columns),
        before=beside.before,
        after=beside.after,
        beside=beside.inputs,
        own_name=beside.own_name,
        path=str(node.model.source.path),
    )


def _changes(step: Step, staged: Staged) -> tuple[LedgerChange, ...]:
    """What the staged parts do to the ledger. Two parts may add to one interval; both count."""
    if step.turns:
        return _turns_changes(step, staged)
    changes: list[LedgerChange] = []
    for write, sums in zip(step.writes, staged.sums, strict=True):
        operation = _operation(write)
        changes += [
            LedgerChange(
                operation=operation,
                interval=interval,
                rows=rows,
                standing=step.standing,
                reason=step.reason,
            )
            for interval, rows in sorted(sums.items())
            if operation is not LedgerOperation.ADD or rows.rows
        ]
    return tuple(changes)


def _traced(
    changes: Sequence[LedgerChange], traces: Mapping[Interval, Trace], seconds: float
) -> list[LedgerChange]:
    """Changes with what their rows were computed from, each with its share of the time."""
    share = seconds / max(len(changes), 1)
    return [
        replace(each, trace=replace(traces[each.interval], seconds=share))
        if each.interval in traces
        else each
        for each in changes
    ]


def _turns_changes(step: Step, staged: Staged) -> tuple[LedgerChange, ...]:
    """By what each turn changed the table's sum, booked where the turn says."""
    return tuple(
        LedgerChange(operation=turn.operation, interval=turn.booked, rows=total(sums.values()))
        for turn, sums in zip(step.turns, staged.sums, strict=True)
    )


def _operation(write: Write) -> LedgerOperation:
    """How a write that stands by itself meets the ledger."""
    match write:
        case ReplaceTable():
            return LedgerOperation.REPLACE_ALL
        case AppendToIntervals():
            return LedgerOperation.ADD
        case _:
            return LedgerOperation.REPLACE


def _written(
    ledger: Sequence[LedgerEntry], changes: Sequence[LedgerChange]
) -> tuple[LedgerEntry, ...]:
    return _at(ledger, {change.interval for change in changes})


def _at(ledger: Sequence[LedgerEntry], intervals: Container[Interval]) -> tuple[LedgerEntry, ...]:
    return tuple(entry for entry in ledger if entry.interval in intervals)
