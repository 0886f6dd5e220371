"""All uses of Dagster's unpublished interfaces (dagster 1.13), each with what it is for.

None of them writes to Dagster's storage but through its own interfaces. Dagster publishes no other
way to

- name what a run launcher answers with, the server that started a run, and the number of a run's
  process: ``CheckRunHealthResult``, ``WorkerStatus``, ``GRPC_INFO_TAG``, ``process_of``;
- tell jobs that a sensor's target creates, and jobs of assets that are not resolved yet:
  ``HIDDEN_JOB``, ``UnresolvedAssetJob``;
- find the run that a key of a run request stands for, and whether another sensor is on:
  ``RUN_KEY_TAG``, ``is_switched_on``;
- name the type of joined conditions, which alone can ignore assets: ``AndCondition``;
- take a translation from a component's YAML: ``TranslationFn``, ``TranslationFnResolver``;
- read the latest results of many partitions or checks at once: ``latest_materializations``,
  ``latest_check_results``;
- end a step of an asset without a materialization, so that steps downstream run:
  ``result_without_event``;
- learn in an IO manager whether all partitions are read, and set a data version there:
  ``reads_by_partition``, ``set_data_version``, ``io_manager_key``;
- look at an instance from outside, as ``vde doctor`` does: ``keeps_files``, ``daemon_statuses``,
  ``loaded_workspace``, ``instigators``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import dagster as dg
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION
from dagster._core.definitions.target import ANONYMOUS_ASSET_JOB_PREFIX
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition as UnresolvedAssetJob,
)
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.scheduler.instigation import InstigatorStatus, InstigatorType, TickStatus
from dagster._core.storage.tags import GRPC_INFO_TAG, RUN_KEY_TAG
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver

from vde_dagster.core.doctor.dagster_instance import DaemonFacts

if TYPE_CHECKING:
    from dagster._core.definitions.declarative_automation.operators import (
        AndAutomationCondition as AndCondition,
    )
    from dagster._core.instance.ref import InstanceRef
    from dagster._core.remote_representation.external import RemoteSchedule, RemoteSensor
    from dagster_shared.error import SerializableErrorInfo

__all__ = [
    "GRPC_INFO_TAG",
    "HIDDEN_JOB",
    "RUN_KEY_TAG",
    "AndCondition",
    "CheckRunHealthResult",
    "TranslationFn",
    "TranslationFnResolver",
    "UnresolvedAssetJob",
    "WorkerStatus",
    "daemon_statuses",
    "instigators",
    "io_manager_key",
    "is_switched_on",
    "keeps_files",
    "latest_check_results",
    "latest_materializations",
    "loaded_workspace",
    "process_of",
    "reads_by_partition",
    "result_without_event",
    "set_data_version",
]

HIDDEN_JOB: Final = ANONYMOUS_ASSET_JOB_PREFIX
"""The prefix of the names of jobs that Dagster creates for a target, and does not list."""


def is_switched_on(context: dg.SensorEvaluationContext, sensor: str) -> bool:
    """Whether another sensor of the code location that a tick belongs to is switched on.

    One that was never switched on has no state, or that of its definition. If a context does not
    have its code location, as those of tests, any sensor of that name counts.
    """
    origin = context.code_location_origin
    return any(
        state.instigator_name == sensor
        and state.status is InstigatorStatus.RUNNING
        and (origin is None or state.selector.location_name == origin.location_name)
        for state in context.instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    )


def process_of(instance: dg.DagsterInstance, run_id: str) -> tuple[int, float] | None:
    """The number of the process that carries out a run, and when it said so (seconds since 1970).

    None while it has not said it. Steps may have processes of their own; the run's speaks first.
    """
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        event = entry.dagster_event
        data = event.engine_event_data if event is not None else None
        number = data.metadata.get("pid") if data is not None else None
        if number is not None and str(number.value).isdigit():
            return int(str(number.value)), entry.timestamp
    return None


def latest_materializations(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Collection[str]
) -> Mapping[str, dg.AssetMaterialization]:
    """The latest materialization of each of these partitions; absent if there is none."""
    found = instance.get_latest_storage_id_by_partition(
        key, dg.DagsterEventType.ASSET_MATERIALIZATION, set(partitions)
    )
    if not found:
        return {}
    wanted = dg.AssetRecordsFilter(asset_key=key, storage_ids=[*found.values()])
    records = instance.fetch_materializations(wanted, limit=len(found)).records
    events = [each.asset_materialization for each in records]
    return {each.partition: each for each in events if each is not None and each.partition}


def latest_check_results(
    instance: dg.DagsterInstance, keys: Collection[dg.AssetCheckKey]
) -> Mapping[dg.AssetCheckKey, dg.AssetCheckEvaluation | None]:
    """The latest result of each of these checks; None where Dagster shows none.

    That is where a run was to give one and did not, and where a run has materialized the asset
    since: Dagster calls the check *Not Evaluated* then. Checks that were never evaluated, and those
    whose run is under way, are absent.
    """
    storage = instance.event_log_storage
    records = storage.get_latest_asset_check_execution_by_key([*keys])
    assets = storage.get_latest_materialization_events({key.asset_key for key in records})
    results = {
        key: record.event.asset_check_evaluation
        if record.event is not None and not _is_outdated(record.event, assets.get(key.asset_key))
        else None
        for key, record in records.items()
    }
    return {
        key: result
        for key, result in results.items()
        if result is not None or not _is_under_way(instance, records[key].run_id)
    }


def _is_outdated(result: dg.EventLogEntry, asset: dg.EventLogEntry | None) -> bool:
    """Whether the asset was materialized after the result, by another run than gave it."""
    if asset is None or asset.run_id == result.run_id:
        return False
    return asset.timestamp > result.timestamp


def _is_under_way(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and not run.is_finished


def result_without_event() -> dg.MaterializeResult[None]:
    """The output of a step of one asset, for which Dagster stores no materialization by itself.

    Steps downstream in the same run go on. Without it they would be skipped, and Dagster offers no
    other way for an asset's step to say that there is nothing new. This is how Dagster marks the
    outputs of its own observable sources, whose body reports what it saw.
    """
    return dg.MaterializeResult(metadata={SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True})


def reads_by_partition(context: dg.InputContext) -> bool:
    """Whether the partitions of an input are those of its reader, and not all that there are.

    An asset without partitions is given all partitions of what it reads, also those that are not
    due yet. A context without a step, as tests build it, counts as that of a partitioned reader.
    """
    if not context.has_asset_partitions:
        return False
    try:
        return context.step_context.entity_partitions_def is not None
    except dg.DagsterInvariantViolationError:  # it has no step
        return True


def set_data_version(context: dg.OutputContext, version: str) -> None:
    """Set the data version of what an IO manager stores, which Dagster lets only assets do."""
    context.step_context.set_data_version(context.asset_key, dg.DataVersion(version))


def io_manager_key(asset: dg.AssetsDefinition, key: dg.AssetKey) -> str:
    """The resource that stores one of the outputs of an asset definition."""
    return asset.get_io_manager_key_for_asset_key(key)


def keeps_files(ref: InstanceRef) -> bool:
    """Whether the storage of an instance is SQLite files in its home, by its configuration."""
    whole, runs = ref.storage_data, ref.run_storage_data
    chosen = runs if whole is None or whole.class_name == "CompositeStorage" else whole
    return chosen is None or "Sqlite" in chosen.class_name


def daemon_statuses(instance: dg.DagsterInstance) -> Iterator[DaemonFacts]:
    """The daemons that an instance needs, by their last heartbeats."""
    for name, status in instance.get_daemon_statuses().items():
        beat = status.last_heartbeat
        yield DaemonFacts(
            name=name,
            alive=bool(status.healthy),
            last_heartbeat=None if beat is None else datetime.fromtimestamp(beat.timestamp, UTC),
            error=beat.errors[0].message if beat is not None and beat.errors else "",
        )


@contextmanager
def loaded_workspace(
    instance: dg.DagsterInstance, file: str
) -> Iterator[list[tuple[str, object | None, str]]]:
    """Load the code locations that a workspace file names, each in a server of its own.

    Yields:
        Name, the code location (None if it did not load), and why it did not (empty if it did);
        by name, since they are loaded side by side.
    """
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import WorkspaceFileTarget

    target = WorkspaceFileTarget([file])
    with WorkspaceProcessContext(instance, target, code_server_log_level="ERROR") as process:
        entries = process.get_current_workspace().code_location_entries
        yield [
            (name, each.code_location, "" if each.load_error is None else _root(each.load_error))
            for name, each in sorted(entries.items())
        ]


def _root(error: SerializableErrorInfo) -> str:
    """The text of the error of a user's code, without those of Dagster around it."""
    while error.cause is not None and error.message.startswith("dagster."):
        error = error.cause
    return error.message


def instigators(instance: dg.DagsterInstance, location: object) -> Iterator[tuple[str, bool, str]]:
    """The sensors and schedules of a code location of `loaded_workspace`.

    Yields:
        Name, whether it is switched on, and the error of its last tick (empty for none).
    """
    from dagster._core.remote_representation.code_location import CodeLocation

    assert isinstance(location, CodeLocation)
    for repository in location.get_repositories().values():
        found: list[RemoteSensor | RemoteSchedule] = [*repository.get_sensors()]
        found += repository.get_schedules()
        for each in found:
            origin, selector = each.get_remote_origin_id(), each.selector_id
            stored = instance.get_instigator_state(origin, selector)
            ticks = instance.get_ticks(origin, selector, limit=1)
            failed = [tick for tick in ticks if tick.status is TickStatus.FAILURE]
            error = failed[0].error if failed else None
            why = "" if error is None else _root(error)
            yield each.name, each.get_current_instigator_state(stored).is_running, why
