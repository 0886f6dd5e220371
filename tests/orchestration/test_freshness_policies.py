"""A model's ``freshness`` is its asset's freshness policy, which Dagster evaluates; no Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import FRESHNESS_EVALUATORS_BY_POLICY_TYPE
from dagster._core.loader import LoadingContextForTest
from dagster._core.test_utils import freeze_time

from vde_dagster.orchestration.definitions import build_definitions

HOUR = timedelta(hours=1)
SOURCES = "- name: raw.events\n  columns: {id: bigint, happened: timestamp}\n"
QUERY = "SELECT id, happened FROM raw.events WHERE happened BETWEEN @start_dt AND @end_dt"
BY_TIME = "kind INCREMENTAL_BY_TIME_RANGE (time_column happened)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A daily model that may lag behind by 4 hours, one that says nothing, and a view."""
    (tmp_path / "models").mkdir()
    (tmp_path / "vde.yaml").write_text("name: sample\ndefaults: {start: 2024-01-01}\n")
    (tmp_path / "external_models.yaml").write_text(SOURCES)
    texts = {
        "bound": f"MODEL (name m.bound, {BY_TIME}, cron '@daily',\n"
        f"freshness '4 hours', updates_on all);\n{QUERY}",
        "free": f"MODEL (name m.free, {BY_TIME}, cron '@daily');\n{QUERY}",
        "seen": "MODEL (name m.seen, kind VIEW);\nSELECT id FROM m.bound",
    }
    for name, text in texts.items():
        (tmp_path / f"models/{name}.sql").write_text(text)
    return tmp_path


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


BOUND = dg.AssetKey(["m", "bound"])


@pytest.mark.full
def test_only_a_model_with_a_freshness_has_a_policy(folder: Path) -> None:
    specs = {each.key: each for each in build_definitions(folder).resolve_all_asset_specs()}
    policies = {key.path[-1]: spec.freshness_policy for key, spec in specs.items()}
    window = 24 * HOUR + 4 * HOUR
    expected = dg.FreshnessPolicy.time_window(fail_window=window)
    assert policies == {"bound": expected, "free": None, "seen": None, "events": None}
    reported = specs[BOUND].metadata
    assert (reported["vde/freshness"], reported["vde/updates_on"]) == ("4 hours", "all")
    assert "vde/freshness" not in specs[dg.AssetKey(["m", "free"])].metadata


def test_a_projects_default_reaches_models_and_no_views(folder: Path) -> None:
    text = "name: sample\ndefaults: {start: 2024-01-01, freshness: 1 hour}\n"
    (folder / "vde.yaml").write_text(text)
    specs = build_definitions(folder).resolve_all_asset_specs()
    with_policy = {spec.key.path[-1] for spec in specs if spec.freshness_policy is not None}
    assert with_policy == {"bound", "free"}


@pytest.mark.full
@pytest.mark.parametrize(
    "age,expected",
    [
        (timedelta(0), FreshnessState.PASS),
        (24 * HOUR, FreshnessState.PASS),  # the next day is due
        (28 * HOUR - timedelta(minutes=1), FreshnessState.PASS),
        (28 * HOUR, FreshnessState.FAIL),
    ],
)
def test_dagster_fails_a_model_whose_latest_result_is_too_old(
    folder: Path, instance: dg.DagsterInstance, age: timedelta, expected: FreshnessState
) -> None:
    made = datetime(2024, 1, 2, tzinfo=UTC)
    definitions = build_definitions(folder)
    with freeze_time(made):
        assert state(definitions, instance) is FreshnessState.UNKNOWN
        day = dg.AssetMaterialization(BOUND, partition="2024-01-01")
        instance.report_runless_asset_event(day)
    with freeze_time(made + age):
        assert state(definitions, instance) is expected


def state(definitions: dg.Definitions, instance: dg.DagsterInstance) -> FreshnessState:
    """What the freshness daemon finds for the model."""
    node = definitions.resolve_asset_graph().get(BOUND)
    assert node.freshness_policy is not None
    evaluator = FRESHNESS_EVALUATORS_BY_POLICY_TYPE[type(node.freshness_policy)]()
    loading = LoadingContextForTest(instance)
    return asyncio.run(evaluator.evaluate_freshness(context=loading, node=node))
