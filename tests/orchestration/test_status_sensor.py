"""What Dagster is told without a run: what is shown, and what is missing, stale or foreign.

The project is applied without Dagster in these tests, as `vde` on another machine does it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from tests.app.memory_world import PROJECT, RAW, bound
from tests.orchestration.automated_world import AutomatedWorld, in_production, tick
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.orchestration._unpublished import latest_check_results
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.jobs.runs import run_plan
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.ports.state import environment_resource

if TYPE_CHECKING:
    from pathlib import Path

    from vde_dagster.ports.catalog import TableState

DAILY = ModelName("mart", "daily")
DAYS = ["2024-01-01", "2024-01-02"]
HOUR = timedelta(hours=1)


@pytest.fixture
def made(tmp_path: Path, instance: dg.DagsterInstance) -> AutomatedWorld:
    """A project in production; Dagster knows nothing of it."""
    world = in_production(tmp_path, instance, PROJECT)
    world.world.clock.advance(HOUR)
    return world


def settled_and_looked_at(world: AutomatedWorld) -> str:
    """What a tick answers once Dagster may hear of all that was recorded."""
    world.world.clock.advance(HOUR)
    return look(world)


DOUBLED = PROJECT["daily"].replace("SUM(amount) AS amount", "2 * SUM(amount) AS amount")


def doubled_in_dev(world: AutomatedWorld) -> None:
    """An edit that dev has computed."""
    world.write({**PROJECT, "daily": DOUBLED})
    world.apply("dev")


def look(world: AutomatedWorld, environment: str = "prod") -> str:
    """What a tick of an environment's status sensor answers."""
    definitions = world.definitions(environment)
    answer = tick(definitions, world.instance, f"vde_status_{environment}")
    assert isinstance(answer, str)
    return answer


def not_fresh(world: AutomatedWorld, environment: str = "prod") -> dict[str, str]:
    """What Dagster calls stale or missing, by asset and partition."""
    graph = world.definitions(environment).resolve_asset_graph()
    instance = world.instance
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    return {
        f"{key.to_user_string()} {partition or ''}".strip(): status.value
        for key in graph.materializable_asset_keys
        for partition in _partitions(graph.get(key).partitions_def)
        if (status := resolver.get_status(key, partition)) is not StaleStatus.FRESH
    }


def _partitions(definition: dg.PartitionsDefinition | None) -> list[str | None]:
    return [None] if definition is None else [*definition.get_partition_keys()]


def told(world: AutomatedWorld, key: str) -> list[tuple[str | None, str]]:
    """The events of an asset, oldest first: partition and data version."""
    asset = dg.AssetKey(key.split("/"))
    found = world.instance.fetch_materializations(asset, limit=500, ascending=True).records
    events = [each.asset_materialization for each in found]
    return [(e.partition, (e.tags or {})["dagster/data_version"]) for e in events if e is not None]


def results(world: AutomatedWorld, check: str) -> dict[str, tuple[bool, str]]:
    """The latest result of a check on each asset that has one."""
    keys = [
        each
        for each in world.definitions().resolve_asset_graph().asset_check_keys
        if each.name == check
    ]
    found = world.instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    evaluated = {k: r.event.asset_check_evaluation for k, r in found.items() if r.event}
    return {
        key.asset_key.to_user_string(): (each.passed, each.description or "")
        for key, each in evaluated.items()
        if each is not None
    }


def digests(world: AutomatedWorld, name: ModelName, environment: str = "prod") -> list[str]:
    """The digests in the ledger of the version that an environment shows."""
    services = world.world.services()
    key = bound(services, environment).key(name)
    return [each.digest for each in services.state.ledger([key])[key]]


@pytest.mark.full
def test_what_vde_computed_elsewhere_is_reported_once_and_nothing_of_it_is_stale(
    made: AutomatedWorld,
) -> None:
    assert set(not_fresh(made).values()) == {"MISSING"}
    # 48 hours, 2 days, a table without partitions, and a view
    assert look(made).startswith("reported 52 results")
    assert not_fresh(made) == {}
    assert told(made, "mart/daily") == [*zip(DAYS, digests(made, DAILY), strict=True)]
    look(made)
    assert len(told(made, "staging/events")) == 48
    assert look(made) == "Dagster knows what prod shows"
    made.write(PROJECT)  # a new process, which compares with Dagster
    assert look(made) == "Dagster knows what prod shows"
    assert len(told(made, "mart/daily")) == 2


@pytest.mark.full
def test_dev_shows_the_results_that_it_shares_with_production_before_anything_ran_there(
    made: AutomatedWorld,
) -> None:
    look(made, "dev")
    assert not_fresh(made, "dev") == {}
    assert told(made, "mart__dev/daily") == [*zip(DAYS, digests(made, DAILY), strict=True)]
    assert told(made, "mart/daily") == []


