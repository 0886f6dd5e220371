"""What Dagster's interfaces that are not published do, as far as this project relies on it.

When Dagster is updated and a test here fails, `vde_dagster.orchestration._unpublished` is the one
module to change.
"""

import ast
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
import pytest
from dagster._core.definitions.declarative_automation.operators import AndAutomationCondition
from dagster._core.events import EngineEventData
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)

import vde_dagster
from tests.orchestration.served import repository_of, served
from vde_dagster.orchestration import _unpublished as unpublished

PACKAGE = Path(vde_dagster.__file__).parent
DAYS = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-04")
KEY = dg.AssetKey("rows")
CHECK = dg.AssetCheckKey(KEY, "is_whole")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)


@pytest.mark.full
def test_no_other_module_uses_anything_of_dagster_that_is_not_published() -> None:
    used = {
        (path.name, name)
        for path in PACKAGE.rglob("*.py")
        for name in imported(path)
        if name.partition(".")[0] == "dagster" and any(p[0] == "_" for p in name.split("."))
    }
    assert {path for path, _ in used} == {"_unpublished.py"}


def test_each_name_of_the_module_has_a_test_here() -> None:
    named = set(ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8"))))
    used = {
        node.attr
        for node in named
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "unpublished"
    }
    only_for_types = {"AndCondition"}
    assert set(unpublished.__all__) - only_for_types <= used


def test_a_sensor_with_a_target_launches_a_job_of_a_hidden_name() -> None:
    @dg.asset
    def rows() -> None: ...

    @dg.sensor(target=[rows])
    def launcher() -> None: ...

    definitions = dg.Definitions(assets=[rows], sensors=[launcher])
    hidden = [each.name for each in definitions.get_repository_def().get_all_jobs()]
    assert any(name.startswith(unpublished.HIDDEN_JOB) for name in hidden)


def test_a_job_of_assets_is_not_resolved_when_it_is_defined() -> None:
    assert isinstance(dg.define_asset_job("nightly"), unpublished.UnresolvedAssetJob)


def test_conditions_that_are_joined_can_be_told_to_ignore_assets() -> None:
    condition = dg.AutomationCondition.missing() & dg.AutomationCondition.newly_updated()
    assert isinstance(condition, AndAutomationCondition)
    assert hasattr(condition, "ignore")


@dataclass
class Shown(dg.Resolvable):
    """What a component takes of its ``defs.yaml``."""

    translation: Annotated[
        unpublished.TranslationFn[str],
        unpublished.TranslationFnResolver[str](lambda data: {"who": data}),
    ]


def test_a_translation_is_resolved_to_a_function_of_a_spec_and_its_data() -> None:
    shown = Shown.resolve_from_yaml("translation: {owners: ['team:{{ who }}']}")
    spec = shown.translation(dg.AssetSpec("rows"), "shop")
    assert list(spec.owners) == ["team:shop"]


def switch(instance: dg.DagsterInstance, name: str, status: InstigatorStatus) -> None:
    @dg.sensor(name=name, job_name="any")
    def other() -> None: ...

    definitions = dg.Definitions(sensors=[other], jobs=[any_job()])
    with served(definitions, instance) as process:
        (sensor,) = repository_of(process).get_sensors()
        state = InstigatorState(
            sensor.get_remote_origin(),
            InstigatorType.SENSOR,
            status,
            SensorInstigatorData(),
        )
        instance.add_instigator_state(state)


def any_job() -> dg.JobDefinition:
    @dg.op
    def nothing() -> None: ...

    @dg.job(name="any")
    def job() -> None:
        nothing()

    return job


@pytest.mark.parametrize("status", [InstigatorStatus.RUNNING, InstigatorStatus.STOPPED])
def test_a_sensor_that_somebody_switched_on_is_told_from_one_that_is_off(
    instance: dg.DagsterInstance, status: InstigatorStatus
) -> None:
    with dg.build_sensor_context(instance=instance) as context:
        assert not unpublished.is_switched_on(context, "other")
        switch(instance, "other", status)
        assert unpublished.is_switched_on(context, "other") is (status is InstigatorStatus.RUNNING)
        assert not unpublished.is_switched_on(context, "another")


def test_of_each_partition_the_latest_materialization_is_found(
    instance: dg.DagsterInstance,
) -> None:
    for partition, rows in (("2024-01-01", 1), ("2024-01-02", 2), ("2024-01-01", 3)):
        event = dg.AssetMaterialization(KEY, partition=partition, metadata={"rows": rows})
        instance.report_runless_asset_event(event)
    wanted = ["2024-01-01", "2024-01-02", "2024-01-03"]
    found = unpublished.latest_materializations(instance, KEY, wanted)
    assert {key: each.metadata["rows"].value for key, each in found.items()} == {
        "2024-01-01": 3,
        "2024-01-02": 2,
    }
    assert unpublished.latest_materializations(instance, dg.AssetKey("other"), wanted) == {}


def checked(instance: dg.DagsterInstance, *, gives: bool) -> None:
    """A run that is to give the result of a check; it does, or it fails before."""

    @dg.asset_check(asset=KEY, name=CHECK.name)
    def is_whole() -> dg.AssetCheckResult:
        if not gives:
            raise RuntimeError("no table")
        return dg.AssetCheckResult(passed=True)

    definitions = dg.Definitions(
        asset_checks=[is_whole],
        jobs=[dg.define_asset_job("look", selection=dg.AssetSelection.all_asset_checks())],
    )
    job = definitions.resolve_job_def("look")
    job.execute_in_process(instance=instance, raise_on_error=False)


def test_of_each_check_the_latest_result_is_found(instance: dg.DagsterInstance) -> None:
    assert unpublished.latest_check_results(instance, [CHECK]) == {}
    checked(instance, gives=True)
    found = unpublished.latest_check_results(instance, [CHECK])[CHECK]
    assert found is not None
    assert found.passed
    checked(instance, gives=False)
    assert unpublished.latest_check_results(instance, [CHECK]) == {CHECK: None}


def test_a_result_is_not_shown_once_a_run_has_materialized_the_asset(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset(key=KEY)
    def table() -> None: ...

    checked(instance, gives=True)
    assert unpublished.latest_check_results(instance, [CHECK])[CHECK] is not None
    assert dg.materialize([table], instance=instance).success
    assert unpublished.latest_check_results(instance, [CHECK]) == {CHECK: None}
    checked(instance, gives=True)
    assert unpublished.latest_check_results(instance, [CHECK])[CHECK] is not None


def test_an_output_without_an_event_lets_the_steps_downstream_run(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset
    def rows() -> Any:
        return unpublished.result_without_event()

    @dg.asset(deps=[rows])
    def report() -> None: ...

    assert dg.materialize([rows, report], instance=instance).success
    assert instance.get_latest_materialization_event(KEY) is None
    assert instance.get_latest_materialization_event(dg.AssetKey("report")) is not None


class Manager(dg.IOManager):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.by_partition: list[bool] = []

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        unpublished.set_data_version(context, "v7")

    def load_input(self, context: dg.InputContext) -> int:
        self.by_partition.append(unpublished.reads_by_partition(context))
        return 0


def test_an_io_manager_sets_the_data_version_of_what_it_stores(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset
    def rows() -> int:
        return 5

    dg.materialize([rows], instance=instance, resources={"io_manager": Manager()})
    event = instance.get_latest_materialization_event(KEY)
    assert event is not None
    assert event.asset_materialization is not None
    assert (event.asset_materialization.tags or {})["dagster/data_version"] == "v7"


@pytest.mark.full
@pytest.mark.parametrize("partitions", [DAYS, None])
def test_only_a_partitioned_reader_reads_its_own_partitions(
    instance: dg.DagsterInstance, partitions: dg.PartitionsDefinition | None
) -> None:
    @dg.asset(partitions_def=DAYS)
    def rows() -> int:
        return 5

    @dg.asset(partitions_def=partitions)
    def report(rows: int) -> None: ...

    manager = Manager()
    dg.materialize(
        [rows, report],
        selection=[report],
        instance=instance,
        resources={"io_manager": manager},
        partition_key="2024-01-01" if partitions else None,
    )
    assert manager.by_partition == [partitions is not None]


def test_the_io_manager_of_each_output_of_an_asset_is_known() -> None:
    @dg.multi_asset(specs=[dg.AssetSpec("rows").with_io_manager_key("lake"), dg.AssetSpec("more")])
    def both():  # type: ignore[no-untyped-def]  # Dagster reads the annotation of what is returned
        """Never run."""

    assert unpublished.io_manager_key(both, KEY) == "lake"
    assert unpublished.io_manager_key(both, dg.AssetKey("more")) == "io_manager"


def test_a_run_launcher_answers_with_what_monitoring_understands() -> None:
    found = unpublished.CheckRunHealthResult(unpublished.WorkerStatus.NOT_FOUND, "why")
    assert (found.status, found.msg) == (unpublished.WorkerStatus.NOT_FOUND, "why")
    assert unpublished.WorkerStatus.RUNNING is not found.status


def test_the_process_of_a_run_and_the_server_that_started_it_are_known() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.DagsterRun(job_name="sleep", tags={unpublished.GRPC_INFO_TAG: "{}"})
        instance.add_run(run)
        assert unpublished.process_of(instance, run.run_id) is None
        instance.report_engine_event("no process", run)
        for pid in (7, 8):  # of the run, and of a step
            instance.report_engine_event("Started", run, EngineEventData.in_process(pid))
        known = unpublished.process_of(instance, run.run_id)
        assert known is not None
        assert known[0] == 7
        assert known[1] == pytest.approx(time.time(), abs=3600)
        assert unpublished.GRPC_INFO_TAG == ".dagster/grpc_info"
        assert unpublished.RUN_KEY_TAG == "dagster/run_key"


def test_the_storage_and_the_daemons_of_an_instance_are_known(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        assert unpublished.keeps_files(instance.get_ref())
        daemons = {each.name: each for each in unpublished.daemon_statuses(instance)}
    sensor = daemons["SENSOR"]
    assert not sensor.alive, "none ever said that it is alive"
    assert (sensor.last_heartbeat, sensor.error) == (None, "")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Error loading repository location bad.py")  # it is returned
def test_a_code_location_is_loaded_with_its_sensors_or_says_why_not(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(
        "import dagster as dg\n"
        "@dg.sensor(target='*', default_status=dg.DefaultSensorStatus.RUNNING)\n"
        "def looks(): ...\n"
        "defs = dg.Definitions(assets=[dg.AssetSpec('a')], sensors=[looks])\n"
    )
    (tmp_path / "bad.py").write_text("raise ValueError('not today')\n")
    file = tmp_path / "workspace.yaml"
    named = (f"  - python_file: {tmp_path / each}.py\n" for each in ("good", "bad"))
    file.write_text(f"load_from:\n{''.join(named)}")
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        unpublished.loaded_workspace(instance, str(file)) as found,
    ):
        by_name = {name: (location, why) for name, location, why in found}
        good, bad = by_name["good.py"], by_name["bad.py"]
        assert [*unpublished.instigators(instance, good[0])] == [("looks", True, "")]
    assert good[1] == ""
    assert bad[0] is None
    assert "not today" in bad[1]
