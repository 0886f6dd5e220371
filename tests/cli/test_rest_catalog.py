"""Commands of a project whose catalog is a REST server, as configuration.md has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.memory_world import bound
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import edit, promote
from tests.worlds.rest_server import RestServer, rest_server
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName, TableName

VIEW = TableName("mart", "first")
FIRST = "MODEL (name mart.first, kind FULL);\nSELECT CAST(1 AS INT) AS x\n"
SECOND = "MODEL (name mart.second, kind FULL);\nSELECT x FROM mart.first\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    with rest_server(tmp_path / "server") as found:
        yield found


@pytest.fixture
def edited(server: RestServer, tmp_path: Path) -> Path:
    """Production shows the project as it was, dev an edit of it; what is loaded has no rows."""
    folder = tmp_path / "shop"
    models = folder / "models" / "mart"
    models.mkdir(parents=True)
    (folder / "vde.yaml").write_text(
        f"name: shop\ncatalog:\n  properties:\n    type: rest\n    uri: {server.url}\n"
    )
    for name, text in (("first", FIRST), ("second", SECOND)):
        (models / f"{name}.sql").write_text(text)
    promote(folder, loaded=True)
    edit(models / "first.sql", "CAST(1 AS", "CAST(2 AS")
    promote(folder, "dev", loaded=True)
    return folder


def shown(folder: Path) -> TableName:
    found = VdeProject.load(folder).services.catalog.view(VIEW)
    assert found is not None
    return found.target


def promoted(folder: Path) -> TableName:
    """The table of the version that dev shows."""
    return bound(VdeProject.load(folder).services, "dev").key(ModelName("mart", "first")).table


def test_a_plan_is_made_and_says_what_it_would_compute(
    edited: Path, without_java: WithoutJava
) -> None:
    done = without_java("plan", "--no-apply", "--project", edited)
    assert done.returncode == 0, done.stderr
    assert "mart.first" in done.stdout


@pytest.mark.full
def test_an_environment_is_promoted_and_rolled_back(
    edited: Path, without_java: WithoutJava
) -> None:
    before = shown(edited)
    done = without_java("promote", "dev", "--auto-apply", "--project", edited)
    assert done.returncode == 0, done.stderr
    assert shown(edited) == promoted(edited) != before
    done = without_java("rollback", "prod", "--auto-apply", "--project", edited)
    assert done.returncode == 0, done.stderr
    assert shown(edited) == before