@pytest.mark.full
def test_what_a_promotion_brings_into_view_is_reported_to_production(
    made: AutomatedWorld,
) -> None:
    look(made)
    doubled_in_dev(made)
    made.apply("prod")  # computes nothing: dev did
    made.world.clock.advance(HOUR)
    assert set(not_fresh(made).values()) == {"STALE"}
    look(made)
    assert told(made, "mart/daily")[2:] == [*zip(DAYS, digests(made, DAILY), strict=True)]
    assert not_fresh(made) == {}


@pytest.mark.full
def test_only_the_day_that_changed_is_reported_again_after_a_minute_for_the_run_that_did_it(
    made: AutomatedWorld,
) -> None:
    look(made)
    before = digests(made, DAILY)
    made.world.land((31.5, 5), until=48)
    made.apply()
    assert look(made).endswith("; the rest follows")
    assert len(told(made, "mart/daily")) == 2
    settled_and_looked_at(made)
    after = digests(made, DAILY)
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)
    assert told(made, "mart/daily")[2:] == [(DAYS[1], after[1])]
    assert not_fresh(made) == {}


def test_an_environment_at_work_is_not_looked_at(made: AutomatedWorld) -> None:
    resource = environment_resource("prod")
    made.world.state.acquire_lease(resource, holder="a plan", ttl=timedelta(minutes=2))
    assert re.fullmatch(r"a plan \(.*, process \d+ on .*\) is working on prod", look(made))
    assert told(made, "mart/daily") == []


def test_all_checks_pass_after_a_plan_and_their_results_are_reported_once(
    made: AutomatedWorld,
) -> None:
    look(made)
    models = {"staging/events", "mart/daily", "mart/totals"}
    for check in ("vde_no_missing_intervals", "vde_not_stale", "vde_no_foreign_write"):
        found = results(made, check)
        assert set(found) == models
        assert {passed for passed, _ in found.values()} == {True}
    assert set(results(made, "vde_schema")) == models | {"raw/events"}


@pytest.mark.full
def test_late_rows_fail_a_check_from_the_second_look_on_until_they_are_loaded(
    made: AutomatedWorld,
) -> None:
    look(made)
    made.world.land((31.5, 5), until=48)
    look(made)
    assert results(made, "vde_not_stale")["staging/events"][0] is True
    look(made)
    passed, text = results(made, "vde_not_stale")["staging/events"]
    assert not passed
    assert "`vde run prod` computes them" in text
    made.apply()
    settled_and_looked_at(made)
    assert results(made, "vde_not_stale")["staging/events"][0] is True


def test_missing_intervals_fail_a_check_with_their_range(made: AutomatedWorld) -> None:
    look(made)
    made.world.land((50.5, 1), until=72)
    look(made)
    look(made)
    assert results(made, "vde_no_missing_intervals")["mart/daily"] == (
        False,
        "Intervals due from 2024-01-03 on are missing: `vde run prod` computes them.",
    )


def daily(world: AutomatedWorld) -> VersionKey:
    return bound(world.world.services()).key(DAILY)


@pytest.mark.full
@pytest.mark.parametrize(
    "kind, said",
    [
        (None, "it lacks the column day (date), which is recorded"),
        ("string", "day is string, and date is recorded"),
    ],
)
def test_a_table_with_other_columns_fails_the_check_of_its_schema(
    made: AutomatedWorld, kind: str | None, said: str
) -> None:
    look(made)
    table = made.world.catalog.tables[daily(made).table]
    rest = [each for each in table.columns if each.name != "day"]
    table.columns = (*([Column(name="day", type=kind)] if kind else []), *rest)
    look(made)
    passed, text = results(made, "vde_schema")["mart/daily"]
    assert not passed
    assert said in text


def test_a_dropped_table_fails_each_check_that_would_call_it_whole(made: AutomatedWorld) -> None:
    look(made)
    table = daily(made).table
    made.world.catalog.drop_table(table)
    look(made)
    look(made)
    for check in ("vde_no_missing_intervals", "vde_no_foreign_write", "vde_schema"):
        assert not results(made, check)["mart/daily"][0], check
    assert results(made, "vde_schema")["mart/daily"][1] == f"{table}: the table is missing"


def test_a_dropped_source_fails_the_check_of_its_schema(made: AutomatedWorld) -> None:
    made.world.catalog.drop_table(RAW)
    done = click(made, ("raw/events", "vde_schema"))
    (found,) = done.get_asset_check_evaluations()
    assert (found.passed, found.description) == (False, "raw.events: the table is missing")


