"""The file of a cache: whatever happens to it, the worst is that nothing is found."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vde_dagster
from tests.depth import examples, is_full
from tests.forks import fork
from tests.project.cache.reader import tell_fingerprints
from tests.project.cache.test_models import BASE, EVERY, both, found_again, load, put, reported
from vde_dagster.composition import VdeProject
from vde_dagster.project.cache import entries
from vde_dagster.project.cache.entries import opened
from vde_dagster.project.cache.models import FILE_NAME, ModelCache

PACKAGE = Path(vde_dagster.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put(tmp_path / "project", BASE)


@pytest.fixture
def cache(tmp_path: Path) -> ModelCache:
    return ModelCache(path=tmp_path / "kept" / "models.sqlite", code="this code")


def rows(path: Path) -> list[tuple[str, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT key, value FROM entries ORDER BY key").fetchall()


def is_sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


# Damage
def emptied(path: Path) -> None:
    path.write_bytes(b"")


def text_instead(path: Path) -> None:
    path.write_text("no database" * 1000)


def head_overwritten(path: Path) -> None:
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def pages_overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 200] = os.urandom(200)
    path.write_bytes(data)


def other_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entries (name TEXT, made_at INTEGER)")


def no_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE others (name TEXT)")


def removed(path: Path) -> None:
    path.unlink()


DAMAGE: list[Callable[[Path], None]] = [
    emptied,
    text_instead,
    head_overwritten,
    cut_in_half,
    pages_overwritten,
    other_tables,
    no_tables,
    removed,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=[each.__name__ for each in DAMAGE])
def test_a_damaged_file_is_rebuilt(
    folder: Path, cache: ModelCache, damage: Callable[[Path], None]
) -> None:
    plain = reported(folder)
    load(folder, cache)
    damage(cache.path)
    assert reported(folder, cache) == plain
    assert reported(folder, cache) == plain
    assert found_again(load(folder, cache).graph) == both(EVERY)
    assert is_sound(cache.path)


def test_wherever_a_byte_is_another_the_models_are_the_same(
    folder: Path, cache: ModelCache
) -> None:
    plain = reported(folder)
    load(folder, cache)
    whole = cache.path.read_bytes()

    @settings(
        max_examples=examples(60),
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(
            st.tuples(st.integers(0, len(whole) - 1), st.integers(1, 255)), min_size=1, max_size=40
        )
    )
    def holds(changes: list[tuple[int, int]]) -> None:
        data = bytearray(whole)
        for at, difference in changes:
            data[at] ^= difference
        cache.path.write_bytes(data)
        assert reported(folder, cache) == plain

    holds()


def test_an_entry_under_another_key_or_with_another_value_is_a_miss(
    folder: Path, cache: ModelCache
) -> None:
    plain = reported(folder)
    load(folder, cache)
    before = rows(cache.path)
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        for (key, _), (_, value) in zip(before, before[1:] + before[:1], strict=True):
            connection.execute("UPDATE entries SET value = ? WHERE key = ?", [value, key])
    assert found_again(load(folder, cache).graph) == set()
    assert reported(folder, cache) == plain
    assert rows(cache.path) == before, "and it was put right"
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute("UPDATE entries SET value = 'a text'")
    assert reported(folder, cache) == plain
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute("UPDATE entries SET value = substr(value, 1, length(value) - 1)")
    assert reported(folder, cache) == plain


# A file that cannot be used
@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds the file locked does not wait for it for long."""
    monkeypatch.setattr(entries, "_PATIENCE", 0.05)


