"""The janitor and maintenance by Dagster: what they do, show and refuse, and their schedules."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.launchpad import Launchpad, Make, failure, shown
from vde_dagster.app.clean_up import janitor, maintaining
from vde_dagster.app.leases import leased
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import TableName

DAY = timedelta(days=1)
MODELS = {name: text for name, text in PROJECT.items() if name != "events"}
MODELS["daily"] = MODELS["daily"].replace("staging.events", "raw.events")
DOUBLED = ("SUM(amount) AS amount FROM raw", "SUM(amount) * 2 AS amount FROM raw")


@pytest.fixture
def shop(make: Make) -> Launchpad:
    """Production, and dev with a version of its own of every model."""
    made = make(MODELS)
    made.edit("daily", *DOUBLED)
    made.apply("dev")
    return made


def configured(shop: Launchpad, settings: str) -> None:
    """Add to the project's settings, as a person who loads the code location again."""
    path = shop.folder / "vde.yaml"
    path.write_text(f"{path.read_text('utf-8')}{settings}\n", encoding="utf-8")
    shop._locations.clear()


def schedule(shop: Launchpad, name: str) -> dg.ScheduleDefinition:
    found = shop.definitions().resolve_schedule_def(name)
    assert isinstance(found, dg.ScheduleDefinition)
    return found


def by_its_schedule(shop: Launchpad, name: str) -> dg.ExecuteInProcessResult:
    """What a tick of a schedule launches, as Dagster's daemon does it."""
    found = schedule(shop, name)
    with dg.build_schedule_context(
        instance=shop.instance, scheduled_execution_time=shop.world.clock.now()
    ) as context:
        (request,) = found.evaluate_tick(context).run_requests or []
    job = shop.definitions().resolve_job_def(found.job_name)
    return job.execute_in_process(
        run_config=request.run_config, tags=dict(request.tags), instance=shop.instance
    )


def physical(shop: Launchpad) -> set[TableName]:
    return {each.name for each in shop.world.catalog.physical_layer()}