def test_a_table_that_cannot_be_read_is_unknown_and_hides_no_other(
    made: AutomatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, whole = daily(made).table, made.world.catalog.table

    def table(name: TableName) -> TableState | None:
        if name == gone:
            raise FileNotFoundError("metadata/00001.json")
        return whole(name)

    monkeypatch.setattr(made.world.catalog, "table", table)
    found = results_of(
        click(
            made,
            *[(each, "vde_no_foreign_write") for each in ("mart/daily", "mart/totals")],
            ("staging/events", "vde_schema"),
        )
    )
    assert found["mart/daily"] == (
        False,
        "it could not be checked: FileNotFoundError: metadata/00001.json",
    )
    assert found["mart/totals"][0]
    assert found["staging/events"][0]


def results_of(done: dg.ExecuteInProcessResult) -> dict[str, tuple[bool, str]]:
    evaluations = done.get_asset_check_evaluations()
    return {e.asset_key.to_user_string(): (e.passed, e.description or "") for e in evaluations}


@pytest.mark.full
def test_checks_that_a_failed_run_left_without_a_result_have_theirs_at_the_next_look(
    made: AutomatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(made)
    look(made)

    def fails(engine: MemoryEngine, staging: object) -> object:
        raise EvaluationFailed("the cluster is gone")

    monkeypatch.setattr(MemoryEngine, "stage", fails)
    job = made.definitions().resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(
        instance=made.instance,
        asset_selection=[dg.AssetKey(["mart", "totals"])],
        tags={RunTag.FORCE: "true"},
        raise_on_error=False,
    )
    assert not done.success
    assert "mart/totals" not in results(made, "vde_not_stale")
    look(made)
    assert results(made, "vde_not_stale")["mart/totals"][0]


@pytest.mark.full
def test_what_is_missing_for_longer_is_no_news(made: AutomatedWorld) -> None:
    look(made)
    made.world.land((50.5, 1), until=72)
    look(made)
    look(made)
    made.world.land((74.5, 1), until=96)
    assert look(made) == "Dagster knows what prod shows"


def click(world: AutomatedWorld, *checks: tuple[str, str]) -> dg.ExecuteInProcessResult:
    """Execute checks of assets alone, as the button on their page does."""
    job = world.definitions().resolve_implicit_global_asset_job_def()
    keys = {dg.AssetCheckKey(dg.AssetKey(asset.split("/")), name) for asset, name in checks}
    alone = job.get_subset(asset_selection=set(), asset_check_selection=keys)
    return alone.execute_in_process(instance=world.instance)


@pytest.mark.full
def test_checks_are_evaluated_by_a_click_without_computing_anything(made: AutomatedWorld) -> None:
    made.world.catalog.append(daily(made).table, [(None, 7)])
    done = click(
        made,
        ("mart/daily", "vde_no_missing_intervals"),
        ("mart/daily", "vde_no_foreign_write"),
        ("raw/events", "vde_schema"),
    )
    found = {each.check_name: each.passed for each in done.get_asset_check_evaluations()}
    assert found == {
        "vde_no_missing_intervals": False,  # nothing is computed over rows that nobody knows
        "vde_no_foreign_write": False,
        "vde_schema": True,
    }
    assert done.get_asset_materialization_events() == []


def test_a_run_of_an_asset_evaluates_the_checks_of_its_state_at_its_end(
    made: AutomatedWorld,
) -> None:
    made.world.land((31.5, 5), until=48)
    job = made.definitions().resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey(["mart", "totals"])]
    done = job.execute_in_process(instance=made.instance, asset_selection=keys)
    found = {each.check_name: each.passed for each in done.get_asset_check_evaluations()}
    assert found == {
        "vde_no_missing_intervals": True,
        "vde_not_stale": False,  # the day that it reads lacks the late event
        "vde_no_foreign_write": True,
        "vde_schema": True,
    }


def test_checks_have_a_result_again_after_a_run_that_evaluates_none(made: AutomatedWorld) -> None:
    look(made)
    key = dg.AssetCheckKey(dg.AssetKey(["mart", "totals"]), "vde_no_foreign_write")
    made.world.land((31.5, 5), until=48)
    made.launch(made.request())
    assert latest_check_results(made.instance, [key]) == {key: None}
    look(made)
    result = latest_check_results(made.instance, [key])[key]
    assert result is not None
    assert result.passed


@pytest.mark.full
def test_a_plan_reports_at_its_end_what_its_views_show_and_it_did_not_compute(
    made: AutomatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = dagster_home(made.project().configuration)
    with dg.DagsterInstance.from_config(str(home)) as made.instance:
        look(made)
        doubled_in_dev(made)
        project = made.project()
        plan = plan_environment(project.services, project.files.graph, "prod")
        run_plan(project, plan, lambda _: None)
        assert told(made, "mart/daily")[2:] == [*zip(DAYS, digests(made, DAILY), strict=True)]
        assert not_fresh(made) == {}
