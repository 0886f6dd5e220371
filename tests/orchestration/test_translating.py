"""What a user's translator changes wherever assets and checks are named (translator.md)."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.served import at_home
from tests.orchestration.test_checks import FIRST, audited, forced, materialized
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.jobs.runs import run_catch_up, run_plan
from vde_dagster.orchestration.launchers.automation import AUTOMATION_JOB
from vde_dagster.ports.state import environment_resource

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

DOCS = (Path(__file__).parents[2] / "docs" / "how-to" / "translator.md").read_text("utf-8")
EXAMPLES = {
    name: text
    for text in re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)
    for name in re.findall(r"^class (\w+)", text, flags=re.MULTILINE)
}
MODEL = "models/staging/events.sql"
EVENTS, DAILY, PEOPLE, RAW = (
    dg.AssetKey(each.split("/"))
    for each in ("staging/events", "mart/daily", "mart/people", "raw/events")
)


def named(sample: Sample, *classes: str) -> None:
    """Let vde.yaml name a translator that does what these examples do."""
    texts = [EXAMPLES[each] for each in classes]
    together = f"class All({', '.join(classes)}):\n    pass\n"
    sample.write("translator.py", "\n\n".join([*texts, together]))
    sample.configure("dagster: {translator: translator.All}\n")


def specs(sample: Sample, environment: str = "prod") -> dict[dg.AssetKey, dg.AssetSpec]:
    found = sample.definitions(environment).resolve_all_asset_specs()
    return {each.key: each for each in found}


def test_the_docs_have_these_examples() -> None:
    assert list(EXAMPLES) == ["Prefixed", "Described", "Promised", "Checked"]


def test_keys_and_groups_are_translated_with_all_that_names_them(sample: Sample) -> None:
    named(sample, "Prefixed")
    found = specs(sample)
    prefix = "warehouse"
    assert set(found) == {RAW, *(key.with_prefix(prefix) for key in (EVENTS, DAILY, PEOPLE))}
    daily = found[DAILY.with_prefix(prefix)]
    assert daily.group_name == "warehouse_prod"
    assert [each.asset_key for each in daily.deps] == [EVENTS.with_prefix(prefix)]
    assert found[RAW].group_name == "raw"
    graph = sample.definitions("dev").resolve_asset_graph()
    shown = dg.AssetKey(["warehouse", "mart__dev", "daily"])
    assert graph.get(shown).group_name == "warehouse_dev"


def test_texts_owners_tags_kinds_and_metadata_are_translated(sample: Sample) -> None:
    named(sample, "Described")
    found = sample.definitions().resolve_asset_graph()
    events, daily = found.get(EVENTS), found.get(DAILY)
    assert events.description == "Events by the hour in which they happened"
    assert daily.description == "mart.daily (no description yet)"
    assert set(events.owners) == {"team:analysts", "team:data"}
    assert daily.kinds == {"pyspark", "iceberg", "sql", "gold"}
    assert events.kinds == {"pyspark", "iceberg", "sql"}
    assert daily.tags["cost_center"] == "4711"
    assert daily.tags["vde/kind"] == "INCREMENTAL_BY_TIME_RANGE"
    assert daily.metadata["wiki"] == dg.MetadataValue.url("https://wiki.example.com/mart.daily")
    assert "vde/fingerprint" in daily.metadata


def test_freshness_and_automation_are_translated(sample: Sample) -> None:
    named(sample, "Promised")
    found = sample.definitions().resolve_asset_graph()
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=6))
    assert found.get(DAILY).freshness_policy_or_from_metadata == policy
    assert found.get(EVENTS).freshness_policy_or_from_metadata is None
    assert found.get(PEOPLE).automation_condition == dg.AutomationCondition.on_missing()
    assert found.get(DAILY).automation_condition is None


def checks(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, bool]:
    """Which of our and of the translated checks have a result, and whether it passed."""
    audits = ("not_null", "number_of_rows", "not_accepted_values")
    names = [*audits, *(f"audit_{each}" for each in audits)]
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(key, each) for each in names]
    )
    return {
        check.name: record.event.dagster_event.asset_check_evaluation_data.passed
        for check, record in records.items()
        if record.event is not None and record.event.dagster_event is not None
    }


PASSED = {"audit_not_null": True, "audit_not_accepted_values": True}
REFUSED = {"audit_not_null": True, "audit_not_accepted_values": False}


def test_checks_have_the_names_and_words_of_the_translator(sample: Sample) -> None:
    audited(sample, refused=1)
    named(sample, "Prefixed", "Checked")
    graph = sample.definitions().resolve_asset_graph()
    key = EVENTS.with_prefix("warehouse")
    audits = {each for each in graph.asset_check_keys if not each.name.startswith("vde_")}
    assert audits == {dg.AssetCheckKey(key, name) for name in PASSED}
    spec = graph.get_check_spec(dg.AssetCheckKey(key, "audit_not_null"))
    assert spec.description == "not_null (columns := (id)), see the runbook"
    assert spec.blocking


@pytest.mark.full
def test_asset_runs_report_translated_checks(sample: Sample, instance: dg.DagsterInstance) -> None:
    audited(sample, refused=1)
    named(sample, "Checked")
    sample.apply()
    materialized(sample, instance, FIRST)
    assert checks(instance, EVENTS) == PASSED
    sample.edit(MODEL, "is_in := (1)", "is_in := (20)")  # twice the amount of the first hour
    sample.apply()
    forced(sample, instance)
    assert checks(instance, EVENTS) == REFUSED


@pytest.mark.full
@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # sockets of earlier tests
def test_a_plan_of_vde_reports_to_translated_assets_and_checks(sample: Sample) -> None:
    audited(sample, refused=1)
    named(sample, "Prefixed", "Checked")
    project = sample.project()
    run_plan(project, sample.plan(project=project), lambda _: None)
    with at_home(project) as instance:
        keys = {key.with_prefix("warehouse") for key in (EVENTS, DAILY, PEOPLE)}
        assert set(instance.all_asset_keys()) == keys
        assert checks(instance, EVENTS.with_prefix("warehouse")) == PASSED


@pytest.mark.parametrize("by", [pytest.param("a run", marks=pytest.mark.full), "a catch-up"])
def test_late_rows_are_reported_to_translated_assets_and_checks(sample: Sample, by: str) -> None:
    audited(sample, refused=1)
    named(sample, "Prefixed", "Checked")
    sample.apply()
    sample.land((100, 3.25, 7), until=24)
    project = sample.project()
    with at_home(project) as instance:
        if by == "a run":
            config = {"ops": {"run": {"config": {"only_late_data": True}}}}
            job = sample.definitions().resolve_job_def(AUTOMATION_JOB)
            assert job.execute_in_process(run_config=config, instance=instance).success
        else:
            run_catch_up(project, sample.bound(), ModelName("staging", "events"))
        assert set(instance.all_asset_keys()) == {EVENTS.with_prefix("warehouse")}
        assert checks(instance, EVENTS.with_prefix("warehouse")) == PASSED


@pytest.mark.parametrize(
    "path,file,words",
    [
        ("translator.Gone", "x = 1", "Gone is not a subclass of VdeTranslator in translator"),
        ("translator.x", "x = 1", "x is not a subclass of VdeTranslator in translator"),
        ("OurTranslator", None, "dagster.translator does not name a class: OurTranslator"),
        ("translator.Ours", None, "translator is neither the project's file translator.py nor"),
        ("dagster.Definitions", None, "Definitions is not a subclass of VdeTranslator in dagster"),
    ],
)
def test_a_translator_that_is_not_there_is_refused(
    sample: Sample, path: str, file: str | None, words: str
) -> None:
    if file is not None:
        sample.write("translator.py", file)
    sample.configure(f"dagster: {{translator: {path}}}\n")
    with pytest.raises(Refused, match=re.escape(words)) as caught:
        sample.definitions()
    assert "translator.OurTranslator" in caught.value.advice
    project = sample.project()
    with pytest.raises(Refused, match=re.escape(words)):
        run_plan(project, sample.plan(project=project), lambda _: None)
    assert project.services.state.environment("prod") is None
    assert not project.services.state.lease_holder(environment_resource("prod"))


CLASS = "from vde_dagster import VdeTranslator\n\nclass Ours(VdeTranslator):\n"


@pytest.mark.parametrize(
    "text,words",
    [
        ("a = 1\nb = a / 0\n", "translator.py:2: "),
        ("a = 'ä'".encode("latin-1"), "translator.py:1: this is not UTF-8 text"),
        (f"{CLASS}    def __init__(self, more):\n        pass\n", "without arguments: TypeError"),
        (
            f"{CLASS}    def get_asset_spec(self, data):\n        return 1 / 0\n",
            "translator.py:5: dagster.translator: get_asset_spec of raw.events: ZeroDivisionError",
        ),
        (f"{CLASS}    def get_asset_spec(self, data):\n        pass\n", "returned NoneType"),
        (
            f"{CLASS}    def get_asset_check_spec(self, data, spec):\n        return 1 / 0\n",
            "translator.py:5: dagster.translator: get_asset_check_spec of",
        ),
    ],
)
def test_a_translator_that_raises_is_a_problem_and_stops_a_plan_before_it_begins(
    sample: Sample, text: str | bytes, words: str
) -> None:
    audited(sample, refused=1)
    file = sample.folder / "translator.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    sample.configure("dagster: {translator: translator.Ours}\n")
    with pytest.raises(ProjectInvalid, match=re.escape(words)):
        sample.definitions()
    project = sample.project()
    with pytest.raises(ProjectInvalid, match=re.escape(words)):
        run_plan(project, sample.plan(project=project), lambda _: None)
    assert project.services.state.environment("prod") is None


def test_a_module_that_raises_while_it_is_imported_is_a_problem(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_translator.py").write_text("a = 1\nb = a / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sample.configure("dagster: {translator: broken_translator.Ours}\n")
    with pytest.raises(ProjectInvalid, match=r"translator\.py:2: .* cannot be imported: Zero"):
        sample.definitions()
