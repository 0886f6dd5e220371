"""The edits of the demo's story; the story itself is told in test_demo.py."""

from __future__ import annotations

from pathlib import Path

import landing
import pytest
from demo_story import EARLY_IS_NO_DELAY, SCHEDULED_HOUR, Edit

from vde_dagster.cli.projects.copying import copy_project

EXAMPLE = Path(landing.__file__).parent
EDITS = [EARLY_IS_NO_DELAY, SCHEDULED_HOUR]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_project(EXAMPLE, tmp_path / "flights")
    return tmp_path / "flights"


@pytest.mark.parametrize("edit", EDITS, ids=lambda each: each.file)
def test_an_edit_is_made_once_and_taken_back_to_the_letter(folder: Path, edit: Edit) -> None:
    path = folder / edit.file
    before = path.read_bytes()
    assert edit.make(folder)
    edited = path.read_bytes()
    assert edited != before
    assert edit.make(folder), "an edit that is there already counts as made"
    assert path.read_bytes() == edited
    edit.take_back(folder)
    assert path.read_bytes() == before


@pytest.mark.parametrize("edit", EDITS, ids=lambda each: each.file)
def test_a_file_that_the_user_changed_stays_as_it_is(folder: Path, edit: Edit) -> None:
    path = folder / edit.file
    changed = path.read_text("utf-8").replace(edit.before, "1")
    path.write_text(changed, "utf-8")
    assert not edit.make(folder)
    edit.take_back(folder)
    assert path.read_text("utf-8") == changed
    path.unlink()
    assert not edit.make(folder)
    edit.take_back(folder)
    assert not path.exists()