@pytest.mark.parametrize("place", ["/proc/none/at/all", "file/below", "file"])
def test_where_no_file_can_be_there_is_none(tmp_path: Path, folder: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / place / "models.sqlite"
    plain = reported(folder)
    cache = ModelCache(path=path)
    assert reported(folder, cache) == plain
    assert reported(folder, cache) == plain
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_in_its_place_is_left_alone(folder: Path, cache: ModelCache) -> None:
    (cache.path / "inside").mkdir(parents=True)
    assert reported(folder, cache) == reported(folder)
    assert (cache.path / "inside").is_dir()


@pytest.mark.usefixtures("impatient")
def test_a_file_that_is_locked_against_readers_too_is_a_miss(
    folder: Path, cache: ModelCache
) -> None:
    plain = reported(folder)
    load(folder, cache)
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert reported(folder, cache) == plain


# Several at once
PROCESSES, MODELS = (4, 40) if is_full() else (2, 10)


@pytest.mark.full
def test_processes_that_load_at_once_find_the_same(folder: Path, cache: ModelCache) -> None:
    for number in range(MODELS):
        (folder / f"models/m/n{number}.sql").write_text(f"SELECT id + {number} AS id FROM m.top")
    for _ in range(2):  # without a file, and with one that lacks something
        forks = [fork(tell_fingerprints, folder, cache.path) for _ in range(PROCESSES)]
        answers = [each.line.recv() for each in forks]
        expected = [(str(node.name), node.fingerprint.digest) for node in load(folder).graph]
        assert answers == [expected] * PROCESSES
        for each in forks:
            each.process.join(600)
        assert [each.process.exitcode for each in forks] == [0] * PROCESSES
        assert is_sound(cache.path)
        (folder / "models/m/n0.sql").write_text("SELECT id - 1 AS id FROM m.top")
    load(folder, cache)
    assert len(found_again(load(folder, cache).graph)) == 2 * (len(EVERY.split()) + MODELS)


# How large it becomes
def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    for name in "abcdef":
        with opened(path, most_bytes=50_000) as file:
            file.get("a")  # a is in use all the time
            file.put(name, [os.urandom(12_000)])
    with opened(path) as file:
        kept = {name for name in "abcdef" if file.get(name) is not None}
    # With e there were 60 KB: b, c and d went until no more than 25 KB were left.
    assert kept == {"a", "e", "f"}


def test_what_one_look_needs_is_kept_however_large_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with opened(path, most_bytes=1000) as file:
        for name in "abc":
            file.put(name, [os.urandom(5000)])
    with opened(path, most_bytes=1000) as file:
        assert all(file.get(name) is not None for name in "abc")


# What it is used for
def test_a_project_keeps_its_models_next_to_its_state_unless_that_is_switched_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_CACHE", "off")
    assert VdeProject.load(folder).models is None
    assert len(VdeProject.load(folder).files.graph.nodes) == len(EVERY.split()) + 2
    assert not (folder / ".vde").exists()
    monkeypatch.delenv("VDE_CACHE")
    project = VdeProject.load(folder)
    assert found_again(project.files.graph) == set()
    assert (folder / ".vde" / FILE_NAME).is_file()
    assert found_again(VdeProject.load(folder).files.graph) == both(EVERY)


DIGESTS = """
import sys
from pathlib import Path
from vde_dagster.project.cache.keys import code_digest

print(code_digest())
for name in sys.argv[1:]:
    with Path(name).open("a") as file:
        file.write("\\n# x\\n")
    code_digest.cache_clear()
    print(code_digest())
"""


def code_digests_of(folder: Path, *edited: Path) -> list[str]:
    """The digest of a copy of the package, and the one after each edit of a file."""
    command = [sys.executable, "-P", "-c", DIGESTS, *map(str, edited)]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return answer.stdout.split()


@pytest.mark.full
def test_any_change_of_the_code_that_reads_is_another_version(tmp_path: Path) -> None:
    copy = tmp_path / "vde_dagster"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    names = ("core/sql/canonical.py", "core/model/kinds/full.py", "project/macros/builtin.py")
    found = code_digests_of(tmp_path, *(copy / name for name in (*names, "core/added.py")))
    assert code_digests_of(tmp_path) == found[-1:]
    version = copy / "version.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9'))
    found += code_digests_of(tmp_path)
    assert len(found) == 6
    assert len(set(found)) == len(found)
