"""dagster-jobs.md: every example of the launchpad runs, and every option is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_shared.yaml_utils import load_run_config_yaml

from tests.app.memory_world import PROJECT
from tests.orchestration.launchpad import Launchpad, Make
from vde_dagster.orchestration.jobs.clean_up_jobs import JanitorConfig, MaintainConfig
from vde_dagster.orchestration.jobs.plan_config import PlanConfig
from vde_dagster.orchestration.jobs.plan_job import ApplyConfig
from vde_dagster.orchestration.launchers.automation import RunJobConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/dagster-jobs.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\n# (\w+)\n(.*?)```", PAGE, flags=re.DOTALL)
LIVE = "MODEL (name mart.live, kind MANAGED);\nSELECT COUNT(*) AS n FROM raw.events"

CONFIGS = (
    PlanConfig,
    ApplyConfig,
    RunJobConfig,
    JanitorConfig,
    MaintainConfig,
)


@pytest.fixture
def shop(make: Make) -> Launchpad:
    """A project with every sort of model that a job is about, and an edited one."""
    made = make({**PROJECT, "live": LIVE})
    made.edit("daily", "SUM(amount)", "SUM(amount) * 2")
    return made


@pytest.mark.full
def test_every_example_of_the_launchpad_runs_in_its_order(shop: Launchpad) -> None:
    assert [job for job, _ in EXAMPLES] == [
        "vde_plan",
        "vde_plan",
        "vde_plan",
        "vde_apply",
        "vde_automation",
        "vde_automation",
        "vde_janitor",
        "vde_maintain",
    ]
    for number, (job, text) in enumerate(EXAMPLES, start=2):
        if job == "vde_plan":  # each with something to plan
            shop.edit("daily", "SUM(amount) * ", f"SUM(amount) * {number} * ")
        config: Any = load_run_config_yaml(text)  # as the launchpad reads it
        ((op, given),) = config["ops"].items()
        found = shop.definitions().resolve_job_def(job)
        assert list(found.graph.node_dict) == [op]
        shop.start(job, given["config"])


def test_every_option_of_a_job_is_on_the_page() -> None:
    for config in CONFIGS:
        for name, field in config.model_fields.items():
            assert field.description
            if name != "empty_backfill":  # never in production, of which the page is
                assert re.search(rf"\b{name}: ", PAGE), name


@pytest.mark.full
def test_the_schedule_of_the_page_is_part_of_its_definitions(
    shop: Launchpad, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    monkeypatch.chdir(shop.folder)
    names: dict[str, Any] = {}
    exec(text, names)
    dg.Definitions.validate_loadable(names["prod"])
    assert names["prod"].get_repository_def().has_schedule_def("nightly")
