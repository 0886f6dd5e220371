"""The script that runs where dbt is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.project.importing.dbt_building import VARS, Shop, built_shop

HERE = Path(__file__).parent
SCRIPT = HERE.parents[2] / "vde_dagster" / "project" / "importing" / "dbt_forms.py"
WRITTEN = HERE / "dbt_written"


def test_the_script_is_printed_for_another_machine() -> None:
    assert call("import", "script", "dbt").stdout == SCRIPT.read_text()


@pytest.mark.full
def test_dbt_says_what_the_short_tests_read(tmp_path: Path) -> None:
    shop = built_shop(tmp_path)
    before = _files(shop.folder)
    shop.run(SCRIPT, tmp_path / "forms", "--project-dir", ".", "--profiles-dir", ".", *VARS)
    assert _files(shop.folder) == before  # nothing is written to the project
    for form in ("full", "incremental"):
        found = json.loads((tmp_path / "forms" / form / "manifest.json").read_text())
        assert found == json.loads((WRITTEN / form / "manifest.json").read_text())
    assert _catalog(shop) == json.loads((WRITTEN / "catalog.json").read_text())


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "target" not in path.parts
    }


def _catalog(shop: Shop) -> dict[str, dict[str, object]]:
    """What the importer reads of catalog.json."""
    document = json.loads((shop.folder / "target" / "catalog.json").read_text())
    return {
        section: {
            name: {
                "columns": {
                    column: {"type": about["type"], "index": about["index"]}
                    for column, about in table["columns"].items()
                }
            }
            for name, table in document[section].items()
        }
        for section in ("nodes", "sources")
    }
