"""Plans and catch-up sessions as Dagster runs, and the sensor that asks for them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import RAW, bound
from tests.cli.calling import call
from tests.orchestration.automated_world import launch, tick
from tests.orchestration.conftest import (
    IN_MEMORY,
    START,
    InMemory,
    applied_on_spark,
    sample_on_spark,
)
from tests.orchestration.launchpad import latest, run_of
from tests.orchestration.served import at_home
from vde_dagster.app.apply.adopting import ADOPTED
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.jobs.runs import run_catch_up, run_plan
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.state.processes import this_process

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

SENSOR = "vde_late_data_prod"
EVENTS_NAME, DAILY_NAME = ModelName("staging", "events"), ModelName("mart", "daily")
DAY = Interval(START, START + timedelta(days=1))


def ids(sample: Sample, view: str = "staging.events") -> list[int]:
    return [row[0] for row in sample.rows(view)]


@pytest.mark.full
@applied_on_spark
def test_one_tick_finds_a_late_hour_and_one_run_appends_it_once(
    applied: Sample, instance: dg.DagsterInstance
) -> None:
    definitions = applied.definitions()
    assert tick(definitions, instance, SENSOR) == "with late data, prod is up to date"
    applied.land((100, 3.25, 7), (101, 24.5, 1), until=25)
    found = tick(definitions, instance, SENSOR)
    assert isinstance(found, list), found
    (request,) = found
    result = launch(definitions, instance, request)
    run = run_of(instance, result.run_id)
    assert run.tags["vde/environment"] == "prod"
    assert run.tags["vde/project"] == applied.project().configuration.name
    assert ids(applied) == [*range(24), 100, 101]
    written = {
        event.partition: event.materialization
        for event in result.get_asset_materialization_events()
    }
    assert sorted(written, key=str) == ["2024-01-01-03:00", "2024-01-02-00:00"]
    late = written["2024-01-01-03:00"]
    assert late.metadata["dagster/partition_row_count"].value == 2
    assert late.metadata["vde/late_rows_session"].value == 2
    assert late.metadata["vde/processing_uris"].value == [{"landed_hour": 25}]
    assert (late.tags or {})["dagster/data_version"] == late.metadata["vde/dsha"].value
    assert isinstance(tick(definitions, instance, SENSOR), str)
    # The same request again, by whatever accident, loads nothing.
    launch(definitions, instance, request)
    assert ids(applied) == [*range(24), 100, 101]


@pytest.mark.full
def test_only_the_owner_has_a_sensor(applied: Sample) -> None:
    names = [each.name for each in applied.definitions("dev").sensors or []]
    assert names == ["vde_automation_dev", "vde_status_dev"]
    ours = [each.name for each in applied.definitions().sensors or []]
    assert ours == ["vde_automation_prod", SENSOR, "vde_status_prod"]


@pytest.mark.full
@sample_on_spark
def test_a_plan_is_one_run_whose_events_a_dagster_of_the_same_home_shows(
    sample: Sample, own_home: None
) -> None:
    project = sample.project()
    reported: list[Evaluated] = []
    plan = sample.plan(project=project)
    done = run_plan(project, plan, reported.append)
    assert tuple(reported) == done
    assert [str(each.key.model) for each in done] == ["staging.events", "mart.daily", "mart.people"]
    assert [row[1] for row in sample.rows("mart.people")] == [24]
    home = dagster_home(project.configuration)
    assert home == sample.folder / ".vde" / "dagster"
    with dg.DagsterInstance.from_config(str(home)) as instance:
        (run,) = instance.get_runs()
        assert run.is_success
        assert (run.tags["vde/environment"], run.tags["vde/plan"]) == ("prod", plan.plan_id)
        assert run.tags["vde/project"] == project.configuration.name
        assert run.tags[RunTag.PROCESS] == this_process().as_json(), "whoever kills it ends it"
        records = instance.fetch_materializations(
            dg.AssetKey(["staging", "events"]), limit=100
        ).records
        assert len(records) == 24
        last = records[0].asset_materialization
        assert last is not None
        assert last.partition == "2024-01-01-23:00"
        assert (last.tags or {})["dagster/data_version"] == done[0].entries[-1].digest
        assert (last.tags or {})["dagster/code_version"] == done[0].key.version
        assert last.metadata["dagster/partition_row_count"].value == 1
    assert run_plan(project, sample.plan(), reported.append) == ()


def test_r6_a_run_shows_what_was_adopted_with_the_version_that_there_was(
    applied: Sample, own_home: None
) -> None:
    before = applied.bound("prod")
    applied.edit("models/staging/events.sql", "@end_dt", "@end_dt AND amount < 1000")
    project = applied.project()
    done = run_plan(project, applied.plan(project=project), lambda _: None)
    assert {str(each.key.model): each.reused for each in done} == {
        "staging.events": False,
        "mart.daily": True,
    }
    after = bound(project.services, "prod")
    assert after.key(DAILY_NAME) == before.key(DAILY_NAME)
    assert [row[1] for row in applied.rows("mart.people")] == [24]
    with at_home(project) as instance:
        last = latest(instance, "mart/daily")
        assert (last.tags or {})["dagster/code_version"] == before.key(DAILY_NAME).version
        assert last.metadata["vde/reused"].value is True
    assert applied.plan().is_empty


def test_r6_what_is_computed_before_the_views_move_is_reported_to_dagster(
    applied: Sample, own_home: None
) -> None:
    applied.edit("models/staging/events.sql", "@end_dt", "@end_dt AND amount < 1000")
    project = applied.project()
    theirs = bound(project.services, "prod")

    def meanwhile(done: Evaluated) -> None:
        """Production loads another row as soon as its table of days was adopted."""
        if done.reason == ADOPTED:
            applied.land((100, 5.2, 5000), until=24)
            catch_up(project.services, theirs, EVENTS_NAME)
            evaluate_range(project.services, theirs, DAILY_NAME, DAY, force=True)
            assert applied.rows("mart.people")[0][1] == 25

    done = run_plan(project, applied.plan("dev", project), meanwhile)
    assert [str(each.key.model) for each in done if each.reason != ADOPTED] == [
        "staging.events",
        "mart.daily",
        "mart.people",
    ]
    own = bound(project.services, "dev")
    assert own.key(DAILY_NAME) != theirs.key(DAILY_NAME)
    assert [row[1] for row in applied.rows("mart__dev.people")] == [24]
    with at_home(project) as instance:
        last = latest(instance, "mart__dev/daily")
        assert (last.tags or {})["dagster/code_version"] == own.key(DAILY_NAME).version


def test_an_interrupted_plan_ends_as_an_interrupt_and_keeps_what_it_filled(
    sample: Sample, own_home: None
) -> None:
    project = sample.project()

    def interrupted(_: Evaluated) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(project, sample.plan(project=project), interrupted)
    assert project.services.state.environment("prod") is None
    left = sample.plan(project=project)
    assert [str(each.name) for each in left.backfills] == ["mart.daily", "mart.people"]


@applied_on_spark
def test_what_the_command_line_loaded_is_listed_when_it_ends(
    applied: Sample, own_home: None
) -> None:
    applied.land((100, 3.25, 7), (101, 24.5, 1), until=25)
    assert "loaded 2 rows" in call("catch-up", "--project", applied.folder).stdout
    assert not applied.project().services.state.unlisted(limit=1)


@pytest.mark.full
def test_a_session_of_the_command_line_is_a_run_with_an_event_for_each_interval(
    applied: Sample, own_home: None
) -> None:
    applied.land((100, 3.25, 7), (101, 24.5, 1), until=25)
    project = applied.project()
    binding = bound(project.services, "prod")
    name = ModelName("staging", "events")
    loaded = run_catch_up(project, binding, name)
    assert isinstance(loaded, Evaluated)
    assert loaded.rows == 2
    assert isinstance(run_catch_up(project, binding, name), NothingToLoad)
    with at_home(project) as instance:
        assert len(instance.get_runs()) == 2
        records = instance.fetch_materializations(
            dg.AssetKey(["staging", "events"]), limit=100
        ).records
        assert sorted(each.partition_key or "" for each in records) == [
            "2024-01-01-03:00",
            "2024-01-02-00:00",
        ]


@pytest.mark.parametrize("applied", [IN_MEMORY], indirect=True)
def test_a_tick_moves_the_mark_beyond_a_compaction(
    applied: InMemory, instance: dg.DagsterInstance
) -> None:
    project = applied.project()
    services = project.services
    binding = bound(services, "prod")
    key, source = binding.key(EVENTS_NAME), ModelName("raw", "events")
    before = services.state.marks(key)[source]
    applied.world.catalog.compact(RAW)
    assert tick(applied.definitions(), instance, SENSOR) == "with late data, prod is up to date"
    after = services.state.marks(key)[source]
    assert after.sequence_number > before.sequence_number
    assert tick(applied.definitions(), instance, SENSOR) == "with late data, prod is up to date"
    assert services.state.marks(key)[source] == after
