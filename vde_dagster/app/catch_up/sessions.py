"""Catch-up sessions: how new rows reach a version with late data (seed 003; rules R7 and R8).

Detecting reads only Iceberg metadata and the state, so a sensor may call it often. Loading decides
again under the version's lease, so what two sensor ticks ask for is loaded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect, late_models, loaded_late
from vde_dagster.app.catch_up.session_units import added_rows, appended_rows, run_stateful
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import (
    evaluate,
    fill,
    recovering,
    traces_of_parts,
    writable,
    writing,
)
from vde_dagster.app.evaluate.pinned_reading import (
    PinnedReading,
    read_whole,
    rendered,
)
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import SchemaOutgrown
from vde_dagster.core.ledger.late.deciding import without_adding
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop, reloading
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.stateless import added_ranges
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, WaitingRows
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import AppendToIntervals, OverwriteIntervals, TimeAxisSpec, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EVER, Interval, common, meets, merge, subtract
from vde_dagster.ports.state import Lease


def catch_up(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    reload: bool = False,
    within: Interval | None = None,
    asked: Interval | None = None,
    waiting: WaitingRows | None = None,
) -> Evaluated | NothingToLoad:
    """Run one session: everything that is due and everything late, in one commit.

    If rows of the source that were loaded may have changed, all loaded intervals are overwritten,
    provided that the model's policy says so and no interval loses all of its rows (rules R7 and
    R8). With ``reload`` everything that is due is loaded again, and rows that the source no longer
    has are missing. With ``within`` no interval outside of this time is started. Intervals that
    signals hold back are not started either, unless ``asked`` for. Intervals that would lose all of
    their rows are added to those that are ``waiting``, where a caller has some, if the rest was
    loaded. The caller lists them, once for all (`listing.late_data_listed`).

    Raises:
        RowsWouldGo: Some intervals would lose all of their rows; if the rest goes on, it is done.
        Refused: What happened to the source cannot be loaded by appending; nothing was written.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    node = writable(services, binding, name)
    refused = WaitingRows() if waiting is None else waiting
    services = replace(services, asked_at=services.execution_time)
    done = _caught_up(services, binding, node, refused, reload=reload, within=within, asked=asked)
    if waiting is None:
        refused.check()
    return done


def _caught_up(
    services: Services,
    binding: Binding,
    node: Node,
    waiting: WaitingRows,
    *,
    reload: bool,
    within: Interval | None,
    asked: Interval | None,
) -> Evaluated | NothingToLoad:
    name = node.name
    key = binding.key(name)
    with recovering(services, binding, key) as (lease, _):
        decision = detect(services, binding, name, reload=reload, within=within, asked=asked)
        match decision:
            case NothingToLoad():
                _record_detected(services, key, decision, lease)
                return decision
            case Stop(reason=reason, advice=advice):
                raise Refused(f"{name} was not loaded: {reason}.", advice=advice)
            case Load():
                if reload:  # a person said that rows which the sources have not any more may go
                    binding = replace(binding, may_empty={**binding.may_empty, name: (EVER,)})
                if node.model.stateful is None:
                    return _loaded(services, binding, node, decision, lease)
                return _all_but_what_waits(
                    services, binding, node, decision, lease, waiting=waiting
                )


def _all_but_what_waits(
    services: Services,
    binding: Binding,
    node: Node,
    decision: Load,
    lease: Lease,
    *,
    waiting: WaitingRows,
) -> Evaluated:
    """Run a stateful session, and what would lose all of its rows last: that is refused alone.

    The marks move beyond it, but its traces say that it is late until it is loaded.
    """
    try:
        return run_stateful(services, binding, node, decision.fill, lease, session=decision)
    except RowsWouldGo as refused:
        rest = subtract(decision.fill, refused.intervals)
        if not (refused.rest_goes_on and rest):
            raise
        session = replace(decision, fill=rest, late=subtract(decision.late, refused.intervals))
        done = run_stateful(services, binding, node, rest, lease, session=session)
        with waiting.noted():
            run_stateful(services, binding, node, refused.intervals, lease)
        return done


