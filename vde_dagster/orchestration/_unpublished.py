"""All uses of Dagster's unpublished interfaces (dagster 1.13)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import dagster as dg
import sqlalchemy as sa
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION
from dagster._core.definitions.target import ANONYMOUS_ASSET_JOB_PREFIX
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition as UnresolvedAssetJob,
)
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.scheduler.instigation import InstigatorStatus, InstigatorType, TickStatus
from dagster._core.storage.tags import GRPC_INFO_TAG, RUN_KEY_TAG
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from sqlalchemy.exc import DBAPIError as DatabaseError

if TYPE_CHECKING:
    from dagster._core.definitions.declarative_automation.operators import (
        AndAutomationCondition as AndCondition,
    )
    from dagster._core.instance.ref import InstanceRef
    from dagster._core.remote_representation.external import RemoteSchedule, RemoteSensor
    from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
    from dagster_shared.error import SerializableErrorInfo

__all__ = [
    "GRPC_INFO_TAG",
    "HIDDEN_JOB",
    "RUN_KEY_TAG",
    "AndCondition",
    "CheckRunHealthResult",
    "DatabaseError",
    "TranslationFn",
    "TranslationFnResolver",
    "UnresolvedAssetJob",
    "WorkerStatus",
    "asset_runs",
    "daemon_statuses",
    "forget_run",
    "home_of",
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
    "run_of_newest_event",
    "set_data_version",
]

HIDDEN_JOB: Final = ANONYMOUS_ASSET_JOB_PREFIX
"""The prefix of the names of jobs that Dagster creates for a target, and does not list."""
_EVENTS_AT_ONCE: Final = 200
"""How many events of a run are read and deleted in one transaction."""
_SAME_IN_ALL: Final = ("dagster/column_schema", "dagster/column_lineage")
"""Metadata that the latest result has, too. It is most of what a materialization takes."""


def is_switched_on(context: dg.SensorEvaluationContext, sensor: str) -> bool:
    """Whether another sensor of the code location that a tick belongs to is switched on.

    One that nobody ever switched on has no state, or that of its definition. If a context does not
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


def home_of(instance: dg.DagsterInstance) -> Path:
    """The folder of an instance: ``DAGSTER_HOME``, or that of an instance without a home."""
    return Path(instance.root_directory)


def asset_runs(instance: dg.DagsterInstance) -> Iterator[str]:
    """The runs that Dagster looks at first of each asset that it has ever seen.

    Those are the one that its latest materialization is from, and the one that was to compute it
    last.
    """
    for each in (record.asset_entry for record in instance.get_asset_records()):
        result = each.last_materialization
        runs = (result.run_id if result is not None else None, each.last_run_id)
        yield from (run for run in runs if run)


def forget_run(instance: dg.DagsterInstance, run_id: str, *, until: float = inf) -> bool:
    """Delete a run that has ended, with its events, its database and what its steps printed.

    The latest materialization of each partition stays, at its place among all events, as one that
    no run gave and without columns: from these events alone Dagster reads which partitions there
    are, again after each change of a partitions definition, as of its end.

    `dagster.DagsterInstance.delete_run` deletes the run first, so that its events are never found
    again if it is cut off. It also leaves an empty database of full size where each run has one of
    its own, and the files of compute logs. Here the run goes last.

    Args:
        instance: Has the run.
        run_id: The run.
        until: When to stop, by `time.monotonic`.

    Returns:
        Whether it is gone. If not, the time is over and the next call goes on; or the storage of
        events is none of Dagster's own, and nothing was done.

    Raises:
        DatabaseError: A database is locked, or does not answer. The next call goes on.
    """
    from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage

    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return False
    while _forget_some_of_assets(storage, run_id):
        if monotonic() > until:
            return False
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    _forget_other_events(storage, run_id)
    instance.run_storage.delete_run(run_id)
    return True


