"""One asset per model: its body decides, the IO manager writes (docs/inside/architecture.md)."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

import dagster as dg

from vde_dagster.app.inspect.unit_text import unit_to_do
from vde_dagster.app.promote.promotion import end_promotions
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.retries import FIRST_PAUSE
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.assets.asset_events import (
    check_results,
    loaded_events,
    recorded_checks,
    result_events,
)
from vde_dagster.orchestration.assets.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.assets.metadata import PARENT_RUN
from vde_dagster.orchestration.assets.partitions import (
    parent_mapping,
    partitions_of,
)
from vde_dagster.orchestration.assets.step_log import log_units, logged_progress
from vde_dagster.orchestration.assets.steps import AlreadyLoaded, decide, show_result
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.checks import AuditWatch

IO_MANAGER: Final = "vde_io_manager"


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
        check_specs=[*location.checks[node.name].values()],
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        retry_policy=_retry_policy(node),
        pool=location.project.configuration.dagster.pool,
        required_resource_keys={IO_MANAGER},
    )
    return decorated(_body(location, node.name))


def _retry_policy(node: Node) -> dg.RetryPolicy | None:
    """That of a model with ``retries``: with the pauses that other runs of it make."""
    if not node.model.retries:
        return None
    return dg.RetryPolicy(
        max_retries=node.model.retries,
        delay=FIRST_PAUSE.total_seconds(),
        backoff=dg.Backoff.EXPONENTIAL,
    )


def _body(location: Location, name: ModelName) -> Callable[..., Iterator[object]]:
    def evaluate(context: dg.AssetExecutionContext) -> Iterator[object]:
        if not context.selected_asset_keys:  # somebody executes its checks alone
            with failures():
                checks = {each.name for each in context.selected_asset_check_keys}
                yield from recorded_checks(location, name, checks)
            return
        partitions = _partitions(context)
        with failures():
            force = context.run.tags.get(RunTag.FORCE, "").lower() == "true"
            tried_at = _tried_at(context)
            end_promotions(location.project.services, location.environment)
            decided = decide(location, name, partitions, force=force, tried_at=tried_at)
        if isinstance(decided, AlreadyLoaded):
            with failures():
                show_result(location, name)
            context.log.info(
                f"{name}: nothing is computed: {decided.owner} has already loaded all of it"
            )
            yield from loaded_events(context, location, decided)
        else:
            manager: VdeIcebergIOManager = getattr(context.resources, IO_MANAGER)
            services = location.project.services
            for each in decided.ranges:
                context.log.info(unit_to_do(decided.binding, name, each))
            audits = AuditWatch.begin(services, decided.binding, name)
            try:
                with logged_progress(context.log, services.engine.progress):
                    record = context.instance.get_run_record_by_id(context.run.run_id)
                    asked_at = record.create_timestamp if record is not None else None
                    result = manager.write(replace(decided, asked_at=asked_at))
            except dg.Failure:  # nothing was published, but for earlier batches
                yield from check_results(location, name, audits.checked())
                raise
            log_units(context.log, services, decided.binding, result.done)
            yield from result_events(context, location, result, partitions)
            yield from check_results(location, name, audits.checked(result.entries))
            with failures():
                if result.waits is not None:
                    raise result.waits

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


def _dependency(location: Location, node: Node, parent: ModelName) -> dg.AssetDep:
    upstream = location.binding.graph[parent]
    return dg.AssetDep(
        location.key(parent), partition_mapping=parent_mapping(location.binding, node, upstream)
    )