def note_detected(services: Services, binding: Binding) -> None:
    """Record what was found of which nothing is loaded, unless another process writes the version.

    The writer records it, or else the next look does.
    """
    names = late_models(binding)
    owners = services.state.owners(binding.key(name) for name in names)
    pauses = services.state.pauses(binding.environment) if names else {}
    seen = Seen.above(services, binding, names)
    for name in names:
        key = binding.key(name)
        if name in pauses or not may_write(binding.environment, owners.get(key)):
            continue
        decision = detect(services, binding, name, seen=seen)
        if not (isinstance(decision, NothingToLoad) and _is_news(services, key, decision)):
            continue
        with suppress(Conflict), writing(services, binding, key) as lease:
            now = detect(services, binding, name)
            if isinstance(now, NothingToLoad):
                _record_detected(services, key, now, lease)


def _record_detected(
    services: Services, key: VersionKey, decision: NothingToLoad, lease: Lease
) -> None:
    """Move the marks beyond changes of which nothing is loaded, so that they need no history."""
    if _is_news(services, key, decision):
        marks = [each.after for each in decision.sources]
        services.state.record_detected(key, marks, decision.pending, lease=lease)


def _is_news(services: Services, key: VersionKey, decision: NothingToLoad) -> bool:
    known = services.state.pending([key]).get(key, ())
    return decision.has_moved or decision.pending != known


