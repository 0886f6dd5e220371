"""What a plan evaluates: what is missing within its options, and what is evaluated again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.selection import select
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.model.model import Model, PythonFunction
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Gap, NotRestated, Workload
from vde_dagster.core.planning.readiness import Ready, missing_intervals
from vde_dagster.core.planning.restatement import Restatement, restate_all
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, common, merge, subtract
from vde_dagster.core.time.schedule import lacking

_NOTHING: Final = Restatement(ranges={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What the versions of a plan's models hold, and who may write them. Merged intervals.

    - ``computed`` may be read, ``recorded`` is whatever there is an entry of.
    - ``settled`` is what the environment does not evaluate by itself: also what it recorded as
      empty, which production evaluates.
    - ``owners`` has the models whose version has an owner, ``writes`` those whose version the
      plan's environment may write (rule R9) and that are not ``paused`` there.
    """

    environment: str
    computed: Mapping[ModelName, tuple[Interval, ...]]
    settled: Mapping[ModelName, tuple[Interval, ...]]
    recorded: Mapping[ModelName, tuple[Interval, ...]]
    owners: Mapping[ModelName, str]
    writes: frozenset[ModelName]
    paused: frozenset[ModelName] = frozenset()

    @classmethod
    def of(
        cls,
        environment: str,
        loaded: Mapping[ModelName, Holding],
        *,
        owners: Mapping[ModelName, str],
        writes: frozenset[ModelName],
        paused: frozenset[ModelName] = frozenset(),
    ) -> Holdings:
        """What these versions' ledgers say."""
        evaluates_empty = environment == PRODUCTION
        return cls(
            environment=environment,
            computed={name: each.computed for name, each in loaded.items()},
            settled={
                name: each.computed if evaluates_empty else each.evaluated
                for name, each in loaded.items()
            },
            recorded={name: each.recorded for name, each in loaded.items()},
            owners=owners,
            writes=writes,
            paused=paused,
        )

    @property
    def unpaused(self) -> Holdings:
        """The same if nothing was paused."""
        own = {name for name in self.paused if may_write(self.environment, self.owners.get(name))}
        return replace(self, writes=self.writes | own, paused=frozenset())


def workloads(
    graph: Graph,
    holdings: Holdings,
    options: PlanOptions,
    *,
    now: datetime | None,
    complete_to: Mapping[ModelName, datetime | None],
    ready: Ready,
) -> dict[ModelName, Workload]:
    """What a plan evaluates of each model that is missing, and what it leaves out.

    Args:
        graph: The plan's models.
        holdings: What their versions hold.
        options: What was asked for.
        now: The project's clock.
        complete_to: Up to when all that each model reads is complete.
        ready: What a model's signals let pass of some consecutive units.
    """
    within, writes = options.bounds(holdings.environment), holdings.writes
    held = holdings.settled, holdings.computed, holdings.recorded
    ask = partial(missing_intervals, graph, now=now, complete_to=complete_to, ready=ready)
    if options.empty_backfill:
        recorded = holdings.recorded
        missing = _unrecorded(graph, recorded, ask(writes, recorded, within=within))
    else:
        if options.skip_backfill:  # a view is made of what is there, nothing is computed for it
            writes = frozenset(name for name in writes if graph[name].model.kind.is_view)
        missing = ask(writes, *held, within=within)
    leaves_out = options.skip_backfill or within is not None
    lacking = ask(holdings.writes, *held) if leaves_out else missing
    return {
        name: Workload(
            missing=found, skipped=subtract(lacking[name], (*found, *holdings.settled[name]))
        )
        for name, found in missing.items()
    }


def with_restated(
    graph: Graph, work: Mapping[ModelName, Workload], restated: Restatement
) -> dict[ModelName, Workload]:
    """What a plan evaluates, with what it evaluates again."""
    found = dict(work)
    for name, again in restated.ranges.items():
        before = work[name]
        # What is outdated is missing, too. What is made as a whole is one interval in any case.
        is_whole = not graph[name].model.kind.is_by_interval
        found[name] = Workload(
            missing=before.missing if is_whole else subtract(before.missing, again),
            restated=merge((*before.restated, *again)),
            skipped=subtract(before.skipped, again),
        )
    return found


def within_bounds(
    model: Model, ranges: Sequence[Interval], environment: str, options: PlanOptions
) -> tuple[Interval, ...]:
    """What of some ranges a plan evaluates whose start and end bound it."""
    bounds = options.bounds(environment)
    if bounds is None or not model.kind.is_partitioned:
        return tuple(ranges)
    inside = [part for each in ranges if (part := each.intersection(bounds)) is not None]
    whole = ((model.unit.ceil(each.start), model.unit.floor(each.end)) for each in inside)
    return tuple(Interval(start, end) for start, end in whole if start < end)


def left_out_by(options: PlanOptions) -> str:
    """Why a plan evaluates nothing, for people; empty where it does."""
    name = options.evaluates_nothing
    return f"{name} computes nothing" if name else ""


