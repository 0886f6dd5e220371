"""`vde refresh`: MANAGED tables that are stale are rebuilt, and those that wait say for what."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call
from tests.cli.changing import serve
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS

PARENT = "MODEL (name mart.parent, kind FULL, cron '@daily'); SELECT id AS id FROM raw.events"
OVER = "MODEL (name mart.over, kind MANAGED); SELECT COUNT(*) AS n FROM mart.parent"
LIVE = "MODEL (name mart.live, kind MANAGED); SELECT SUM(id) AS s FROM raw.events"
LAGGING = LIVE.replace("MANAGED", "MANAGED, physical_properties (target_lag = '1 hour')")
SOURCES = "- name: raw.events\n  columns: {id: bigint}\n"


def written(folder: Path, *models: str) -> Path:
    """A project over one source, whose catalog no other test has in the shared session."""
    (folder / "models").mkdir(parents=True)
    catalog = f"lake_{uuid.uuid4().hex[:8]}"
    settings = f"name: live\ncatalog: {{name: {catalog}}}\ndefaults: {{start: 2024-01-01}}\n"
    (folder / "vde.yaml").write_text(settings)
    (folder / "external_models.yaml").write_text(SOURCES)
    for number, text in enumerate(models):
        (folder / "models" / f"model_{number}.sql").write_text(text)
    catalog_of = VdeProject.load(folder).iceberg_catalog()
    catalog_of.create_namespace("raw")
    catalog_of.create_table("raw.events", Schema(NestedField(1, "id", LongType())))
    return folder


def land(folder: Path, *numbers: int) -> None:
    table = VdeProject.load(folder).iceberg_catalog().load_table("raw.events")
    table.append(pa.table({"id": numbers}, schema=table.schema().as_arrow()))


def refresh(folder: Path, *arguments: str) -> Result:
    return call("refresh", *arguments, "--project", folder)


def tables(folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    done = refresh(folder, *arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return {each["model"]: each for each in json.loads(done.stdout)["tables"]}


def evaluate_and_outdate(folder: Path, name: ModelName) -> None:
    """A model has new rows, and then a restatement of it fails."""
    services = VdeProject.load(folder).services
    binding = bind_environment(services, "prod")
    assert binding is not None
    key = binding.key(name)
    evaluate(services, binding, name, services.state.ledger([key])[key][-1].interval)
    lease = services.state.acquire_lease("test", holder="test", ttl=timedelta(minutes=1))
    services.state.outdate({key: (ALWAYS,)}, reason="restated", lease=lease)
    services.state.release_lease(lease)


Land = Callable[..., None]


@pytest.fixture(params=["in memory", pytest.param("on Spark", marks=pytest.mark.full)])
def arrive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Land:
    """Lands events in the source of a project in memory or on the shared session."""
    if request.param == "on Spark":
        request.getfixturevalue("spark")
        return land
    world = MemoryWorld()
    serve(world, monkeypatch)

    def in_memory(_: Path, *numbers: int) -> None:
        world.land(*[(number, 1) for number in numbers], until=24)

    return in_memory


@pytest.mark.spark
def test_what_is_stale_is_rebuilt_and_what_waits_is_left_with_what_to_run(
    arrive: Land, tmp_path: Path
) -> None:
    folder = written(tmp_path / "live", LIVE, PARENT, OVER)
    arrive(folder, 1, 2)
    done = call("plan", "prod", "--auto-apply", "--project", folder)
    assert done.exit_code == 0, done.stderr
    done = refresh(folder)
    assert done.exit_code == 0, done.stderr
    assert [line.split(": what it reads")[0] for line in done.stdout.splitlines()] == [
        "mart.live is fresh",
        "mart.over is fresh",
    ]

    arrive(folder, 3)
    evaluate_and_outdate(folder, ModelName("mart", "parent"))
    found = tables(folder, "--explain")
    assert {name: (each["stale"], each["work_id"]) for name, each in found.items()} == {
        "mart.live": (True, None),
        "mart.over": (True, None),
    }
    done = refresh(folder)
    assert done.exit_code == 0, done.stderr
    live, over = done.stdout.splitlines()
    assert live.startswith("mart.live: rebuilt, 1 rows, since raw.events changed")
    assert "mart.parent is to be evaluated first. Run `vde plan prod`, apply it" in over

    done = call("plan", "prod", "--auto-apply", "--project", folder)
    assert done.exit_code == 0, done.stderr
    found = tables(folder)
    assert {name: (each["waits_for"], each["rows"]) for name, each in found.items()} == {
        "mart.live": (None, None),
        "mart.over": (None, 1),
    }


@pytest.mark.full
def test_what_is_fresh_is_found_without_java(tmp_path: Path, without_java: WithoutJava) -> None:
    folder = written(tmp_path / "live", LAGGING)
    promote(folder, loaded=True)
    done = without_java("refresh", "--project", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mart.live is fresh: its target lag lasts until ")
    assert tables(folder) == {
        "mart.live": {
            "model": "mart.live",
            "stale": False,
            "reason": done.stdout.strip().removeprefix("mart.live is fresh: "),
            "changed": [],
            "waits_for": None,
            "rows": None,
            "work_id": None,
        }
    }


@pytest.mark.full
def test_a_project_without_such_tables_says_so(project: Path) -> None:
    promote(project)
    done = refresh(project)
    assert (done.exit_code, done.stdout) == (0, "prod has no MANAGED table that was made.\n")
    assert tables(project) == {}


def test_an_environment_that_does_not_exist_is_refused(project: Path) -> None:
    done = refresh(project, "--env", "dev")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "here is no environment dev; `vde environments` lists them." in done.stderr
