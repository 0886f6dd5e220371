"""Rule R9: an environment never writes a version that another one owns, however it is asked.

Production and dev share every version here. Whatever dev does, no table, no entry of a ledger, no
mark and no pending change of production's versions is another one afterwards.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus

from tests.app.memory_world import bound
from tests.orchestration.conftest import IN_MEMORY, START
from tests.orchestration.launchpad import failure, materialize
from tests.orchestration.served import instance_that_runs_in_this_process
from tests.orchestration.test_backfills import Ranges, backfilled
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.orchestration.keys import RunTag

if TYPE_CHECKING:
    from pathlib import Path

    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.parametrize("applied", [IN_MEMORY], indirect=True)

EVENTS: Final = ModelName("staging", "events")
DAILY: Final = ModelName("mart", "daily")
DAY: Final = Interval(START, IntervalUnit.DAY.following(START))
QUIET: Final = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
SECOND_DAY: Final = "2024-01-02"
TOTAL: Final = "MODEL (name mart.total, kind FULL);\nSELECT SUM(events) AS events FROM mart.daily"


@pytest.fixture
def shared(applied: "Sample") -> "Sample":
    """Production and dev show the same versions; then a day lands, and a late row."""
    applied.write("models/mart/total.sql", TOTAL)
    applied.apply()
    applied.apply("dev")
    applied.land((100, 3.25, 1), *[(hour, hour + 0.5, 10) for hour in range(24, 48)], until=48)
    return applied


def recorded(services: Services, environment: str) -> dict[str, Any]:
    """All that the state and the catalog have of the versions that an environment shows."""
    binding = bound(services, environment)
    keys = {name: each.key for name, each in binding.snapshots.items() if not each.is_source}
    found: dict[str, Any] = {
        "ledger": services.state.ledger(keys.values()),
        "heads": services.state.heads(keys.values()),
        "owners": services.state.owners(keys.values()),
        "pending": services.state.pending(keys.values()),
        "marks": {key: services.state.marks(key) for key in keys.values()},
        "work": {key: services.state.open_work(key) for key in keys.values()},
    }
    tables = {key.table: services.catalog.table(key.table) for key in keys.values()}
    found["tables"] = {
        name: (table.uuid, table.iceberg_snapshot_id, table.columns)
        for name, table in tables.items()
        if table is not None
    }
    return found


@contextmanager
def untouched(sample: "Sample", environment: str = "prod") -> Iterator[None]:
    services = sample.project().services
    before = recorded(services, environment)
    yield
    assert recorded(services, environment) == before


def planned(
    sample: "Sample", options: PlanOptions, environment: str = "dev"
) -> list[tuple[str, str]]:
    """The versions that a plan of the files wrote to, or looked at."""
    project = sample.project()
    plan = plan_environment(project.services, project.files.graph, environment, options)
    done = apply_plan(project.services, plan, lambda _: None)
    return [(str(each.key), each.reason) for each in done]


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        PlanOptions(),
        PlanOptions(skip_backfill=True),
        PlanOptions(empty_backfill=True),
        PlanOptions(forward_only=True),
        PlanOptions(accept_loss=True),
        PlanOptions(restate=("staging.events",)),
        PlanOptions(restate=("mart.*",)),
        PlanOptions(restate=("raw.events",)),
    ],
    ids=[
        "no option",
        "skip_backfill",
        "empty_backfill",
        "forward_only",
        "accept_loss",
        "restate what is late",
        "restate marts",
        "restate what reads a source",
    ],
)
def test_a_plan_writes_nothing_whatever_its_options(shared: "Sample", options: PlanOptions) -> None:
    with untouched(shared):
        assert planned(shared, options) == []


@pytest.mark.full
def test_a_forward_only_edit_changes_no_column_of_the_table(shared: "Sample") -> None:
    shared.edit("models/staging/events.sql", "amount * 2 AS", "landed_hour AS landed, amount AS")
    with untouched(shared):
        assert planned(shared, PlanOptions(forward_only=True)) == []
        assert planned(shared, PlanOptions(forward_only=True, restate=("staging.events",))) == []


def test_a_restatement_names_who_restates(shared: "Sample") -> None:
    project, options = shared.project(), PlanOptions(restate=("staging.events",))
    plan = plan_environment(project.services, project.files.graph, "dev", options)
    (found,) = plan.not_restated
    assert (found.name, "vde plan prod --restate-model" in found.reason) == (EVENTS, True)


def test_a_run_computes_nothing_of_what_is_due_and_late(shared: "Sample") -> None:
    services = shared.project().services
    with untouched(shared):
        plan = plan_run(services, "dev")
        assert not plan.backfills
        assert apply_plan(services, plan, lambda _: None) == ()


@pytest.mark.full
@pytest.mark.parametrize(
    "write",
    [
        lambda services, binding: catch_up(services, binding, EVENTS),
        lambda services, binding: catch_up(services, binding, EVENTS, reload=True),
        lambda services, binding: evaluate(services, binding, DAILY, DAY),
        lambda services, binding: evaluate_range(services, binding, DAILY, DAY, force=True),
        lambda services, binding: evaluate_range(services, binding, EVENTS, DAY),
    ],
    ids=["a session", "a reload", "an evaluation", "by force", "of late data"],
)
def test_whoever_asks_for_one_model_is_refused(
    shared: "Sample", write: Callable[[Services, Binding], object]
) -> None:
    with untouched(shared), pytest.raises(Refused, match="prod, which owns it"):
        write(shared.project().services, shared.bound("dev"))


def test_the_location_of_dev_does_not_compute_what_production_lacks(
    shared: "Sample", instance: dg.DagsterInstance
) -> None:
    definitions = shared.definitions("dev")
    with untouched(shared):
        for key, partition in (
            ("mart__dev/daily", SECOND_DAY),
            ("staging__dev/events", f"{SECOND_DAY}-05:00"),
        ):
            result = materialize(definitions, instance, key, partition, fails=True)
            assert "prod owns this version" in failure(result)


@pytest.mark.full
@pytest.mark.parametrize("job", ["vde_plan", "vde_automation"])
def test_the_jobs_of_dev_leave_it_alone(
    shared: "Sample", instance: dg.DagsterInstance, job: str
) -> None:
    found = shared.definitions("dev").resolve_job_def(job)
    with untouched(shared):
        assert found.execute_in_process(run_config=QUIET, instance=instance).success


@pytest.mark.full
@pytest.mark.parametrize("tags", [{}, {RunTag.FORCE: "true"}], ids=["a backfill", "by force"])
def test_a_backfill_of_dev_from_the_ui_over_what_production_lacks_fails_and_writes_nothing(
    shared: "Sample", home: "Path", tags: dict[str, str]
) -> None:
    instance = instance_that_runs_in_this_process(home)
    ranges: Ranges = {
        "staging__dev/events": ("2024-01-01-00:00", f"{SECOND_DAY}-23:00"),
        "mart__dev/daily": ("2024-01-01", SECOND_DAY),
    }
    with untouched(shared):
        status, runs = backfilled(shared.definitions("dev"), instance, ranges, tags)
    assert status is BulkActionStatus.COMPLETED_FAILED
    assert runs
    assert [each.status for each in runs] == [dg.DagsterRunStatus.FAILURE] * len(runs)


@pytest.mark.parametrize("job", ["vde_plan", "vde_apply"])
def test_a_restatement_from_the_launchpad_of_dev_writes_nothing_and_names_who_restates(
    shared: "Sample", instance: dg.DagsterInstance, job: str
) -> None:
    definitions, plan = shared.definitions("dev"), {"restate_model": ["staging.events", "mart.*"]}
    configs: dict[str, dict[str, object]] = {"vde_plan": {**plan, "apply": True}}
    if job == "vde_apply":  # the same, saved and reviewed
        configs = {"vde_plan": {**plan, "save": "plan.json"}, "vde_apply": {"file": "plan.json"}}
    with untouched(shared):
        done = [
            definitions.resolve_job_def(name).execute_in_process(
                run_config={**QUIET, "ops": {name.removeprefix("vde_"): {"config": config}}},
                instance=instance,
            )
            for name, config in configs.items()
        ]
    assert not any(each.get_asset_materialization_events() for each in done)
    (text,) = (
        str(each.step_output_data.metadata["vde/plan"].value)
        for each in done[0].all_events
        if each.is_successful_output
    )
    assert "vde plan prod --restate-model" in text


def test_an_edit_in_the_location_of_dev_writes_its_own_version_alone(
    shared: "Sample", instance: dg.DagsterInstance
) -> None:
    shared.edit("models/mart/daily.sql", "SUM(doubled)", "-SUM(doubled)")
    with untouched(shared):
        definitions = shared.definitions("dev")
        materialize(definitions, instance, "mart__dev/daily", "2024-01-01")
        materialize(definitions, instance, "mart__dev/total")
    assert shared.bound("dev").key(DAILY) != shared.bound("prod").key(DAILY)


@pytest.mark.full
def test_what_dev_created_is_left_alone_once_production_shows_it(shared: "Sample") -> None:
    """Ownership moves with the promotion; after a rollback it is for whoever stores it next."""
    shared.edit("models/mart/daily.sql", "SUM(doubled)", "-SUM(doubled)")
    shared.apply("dev")
    own = str(shared.bound("dev").key(DAILY))
    services = shared.project().services
    apply_plan(services, plan_promotion(services, "dev", "prod"), lambda _: None)
    shared.land((200, 4.25, 1), *[(hour, hour + 0.5, 10) for hour in range(48, 72)], until=72)
    with untouched(shared):
        assert planned(shared, PlanOptions(restate=("mart.*",))) == []
        assert not plan_run(services, "dev").backfills
    apply_plan(services, plan_rollback(services, "prod"), lambda _: None)
    with untouched(shared):
        assert own in dict(planned(shared, PlanOptions(restate=("mart.*",))))


@pytest.mark.full
def test_of_two_environments_only_the_one_that_stored_a_version_writes_it(
    shared: "Sample",
) -> None:
    shared.edit("models/mart/daily.sql", "SUM(doubled)", "-SUM(doubled)")
    shared.apply("dev")
    with untouched(shared, "dev"):
        assert planned(shared, PlanOptions(), "other") == []
        assert planned(shared, PlanOptions(restate=("mart.*",)), "other") == []
    assert shared.bound("other").key(DAILY) == shared.bound("dev").key(DAILY)