def _unrecorded(
    graph: Graph,
    recorded: Mapping[ModelName, tuple[Interval, ...]],
    missing: Mapping[ModelName, tuple[Interval, ...]],
) -> dict[ModelName, tuple[Interval, ...]]:
    """What has no entry yet, so that recording it as empty takes no row away.

    What is made as a whole is recorded once only: recording a later period would empty it.
    """
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name, each in missing.items():
        is_by_interval = graph[name].model.kind.is_by_interval
        again = each if recorded[name] and not is_by_interval else recorded[name]
        found[name] = subtract(each, again)
    return found


def loaded_after(
    graph: Graph,
    holdings: Holdings,
    work: Mapping[ModelName, Workload],
    options: PlanOptions,
) -> dict[ModelName, tuple[Interval, ...]]:
    """What each version holds once a plan has done its work; what is recorded as empty is not."""
    loaded: dict[ModelName, tuple[Interval, ...]] = {}
    for name, computed in holdings.computed.items():
        recorded = options.empty_backfill and records_empty(graph[name].model)
        missing = () if recorded else work[name].missing
        loaded[name] = (*computed, *missing, *work[name].restated)
    return loaded


def records_empty(model: Model) -> bool:
    """Whether an empty backfill records a model without evaluating it.

    A view has no rows of its own, and those of a seed are in the project: both are made.
    """
    return model.kind.stores_rows and not model.kind.is_seed


def why_never_empty(model: Model) -> str:
    """Why an interval of a model cannot be recorded without its rows; empty where it can.

    What was recorded so could never be distinguished from what was loaded.
    """
    if model.stateless is not None:
        return "its rows are only loaded by catch-up sessions (rule R7)"
    if isinstance(model.body, PythonFunction) and not model.columns:
        return "its columns are only known when its function is called"
    if model.kind.is_sequential:
        return f"{model.kind.keyword} builds each interval on the ones before it"
    if model.reads_itself:
        return "each interval builds on its own rows of the previous one"
    return ""


def restatement(
    graph: Graph, holdings: Holdings, options: PlanOptions, *, catalog: str
) -> Restatement:
    """What the option ``restate`` evaluates again.

    Raises:
        SelectionRefused: A selector selects nothing.
        RestatementRefused: A model that was asked for sets ``disable_restatement``.
    """
    if not options.restate:
        return _NOTHING
    return restate_all(
        graph,
        select([graph], options.restate, catalog=catalog),
        options.asked,
        holdings.recorded,
        writes=holdings.writes,
    )


def not_restated(
    graph: Graph,
    holdings: Holdings,
    options: PlanOptions,
    done: Restatement,
    *,
    catalog: str,
) -> Iterator[NotRestated]:
    """The models that were asked for or read what is restated, and keep what they hold."""
    if not options.restate:
        return
    for name in done.foreign:
        if name in holdings.paused:
            yield NotRestated(name=name, reason="it is paused")
            continue
        owner = holdings.owners.get(name, PRODUCTION)
        again = f"`vde plan {owner} --restate-model {name}`"
        reason = f"{owner} owns its version, so it is restated there: {again}"
        yield NotRestated(name=name, reason=reason)
    for name in done.kept:
        yield NotRestated(name=name, reason="it sets disable_restatement")
    named = {*done.foreign, *done.kept, *done.ranges}
    for name in sorted(select([graph], options.restate, catalog=catalog) - named):
        if graph[name].model.kind.stores_rows:  # else those that read it are restated
            when = "of that time" if holdings.recorded[name] else "yet"
            yield NotRestated(name=name, reason=f"it has no rows {when}")


_TIMELESS: Final = Interval(EPOCH, END_OF_TIME)
"""What a version without any time holds: a view, a seed."""


def lost_intervals(
    model: Model, shown: Sequence[Interval], loaded: Sequence[Interval]
) -> tuple[Interval, ...]:
    """What is shown of a model, is in the time that it has by itself, and is not loaded.

    Args:
        model: As it is now.
        shown: What the version that is shown holds.
        loaded: What the other version holds.
    """
    if _TIMELESS in shown:  # it says nothing about times
        return () if loaded else (_TIMELESS,)
    return common(subtract(shown, loaded), lacking(model, ()))


def find_gaps(
    graph: Graph,
    before: Mapping[ModelName, ModelSnapshot],
    after: Mapping[ModelName, ModelSnapshot],
    ledgers: Mapping[VersionKey, Holding],
    loaded: Mapping[ModelName, Sequence[Interval]],
) -> Iterator[Gap]:
    """The models that would show less than they do.

    Args:
        graph: The models as they will be.
        before: What is shown.
        after: What would be.
        ledgers: What the versions that are shown hold.
        loaded: What the versions that would be shown hold then, by model.
    """
    for node in graph:
        shown = before.get(node.name)
        if shown is None or shown.key == after[node.name].key:
            continue
        if not node.model.kind.is_physical:
            continue  # nothing of it is shown
        there = ledgers.get(shown.key)
        written = there.written if there is not None else ()
        # What is bounded begins later than what is shown: all that is before is lost.
        model = node.model if node.own_start is None else replace(node.model, start=node.own_start)
        lost = lost_intervals(model, written, loaded.get(node.name, ()))
        if lost:
            yield Gap(name=node.name, intervals=lost)
