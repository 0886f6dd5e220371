"""Rule R15: what is stale in versions that come back to an environment, and what is done about it.

A version comes back if it is loaded already and the environment shows another one, or none: by a
revert, by the promotion of what another environment filled, or by a rollback. Its inputs now are
compared with those that it was computed from, before any view moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import staying
from vde_dagster.app.staleness.upstream_changes import computed_first, kept_readers, reading_again
from vde_dagster.app.staleness.version_behind import FORBIDDEN, UNCOVERED, Planned, listed, look_at
from vde_dagster.core.ledger.late.decision import Load, Stop
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Behind, Staleness, Workload
from vde_dagster.core.planning.restatement import Restatement, both, read_again
from vde_dagster.core.planning.workload import left_out_by, within_bounds
from vde_dagster.core.time.intervals import Interval, common, merge, subtract


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """What a plan does about versions that come back.

    ``restated`` are the ranges of these versions, and of all that reads them, that are evaluated
    before views move; ``found`` says why, by model.
    """

    restated: Restatement = field(default_factory=lambda: Restatement(ranges={}))
    found: Mapping[ModelName, Behind] = field(default_factory=dict)


def lag_of(
    services: Services,
    planned: Planned,
    options: PlanOptions,
    late: Mapping[ModelName, tuple[Interval, ...]],
) -> Lag:
    """What is stale in the versions that come back, and what is done about it.

    ``late`` are the stale times that the plan evaluates in versions that stay. Reads the state and
    the catalog's metadata; of the latter only about inputs that have changed.
    """
    stopped = dict(_stopped_sessions(services, planned))
    if left_out_by(options):
        stopped = {name: replace(each, session=False) for name, each in stopped.items()}
    lag = with_lag(
        _returning(services, planned, options), _kept_readers(services, planned, options, late)
    )
    return replace(lag, found={**stopped, **lag.found})


def with_lag(one: Lag, other: Lag) -> Lag:
    """What is done for two reasons; a model that is stale for both is reported with the first."""
    found = {
        name: replace(
            first,
            intervals=merge((*first.intervals, *second.intervals)),
            lost=merge((*first.lost, *second.lost)),
            why_lost=first.why_lost or second.why_lost,
        )
        if (first := one.found.get(name)) is not None
        else second
        for name, second in other.found.items()
    }
    return Lag(restated=both(one.restated, other.restated), found={**one.found, **found})


def downstream(
    services: Services,
    planned: Planned,
    work: Mapping[ModelName, Workload],
    follows: Mapping[ModelName, Staleness],
) -> Lag:
    """What versions that come back read of what a plan evaluates, be that stale, late or due.

    It is evaluated again. What cannot be is lost if the version that is shown was computed from it.

    Args:
        services: The ports.
        planned: The plan's models.
        work: What is evaluated in any case.
        follows: The outcome of `followed`.
    """
    comes_back = {each.name for each in planned.returning} & follows.keys()
    if not comes_back:
        return Lag()
    before = planned.before
    shown = InputStates(services=services, graph=before.graph, snapshots=before.snapshots)
    evaluated = {
        name: merge((*each.missing, *each.restated, *_intervals(follows.get(name))))
        for name, each in work.items()
    }
    found: dict[ModelName, Behind] = {}
    for name in comes_back:
        each = follows[name]
        lost = tuple(_seen_by_shown(planned, shown, name, each, evaluated))
        behind = merge((*each.intervals, *lost))
        why = each.why_kept if lost else ""
        if behind:
            found[name] = Behind(intervals=behind, reason=each.reason, lost=lost, why_lost=why)
    ranges = {name: follows[name].intervals for name in found if follows[name].intervals}
    return Lag(restated=Restatement(ranges=ranges), found=found)


def _intervals(found: Staleness | None) -> tuple[Interval, ...]:
    return found.intervals if found is not None else ()


def _seen_by_shown(
    planned: Planned,
    shown: InputStates,
    name: ModelName,
    found: Staleness,
    evaluated: Mapping[ModelName, tuple[Interval, ...]],
) -> Iterator[Interval]:
    """The times that are kept, and that the shown version computed from what is evaluated now.

    A table that stays has no such rows yet. Of one that is not shown nothing is known, so that all
    of it may have been read.
    """
    others = [each for each in found.inputs if not _stays(planned, each)]
    for entry in planned.shown(name) if others and found.kept else ():
        kept = common(found.kept, [entry.interval])
        if kept and entry.rows.rows:
            work = shown.work(entry, planned.shown(name))
            if work is None or any(
                _was_there(planned, shown, parent, evaluated[parent], work.started_at)
                for parent in others
            ):
                yield from kept


def _was_there(
    planned: Planned,
    shown: InputStates,
    parent: ModelName,
    times: Sequence[Interval],
    at: datetime,
) -> bool:
    """Whether the shown version of a model may have had rows of some times by then."""
    if parent not in shown.snapshots:
        return True
    there = [each for each in planned.shown(parent) if common([each.interval], times)]
    works = [shown.work(each, there) for each in there]
    return any(e is None or e.finished_at is None or e.finished_at <= at for e in works)


def _stays(planned: Planned, name: ModelName) -> bool:
    before = planned.own.snapshots.get(name) if planned.own is not None else None
    return before is not None and before.key == planned.snapshots[name].key


def _returning(services: Services, planned: Planned, options: PlanOptions) -> Lag:
    """What is stale in the versions that come back."""
    returning = list(planned.returning)
    if not returning:
        return Lag()
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    looks = [look_at(services, planned, states, node) for node in returning]
    found = {each.node.name: what for each in looks if (what := each.found()) is not None}
    names = {each.name for each in returning}
    first = computed_first(services, planned, states, names)
    return _carried_on(planned, found, names, options, first=first)


def _kept_readers(
    services: Services,
    planned: Planned,
    options: PlanOptions,
    late: Mapping[ModelName, tuple[Interval, ...]],
) -> Lag:
    """What is stale in the versions that stay, compared with the tables that they will read.

    What is not computed again is reported, and no loss: the table that is shown stays as it is.
    """
    readers = kept_readers(services, planned, late)
    spread = readers.again
    left_out = left_out_by(options)
    if left_out:
        spread = replace(spread, ranges={}, kept=(*spread.ranges, *spread.kept))
    ranges = _within_bounds(planned, spread, options)
    found: dict[ModelName, Behind] = {}
    for name in dict.fromkeys((*spread.ranges, *readers.spoiled, *spread.kept)):
        reason = _reads_such(planned, name, readers.changed)
        if name in readers.spoiled:
            kept = ", ".join(map(str, readers.spoiled[name]))
            reason = f"{reason}. It keeps its rows of {kept}: {UNCOVERED}"
            found[name] = Behind(intervals=ranges.get(name, ()), reason=reason)
        elif name in ranges:
            found[name] = Behind(intervals=ranges[name], reason=reason)
        else:
            beyond = "--start and --end leave it out" if name in spread.ranges else FORBIDDEN
            found[name] = Behind(reason=f"{reason}. It keeps its rows: {left_out or beyond}")
    return Lag(restated=replace(spread, ranges=ranges), found=found)


def _within_bounds(
    planned: Planned, spread: Restatement, options: PlanOptions
) -> dict[ModelName, tuple[Interval, ...]]:
    return {
        name: left
        for name, each in spread.ranges.items()
        if (left := within_bounds(planned.graph[name].model, each, planned.environment, options))
    }


def _stopped_sessions(services: Services, planned: Planned) -> Iterator[tuple[ModelName, Behind]]:
    """The models whose last session did not end and that still have something to load.

    Those that stay as they are shown are reported with all that is late (rule R14).
    """
    names = planned.holdings.writes - staying(planned)
    for node in planned.graph:
        if node.model.stateless is None or node.name not in names:
            continue
        last = services.state.sessions(planned.snapshots[node.name].key, limit=1)
        if last and last[0].state is not UnitOfWorkState.DONE:
            decision = detect(services, planned.binding, node.name)
            loaded = merge(planned.holdings.recorded[node.name])
            if isinstance(decision, Load) and decision.why_again and loaded:
                reason = "a session that loads late rows was stopped"
                yield node.name, Behind(intervals=loaded, reason=reason, session=True)
            elif isinstance(decision, Stop):
                reason = f"no session can load late rows: {decision.reason}. {decision.advice}"
                yield node.name, Behind(reason=reason)


def _carried_on(
    planned: Planned,
    found: Mapping[ModelName, Behind],
    returning: Iterable[ModelName],
    options: PlanOptions,
    *,
    first: Mapping[ModelName, tuple[Interval, ...]],
) -> Lag:
    """What is stale, with what reads it, as far as the options let it be evaluated.

    A version that stays counts as fresh against a table that replaces another one where that other
    one is (rule R10); where it is not, see `_kept_readers`. ``first`` are times at which other
    models get other rows by the plan.
    """
    left_out = left_out_by(options)
    if left_out:
        return Lag(found={name: _lost(each, left_out) for name, each in found.items()})
    stays = staying(planned)
    loaded = {name: each for name, each in planned.holdings.recorded.items() if name not in stays}
    caught_up = {name: each.intervals for name, each in found.items() if each.session}
    wanted = {
        name: left
        for name, each in found.items()
        if not each.session and (left := subtract(each.intervals, each.lost))
    }
    for name in returning:
        lost = found[name].lost if name in found else ()
        times = subtract(reading_again(planned, name, first), lost)
        if times:
            wanted[name] = merge((*wanted.get(name, ()), *times))
    earlier = {**first, **found}
    spread = read_again(
        planned.graph,
        wanted,
        loaded,
        whole=lambda model: model.kind.restates_whole,
        writes=planned.holdings.writes,
        changed=caught_up,
        roots=caught_up.keys(),
    )
    ranges = _within_bounds(planned, spread, options)
    found_now = {
        name: each if each.session else _beyond_bounds(each, ranges.get(name, ()))
        for name, each in found.items()
    }
    for name in set(returning) - found.keys():
        if name in ranges:
            found_now[name] = Behind(
                intervals=ranges[name], reason=_reads_such(planned, name, earlier)
            )
        elif name in spread.kept:
            lost = merge(loaded[name])
            found_now[name] = Behind(
                intervals=lost,
                reason=_reads_such(planned, name, earlier),
                lost=lost,
                why_lost=FORBIDDEN,
            )
    return Lag(restated=replace(spread, ranges=ranges), found=found_now)


def _lost(found: Behind, why: str) -> Behind:
    return replace(found, lost=found.intervals, why_lost=why, session=False)


def _beyond_bounds(found: Behind, computed: Sequence[Interval]) -> Behind:
    """What is stale, with the part that the plan's start and end leave out."""
    left = subtract(found.intervals, (*found.lost, *computed))
    if not left:
        return found
    lost = merge((*found.lost, *left))
    return replace(found, lost=lost, why_lost=found.why_lost or "--start and --end leave it out")


def _reads_such(planned: Planned, name: ModelName, found: Iterable[ModelName]) -> str:
    parents = planned.graph[name].model.parents
    upstream = {each.name for each in planned.graph.upstream(parents)}
    behind = listed(each for each in found if each in upstream)
    return f"it is downstream of {behind}: computed after that, where it reads other rows"
