"""One asset per model: its body decides, the IO manager writes (docs/architecture.md)."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

import dagster as dg

from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.checks import AuditWatch, check_specs, shown_results, works_of
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import (
    CODE_VERSION,
    DATA_VERSION,
    FORCE,
    PROVENANCE,
    USER_PROVIDED,
    data_version,
    entries_metadata,
    materializations,
)
from vde_dagster.orchestration.partitions import (
    is_partitioned,
    parent_mapping,
    partition_key,
    partitions_of,
)
from vde_dagster.orchestration.steps import AlreadyLoaded, EvaluationResult, decide, show_result

IO_MANAGER: Final = "vde_io_manager"
PARENT_RUN: Final = "dagster/parent_run_id"
"""The tag of a run that repeats another one."""


def build_assets(location: Location) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """The models of an environment as assets, and its sources as external ones."""
    return [
        location.specs[node.name].with_io_manager_key(IO_MANAGER)
        if node.model.kind.is_source
        else build_asset(location, node)
        for node in location.binding.graph
    ]


def build_asset(location: Location, node: Node) -> dg.AssetsDefinition:
    """The asset of one model, with its checks.

    Only an asset that may be run in part may leave out the results of checks, as where rows are
    kept and not audited again.
    """
    spec = location.specs[node.name].replace_attributes(
        deps=[_dependency(location, node, parent) for parent in node.model.parents],
        code_version=location.binding.snapshots[node.name].version,
        partitions_def=partitions_of(node, location.partitions_end),
    )
    decorated: Callable[..., dg.AssetsDefinition] = dg.multi_asset(
        name=spec.key.to_python_identifier(),
        specs=[spec.with_io_manager_key(IO_MANAGER)],
        check_specs=check_specs(node, spec.key),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={IO_MANAGER},
    )
    return decorated(_body(location, node.name))


def _body(location: Location, name: ModelName) -> Callable[..., Iterator[object]]:
    def evaluate(context: dg.AssetExecutionContext) -> Iterator[object]:
        partitions = _partitions(context)
        with failures():
            force = context.run.tags.get(FORCE, "").lower() == "true"
            tried_at = _tried_at(context)
            decided = decide(location, name, partitions, force=force, tried_at=tried_at)
        if isinstance(decided, AlreadyLoaded):
            with failures():
                show_result(location, name)
            yield from _loaded_events(location, decided)
        else:
            manager: VdeIcebergIOManager = getattr(context.resources, IO_MANAGER)
            audits = AuditWatch.begin(location.project.services, decided.binding, name)
            try:
                result = manager.write(decided)
            except dg.Failure:  # nothing was published, but for earlier batches
                yield from (each.for_step(location.key(name)) for each in audits.checked())
                raise
            version = dg.DataVersion(data_version(result.entries))
            yield dg.MaterializeResult(value=result, data_version=version)
            yield from _exact_events(context, location, result, partitions)
            found = audits.checked(result.entries)
            yield from (each.for_step(location.key(name)) for each in found)

    return evaluate


def _tried_at(context: dg.AssetExecutionContext) -> datetime | None:
    """When Dagster began to try before what this step does: in this run, or in one that failed.

    A step may fail after all of its work is done: a process that is killed reports nothing.
    """
    parent = context.run.parent_run_id or context.run.tags.get(PARENT_RUN)
    tried = context.run.run_id if context.retry_number else parent
    record = context.instance.get_run_record_by_id(tried) if tried else None
    failed = record is not None and (
        tried == context.run.run_id or record.dagster_run.status is dg.DagsterRunStatus.FAILURE
    )
    return record.create_timestamp if record is not None and failed else None


def _partitions(context: dg.AssetExecutionContext) -> list[str]:
    """The keys of the run's partitions; none where this asset, or the run, has no partitions."""
    named = context.has_partition_key or context.has_partition_key_range
    partitioned = context.assets_def.partitions_def is not None
    return list(context.partition_keys) if named and partitioned else []


def _loaded_events(location: Location, shown: AlreadyLoaded) -> Iterator[object]:
    """The events of intervals that are loaded already; the IO manager is not called."""
    keys = {name: spec.key for name, spec in location.specs.items()}
    owner = {"vde/owner": shown.owner}
    yield dg.MaterializeResult(
        data_version=dg.DataVersion(data_version(shown.entries)),
        metadata={**entries_metadata(shown.binding, shown.node, shown.entries, keys), **owner},
    )
    if len(shown.entries) > 1 and is_partitioned(shown.node):
        for entry in shown.entries:
            yield dg.AssetMaterialization(
                asset_key=keys[shown.node.name],
                partition=partition_key(shown.node.model.unit, entry.interval),
                metadata={**entries_metadata(shown.binding, shown.node, [entry], keys), **owner},
                tags={
                    DATA_VERSION: entry.digest,
                    CODE_VERSION: shown.binding.snapshots[shown.node.name].version,
                    USER_PROVIDED: "true",
                },
            )
    works = works_of(location.project.services, shown.entries)
    for found in shown_results(shown.node, works):
        yield found.for_step(keys[shown.node.name])


def _exact_events(
    context: dg.AssetExecutionContext,
    location: Location,
    result: EvaluationResult,
    partitions: list[str],
) -> Iterator[dg.AssetMaterialization]:
    """Each written partition's own event, if Dagster's automatic ones are not exact.

    The automatic events of a range share one data version, and name no partition outside the run's,
    though a session may have written some. What they say about inputs is copied: without it a
    partition looks as if it had a new dependency.
    """
    keys = {name: spec.key for name, spec in location.specs.items()}
    asked, node = result.evaluation, result.evaluation.node
    written = {entry.interval for each in result.done for entry in each.entries}
    beyond = any(not asked.interval.contains(each) for each in written)
    if not is_partitioned(node) or (len(partitions) == 1 and not beyond):
        return
    automatic = context.instance.get_latest_materialization_event(keys[node.name])
    event = automatic.asset_materialization if automatic is not None else None
    tags = event.tags if event is not None and event.tags else {}
    provenance = {key: value for key, value in tags.items() if key.startswith(PROVENANCE)}
    yield from materializations(
        asked.binding,
        node,
        keys,
        result.done,
        provenance=provenance,
        stale_inputs=result.stale_inputs,
    )


def _dependency(location: Location, node: Node, parent: ModelName) -> dg.AssetDep:
    upstream = location.binding.graph[parent]
    return dg.AssetDep(
        location.key(parent), partition_mapping=parent_mapping(location.binding, node, upstream)
    )