def _forget_some_of_assets(storage: SqlEventLogStorage, run_id: str) -> bool:
    """Delete a run's next events about assets, but for what stays; whether there were any."""
    from dagster._core.storage.event_log.schema import AssetEventTagsTable, SqlEventLogStorageTable

    events, newer = SqlEventLogStorageTable, SqlEventLogStorageTable.alias()
    same = ("asset_key", "dagster_event_type", "partition")
    later = sa.exists().where(newer.c.id > events.c.id, *(newer.c[k] == events.c[k] for k in same))
    is_result = events.c.dagster_event_type == dg.DagsterEventType.ASSET_MATERIALIZATION.value
    stays = sa.and_(is_result, events.c.partition.is_not(None), ~later)
    found = sa.select(events.c.id, sa.case((stays, events.c.event)))
    found = found.where(events.c.run_id == run_id, events.c.asset_key.is_not(None))
    with storage.index_connection() as connection:
        rows = connection.execute(found.order_by(events.c.id).limit(_EVENTS_AT_ONCE)).all()
        for number, written in rows:
            if written is not None:
                values = {"run_id": "", "step_key": None, "event": _without_run(written)}
                connection.execute(events.update().where(events.c.id == number).values(**values))
        gone = [number for number, written in rows if written is None]
        tags = AssetEventTagsTable
        connection.execute(tags.delete().where(tags.c.event_id.in_(gone)))
        connection.execute(events.delete().where(events.c.id.in_(gone)))
    return bool(rows)


def _without_run(written: str) -> str:
    """A materialization as `dagster.DagsterInstance.report_runless_asset_event` writes it."""
    from dagster._core.events import DagsterEvent, StepMaterializationData
    from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID
    from dagster._serdes import deserialize_value, serialize_value

    entry = deserialize_value(written, dg.EventLogEntry)
    result = entry.asset_materialization
    assert result is not None
    metadata = {key: each for key, each in result.metadata.items() if key not in _SAME_IN_ALL}
    event = DagsterEvent(
        event_type_value=dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        event_specific_data=StepMaterializationData(result._replace(metadata=metadata)),
        job_name=RUNLESS_JOB_NAME,
    )
    return serialize_value(
        entry._replace(
            user_message="",
            job_name=RUNLESS_JOB_NAME,
            run_id=RUNLESS_RUN_ID,
            step_key=None,
            dagster_event=event,
        )
    )


def _forget_other_events(storage: SqlEventLogStorage, run_id: str) -> None:
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

    if not isinstance(storage, SqliteEventLogStorage):
        storage.delete_events(run_id)
        return
    with storage.index_connection() as connection:
        storage.delete_events_for_run(connection, run_id)
    if storage.supports_global_concurrency_limits:
        storage.free_concurrency_slots_for_run(run_id)
    own = Path(storage.path_for_shard(run_id))
    for name in (own.name, f"{own.name}-wal", f"{own.name}-shm"):
        own.with_name(name).unlink(missing_ok=True)
    known: set[str] = storage._initialized_dbs  # noqa: SLF001 - else it makes no tables again
    known.discard(run_id)


def run_of_newest_event(instance: dg.DagsterInstance) -> str | None:
    """The run that reported the newest of all events; None if no run did, or it is not known.

    Sensors, conditions and results of assets remember numbers of events, to go on with later ones.
    SQLite gives the highest number again once its row is deleted, so this run has to stay.
    """
    from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage

    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return None
    newest = "SELECT run_id FROM event_logs ORDER BY id DESC LIMIT 1"
    with storage.index_connection() as connection:
        found = connection.exec_driver_sql(newest).scalar()
    return str(found) if found else None


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
    """The latest result of each of these checks; None where a run was to give one and did not.

    Checks that were never evaluated, and those whose run is under way, are absent.
    """
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key([*keys])
    results = {
        key: record.event.asset_check_evaluation if record.event is not None else None
        for key, record in records.items()
    }
    return {
        key: result
        for key, result in results.items()
        if result is not None or not _is_under_way(instance, records[key].run_id)
    }


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


def daemon_statuses(
    instance: dg.DagsterInstance,
) -> Iterator[tuple[str, bool, float | None, str]]:
    """The daemons that an instance needs.

    Yields:
        Name, whether it is alive, when it said so last (seconds since 1970; None for never), and
        its last error (empty for none).
    """
    for name, status in instance.get_daemon_statuses().items():
        beat = status.last_heartbeat
        errors = beat.errors if beat is not None and beat.errors else ()
        yield (
            name,
            bool(status.healthy),
            None if beat is None else beat.timestamp,
            errors[0].message if errors else "",
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
