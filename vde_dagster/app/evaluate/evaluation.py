"""Evaluating a model: what it reads, what need not be computed, and one unit of work for the rest.

It writes one version under its lease. Before anything new is started, the unfinished work of an
earlier process is finished or undone, from the state and the catalog's metadata alone (rule R5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import sequential_batches
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.parent_ledgers import read_ledgers
from vde_dagster.app.evaluate.physical_views import make_view
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, read_parts, read_whole
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.reuse import (
    keeping,
    look,
    record_kept,
    sequential_traces,
    traces_of,
)
from vde_dagster.app.evaluate.savings import saved_by
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.publish.foreign_writes import head_of
from vde_dagster.app.recover.recovery import recover
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import (
    LedgerOperation,
    Trace,
    entries_of,
    touched,
)
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.traces import evaluated_parts
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.model.writes import KeepHistory, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.bounds import reads_bounded
from vde_dagster.core.sql.reads.input_ranges import WHOLE
from vde_dagster.core.time.intervals import Interval, common, merge, subtract
from vde_dagster.ports.state import Lease, version_resource

Read = Callable[[Interval, str], PinnedReading]
"""What evaluating an interval reads; the text makes the names of inputs unique."""


def evaluate(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval,
    *,
    force: bool = False,
) -> Evaluated:
    """Load one contiguous range of a model, and publish it.

    Intervals whose result would be the same are kept, unless ``force`` (rule R2). Models with late
    data are loaded by `vde_dagster.app.catch_up.sessions.load`.

    Raises:
        Refused: The model is a source, another environment owns its version, or a parent has not
            loaded what is read.
        Conflict: Another process writes this version right now.
        ForeignWrite: Another program wrote to the version's table.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    with recovering(services, binding, key) as (lease, finished):
        if node.model.kind.is_view:
            return make_view(services, binding, node, lease, force=force)
        if node.model.kind.is_sequential:
            if node.model.kind.keeps_history:
                services = _after_last(services, key)
            left = _left(services, key, interval, finished)
            if left is None:
                return _finished(services, finished[-1])
            prepared = _sequential(services, binding, node, left, services.ids.new())
            return run_unit_of_work(services, binding, node, prepared, lease)

        now = services.execution_time

        def read(each: Interval, work_id: str) -> PinnedReading:
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
    """Load a range of a version: what may have changed is computed, and the rest is kept.

    It is computed in batches of the model's size, in one commit.
    """
    started, work_id = services.clock.now(), services.ids.new()
    key, write = binding.key(node.name), node.write
    reading = read(interval, work_id)
    whole = write(interval, services.execution_time)
    found = look(services, binding, node, whole, reading, force=force)
    if not found.computed:
        head = head_of(services, key)
        entries = record_kept(
            services, binding, key, found.kept, reading, work_id=work_id, lease=lease
        )
        return Evaluated(
            work_id=work_id if keeping(found.kept) else entries[-1].work_id,
            key=key,
            interval=interval,
            entries=entries,
            iceberg_snapshot_id=head,
            seconds=(services.clock.now() - started).total_seconds(),
            saved=saved_by(node, entries),
            reason=found.reason,
            reused=True,
        )
    readings: tuple[PinnedReading, ...] = (reading,)
    writes: tuple[Write, ...] = (whole,)
    traces = found.traces
    parts = evaluated_parts(binding.graph, node, found.computed)
    if found.kept or len(parts) > 1:
        readings = tuple(read(each, f"{work_id}_{at}") for at, each in enumerate(parts))
        writes = tuple(write(each, services.execution_time) for each in parts)
        traces = traces_of_parts(services, binding, node, writes, readings)
    prepared = PreparedUnit(
        work_id=work_id,
        interval=interval,
        readings=readings,
        writes=writes,
        traces=traces,
        reuse=found,
    )
    return run_unit_of_work(services, binding, node, prepared, lease)


def traces_of_parts(
    services: Services,
    binding: Binding,
    node: Node,
    writes: Sequence[Write],
    readings: Sequence[PinnedReading],
) -> dict[Interval, Trace]:
    """The traces of all that several parts write."""
    return {
        interval: trace
        for write, reading in zip(writes, readings, strict=True)
        for interval, trace in traces_of(services, binding, node, write, reading).items()
    }


def _left(
    services: Services, key: VersionKey, interval: Interval, finished: Sequence[UnitOfWork]
) -> Interval | None:
    """What a sequential kind still has to evaluate once earlier work was finished; None: nothing.

    A request repeated after a crash names the interval that the recovery has just recorded; it must
    not be built on itself.
    """
    loaded_now = services.state.holdings([key]).get(key, NOTHING).computed
    done = merge(each for work in finished for each in work.intent.intervals)
    left = subtract([interval], common(done, loaded_now))
    return Interval(left[0].start, left[-1].end) if left else None


def _finished(services: Services, work: UnitOfWork) -> Evaluated:
    """The report of a unit of work that an earlier process staged and this one has recorded."""
    assert work.publication is not None, "finished work says what it published"
    intent, publication = work.intent, work.publication
    ledger = services.state.entries_within(intent.key, touched(publication.changes))
    return Evaluated(
        work_id=intent.work_id,
        key=intent.key,
        interval=Interval(intent.intervals[0].start, intent.intervals[-1].end),
        rows=sum(change.rows.rows for change in publication.changes),
        entries=entries_of(ledger, publication.changes),
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        session=intent.session,
    )


