"""Runs that ended long ago are deleted, but for those that Dagster still looks at."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from tests.app.memory_world import EVENTS, MemoryWorld
from tests.orchestration.automated_world import CONFIGURATION, AutomatedWorld
from tests.orchestration.served import instance_at
from vde_dagster.orchestration import old_runs
from vde_dagster.orchestration._unpublished import RUN_KEY_TAG
from vde_dagster.orchestration.attempts import attempts_with, ended_attempts
from vde_dagster.orchestration.home import own_home
from vde_dagster.orchestration.location import Location, open_location
from vde_dagster.orchestration.metadata import AUTOMATION, ENVIRONMENT, WORK
from vde_dagster.orchestration.old_runs import delete_old_runs

NOW = timedelta(0)
OURS = {ENVIRONMENT: "prod", AUTOMATION: "automated/prod"}


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
    named = {**OURS, **tags}
    done = dg.materialize([asset], instance=instance, tags=named, raise_on_error=False)
    return done.run_id


def left(instance: dg.DagsterInstance) -> set[str]:
    return {each.run_id for each in instance.get_runs()}


def test_a_run_is_deleted_once_it_is_old_and_its_results_are_not_the_latest(
    instance: dg.DagsterInstance, location: Location
) -> None:
    first, second, other = (run(instance, each) for each in (rows, rows, others))
    assert delete_old_runs(instance, location, timedelta(days=1)) == 0
    assert delete_old_runs(instance, location, NOW) == 1
    assert left(instance) == {second, other}
    assert not instance.all_logs(first)
    latest = instance.get_latest_materialization_event(dg.AssetKey("rows"))
    assert latest is not None
    assert latest.run_id == second
    assert delete_old_runs(instance, location, NOW) == 0


def test_a_run_that_failed_to_compute_an_asset_last_stays(
    instance: dg.DagsterInstance, location: Location
) -> None:
    done, failed = run(instance, failing), run(instance, failing, fails="yes")
    again = run(instance, rows)
    assert delete_old_runs(instance, location, NOW) == 0
    assert left(instance) == {done, failed, again}


def test_a_try_of_failed_work_has_a_new_run_key_also_once_earlier_tries_are_deleted(
    instance: dg.DagsterInstance, location: Location
) -> None:
    """Dagster starts nothing for a run key that a run has."""
    keys = [f"prod:t:{number}|a:b:{number + 4}" for number in range(1, 4)]
    tags = {WORK: "t", "fails": "yes"}
    *_, last = [run(instance, failing, **{RUN_KEY_TAG: key}, **tags) for key in keys]
    assert delete_old_runs(instance, location, NOW) == 2
    (left_over,) = instance.get_run_records(dg.RunsFilter(tags={WORK: "t"}))
    assert left_over.dagster_run.run_id == last
    assert attempts_with(instance, WORK, "t", is_held=False).ended == 3
    assert ended_attempts([left_over], work="a:b").ended == 7
    assert ended_attempts([left_over], work="b").ended == 7
    assert ended_attempts([left_over], work="other").ended == 1
    assert ended_attempts([left_over]).ended == 1


def test_old_runs_are_found_behind_many_that_stay(
    instance: dg.DagsterInstance, location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_runs, "_PAGE", 1)
    stay = {run(instance, each) for each in (others, failing)}
    goes, last = run(instance, rows), run(instance, rows)
    assert delete_old_runs(instance, location, NOW) == 1
    assert left(instance) == {*stay, last}
    assert goes not in left(instance)


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
    assert delete_old_runs(instance, location, NOW) == 0
    assert left(instance) == {first, last}
    newest = run(instance, rows)
    assert delete_old_runs(instance, location, NOW) == 2
    assert left(instance) == {newest}


@dg.asset(
    key=["staging", "events"],
    partitions_def=dg.HourlyPartitionsDefinition("2024-01-01-00:00", end_date="2024-01-01-02:00"),
)
def events() -> None: ...


def test_the_run_that_gave_the_newest_partition_stays_also_after_late_rows_were_loaded(
    instance: dg.DagsterInstance, location: Location
) -> None:
    newest, late, later = (
        dg.materialize([events], instance=instance, tags=OURS, partition_key=each).run_id
        for each in ("2024-01-01-01:00", "2024-01-01-00:00", "2024-01-01-00:00")
    )
    assert delete_old_runs(instance, location, NOW) == 1
    assert left(instance) == {newest, later}
    assert late not in left(instance)


def test_in_the_home_of_a_project_all_runs_of_an_environment_are_its_own(
    location: Location,
) -> None:
    home = own_home(location.project.configuration)
    home.mkdir(parents=True)
    with instance_at(home) as own:
        theirs = {
            dg.materialize([rows], instance=own).run_id,
            dg.materialize([rows], instance=own, tags={ENVIRONMENT: "dev"}).run_id,
        }
        first, last = (
            dg.materialize([rows], instance=own, tags={ENVIRONMENT: "prod"}).run_id
            for _ in range(2)
        )
        assert delete_old_runs(own, location, NOW) == 1
        assert left(own) == {*theirs, last}
        assert first not in left(own)


def test_runs_of_other_environments_projects_and_people_stay(
    instance: dg.DagsterInstance, location: Location
) -> None:
    theirs = {
        run(instance, rows, **{ENVIRONMENT: "dev", AUTOMATION: "automated/dev"}),
        run(instance, rows, **{AUTOMATION: "other/prod"}),
        dg.materialize([rows], instance=instance).run_id,
    }
    last = run(instance, rows)
    assert delete_old_runs(instance, location, NOW) == 0, "in a home that others may share"
    assert left(instance) == {*theirs, last}


def test_a_few_are_deleted_at_once_the_oldest_first(
    instance: dg.DagsterInstance, location: Location
) -> None:
    runs = [run(instance, rows) for _ in range(4)]
    assert delete_old_runs(instance, location, NOW, most=2) == 2
    assert left(instance) == {*runs[2:]}


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
