"""The cases of `test_reuse_cases` with a process, and where need be a session, for each step.

The job is that of a user's file with an executor of their own. Where all is kept, no Java can be
found, so that no step starts it.
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.conftest import OnSpark, _create_source
from tests.orchestration.test_reuse_cases import ALL, DAY, DIAMOND, side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.full]

CONFIGURATION = """\
name: diamond
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.events]
catalog:
  name: {catalog}
"""
SOURCES = """\
- name: raw.events
  columns: {id: bigint, happened: timestamp, amount: int, landed_hour: int}
"""
JOBS = """\
import dagster as dg
from vde_dagster import build_definitions, merge_definitions

own = dg.Definitions(
    executor=dg.multiprocess_executor.configured({{"max_concurrent": 2}}),
    jobs=[dg.define_asset_job("diamond", selection=dg.AssetSelection.all())],
)


def job_of(environment):
    project = build_definitions({folder!r}, environment=environment)
    return merge_definitions(project, own).resolve_job_def("diamond")


def prod():
    return job_of("prod")


def dev():
    return job_of("dev")
"""


@dataclass(frozen=True)
class Diamond(OnSpark):
    """The project in a folder, and the module with its jobs."""

    instance: dg.DagsterInstance
    module: str

    def models(self, **texts: str) -> None:
        for name, text in {**DIAMOND, **texts}.items():
            own = text.replace("CAST(at AS", "CAST(happened AS").replace(
                "WHERE at ", "WHERE happened "
            )
            self.write(f"models/{name}.sql", own)

    def keeps_all(self, *names: str) -> bool:
        """Whether a run computes nothing, and starts no Spark."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_HOME", str(self.folder / "no_java"))
            return not self.run(*names)

    def run(self, *names: str, environment: str = "prod") -> frozenset[str]:
        """Materialize assets of the day, a process for each step; those that computed."""
        suffix = "" if environment == "prod" else f"__{environment}"
        keys = [dg.AssetKey([f"core{suffix}", each]) for each in names or ALL]
        job = dg.reconstructable(getattr(import_module(self.module), environment))
        with dg.execute_job(
            job, instance=self.instance, asset_selection=keys, tags={"dagster/partition": DAY}
        ) as done:
            assert done.success
            events = [*done.all_events]
        told = [
            each.asset_observation_data.asset_observation
            if each.event_type is dg.DagsterEventType.ASSET_OBSERVATION
            else each.step_materialization_data.materialization
            for each in events
            if each.event_type
            in (
                dg.DagsterEventType.ASSET_OBSERVATION,
                dg.DagsterEventType.ASSET_MATERIALIZATION,
            )
        ]
        assert {each.asset_key.path[-1] for each in told} == set(names or ALL)
        return frozenset(
            each.asset_key.path[-1]
            for each in told
            if "vde/owner" not in each.metadata and not each.metadata["vde/reused"].value
        )


@pytest.fixture
def diamond(
    tmp_path: Path,
    spark: SparkSession,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Diamond]:
    """In production, run once in Dagster."""
    folder = tmp_path / "project"
    module = f"diamond_{uuid.uuid4().hex[:8]}"
    made = Diamond(folder, spark, instance, module)
    made.write("vde.yaml", CONFIGURATION.format(catalog=f"lake_{uuid.uuid4().hex[:8]}"))
    made.write("external_models.yaml", SOURCES)
    made.models()
    (tmp_path / f"{module}.py").write_text(JOBS.format(folder=str(folder)), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)  # from where the processes of steps import it
    _create_source(made.project())
    made.land((1, 5.5, 20), (2, 6.5, 200), until=24)
    made.apply()
    yield made
    sys.modules.pop(module, None)


def test_with_a_process_for_each_step_the_same_steps_compute(diamond: Diamond) -> None:
    day = date(2024, 1, 1)
    assert diamond.keeps_all()

    diamond.land((3, 7.5, 5), until=24)  # both sides leave it out
    assert diamond.run() == {"top", "low", "high"}

    diamond.land((4, 8.5, 50), until=24)  # one side leaves it out
    assert diamond.run() == ALL
    assert diamond.rows("core.both") == [(day, 270, 200)]

    diamond.models(high=side("high", ">= 101"))  # the same rows
    diamond.apply()
    assert diamond.keeps_all("both")

    diamond.models()
    diamond.apply()
    assert diamond.keeps_all()

    diamond.models(high=side("high", "> 10"))
    assert diamond.run(environment="dev") == {"high", "both"}
    assert diamond.rows("core__dev.both") == [(day, 270, 270)]
    assert diamond.rows("core.both") == [(day, 270, 200)]