def load(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval,
    *,
    waiting: WaitingRows,
    within: Interval | None = None,
    force: bool = False,
) -> Iterator[Evaluated]:
    """Load an interval of a model with late data, and evaluate its loaded part again.

    The loaded part of a stateless version is overwritten as of the high-water mark (rule R8), that
    of a stateful one from its sources as they are; a table without times is only appended to. The
    rest is loaded by a session, which also loads all else that is due, inside ``within`` if that is
    given, and all that is late. Intervals
    whose result would be the same are kept, unless ``force`` (rule R2). What waits for a person is
    left out, and added to what is ``waiting``.

    Raises:
        RowsWouldGo: Intervals would lose all of their rows, and the rest cannot go on without them.
        Refused: The source is not complete for the interval, or what is loaded has no mark.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    loaded_before = loaded_late(services, key)
    loaded: Evaluated | NothingToLoad | None = None
    overwrites = node.time_axis is not None
    by_session = node.model.stateful is not None or not overwrites
    if subtract([interval], loaded_before) or by_session:
        with waiting.noted():
            loaded = catch_up(
                services, binding, name, within=within, asked=interval, waiting=waiting
            )
        if isinstance(loaded, Evaluated):
            yield loaded
        still = subtract([interval], loaded_late(services, key))
        if still:
            raise _not_loaded(node, still, loaded_late(services, key))
    if not overwrites:
        if not isinstance(loaded, Evaluated):
            raise _appended_before(node, binding.environment, interval)
        return
    session = loaded.session if isinstance(loaded, Evaluated) else None
    filled = (*(session.fill if session is not None else ()), *waiting.intervals)
    for part in subtract(common(loaded_before, [interval]), filled):
        yield from waiting.rest_of(
            part, lambda each: (_again(services, binding, node, each, force=force),)
        )


def _not_loaded(node: Node, still: Sequence[Interval], loaded: Sequence[Interval]) -> Refused:
    """Why a session could not load some intervals that a person asked for."""
    which = f"{', '.join(map(str, still))} of {node.name} cannot be loaded"
    if node.model.reads_itself:
        before = node.model.unit.shifted(still[0].start, -1)
        first = node.model.unit.ceil(node.model.start)
        if before >= first and not meets(loaded, Interval(before, still[0].start)):
            return Refused(
                f"{which}: it reads its own rows of the previous interval, which is not loaded",
                advice=f"Load {Interval(before, still[0].start)} first.",
            )
    return Refused(
        f"{which}: its sources are not complete up to that time yet",
        advice="Load the sources first.",
    )


def _appended_before(node: Node, environment: str, interval: Interval) -> Refused:
    """Why an interval is not loaded again whose rows cannot be told from others."""
    return Refused(
        f"{node.name} has already loaded {interval}, and its source has no new rows. Nothing was "
        "written",
        advice=f"{reloading(node.name, environment)} rebuilds the whole table from its source.",
    )


def _again(
    services: Services, binding: Binding, node: Node, interval: Interval, *, force: bool
) -> Evaluated:
    if node.model.reads_itself:
        key = binding.key(node.name)
        with recovering(services, binding, key) as (lease, _):
            return run_stateful(services, binding, node, [interval], lease)
    if node.model.stateful is not None:
        return evaluate(services, binding, node.name, interval, force=force)
    return _overwrite_as_of_mark(services, binding, node, interval, force=force)


def _overwrite_as_of_mark(
    services: Services, binding: Binding, node: Node, interval: Interval, *, force: bool
) -> Evaluated:
    key = binding.key(node.name)
    with recovering(services, binding, key) as (lease, _):
        decision = detect(services, binding, node.name)
        if isinstance(decision, NothingToLoad):  # what it would leave pending is read here, too
            _record_detected(services, key, decision, lease)
        mark = services.state.marks(key).get(_source(node))
        if mark is None:
            raise Refused(
                f"{interval} of {node.name} was not loaded: it has rows that no session loaded, "
                "so no source state is recorded from which to overwrite them.",
                advice=f"{reloading(node.name, binding.environment)} reloads all of it from the "
                "source as it is now.",
            )

        def read(each: Interval, work_id: str) -> PinnedReading:
            return _fill(services, binding, node, each, mark=mark, work_id=work_id)

        return fill(services, binding, node, interval, lease, read=read, force=force)


def _loaded(
    services: Services, binding: Binding, node: Node, decision: Load, lease: Lease
) -> Evaluated:
    """Run a session. Intervals with rows of earlier columns that get late rows are rebuilt.

    These intervals are known once the new rows are staged, so no other interval of a forward-only
    model is touched.
    """
    try:
        prepared = _session(services, binding, node, decision)
        return run_unit_of_work(services, binding, node, prepared, lease)
    except SchemaOutgrown as error:
        decision = without_adding(decision, error.intervals)
        prepared = _session(services, binding, node, decision)
        return run_unit_of_work(services, binding, node, prepared, lease)


def _session(services: Services, binding: Binding, node: Node, decision: Load) -> PreparedUnit:
    """One session: late rows into loaded intervals, then due intervals as of the new mark."""
    if node.time_axis is None:
        return appended_rows(services, binding, node, decision)
    work_id = services.ids.new()
    axis = _axis(node)
    readings: list[PinnedReading] = []
    writes: list[Write] = []
    for interval in added_ranges(decision):
        query = rendered(binding, node, interval, services.execution_time)
        readings.append(added_rows(query, decision, work_id))
        writes.append(
            AppendToIntervals(
                intervals=(interval,),
                axis=axis,
                source_rows=sum(each.rows for each in decision.only.evidence),
            )
        )
    for interval in decision.fill:
        readings.append(
            _fill(services, binding, node, interval, mark=decision.only.after, work_id=work_id)
        )
        writes.append(OverwriteIntervals(intervals=(interval,), axis=axis))
    traces = traces_of_parts(services, binding, node, writes, readings)
    touched = merge([*decision.fill, *added_ranges(decision)])
    return PreparedUnit(
        work_id=work_id,
        interval=Interval(touched[0].start, touched[-1].end),
        readings=tuple(readings),
        writes=tuple(writes),
        session=decision,
        traces=traces,
    )


def _fill(
    services: Services,
    binding: Binding,
    node: Node,
    interval: Interval,
    *,
    mark: HighWaterMark,
    work_id: str,
) -> PinnedReading:
    return read_whole(
        services,
        binding,
        node,
        interval,
        services.execution_time,
        source_pins={mark.source: mark.iceberg_snapshot_id},
        work_id=work_id,
    )


def _source(node: Node) -> ModelName:
    assert node.model.stateless is not None, f"{node.name} has late data"
    return node.model.stateless.sources[0]


def _axis(node: Node) -> TimeAxisSpec:
    axis = node.time_axis
    assert axis is not None, f"{node.name} has a time column: its file was refused otherwise"
    return axis
