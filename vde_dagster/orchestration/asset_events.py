"""What the step of an asset reports of its result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration._unpublished import result_without_event
from vde_dagster.orchestration.checks import Checked, named, shown_results, works_of
from vde_dagster.orchestration.known_events import is_no_news, observations
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import (
    PROVENANCE,
    Metadata,
    data_version,
    entries_events,
    entries_metadata,
    stale_metadata,
    work_metadata,
)
from vde_dagster.orchestration.partitions import is_partitioned
from vde_dagster.orchestration.steps import AlreadyLoaded, EvaluationResult, current_binding

_BACKFILL: Final = "dagster/backfill"
"""The tag of runs of a backfill, which waits for a materialization of each of its partitions."""


def result_events(
    context: dg.AssetExecutionContext,
    location: Location,
    result: EvaluationResult,
    partitions: Sequence[str],
) -> Iterator[object]:
    """The events of what a step evaluated, and its output.

    A result that was kept, and that Dagster has, is observed: assets that run after each
    materialization of this one need not run. Dagster's automatic events of a range share one data
    version, and name no partition outside the run's, though a session may have written some: then
    each partition has an event of its own.
    """
    asked, node = result.evaluation, result.evaluation.node
    latest = {entry.interval: entry for each in result.done for entry in each.entries}
    beyond = any(not asked.interval.contains(each) for each in latest)
    reported = _Reported(
        location=location,
        binding=asked.binding,
        node=node,
        entries=result.entries,
        more=work_metadata(result.done) | stale_metadata(result.stale_inputs),
        written=[entry for _, entry in sorted(latest.items())],
    )
    if result.waits is not None:  # the step fails, so it has no output
        yield from reported.events(_automatic_provenance(context, location.key(node.name)))
        return
    yield from reported.output(
        context,
        may_be_known=bool(result.done) and all(each.reused for each in result.done),
        apart=len(partitions) > 1 or beyond,
    )


def loaded_events(
    context: dg.AssetExecutionContext, location: Location, shown: AlreadyLoaded
) -> Iterator[object]:
    """The events of intervals that are loaded already."""
    reported = _Reported(
        location=location,
        binding=shown.binding,
        node=shown.node,
        entries=shown.entries,
        more={"vde/owner": shown.owner},
        written=shown.entries,
    )
    yield from reported.output(context, may_be_known=True, apart=len(shown.entries) > 1)
    yield from _recorded(location, shown.binding, shown.node.name, shown.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reported:
    """What a step reports: ``entries`` are those that were asked for, in order.

    ``written`` may have others, too. ``more`` is said besides.
    """

    location: Location
    binding: Binding
    node: Node
    entries: Sequence[LedgerEntry]
    more: Metadata
    written: Sequence[LedgerEntry]

    def events(self, provenance: Mapping[str, str]) -> list[dg.AssetMaterialization]:
        """An event for each partition; of a table without partitions one for all."""
        whole = [self.entries] if self.entries else []
        groups = [[each] for each in self.written] if is_partitioned(self.node) else whole
        keys = _keys(self.location)
        return entries_events(
            self.binding, self.node, keys, groups, more=self.more, provenance=provenance
        )

    def output(
        self, context: dg.AssetExecutionContext, *, may_be_known: bool, apart: bool
    ) -> Iterator[object]:
        """The output of the step, and where partitions are reported ``apart`` their events.

        What Dagster has already is observed, unless a backfill waits for a materialization.
        """
        keys, node, instance = _keys(self.location), self.node, context.instance
        events = self.events({})
        if may_be_known and _BACKFILL not in context.run.tags:
            timed = self.location.timed
            if is_no_news(instance, self.binding, node, keys, events, timed=timed):
                yield result_without_event()
                yield from observations(events)
                return
        yield dg.MaterializeResult(
            data_version=dg.DataVersion(data_version(self.entries)),
            metadata={**entries_metadata(self.binding, node, self.entries, keys), **self.more},
        )
        if is_partitioned(node) and apart:
            yield from self.events(_automatic_provenance(context, keys[node.name]))


def recorded_checks(
    location: Location, name: ModelName, checks: Collection[str]
) -> Iterator[dg.AssetCheckResult]:
    """What these checks of a model's audits found when its rows were written.

    Raises:
        Refused: The environment does not run the loaded version any more, or no row of it was
            audited yet.
    """
    binding = current_binding(location, name)
    key = binding.key(name)
    entries = location.project.services.state.ledger([key]).get(key, ())
    recorded = _recorded(location, binding, name, entries)
    found = [each for each in recorded if each.check_name in checks]
    if not found:
        raise Refused(
            f"no rows of {name} were audited yet, and audits run where rows are written",
            advice="Materialize it.",
        )
    yield from found


def check_results(
    location: Location, name: ModelName, found: Iterable[Checked]
) -> Iterator[dg.AssetCheckResult]:
    """What checks of a model found, as the step of its asset reports it."""
    for each in named(found, name, location.check_names):
        yield each.for_step(location.key(name))


def _recorded(
    location: Location, binding: Binding, name: ModelName, entries: Sequence[LedgerEntry]
) -> Iterator[dg.AssetCheckResult]:
    works = works_of(location.project.services, entries)
    yield from check_results(location, name, shown_results(binding, binding.node(name), works))


def _automatic_provenance(context: dg.AssetExecutionContext, key: dg.AssetKey) -> dict[str, str]:
    """What Dagster's automatic events of this step say of its inputs.

    Without it a partition's own event looks as if the asset had a new dependency.
    """
    automatic = context.instance.get_latest_materialization_event(key)
    event = automatic.asset_materialization if automatic is not None else None
    tags = event.tags if event is not None and event.tags else {}
    return {key: value for key, value in tags.items() if key.startswith(PROVENANCE)}


def _keys(location: Location) -> dict[ModelName, dg.AssetKey]:
    return {name: spec.key for name, spec in location.specs.items()}
