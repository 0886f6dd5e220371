"""Runs that ended long ago are deleted, but for those that Dagster still looks at."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite import sqlite_event_log

from tests.app.memory_world import EVENTS, MemoryWorld
from tests.orchestration.automated_world import CONFIGURATION, AutomatedWorld
from tests.orchestration.served import instance_at
from vde_dagster import on_changed_data
from vde_dagster.orchestration import old_runs
from vde_dagster.orchestration._unpublished import RUN_KEY_TAG
from vde_dagster.orchestration.attempts import attempts_with, ended_attempts
from vde_dagster.orchestration.home import own_home
from vde_dagster.orchestration.location import Location, open_location
from vde_dagster.orchestration.metadata import AUTOMATION, ENVIRONMENT, PROJECT, WORK
from vde_dagster.orchestration.old_runs import Deleted, delete_old_runs

NOW = timedelta(0)
OURS = {PROJECT: "automated", ENVIRONMENT: "prod"}
EARLIER = {ENVIRONMENT: "prod", AUTOMATION: "automated/prod"}
"""The tags of runs of automation from before there was that of projects."""
THEIRS: Final[Sequence[dict[str, str]]] = (
    {},
    {ENVIRONMENT: "dev", PROJECT: "automated"},
    {ENVIRONMENT: "dev", AUTOMATION: "automated/dev"},
    {ENVIRONMENT: "prod", PROJECT: "other"},
    {ENVIRONMENT: "prod", AUTOMATION: "other/prod"},
    {ENVIRONMENT: "prod", PROJECT: "other", AUTOMATION: "other/prod"},
)


@dg.asset
def rows() -> None: ...


@dg.asset
def others() -> None: ...


@dg.asset
def failing() -> None:
    if "fails" in dg.AssetExecutionContext.get().run.tags:
        raise ValueError("not today")


@pytest.fixture
def location(tmp_path: Path, instance: dg.DagsterInstance) -> Location:
    """A project in production."""
    world = AutomatedWorld(tmp_path, instance, MemoryWorld())
    world.write({"events": EVENTS})
    world.world.land((0.5, 1), until=2)
    world.apply()
    return open_location(world.project(), "prod")


def run(instance: dg.DagsterInstance, asset: dg.AssetsDefinition, **tags: str) -> str:
    """A run that materializes an asset; its id."""
    return run_with(instance, asset, {**OURS, **tags})


def run_with(
    instance: dg.DagsterInstance, asset: dg.AssetsDefinition, tags: Mapping[str, str]
) -> str:
    done = dg.materialize([asset], instance=instance, tags=tags, raise_on_error=False)
    return done.run_id


def left(instance: dg.DagsterInstance) -> set[str]:
    return {each.run_id for each in instance.get_runs()}


@pytest.mark.full
def test_a_run_is_deleted_once_it_is_old_and_its_results_are_not_the_latest(
    instance: dg.DagsterInstance, location: Location
) -> None:
    first, second, other = (run(instance, each) for each in (rows, rows, others))
    assert delete_old_runs(instance, location, timedelta(days=1)).runs == 0
    assert delete_old_runs(instance, location, NOW).runs == 1
    assert left(instance) == {second, other}
    assert not instance.all_logs(first)
    latest = instance.get_latest_materialization_event(dg.AssetKey("rows"))
    assert latest is not None
    assert latest.run_id == second
    assert delete_old_runs(instance, location, NOW).runs == 0


@pytest.mark.full
def test_a_run_that_failed_to_compute_an_asset_last_stays(
    instance: dg.DagsterInstance, location: Location
) -> None:
    done, failed = run(instance, failing), run(instance, failing, fails="yes")
    again = run(instance, rows)
    assert delete_old_runs(instance, location, NOW).runs == 0
    assert left(instance) == {done, failed, again}


@pytest.mark.full
def test_a_try_of_failed_work_has_a_new_run_key_also_once_earlier_tries_are_deleted(
    instance: dg.DagsterInstance, location: Location
) -> None:
    """Dagster starts nothing for a run key that a run has."""
    keys = [f"prod:t:{number}|a:b:{number + 4}" for number in range(1, 4)]
    tags = {WORK: "t", "fails": "yes"}
    *_, last = [run(instance, failing, **{RUN_KEY_TAG: key}, **tags) for key in keys]
    assert delete_old_runs(instance, location, NOW).runs == 2
    (left_over,) = instance.get_run_records(dg.RunsFilter(tags={WORK: "t"}))
    assert left_over.dagster_run.run_id == last
    assert attempts_with(instance, WORK, "t", is_held=False).ended == 3
    assert ended_attempts([left_over], work="a:b").ended == 7
    assert ended_attempts([left_over], work="b").ended == 7
    assert ended_attempts([left_over], work="other").ended == 1
    assert ended_attempts([left_over]).ended == 1


@pytest.mark.full
def test_old_runs_are_found_behind_many_that_stay(
    instance: dg.DagsterInstance, location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_runs, "_PAGE", 1)
    stay = {run(instance, each) for each in (others, failing)}
    goes, last = run(instance, rows), run(instance, rows)
    assert delete_old_runs(instance, location, NOW).runs == 1
    assert left(instance) == {*stay, last}
    assert goes not in left(instance)


@pytest.mark.full
def test_the_run_of_the_newest_event_stays_until_there_is_a_newer_one(
    instance: dg.DagsterInstance, location: Location
) -> None:
    """SQLite would give the numbers of its events again, which sensors have seen already."""

    @dg.op
    def nothing() -> None: ...

    @dg.job
    def idle() -> None:
        nothing()

    first = run(instance, rows)
    last = idle.execute_in_process(instance=instance, tags=OURS).run_id
    assert delete_old_runs(instance, location, NOW).runs == 0
    assert left(instance) == {first, last}
    newest = run(instance, rows)
    assert delete_old_runs(instance, location, NOW).runs == 2
    assert left(instance) == {newest}


EVENTS_KEY = dg.AssetKey(["staging", "events"])


@dg.asset(
    key=EVENTS_KEY,
    partitions_def=dg.HourlyPartitionsDefinition("2024-01-01-00:00", end_date="2024-01-01-02:00"),
)
def events() -> dg.MaterializeResult[None]:
    columns = dg.TableSchema([dg.TableColumn("id", "bigint")])
    return dg.MaterializeResult(metadata={"rows": 1, "dagster/column_schema": columns})


def results(instance: dg.DagsterInstance) -> dict[str | None, dg.EventLogRecord]:
    """Dagster's events of results, by partition; each has one."""
    found = instance.fetch_materializations(EVENTS_KEY, limit=100).records
    assert len({each.partition_key for each in found}) == len(found)
    return {each.partition_key: each for each in found}


