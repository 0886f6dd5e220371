"""A formatter is not trusted: a file whose model would change is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.app.project_files.formatting import format_files, write_formatted
from vde_dagster.core.errors import Conflict
from vde_dagster.project.configuration import read_configuration

TEXT = """MODEL (
  name mart.t,
  kind FULL,
  owner 'me' -- of the header
);

SELECT
  s.id, -- the key
  s.price * 2 AS twice
FROM raw.s AS s
WHERE
  s.id > 1
"""


class Swap:
    """A formatter that replaces one text by another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def __call__(self, text: str, *, path: Path, dialect: str) -> str:
        assert (path, dialect) == (Path("models", "t.sql"), "spark")
        assert self.old in text
        return text.replace(self.old, self.new)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vde.yaml").write_text("name: a\n")
    (tmp_path / "external_models.yaml").write_text(
        "- name: raw.s\n  columns: {id: int, price: double}\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "t.sql").write_text(TEXT)
    return tmp_path.resolve()


@pytest.mark.parametrize(
    "old, new",
    [
        ("SELECT\n", "select "),
        ("s.id > 1", "(s.id > 1)"),
        ("s.id,", "id,"),
        ("kind FULL", "kind  Full"),
        ("FROM raw.s AS s", "FROM RAW.S AS s"),
    ],
)
def test_another_layout_of_the_same_model_is_taken(folder: Path, old: str, new: str) -> None:
    (done,) = format_files(read_configuration(folder), None, Swap(old, new))
    assert (done.changes, done.differs) == (True, ())
    write_formatted(folder, [done])
    assert (folder / "models" / "t.sql").read_text() == TEXT.replace(old, new)


@pytest.mark.parametrize(
    "old, new, differs",
    [
        ("> 1", ">= 1", "its rows"),
        ("* 2", "* 2.0", "its rows"),
        ("twice", "double", "its rows"),
        ("-- the key", "", "its comments"),
        (
            "-- the key\n  s.price * 2 AS twice",
            "\n  s.price * 2 AS twice -- the key",
            "its comments",
        ),
        (" -- of the header", "", "its comments"),
        ("'me'", "'you'", "owner"),
        ("mart.t", "mart.u", "name"),
        ("kind FULL", "kind VIEW", "kind"),
        ("owner 'me'", "owner 'me', enabled false", "enabled"),
        ("owner 'me'", "owner 'me', dialect duckdb", "dialect"),
        ("SELECT", "SELECT FROM", "it could not be read any more"),
        ("MODEL (", "MODEL (;", "it could not be read any more"),
    ],
)
def test_another_model_is_left_alone_and_named(
    folder: Path, old: str, new: str, differs: str
) -> None:
    (done,) = format_files(read_configuration(folder), None, Swap(old, new))
    assert not done.changes
    assert any(each.startswith(differs) for each in done.differs), done.differs
    assert done.diff() == ""
    write_formatted(folder, [done])
    assert (folder / "models" / "t.sql").read_text() == TEXT


def test_a_file_that_was_edited_meanwhile_stays_as_it_is(folder: Path) -> None:
    (done,) = format_files(read_configuration(folder), None, Swap("SELECT\n", "select "))
    (folder / "models" / "t.sql").write_text("-- theirs")
    with pytest.raises(Conflict):
        write_formatted(folder, [done])
    assert (folder / "models" / "t.sql").read_text() == "-- theirs"
