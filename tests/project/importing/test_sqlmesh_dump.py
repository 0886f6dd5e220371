"""The script that runs where SQLMesh is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.project.importing.peers import sqlmesh

HERE = Path(__file__).parent
SCRIPT = HERE.parents[2] / "vde_dagster" / "project" / "importing" / "sqlmesh_dump.py"


def test_the_script_is_printed_for_another_machine() -> None:
    assert call("import", "script", "sqlmesh").stdout == SCRIPT.read_text()


@pytest.mark.full
def test_sqlmesh_says_what_the_short_tests_read(tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "sqlmesh_shop", tmp_path / "shop")
    found = json.loads(sqlmesh().run(SCRIPT, ".", cwd=folder))
    assert found == json.loads((HERE / "sqlmesh_shop.json").read_text())
