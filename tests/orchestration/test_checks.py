"""Audits as asset checks, from asset runs, plans, catch-up sessions and automation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.launchpad import materialize
from tests.orchestration.served import at_home
from vde_dagster.app.apply.accepting import Accepting, publish_refused
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.jobs.runs import run_plan
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.orchestration.launchers.automation import AUTOMATION_JOB
from vde_dagster.orchestration.reporting.shown import report_accepted

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

EVENTS = dg.AssetKey(["staging", "events"])
CHECKS = ("not_null", "number_of_rows", "not_accepted_values")
WARNED = {"not_null": True, "number_of_rows": False, "not_accepted_values": True}
REFUSED = {**WARNED, "not_accepted_values": False}
"""What the checks find: whether they passed."""
FIRST = "2024-01-01-00:00"
MODEL = "models/staging/events.sql"
AUDITS = """  audits (
    not_null (columns := (id)),
    number_of_rows (threshold := 1000, blocking := false),
    not_accepted_values (column := doubled, is_in := (DOUBLED))
  ),
  late_data"""


def audited(sample: Sample, refused: int) -> None:
    """Audit the hourly model: a blocking audit refuses an amount, another one always warns."""
    sample.edit(MODEL, "  late_data", AUDITS.replace("DOUBLED", str(refused)))


def materialized(
    sample: Sample, instance: dg.DagsterInstance, partition: str
) -> dg.ExecuteInProcessResult:
    return materialize(sample.definitions(), instance, "staging/events", partition)


def forced(sample: Sample, instance: dg.DagsterInstance) -> None:
    """Compute the first hour again, which is refused."""
    tags = {RunTag.FORCE: "true"}
    materialize(sample.definitions(), instance, "staging/events", FIRST, fails=True, tags=tags)


def sample_rows(found: dg.AssetCheckEvaluation) -> list[dg.TableRecord]:
    shown = found.metadata["vde/sample"]
    assert isinstance(shown, dg.TableMetadataValue)
    return list(shown.records)


def latest(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, dg.AssetCheckEvaluation]:
    """The latest evaluation of each check of an asset, as the UI has it."""
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(key, name) for name in CHECKS]
    )
    found = {}
    for check, record in records.items():
        event = record.event.dagster_event if record.event is not None else None
        assert event is not None
        found[check.name] = event.asset_check_evaluation_data
    return found


def passed(instance: dg.DagsterInstance, key: dg.AssetKey = EVENTS) -> dict[str, bool]:
    return {name: each.passed for name, each in latest(instance, key).items()}


def audit_checks(sample: Sample) -> set[dg.AssetCheckKey]:
    """The checks of all assets that are audits; those of their state are named after us."""
    keys = sample.definitions().resolve_asset_graph().asset_check_keys
    return {each for each in keys if not each.name.startswith("vde_")}


def test_each_audit_is_a_check_that_blocks_where_the_audit_does(sample: Sample) -> None:
    audited(sample, refused=1)
    graph = sample.definitions().resolve_asset_graph()
    specs = {key.name: graph.get_check_spec(key) for key in audit_checks(sample)}
    assert {name: (each.asset_key, each.blocking) for name, each in specs.items()} == {
        "not_null": (EVENTS, True),
        "number_of_rows": (EVENTS, False),
        "not_accepted_values": (EVENTS, True),
    }
    assert specs["not_null"].description == "not_null (columns := (id))"


@pytest.mark.full
def test_an_asset_run_shows_what_its_audits_found(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    audited(sample, refused=1)
    sample.apply()
    sample.land((100, 24.5, 7), (101, 24.75, 8), until=25)
    materialized(sample, instance, "2024-01-02-00:00")
    assert passed(instance) == WARNED
    warning = latest(instance, EVENTS)["number_of_rows"]
    assert warning.severity is dg.AssetCheckSeverity.WARN
    assert [each.data for each in sample_rows(warning)] == [{"row_count": 2}]


def query_of(found: dg.AssetCheckEvaluation) -> str:
    shown = found.metadata["vde/query"]
    assert isinstance(shown, dg.MarkdownMetadataValue)
    return (shown.md_str or "").removeprefix("```sql\n").removesuffix("\n```")


@pytest.mark.full
def test_the_query_of_a_failed_check_gives_its_failing_rows(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    audit = "not_accepted_values (column := doubled, is_in := (20), blocking := false)"
    sample.edit(MODEL, "  late_data", f"  audits ({audit}),\n  late_data")
    sample.apply()
    materialized(sample, instance, FIRST)
    found = latest(instance, EVENTS)["not_accepted_values"]
    assert not found.passed
    _, rows = sample.project().services.engine.fetch(query_of(found), limit=10)
    assert [row[0] for row in rows] == [0]  # its amount is 10, which is doubled


@pytest.mark.full
def test_a_kept_partition_shows_what_was_found_when_it_was_written(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    audited(sample, refused=1)
    sample.apply()
    key = sample.bound().key(ModelName("staging", "events"))
    (work,) = sample.project().services.state.audited(key, limit=10)
    (kept,) = materialized(sample, instance, FIRST).asset_materializations_for_node(
        "staging__events"
    )
    assert kept.metadata["vde/reused"].value
    found = latest(instance, EVENTS)
    assert {each.metadata["vde/work_id"].value for each in found.values()} == {work.intent.work_id}
    assert passed(instance) == WARNED


@pytest.mark.full
def test_a_failed_blocking_check_leaves_data_version_and_readers_as_they_were(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    sample.apply()
    before = sample.rows("staging.events")
    materialized(sample, instance, FIRST)
    event = instance.get_latest_materialization_event(EVENTS)
    audited(sample, refused=20)  # twice the amount of the first hour
    sample.apply()
    forced(sample, instance)
    assert instance.get_latest_materialization_event(EVENTS) == event
    assert sample.rows("staging.events") == before
    refused = latest(instance, EVENTS)["not_accepted_values"]
    assert (refused.passed, refused.blocking) == (False, True)
    assert refused.severity is dg.AssetCheckSeverity.ERROR
    assert refused.metadata["vde/failing_rows"].value == 1
    (row,) = sample_rows(refused)
    assert (row.data["id"], row.data["doubled"]) == (0, 20)
    branch = str(refused.metadata["vde/refused_rows"].value).rsplit(".", 1)[1]
    assert f"`{branch}`" in query_of(refused), "its query reads what was refused"


@pytest.mark.full
def test_a_plan_reports_a_check_that_fails_and_no_materialization(sample: Sample) -> None:
    audited(sample, refused=20)  # twice the amount of the first hour
    project = sample.project()
    with pytest.raises(AuditFailed):
        run_plan(project, sample.plan(project=project), lambda _: None)
    with at_home(project) as instance:
        assert passed(instance) == REFUSED
        assert instance.get_latest_materialization_event(EVENTS) is None


@pytest.mark.full
def test_what_a_person_accepts_is_published_without_spark_and_only_warns_from_then_on(
    sample: Sample,
) -> None:
    sample.apply()
    audited(sample, refused=14)
    sample.apply()
    sample.land((100, 24.5, 7), until=25)
    project = sample.project()
    with pytest.raises(AuditFailed) as caught:
        run_plan(project, sample.plan(project=project), lambda _: None)
    (work_id,) = re.findall(r"`vde publish (\w+) --accept not_accepted_values", str(caught.value))
    wanted = Accepting(work_id=work_id, audits=["not_accepted_values"], reason="a gift")
    accepted = publish_refused(project.services, lambda: project.files.graph, wanted)
    report_accepted(project, accepted)
    assert [row for row in sample.rows("staging.events") if row[0] == 100]
    names = [each.name for each in sample.plan(project=project).backfills]
    assert ModelName("staging", "events") not in names
    with at_home(project) as instance:
        found = latest(instance, EVENTS)["not_accepted_values"]
        assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
        assert str(found.metadata["vde/accepted"].value).endswith(": a gift")
        event = instance.get_latest_materialization_event(EVENTS)
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.metadata["vde/work_id"].value == accepted.done.work_id
        materialized(sample, instance, "2024-01-02-00:00")  # it is kept, and passes


@pytest.mark.full
@pytest.mark.parametrize("late", [True, False], ids=["a session", "automation"])
def test_what_a_run_of_automation_refuses_fails_its_check(
    sample: Sample, instance: dg.DagsterInstance, *, late: bool
) -> None:
    audited(sample, refused=14)
    sample.apply()
    sample.land((100, 3.25 if late else 24.5, 7), until=24 if late else 25)
    job = sample.definitions().resolve_job_def(AUTOMATION_JOB)
    config = {"ops": {"run": {"config": {"only_late_data": late}}}}
    done = job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)
    assert not done.success
    found = latest(instance, EVENTS)["not_accepted_values"]
    assert not found.passed
    assert ".branch_w_" in str(found.metadata["vde/refused_rows"].value)
    assert EVENTS not in {each.asset_key for each in done.get_asset_materialization_events()}


def test_a_shared_version_shows_in_dev_what_production_found(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    audited(sample, refused=1)
    sample.apply()
    sample.apply("dev")
    materialize(sample.definitions("dev"), instance, "staging__dev/events", FIRST)
    assert passed(instance, dg.AssetKey(["staging__dev", "events"])) == WARNED


def test_audits_that_a_model_calls_twice_are_told_apart_by_their_arguments(sample: Sample) -> None:
    audits = "not_null (columns := (id)), not_null (columns := (happened))"
    sample.edit(MODEL, "  late_data", f"  audits ({audits}),\n  late_data")
    names = {key.name for key in audit_checks(sample)}
    assert names == {"not_null__id", "not_null__happened"}


def test_a_view_has_no_checks_since_its_audits_do_not_run(sample: Sample) -> None:
    audits = "kind VIEW, audits (not_null (columns := (day))));"
    sample.edit("models/mart/people.sql", "kind VIEW);", audits)
    assert not audit_checks(sample)
