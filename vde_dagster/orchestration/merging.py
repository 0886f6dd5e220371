"""A project's definitions together with a user's own assets, resources and executor."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import dagster as dg

from vde_dagster.app.evaluate.own_rows import shown_table
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.listing import some
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration._unpublished import UnresolvedAssetJob, io_manager_key
from vde_dagster.orchestration.assets.building import IO_MANAGER
from vde_dagster.orchestration.assets.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.assets.own_frames import Shown, own_table
from vde_dagster.orchestration.assets.partitions import source_mapping
from vde_dagster.orchestration.keys import AssetKey
from vde_dagster.orchestration.location import Location

_Asset = TypeVar("_Asset")
_OwnAssets = Mapping[dg.AssetKey, dg.PartitionsDefinition | None]
"""The partitions of what a user defines, by its key."""
_Replaced = Mapping[ModelName, dg.PartitionsDefinition | None]


def merge_definitions(project: dg.Definitions, *own: dg.Definitions) -> dg.Definitions:
    """`dagster.Definitions.merge` for a project and definitions of your own.

    It differs from Dagster's in three ways. An own asset with the key of a source takes the place
    of what the project says about that source, and models depend on its partitions. An executor of
    your own takes the place of the project's, and so does a resource ``pyspark``.

    Args:
        project: From `build_definitions`, or from this function.
        own: Your assets, jobs, schedules, sensors, checks, resources, executor.

    Returns:
        One code location's definitions.

    Raises:
        Refused: ``project`` is not of `build_definitions`, an own asset has the key of a model, or
            names our IO manager and does not say what table it is, a job has assets with different
            partitions, or ``own`` has definitions of a project, too.

    Example:
        ```python
        prod = merge_definitions(build_definitions("."), dg.Definitions(assets=[flights]))
        ```
    """
    manager = _manager_of(project)
    for each in own:
        if IO_MANAGER in (each.resources or {}):
            raise Refused(
                f"two of the merged definitions have the resource {IO_MANAGER}: an environment of "
                "a project is a code location of its own",
                advice="Name both in workspace.yaml, or rename your resource.",
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # of partition mappings; not users' own
        ours = _giving_way(project, manager, own)
        merged = dg.Definitions.merge(ours, *own)
        _check_jobs(merged, own)
    return merged


def _manager_of(project: dg.Definitions) -> VdeIcebergIOManager:
    manager = (project.resources or {}).get(IO_MANAGER)
    if not isinstance(manager, VdeIcebergIOManager):
        raise Refused(
            "the first of the merged definitions does not belong to a project",
            advice="Write `merge_definitions(build_definitions(...), ...)`.",
        )
    return manager


def _giving_way(
    project: dg.Definitions, manager: VdeIcebergIOManager, own: Sequence[dg.Definitions]
) -> dg.Definitions:
    """The project's definitions without what the user's own take the place of."""
    location = manager.location
    assets = _assets_of(own)
    graph = location.binding.graph
    for name, spec in location.specs.items():
        if spec.key in assets and not graph[name].model.kind.is_source:
            raise Refused(
                f"{spec.key.to_user_string()} is the key of the model {name} and of an asset of "
                "your own",
                advice="Give your asset another key.",
            )
    shown = _own_tables(location, project, own)
    replaced = {
        name: assets[spec.key] for name, spec in location.specs.items() if spec.key in assets
    }
    resources = {
        key: value
        for key, value in (project.resources or {}).items()
        if not any(key in (each.resources or {}) for each in own)
    } | {IO_MANAGER: manager.remembering(shown)}
    has_executor = any(each.executor is not None for each in own)
    return dg.Definitions(
        assets=[*_left(project.assets or (), location, replaced)],
        schedules=project.schedules,
        sensors=project.sensors,
        jobs=project.jobs,
        resources=resources,
        executor=None if has_executor else project.executor,
        loggers=project.loggers,
        asset_checks=project.asset_checks,
        metadata=project.metadata,
        component_tree=project.component_tree,
    )


def _check_jobs(merged: dg.Definitions, own: Sequence[dg.Definitions]) -> None:
    """Refuse what Dagster cannot resolve, which is found when the code location is loaded.

    Raises:
        Refused: A job selects assets with different partitions, and a run has one partition.
    """
    jobs = [
        job
        for each in own
        for job in each.jobs or ()
        if isinstance(job, UnresolvedAssetJob) and job.partitions_def is None
    ]
    if not jobs:
        return
    alone = dg.Definitions(assets=merged.assets, resources=merged.resources)
    graph = alone.resolve_asset_graph()
    for job in jobs:
        keys: dict[dg.PartitionsDefinition, list[str]] = {}
        for key in sorted(job.selection.resolve(graph)):
            found = graph.get(key).partitions_def
            if found is not None:
                keys.setdefault(found, []).append(key.to_user_string())
        if len(keys) > 1:
            several = "; ".join(f"{_cadence(of)}: {some(names, 3)}" for of, names in keys.items())
            raise Refused(
                f"the job {job.name} has assets with different partitions, but a run can have "
                f"only one kind ({several})",
                advice="Define a job for each of them. `vde_automation` is a job that computes all "
                "models that are due or stale, and `vde_plan` one for all that was edited.",
            )


def _cadence(partitions: dg.PartitionsDefinition) -> str:
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return f"cron {partitions.cron_schedule} from {partitions.start.isoformat()}"
    return type(partitions).__name__


def _own_tables(
    location: Location, project: dg.Definitions, own: Sequence[dg.Definitions]
) -> Shown:
    """What the views of own assets that our IO manager writes show now.

    Raises:
        Refused: It could not write one of them, or several have one table; nothing was computed.
    """
    before = [
        each for each in _written(project) if AssetKey.TABLE in each.metadata
    ]  # merged earlier
    new = [spec for definitions in own for spec in _written(definitions)]
    found = [(spec.key, own_table(location, spec)) for spec in (*before, *new)]
    keys: dict[ModelName, list[str]] = {}
    for key, table in found:
        keys.setdefault(table.model.name, []).append(key.to_user_string())
    if shared := {name: sorted(each) for name, each in keys.items() if len(each) > 1}:
        named = "; ".join(f"{', '.join(each)}: {name}" for name, each in sorted(shared.items()))
        raise Refused(
            f"several assets of your own would write the same table ({named})",
            advice="Give them keys that differ in more than capitals and the environment's suffix.",
        )
    services = location.project.services
    return {
        table.model.name: shown_table(services, table.binding, table.model) for _, table in found
    }


def _written(definitions: dg.Definitions) -> Iterator[dg.AssetSpec]:
    """The assets whose output our IO manager writes, models among them."""
    for each in definitions.assets or ():
        if isinstance(each, dg.AssetsDefinition) and each.is_executable:
            for spec in each.specs:
                if io_manager_key(each, spec.key) == IO_MANAGER:
                    yield spec


def _assets_of(own: Iterable[dg.Definitions]) -> _OwnAssets:
    assets = [each for definitions in own for each in definitions.assets or ()]
    every = [
        spec
        for each in assets
        for spec in (each.specs if isinstance(each, dg.AssetsDefinition) else [each])
    ]
    known = (each for each in every if isinstance(each, dg.AssetSpec | dg.SourceAsset))
    return {spec.key: spec.partitions_def for spec in known}


def _left(
    assets: Iterable[_Asset],
    location: Location,
    replaced: _Replaced,
) -> Iterator[_Asset | dg.AssetsDefinition | dg.AssetSpec]:
    """The project's assets without replaced sources, and depending on the own partitions."""
    gone = {location.key(name) for name in replaced}
    readers = {
        location.key(node.name): node
        for node in location.binding.graph
        if not replaced.keys().isdisjoint(node.model.parents)
    }
    for each in assets:
        if isinstance(each, dg.AssetSpec) and each.key in gone:
            continue
        if isinstance(each, dg.AssetsDefinition) and not readers.keys().isdisjoint(each.keys):
            yield from dg.map_asset_specs(
                lambda spec: _depending(spec, location, readers, replaced), [each]
            )
        else:
            yield each


def _depending(
    spec: dg.AssetSpec,
    location: Location,
    readers: Mapping[dg.AssetKey, Node],
    replaced: _Replaced,
) -> dg.AssetSpec:
    node = readers.get(spec.key)
    if node is None:
        return spec
    names = {location.key(name): name for name in replaced}
    return spec.replace_attributes(
        deps=[
            dg.AssetDep(
                dep.asset_key,
                partition_mapping=source_mapping(location.binding, node, name, replaced[name]),
            )
            if (name := names.get(dep.asset_key)) is not None
            else dep
            for dep in spec.deps
        ]
    )
