"""What an environment shows, reported to Dagster where Dagster does not know it.

Dagster learns of most results from the runs that computed them. It does not learn from runs what a
promotion brings into view, what a development environment shares with production, what a person
accepted, nor what `vde` computed with another instance. For these an event without a run is
reported. It is compared before with the latest one that Dagster has, so what is known is not
reported again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import dagster as dg

from vde_dagster.app.apply.accepting import Accepted
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inspect.status import EnvironmentStatus, look_at_environment
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import naming_of
from vde_dagster.composition import VdeProject
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval, subtract
from vde_dagster.orchestration.assets.metadata import (
    CODE_VERSION,
    DATA_VERSION,
    entries_events,
    partition_of,
)
from vde_dagster.orchestration.assets.partitions import is_partitioned
from vde_dagster.orchestration.assets.translating import names_of
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.keys import EventKey
from vde_dagster.orchestration.reporting.checks import named, shown_results
from vde_dagster.orchestration.reporting.known_events import (
    events_of,
    input_provenance,
    latest_events,
)

Known = MutableMapping[ModelName, tuple[VersionKey, int]]
"""What was compared with Dagster: of each model its version, and the number of its last change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is reported at once; what is left over is reported the next time.

    Attributes:
        events: The number of events.
        seconds: How long; a model that was started is ended.
        partitions: How many partitions of a model, the newest; older ones are never reported.
        settled: How long ago a result has to be recorded. A run reports what it records itself,
            a moment later.
    """

    events: int = 200
    seconds: float = 10.0
    partitions: int = 300
    settled: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """How many events were reported, and whether there is more to report."""

    events: int
    is_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """Reports what one environment shows.

    Attributes:
        instance: Gets the events.
        services: The project's.
        binding: What the environment runs.
        keys: The assets of its models and sources.
        stale: The intervals of each model that were computed from what has changed since. Their
            events name no inputs, so that Dagster calls them stale, too.
    """

    instance: dg.DagsterInstance
    services: Services
    binding: Binding
    keys: Mapping[ModelName, dg.AssetKey]
    stale: Mapping[ModelName, Collection[Interval]]

    def report(
        self, limits: Limits, *, known: Known, names: Collection[ModelName] | None = None
    ) -> Reported:
        """Report what Dagster does not know yet, parents first.

        Args:
            limits: How much at once.
            known: What was compared before; it is brought up to date.
            names: The models; None for all of them.
        """
        until, left, events = time.monotonic() + limits.seconds, False, 0
        for node, holding in self._changed(known, names):
            if events >= limits.events or time.monotonic() > until:
                return Reported(events=events, is_all=False)
            reported = self._report(node, holding, known, limits, most=limits.events - events)
            events += reported.events
            left |= not reported.is_all
        return Reported(events=events, is_all=not left)

    def _changed(
        self, known: Known, names: Collection[ModelName] | None
    ) -> Iterator[tuple[Node, Holding]]:
        """The models that hold something else than was compared last."""
        nodes = [node for node in self.binding.graph if node.name in self.keys]
        nodes = [node for node in nodes if names is None or node.name in names]
        keys = {n.name: self.binding.key(n.name) for n in nodes if n.model.kind.is_physical}
        holdings = self.services.state.holdings(keys.values())
        for node in nodes:
            key = keys.get(node.name)
            holding = holdings.get(key) if key is not None else None
            if key is None or holding is None or known.get(node.name) == (key, holding.number):
                continue
            yield node, holding

    def _report(
        self, node: Node, holding: Holding, known: Known, limits: Limits, *, most: int
    ) -> Reported:
        """Report the results of one model; all of them, or those of ``most`` intervals."""
        state, key = self.services.state, self.binding.key(node.name)
        entries = self._entries(node, known.get(node.name), limits.partitions)
        unknown = self._unknown(node, entries)
        moving = state.unfinished([key]) or state.holdings([key]).get(key) != holding
        if moving or self._is_recent(unknown, limits.settled):
            return Reported(events=0, is_all=False)  # a run is at it, and reports it itself
        parents = [self.keys[each] for each in node.model.parents if each in self.keys]
        provenance = input_provenance(self.instance, parents) if unknown else {}
        for entry in unknown[:most]:
            self.instance.report_runless_asset_event(self._event(node, entry, provenance))
        is_all = len(unknown) <= most
        if is_all:
            known[node.name] = (key, holding.number)
        return Reported(events=min(len(unknown), most), is_all=is_all)

    def _entries(
        self, node: Node, known: tuple[VersionKey, int] | None, most: int
    ) -> Sequence[LedgerEntry]:
        """The newest entries that were not compared yet; of a table without partitions the last."""
        state, key = self.services.state, self.binding.key(node.name)
        limit = most if is_partitioned(node) else 1
        if known is None or known[0] != key:
            return state.newest_computed(key, limit=limit)
        found = state.changed_since(key, known[1])
        return [each for each in found if each.status is EntryStatus.COMPUTED][-limit:]

    def _unknown(self, node: Node, entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
        """Those whose result is not the latest that Dagster has."""
        asset, version = self.keys[node.name], self.binding.snapshots[node.name].version
        wanted = {partition_of(node, each): each for each in entries}
        latest = latest_events(self.instance, asset, wanted)
        return [e for at, e in wanted.items() if not _shows(latest.get(at), e, version)]

    def _is_recent(self, entries: Iterable[LedgerEntry], settled: timedelta) -> bool:
        works = self.services.state.works({each.work_id for each in entries}) if settled else {}
        since = self.services.clock.now() - settled
        return any(w.finished_at is not None and w.finished_at > since for w in works.values())

    def _event(
        self, node: Node, entry: LedgerEntry, provenance: Mapping[str, str]
    ) -> dg.AssetMaterialization:
        stale = self.stale.get(node.name, ())
        is_stale = any(each.intersection(entry.interval) is not None for each in stale)
        (event,) = entries_events(
            self.binding,
            node,
            self.keys,
            [[entry]],
            provenance={} if is_stale else provenance,
            description=f"{self.binding.environment} shows it, and no run of this Dagster instance "
            "reported it.",
        )
        return event


def _shows(event: dg.AssetMaterialization | None, entry: LedgerEntry, version: str) -> bool:
    """Whether an event is of the same result: of the same unit of work, or of the same rows."""
    tags = event.tags or {} if event is not None else {}
    if event is None or tags.get(CODE_VERSION) != version:
        return False
    work = event.metadata.get(EventKey.WORK_ID)
    return tags.get(DATA_VERSION) == entry.digest or (
        work is not None and work.value == entry.work_id
    )


def report_views(
    instance: dg.DagsterInstance,
    services: Services,
    plan: Plan,
    keys: Mapping[ModelName, dg.AssetKey],
) -> None:
    """Report what the views show that a plan moved, and that it did not compute.

    The sensor of the environment goes on with what is more than can be reported at once.
    """
    binding = bind_environment(services, plan.environment)
    if binding is not None and plan.views:
        stale = stale_intervals(look_at_environment(services, plan.environment))
        reporter = Reporter(
            instance=instance, services=services, binding=binding, keys=keys, stale=stale
        )
        limits = Limits(events=500, settled=timedelta(0))
        reporter.report(limits, known={}, names=plan.views)


def stale_intervals(status: EnvironmentStatus) -> dict[ModelName, tuple[Interval, ...]]:
    """Stale assets, as Dagster means it, without those that are stale only since a parent is."""
    return {
        each.node.name: (
            *subtract(each.staleness.intervals, each.staleness.following),
            *each.staleness.kept,
        )
        for each in status.models
        if each.staleness is not None
    }


def report_accepted(project: VdeProject, accepted: Accepted) -> None:
    """Report the intervals that were published, and the checks that a person overruled.

    Of a version that the environment does not show yet, the promotion reports them.
    """
    services, binding, done = project.services, accepted.binding, accepted.done
    name = done.key.model
    shown = bind_environment(services, binding.environment)
    if shown is None or name not in shown.snapshots or shown.key(name) != done.key:
        return
    names = names_of(project, binding, naming_of(services, binding.environment))
    keys = names.keys
    node, work = binding.node(name), services.state.work(done.work_id)
    checks = shown_results(binding, node, [work] if work is not None else [])
    home = dagster_home(project.configuration)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        provenance = input_provenance(instance, [keys[each] for each in node.model.parents])
        for event in events_of(instance, binding, node, keys, done, provenance=provenance):
            instance.report_runless_asset_event(event)
        for found in named(checks, name, names.checks):
            instance.report_runless_asset_event(found.for_job(keys[name]))