def test_the_latest_result_of_a_partition_stays_without_its_run(
    instance: dg.DagsterInstance, location: Location
) -> None:
    """At its number, so that nothing that looks for later ones takes it for news."""

    def given(partition: str) -> str:
        """A run of one partition."""
        done = dg.materialize([events], instance=instance, tags=OURS, partition_key=partition)
        return done.run_id

    newest, late, later = map(given, ("2024-01-01-01:00", "2024-01-01-00:00", "2024-01-01-00:00"))
    before = instance.fetch_materializations(EVENTS_KEY, limit=100).records
    assert delete_old_runs(instance, location, NOW).runs == 2
    assert left(instance) == {later}
    after = results(instance)
    assert [after[each].run_id for each in sorted(map(str, after))] == [later, ""]
    assert {each.storage_id for each in after.values()} == {
        each.storage_id for each in before if each.run_id in {newest, later}
    }
    assert {each.run_id for each in before} == {newest, late, later}
    was = next(each for each in before if each.run_id == newest)
    now = after["2024-01-01-01:00"]
    assert now.timestamp == was.timestamp
    assert now.asset_materialization is not None
    assert was.asset_materialization is not None
    assert now.asset_materialization.tags == was.asset_materialization.tags
    assert now.asset_materialization.metadata == {"rows": dg.IntMetadataValue(1)}
    assert "dagster/column_schema" in was.asset_materialization.metadata
    tags = instance.get_event_tags_for_asset(EVENTS_KEY)
    assert len(tags) == len(after), "those of events that are gone are gone, too"


@pytest.mark.full
def test_in_the_home_of_a_project_runs_of_an_environment_are_its_own_but_for_another_projects(
    location: Location,
) -> None:
    home = own_home(location.project.configuration)
    home.mkdir(parents=True)
    with instance_at(home) as own:
        theirs = {run_with(own, rows, each) for each in THEIRS}
        for tags in (OURS, EARLIER, {ENVIRONMENT: "prod"}):
            run_with(own, rows, tags)
        last = run_with(own, rows, {})
        assert delete_old_runs(own, location, NOW).runs == 3
        assert left(own) == {*theirs, last}


