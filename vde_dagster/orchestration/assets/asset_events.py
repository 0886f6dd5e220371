"""What the step of an asset reports of its result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration._unpublished import result_without_event
from vde_dagster.orchestration.assets.metadata import (
    PROVENANCE,
    data_version,
    entries_events,
    entries_metadata,
    materializations,
    stale_metadata,
    work_metadata,
)
from vde_dagster.orchestration.assets.partitions import is_partitioned
from vde_dagster.orchestration.assets.steps import AlreadyLoaded, EvaluationResult, current_binding
from vde_dagster.orchestration.keys import EventKey
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.checks import Checked, named, shown_results, works_of
from vde_dagster.orchestration.reporting.known_events import is_no_news, observations

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
    keys, asked = _keys(location), result.evaluation
    binding, node, behind = asked.binding, asked.node, result.stale_inputs
    written = partial(
        materializations, binding, node, keys, result.done, stale_inputs=result.stale_inputs
    )
    if result.waits is not None:  # the step fails, so it has no output
        yield from written(provenance=_automatic_provenance(context, keys[node.name]))
        return
    if result.done and all(each.reused for each in result.done):
        more = work_metadata(result.done) | stale_metadata(behind)
        events = (
            written()
            if is_partitioned(node)
            else entries_events(binding, node, keys, [result.entries], more=more)
        )
        if _is_kept(context, location, binding, node, events):
            yield result_without_event()
            yield from observations(events)
            return
    version = dg.DataVersion(data_version(result.entries))
    yield dg.MaterializeResult(value=result, data_version=version)
    times = {entry.interval for each in result.done for entry in each.entries}
    beyond = any(not asked.interval.contains(each) for each in times)
    if is_partitioned(node) and (len(partitions) > 1 or beyond):
        yield from written(provenance=_automatic_provenance(context, keys[node.name]))


def loaded_events(
    context: dg.AssetExecutionContext, location: Location, shown: AlreadyLoaded
) -> Iterator[object]:
    """The events of intervals that are loaded already; the IO manager is not called."""
    keys, node, owner = _keys(location), shown.node, {EventKey.OWNER: shown.owner}
    groups = [[each] for each in shown.entries] if is_partitioned(node) else [shown.entries]
    of_groups = partial(entries_events, shown.binding, node, keys, groups, more=owner)
    events = of_groups()
    if _is_kept(context, location, shown.binding, node, events):
        yield result_without_event()
        yield from observations(events)
    else:
        yield dg.MaterializeResult(
            data_version=dg.DataVersion(data_version(shown.entries)),
            metadata={**entries_metadata(shown.binding, node, shown.entries, keys), **owner},
        )
        if len(events) > 1:
            yield from of_groups(provenance=_automatic_provenance(context, keys[node.name]))
    yield from _recorded(location, shown.binding, node.name, shown.entries)


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
            f"no rows of {name} have been audited yet: audits run when rows are written",
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


def _is_kept(
    context: dg.AssetExecutionContext,
    location: Location,
    binding: Binding,
    node: Node,
    events: Sequence[dg.AssetMaterialization],
) -> bool:
    """Whether Dagster has these results, and nothing waits for a materialization of them."""
    return _BACKFILL not in context.run.tags and is_no_news(
        context.instance, binding, node, _keys(location), events, timed=location.timed
    )


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