def said(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> str:
    """What the log of a run says."""
    return "\n".join(each.user_message for each in instance.all_logs(result.run_id))


# What they do
@pytest.mark.full
def test_an_expired_environment_goes_by_the_schedule_alone_and_then_its_tables(
    shop: Launchpad,
) -> None:
    """A team that uses nothing but Dagster needs no other command for it."""
    before = physical(shop)
    shop.world.clock.advance(6.9 * DAY)
    nothing = shown(by_its_schedule(shop, "vde_janitor_schedule"))
    assert nothing["vde/environments_removed"] == 0
    shop.world.clock.advance(0.2 * DAY)
    removed = by_its_schedule(shop, "vde_janitor_schedule")
    assert shown(removed)["vde/environments_removed"] == 1
    assert shop.world.state.environments() == ("prod",)
    assert not [n for n in shop.world.catalog._views if n.namespace.endswith("__dev")]
    assert "removed environment dev: its time to live was over" in said(removed, shop.instance)
    shop.world.clock.advance(7.1 * DAY)
    marked = shown(by_its_schedule(shop, "vde_janitor_schedule"))
    assert (marked["vde/versions_marked"], marked["vde/versions_dropped"]) == (3, 0)
    assert physical(shop) == before
    shop.world.clock.advance(1.1 * DAY)
    dropped = by_its_schedule(shop, "vde_janitor_schedule")
    found = shown(dropped)
    gone = before - physical(shop)
    assert {each.name.split("__")[1] for each in gone} == {"daily", "totals", "people"}
    assert found["vde/versions_dropped"] == len(gone)
    assert found["vde/bytes_removed"] == found["vde/files_removed"] * 1000 > 0
    for name in gone:
        assert f"| dropped | `{name}` | nothing referred to it | " in found["vde/cleaned"]
        assert f"dropped {name}: nothing referred to it (" in said(dropped, shop.instance)
    assert shop.world.rows("mart.totals") == [(2, 11)]


@pytest.mark.full
def test_maintenance_by_its_schedule_removes_what_nothing_names_and_says_how_much(
    shop: Launchpad,
) -> None:
    for _ in range(2):
        shop.start("vde_plan", {"apply": True, "restate_model": ["mart.totals"]})
    shop.world.clock.advance(8 * DAY)
    result = by_its_schedule(shop, "vde_maintain_schedule")
    found = shown(result)
    assert found["vde/tables_changed"] >= 1
    assert found["vde/snapshots_expired"] >= 1
    assert found["vde/bytes_removed"] == found["vde/files_removed"] * 1000 > 0
    assert "that nothing refers to | " in found["vde/cleaned"]
    assert "tables and views were maintained" in said(result, shop.instance)
    assert shop.world.rows("mart.totals") == [(2, 22)]
    again = shown(by_its_schedule(shop, "vde_maintain_schedule"))
    assert (again["vde/tables_changed"], again["vde/bytes_removed"]) == (0, 0)


def test_a_dry_run_lists_the_same_and_changes_nothing(shop: Launchpad) -> None:
    shop.world.clock.advance(8 * DAY)
    looked = shown(shop.start("vde_janitor", {"dry_run": True}))["vde/cleaned"]
    assert "| remove | `environment dev` | its time to live is over | " in looked
    assert "Nothing was changed. 0 bytes would be freed." in looked
    assert shop.world.state.environments() == ("dev", "prod")
    maintained = shown(shop.start("vde_maintain", {"dry_run": True}))["vde/cleaned"]
    assert "Nothing was changed." in maintained


# Beside others
@pytest.mark.parametrize(
    "job,resource",
    [("vde_janitor", janitor.RESOURCE), ("vde_maintain", maintaining.RESOURCE)],
)
def test_a_second_one_says_that_another_is_at_work_and_ends_well(
    shop: Launchpad, job: str, resource: str
) -> None:
    shop.world.clock.advance(8 * DAY)
    with leased(shop.world.state, resource, holder="the first one"):
        result = shop.start(job)
    reason = shown(result)["vde/reason"]
    assert reason.startswith("nothing was done, since another process is working on it: ")
    assert f"{resource} is held by the first one" in reason
    assert reason in said(result, shop.instance)
    assert shop.world.state.environments() == ("dev", "prod")
    assert "vde/cleaned" in shown(shop.start(job))


@pytest.mark.full
def test_files_that_cannot_be_deleted_fail_the_run_after_all_else_was_done(
    shop: Launchpad, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in (8, 8):
        shop.world.clock.advance(days * DAY)
        shop.start("vde_janitor")
    shop.world.clock.advance(1.1 * DAY)

    def stay(name: TableName, **_: str) -> bool:
        raise Refused(f"files of {name}, which was dropped, cannot be deleted")

    monkeypatch.setattr(shop.world.catalog, "drop_physical", stay)
    result = shop.start("vde_janitor", fails=True)
    lines = failure(result).splitlines()
    assert len(lines) == 3
    assert all("which was dropped, cannot be deleted" in line for line in lines)
    assert "| failed | " in shown(result)["vde/cleaned"]
    monkeypatch.undo()
    assert shown(shop.start("vde_janitor"))["vde/versions_dropped"] == 3


# When
@pytest.mark.full
def test_schedules_are_stopped_unless_their_cron_is_in_the_settings(shop: Launchpad) -> None:
    status = dg.DefaultScheduleStatus
    found = {each.name: each for each in shop.definitions().schedules or ()}
    assert {
        name: (each.cron_schedule, each.default_status)  # type: ignore[union-attr]
        for name, each in found.items()
    } == {
        "vde_janitor_schedule": ("0 3 * * *", status.STOPPED),
        "vde_maintain_schedule": ("0 4 * * *", status.STOPPED),
    }
    assert not shop.definitions("dev").schedules
    dg.Definitions.validate_loadable(shop.definitions())
    configured(shop, "clean_up: {schedule: '30 2 * * mon-fri'}\nmaintain: {schedule: '@daily'}")
    janitors, maintain = (
        schedule(shop, f"vde_{name}_schedule") for name in ("janitor", "maintain")
    )
    assert (janitors.cron_schedule, maintain.cron_schedule) == ("30 2 * * mon-fri", "@daily")
    assert {janitors.default_status, maintain.default_status} == {status.RUNNING}
    assert {janitors.execution_timezone, maintain.execution_timezone} == {"UTC"}


def test_a_project_that_nothing_was_planned_in_is_cleaned_up_without_a_word(
    tmp_path_factory: pytest.TempPathFactory, instance: dg.DagsterInstance
) -> None:
    from tests.app.memory_world import MemoryWorld

    made = Launchpad(tmp_path_factory.mktemp("project"), instance, MemoryWorld())
    made.write(MODELS)
    for job in ("vde_janitor", "vde_maintain"):
        assert shown(made.start(job))["vde/bytes_removed"] == 0
    assert isinstance(made.project(), VdeProject)
