"""A packaged project that is copied: updated, but never over the user's edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.cli.projects.copying import copy_project
from vde_dagster.core.errors import Refused


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: ours\n")
    (folder / "models" / "a.sql").write_text("SELECT 1 AS x\n")
    (folder / ".vde").mkdir()
    (folder / ".vde" / "lake.db").write_text("not ours to copy")
    return folder


def test_it_copies_once_and_then_nothing(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    first = copy_project(source, target)
    assert [str(each) for each in first.written] == ["models/a.sql", "vde.yaml"]
    assert not (target / ".vde" / "lake.db").exists()
    again = copy_project(source, target)
    assert (again.written, again.kept) == ((), ())


def test_edits_and_state_stay_and_what_is_missing_comes_back(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    copy_project(source, target)
    (target / ".vde" / "lake.db").write_text("state")
    (target / "mine.sql").write_text("SELECT 3 AS x")
    (target / "models" / "a.sql").write_text("SELECT 2 AS x\n")
    (target / "vde.yaml").unlink()
    (source / "models" / "a.sql").write_text("SELECT 5 AS x\n")
    done = copy_project(source, target)
    assert [str(each) for each in done.written] == ["vde.yaml"]
    assert [str(each) for each in done.kept] == ["models/a.sql"]
    assert (target / "models" / "a.sql").read_text() == "SELECT 2 AS x\n"
    assert (target / ".vde" / "lake.db").read_text() == "state"
    assert (target / "mine.sql").exists()


def test_a_newer_file_replaces_an_untouched_one_from_any_earlier_release(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    for text in ("SELECT 1 AS x\n", "SELECT 2 AS x\n", "SELECT 3 AS x\n"):
        (source / "models" / "a.sql").write_text(text)
        copy_project(source, target)
        assert (target / "models" / "a.sql").read_text() == text


def test_a_folder_of_somebody_else_is_refused(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "thesis.tex").write_text("mine")
    with pytest.raises(Refused, match="nothing was written"):
        copy_project(source, target)
    assert [each.name for each in target.iterdir()] == ["thesis.tex"]
