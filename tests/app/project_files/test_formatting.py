"""A formatter is not trusted: a file whose model would change is left alone."""

from __future__ import annotations

import re
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
        ("kind FULL", "kind  Full"),
        ("s.id > 1", "s.id>1"),
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
        ("> 1", ">= 1", "its statements"),
        ("s.id > 1", "(s.id > 1)", "its statements"),
        ("* 2", "* 2.0", "its statements"),
        ("twice", "double", "its statements"),
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
        ("SELECT", "SELECT FROM", "it could no longer be read"),
        ("MODEL (", "MODEL (;", "it could no longer be read"),
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


HINTS = [
    "BROADCAST(s)",
    "broadcast(s)",
    "BROADCAST(s), MERGE(u)",
    "broadcast(s) merge(u)",
    "broadcast(s),\n  merge(u),shuffle_hash(s)",
    "COALESCE(3) repartition(2, id)",
    "BROADCAST(s) */ /*+ MERGE(u)",
]


def hinted(hints: str) -> str:
    join = "FROM raw.s AS s\nJOIN raw.s AS u\n  ON s.id = u.id"
    return TEXT.replace("SELECT\n", f"select /*+ {hints} */\n").replace("FROM raw.s AS s", join)


@pytest.mark.parametrize("hints", HINTS)
def test_hints_are_laid_out_and_none_is_lost(folder: Path, hints: str) -> None:
    file = folder / "models" / "t.sql"
    file.write_text(hinted(hints))
    found = format_files(read_configuration(folder), None)
    assert [each.differs for each in found] == [()]
    write_formatted(folder, found)
    text = file.read_text()
    assert text.startswith("MODEL")
    assert "\n    /*+ " in text
    words = [word for word in re.findall(r"\w+", hints.lower()) if word != "s"]
    assert all(word in text.lower() for word in words)
    assert [each.after for each in format_files(read_configuration(folder), None)] == [text]


@pytest.mark.parametrize(
    "old, new", [(", MERGE(u)", ""), ("MERGE(u)", "MERGE(s)"), ("BROADCAST(s), ", "")]
)
def test_a_formatter_that_loses_a_hint_is_found_out(folder: Path, old: str, new: str) -> None:
    (folder / "models" / "t.sql").write_text(hinted("BROADCAST(s), MERGE(u)"))
    (found,) = format_files(read_configuration(folder), None, Swap(old, new))
    assert found.differs == ("its statements",)
