"""Rule R15: staleness of versions that return to an environment, and what is done about it.

A version comes back if it is loaded already and the environment shows another one, or none: by a
revert, by the promotion of what another environment filled, or by a rollback. Its inputs now are
compared with those that it was computed from, before any view moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.kept_readers import kept_readers
from vde_dagster.app.staleness.late_upstream import ComingBack
from vde_dagster.app.staleness.upstream_changes import computed_first
from vde_dagster.app.staleness.version_behind import FORBIDDEN, UNCOVERED, Planned, listed, look_at
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Behind, Staleness, Workload
from vde_dagster.core.planning.restatement import Restatement, both
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


def coming_back(services: Services, planned: Planned) -> ComingBack:
    """What is known of the versions that come back.

    Reads the state and the catalog's metadata; of the latter only about inputs that have changed.
    """
    returning = list(planned.returning)
    if not returning:
        return ComingBack()
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    looks = [look_at(services, planned, states, node) for node in returning]
    names = {each.name for each in returning}
    return ComingBack(
        stale={each.node.name: found for each in looks if (found := each.found()) is not None},
        first=computed_first(services, planned, states, names),
    )


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
    *,
    back: ComingBack,
) -> Lag:
    """Staleness of versions that return, and what they read of what a plan evaluates.

    It is evaluated again. What cannot be is lost if it is stale by itself, or if the version that
    is shown was computed from what the plan evaluates.

    Args:
        services: The ports.
        planned: The plan's models.
        work: What is evaluated in any case.
        follows: The outcome of `followed`.
        back: What is known of versions that come back.
    """
    comes_back = {each.name for each in planned.returning} & follows.keys()
    if not comes_back:
        return Lag()
    before = planned.before
    shown = InputStates(services=services, graph=before.graph, snapshots=before.snapshots)
    evaluated = {
        name: merge(
            (
                *each.missing,
                *each.restated,
                *(follows[name].intervals if name in follows else ()),
                *back.first.get(name, ()),
            )
        )
        for name, each in work.items()
    }
    found: dict[ModelName, Behind] = {}
    for name in comes_back:
        each = follows[name]
        own = common(each.kept, back.stale[name].times) if name in back.stale else ()
        following = replace(each, kept=subtract(each.kept, own))
        lost = merge((*own, *_seen_by_shown(planned, shown, name, following, evaluated)))
        behind = merge((*each.intervals, *lost))
        if behind:
            found[name] = Behind(
                intervals=behind,
                reason=each.reason,
                lost=lost,
                why_lost=each.why_kept if lost else "",
                session=each.session,
            )
    ranges = {
        name: follows[name].intervals
        for name, each in found.items()
        if follows[name].intervals and not each.session
    }
    return Lag(restated=Restatement(ranges=ranges), found=found)


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
    others = [each for each in found.inputs if not planned.stays(each)]
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


def lag_of_readers(
    services: Services,
    planned: Planned,
    options: PlanOptions,
    late: Mapping[ModelName, tuple[Interval, ...]],
) -> Lag:
    """Staleness of the versions that stay, compared with the tables that they will read.

    What is not computed again is reported, and no loss: the table that is shown stays as it is.
    ``late`` are the stale times that the plan evaluates in versions that stay.
    """
    readers = kept_readers(services, planned, late)
    spread = readers.again
    left_out = left_out_by(options)
    if left_out:
        spread = replace(spread, ranges={}, kept=(*spread.ranges, *spread.kept))
    ranges = {
        name: left
        for name, each in spread.ranges.items()
        if (left := within_bounds(planned.graph[name].model, each, planned.environment, options))
    }
    found: dict[ModelName, Behind] = {}
    for name in dict.fromkeys((*spread.ranges, *readers.spoiled, *spread.kept)):
        reason = _reads_such(planned, name, readers.upstream)
        if name in readers.spoiled:
            kept = ", ".join(map(str, readers.spoiled[name]))
            reason = f"{reason}. It keeps its rows of {kept}: {UNCOVERED}"
            found[name] = Behind(intervals=ranges.get(name, ()), reason=reason)
        elif name in ranges:
            found[name] = Behind(intervals=ranges[name], reason=reason)
        else:
            beyond = "--start and --end exclude it" if name in spread.ranges else FORBIDDEN
            found[name] = Behind(reason=f"{reason}. It keeps its rows: {left_out or beyond}")
    return Lag(restated=replace(spread, ranges=ranges), found=found)


def _reads_such(planned: Planned, name: ModelName, found: Iterable[ModelName]) -> str:
    upstream = {
        each.name
        for graph in (planned.shown_graph, planned.graph)
        for each in graph.upstream(graph[name].model.parents)
    }
    behind = listed(each for each in found if each in upstream)
    return f"it is downstream of {behind}: computed after it, where its inputs changed"