def _after_last(services: Services, key: VersionKey) -> Services:
    """The services with a moment at which a history may change.

    What was asked for earlier than the work before, and is done later, is of the time at which that
    work began: else rows would end before they began.
    """
    newest = next(iter(services.state.newest_computed(key, limit=1)), None)
    work = services.state.work(newest.work_id) if newest is not None else None
    asked_at = services.execution_time
    if work is None or work.intent.execution_time <= asked_at:
        return services
    return replace(services, asked_at=max(work.started_at, work.intent.execution_time))


def _sequential(
    services: Services, binding: Binding, node: Node, interval: Interval, work_id: str
) -> PreparedUnit:
    """The unit of work that loads an interval of a sequential kind."""
    key, execution_time = binding.key(node.name), services.execution_time
    holding = services.state.holdings([key]).get(key, NOTHING)
    there = services.state.entries_within(key, (interval,))
    found = sequential_batches(
        node.model,
        holding,
        interval,
        environment=binding.environment,
        recorded=[each.interval for each in there],
    )
    evaluated = [each.evaluated for each in found]
    read = reads_of(binding.graph, node.name).at(evaluated[0])
    ledgers = read_ledgers(services, binding, dict.fromkeys(read, WHOLE))
    readings = read_parts(services, binding, node, evaluated, ledgers, work_id=work_id)
    return PreparedUnit(
        work_id=work_id,
        interval=Interval(evaluated[0].start, evaluated[-1].end),
        readings=readings,
        writes=_histories(
            services,
            binding.snapshots[node.name],
            [node.write(each, execution_time) for each in evaluated],
            is_first=not holding.recorded or found[0].operation is LedgerOperation.REPLACE_ALL,
        ),
        batches=found,
        traces={
            interval: trace
            for interval, trace in sequential_traces(
                services, binding, node, list(zip(found, readings, strict=True))
            ).items()
            if found[0].operation is not LedgerOperation.CHANGE
        },
    )


def _histories(
    services: Services, snapshot: ModelSnapshot, writes: Sequence[Write], *, is_first: bool
) -> tuple[Write, ...]:
    """The writes, with what only the state knows added to those of an SCD Type 2 kind.

    That is whether the first of them is the version's first load, and whether there may be keys
    without an open row: an earlier definition of the model may have closed some, if an edit kept
    its version.
    """
    if not any(isinstance(each, KeepHistory) for each in writes):
        return tuple(writes)
    key = snapshot.key
    gaps = snapshot.holds_others or key in services.state.drifted([key])
    return tuple(
        replace(
            each,
            history=replace(each.history, once_closed_missing=gaps),
            is_first=is_first and not number,
        )
        if isinstance(each, KeepHistory)
        else each
        for number, each in enumerate(writes)
    )


def writing(services: Services, binding: Binding, key: VersionKey) -> AbstractContextManager[Lease]:
    """Hold the lease on a version for a ``with`` block; each call has a holder name of its own.

    Raises:
        Conflict: Another process writes this version right now.
    """
    return services.lease(version_resource(key), f"a run of {binding.environment}")


@contextmanager
def recovering(
    services: Services, binding: Binding, key: VersionKey
) -> Iterator[tuple[Lease, tuple[UnitOfWork, ...]]]:
    """`writing`, once what an earlier process began is finished or undone (rule R5).

    With the lease comes what was finished.
    """
    with writing(services, binding, key) as lease:
        yield lease, recover(services, key, lease)


def writable(services: Services, binding: Binding, name: ModelName) -> Node:
    """A model that this environment may evaluate now.

    Raises:
        Refused: It is a source or EMBEDDED, another environment owns its version (rule R9), a
            person has paused it, or it would be computed from what is bounded.
    """
    node = owned(services, binding, name)
    if reads_bounded(binding.graph, binding.snapshots, node):
        raise Refused(
            f"{name} reads a table that starts later than its model in {binding.environment} and "
            "is never promoted. Nothing was computed",
            advice=f"`vde plan {binding.environment}` gives it a separate table.",
        )
    pause = services.state.pauses(binding.environment).get(name)
    if pause is not None:
        raise Refused(
            f"{name} is {pause}. It is not evaluated in {binding.environment} until it is resumed",
            advice=f"`{pause.resume}`.",
        )
    return node


def owned(services: Services, binding: Binding, name: ModelName) -> Node:
    """A model whose version this environment may write, paused or not.

    Raises:
        Refused: It is a source or EMBEDDED, or another environment owns its version (rule R9).
    """
    node = binding.node(name)
    if node.model.kind.is_source:
        raise Refused(f"{name} is a source, written by other programs, so it cannot be evaluated.")
    if node.model.kind.is_embedded:
        raise Refused(
            f"{name} is EMBEDDED: it has no table, so it cannot be evaluated",
            advice="evaluate the models that read it.",
        )
    key = binding.key(name)
    owner = services.state.owners([key]).get(key)
    if not may_write(binding.environment, owner):
        raise Refused(
            f"{name} has the same version in {owner}, which owns it: it is evaluated there, and "
            f"{binding.environment} shows the result",
            advice="Change the model to get a separate version.",
        )
    return node