@pytest.mark.full
def test_runs_of_other_environments_projects_and_people_stay_in_a_home_that_is_shared(
    instance: dg.DagsterInstance, location: Location
) -> None:
    theirs = {run_with(instance, rows, each) for each in (*THEIRS, {ENVIRONMENT: "prod"})}
    for tags in (OURS, {**OURS, **EARLIER}, EARLIER):
        run_with(instance, rows, tags)
    last = run_with(instance, rows, {})
    assert delete_old_runs(instance, location, NOW).runs == 3
    assert left(instance) == {*theirs, last}


@pytest.mark.full
def test_production_deletes_the_runs_that_are_about_all_environments(
    instance: dg.DagsterInstance, location: Location
) -> None:
    @dg.op
    def nothing() -> None: ...

    @dg.job(name="vde_janitor")
    def janitor() -> None:
        nothing()

    ours, theirs = (
        janitor.execute_in_process(instance=instance, tags={PROJECT: each}).run_id
        for each in ("automated", "other")
    )
    last = run(instance, rows)
    dev = open_location(location.project, "dev")
    assert delete_old_runs(instance, dev, NOW).runs == 0
    assert delete_old_runs(instance, location, NOW).runs == 1
    assert left(instance) == {theirs, last}
    assert ours not in left(instance)


def test_a_database_that_is_locked_ends_a_pass_and_the_next_one_goes_on(
    tmp_path: Path, location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_event_log, "SQLITE_BUSY_TIMEOUT_SECONDS", 0)
    home = tmp_path / "home"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as own:
        runs = [run(own, rows) for _ in range(3)]
        with closing(sqlite3.connect(next(tmp_path.rglob("runs/index.db")))) as other:
            other.execute("BEGIN IMMEDIATE")
            found = delete_old_runs(own, location, NOW)
        assert found == Deleted(runs=0, error="database is locked")
        assert left(own) == {*runs}
        assert delete_old_runs(own, location, NOW) == Deleted(runs=2)


def test_a_pass_ends_when_its_time_is_over(
    instance: dg.DagsterInstance, location: Location
) -> None:
    runs = [run(instance, rows) for _ in range(2)]
    assert delete_old_runs(instance, location, NOW, seconds=-1).runs == 0
    assert left(instance) == {*runs}
    assert delete_old_runs(instance, location, NOW).runs == 1


@pytest.mark.full
def test_a_few_are_deleted_at_once_the_oldest_first(
    instance: dg.DagsterInstance, location: Location
) -> None:
    runs = [run(instance, rows) for _ in range(4)]
    assert delete_old_runs(instance, location, NOW, most=2).runs == 2
    assert left(instance) == {*runs[2:]}


@pytest.mark.full
def test_the_status_sensor_deletes_them_if_the_project_says_so(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    world = AutomatedWorld(tmp_path, instance, MemoryWorld())
    world.write({"events": EVENTS})
    world.world.land((0.5, 1), until=2)
    world.apply()
    first, second = run(instance, rows), run(instance, rows)
    world.skipped("vde_status_prod")
    assert left(instance) == {first, second}, "never, where nothing is said"
    text = f"{CONFIGURATION}clean_up:\n  runs: 0 days\n"
    (tmp_path / "vde.yaml").write_text(text, encoding="utf-8")
    world._locations.clear()
    assert "deleted 1 old runs" in world.skipped("vde_status_prod")
    assert left(instance) == {second}


HOURLY = EVENTS.replace(",\n  late_data (mode stateless, sources (raw.events))", "")


@pytest.mark.full
def test_an_own_asset_goes_on_after_the_runs_of_its_old_inputs_were_deleted(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    """The clock moves the end of partitions, and Dagster reads again which are there."""

    @dg.asset(deps=[EVENTS_KEY], automation_condition=on_changed_data())
    def report() -> None: ...

    world = AutomatedWorld(tmp_path, instance, MemoryWorld())
    world.write({"events": HOURLY})
    world.world.land((0.5, 1), until=0)
    world.apply()
    cursor, runs = None, []
    for hour in (2, 3, 4):
        world.world.land((hour - 0.5, 1), until=hour)
        world._locations.clear()
        runs.append(world.launch(world.request()).run_id)
        delete_old_runs(instance, open_location(world.project(), "prod"), NOW)
        served = dg.Definitions.merge(world.definitions(), dg.Definitions(assets=[report]))
        found = dg.evaluate_automation_conditions(served, instance, cursor=cursor)
        cursor = found.cursor
        assert found.get_num_requested(report.key) == 1, f"after hour {hour}"
        dg.materialize([report], instance=instance, selection=[report.key])
    assert left(instance).isdisjoint(runs[:2])
