"""A state that was exported and imported is the same; what is not as it was exported is refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select

from tests.state.builders import KEY, MINUTE, SALES, change, intent, load, snapshot
from tests.state.conftest import connected
from tests.state.rich import fill
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.state import archive, schema
from vde_dagster.state.database import Database, open_engine
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState


@pytest.fixture
def filled(sqlite_url: str, sqlite_state: SqlState) -> str:
    """The address of a state with rows in every table."""
    fill(sqlite_state)
    return sqlite_url


@pytest.fixture
def exported(filled: str, tmp_path: Path) -> Path:
    path = tmp_path / "state.jsonl"
    StoredState(filled).export(path)
    return path


def content(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables but leases, in no database's own order."""
    with connected(url) as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
            if table is not schema.leases
        }


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Another address, without a state."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'other' / 'state.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


def test_there_are_rows_of_every_table_to_be_copied(filled: str) -> None:
    assert [name for name, rows in content(filled).items() if not rows] == []


@pytest.mark.full
def test_what_is_imported_is_what_was_exported_and_goes_on(
    filled: str, exported: Path, other_url: str, tmp_path: Path
) -> None:
    archived = StoredState(other_url).restore(exported)
    before = content(filled)
    assert content(other_url) == before
    assert dict(archived.rows) == {name: len(rows) for name, rows in before.items()}
    StoredState(other_url).export(tmp_path / "again.jsonl")
    lines, again = (path.read_bytes().splitlines() for path in (exported, tmp_path / "again.jsonl"))
    assert sorted(lines[:-1]) == sorted(again[:-1])

    state, first = SqlState.open(other_url), SqlState.open(filled)
    for each in ("prod", "dev"):
        assert state.environment(each) == first.environment(each)
    assert state.loaded([KEY]) == first.loaded([KEY])
    assert state.leases() == ()
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    (open_work,) = state.open_work(KEY)
    assert (open_work.intent, open_work.state) == (intent("w4"), UnitOfWorkState.INTENT)
    state.abandon("w4", reason="over", lease=lease)
    load(
        state, lease, "w9", change(7)
    )  # the database counts on after the numbers that it was given
    assert state.heads([KEY]) == first.heads([KEY])
    listed, before_it = state.unlisted(limit=9), first.unlisted(limit=9)
    assert listed[:-1] == before_it, "the work took the marks with it, which is the last one"
    state.close()
    first.close()


@pytest.mark.postgres
def test_a_state_goes_back_from_postgres_as_it_came(
    exported: Path, filled: str, postgres_url: str, tmp_path: Path
) -> None:
    StoredState(postgres_url).restore(exported)
    StoredState(postgres_url).export(tmp_path / "back.jsonl")
    back = f"sqlite:///{tmp_path / 'back.db'}"
    StoredState(back).restore(tmp_path / "back.jsonl")
    assert content(back) == content(filled)


def test_an_export_is_for_its_owner_and_says_nothing_of_processes(
    exported: Path, filled: str
) -> None:
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    text = exported.read_text("utf-8")
    assert "environment:prod" not in text  # the resource of a lease
    assert filled not in text
    lines = text.splitlines()
    head, last = json.loads(lines[0]), json.loads(lines[-1])
    assert (head["what"], head["format"]) == ("vde_dagster state", 1)
    assert head["schema"] == schema.VERSION
    # An independent computation of the digest, as docs/reference/json.md describes it.
    before = "".join(f"{line}\n" for line in lines[:-1]).encode()
    assert last["sha256"] == hashlib.sha256(before).hexdigest()


def test_an_export_is_of_one_moment(filled: str, tmp_path: Path) -> None:
    database, other = Database(open_engine(filled)), SqlState.open(filled)
    other.environments()
    before = content(filled)
    with database.read() as connection:
        connection.execute(select(schema.state_version)).all()
        other.store_snapshots([snapshot(SALES, text="SELECT 99")], environment="dev")
        archived = archive.export(connection, tmp_path / "one.jsonl")
    assert dict(archived.rows) == {name: len(rows) for name, rows in before.items()}
    assert content(filled) != before


def test_a_file_that_is_there_stays_as_it_is(filled: str, exported: Path) -> None:
    before = exported.read_bytes()
    with pytest.raises(Refused, match=r"already exists\. Name a file that does not exist yet"):
        StoredState(filled).export(exported)
    assert exported.read_bytes() == before


def test_an_export_that_is_stopped_leaves_no_file(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        StoredState(filled).export(folder / "state.jsonl")
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(filled: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"none/state\.jsonl cannot be written: No such file"):
        StoredState(filled).export(tmp_path / "none" / "state.jsonl")


# What is refused
def signed(lines: list[bytes]) -> bytes:
    """These lines with a last line that fits them: damage that no digest shows."""
    tables = [table for table in schema.metadata.sorted_tables if table is not schema.leases]
    rows = dict.fromkeys((table.name for table in tables), 0)
    for line in lines[1:]:
        name = str(json.loads(line)["table"])
        rows[name] = rows.get(name, 0) + 1
    body = b"".join(lines)
    last = {"rows": rows, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(last, separators=(",", ":")).encode() + b"\n"


def changed_line(lines: list[bytes], at: int, **changed: object) -> bytes:
    """An export with other values in one of its lines, signed again."""
    line = json.dumps(json.loads(lines[at]) | changed).encode() + b"\n"
    return signed([*lines[:at], line, *lines[at + 1 : -1]])


def headed(lines: list[bytes], **changed: object) -> bytes:
    return changed_line(lines, 0, **changed)


def revalued(lines: list[bytes], table: str, **changed: object) -> bytes:
    """The same with other values in the first row of a table."""
    rows = [json.loads(line) for line in lines[:-1]]
    at = next(at for at, each in enumerate(rows) if each.get("table") == table)
    return changed_line(lines, at, row=rows[at]["row"] | changed)


def numbered(lines: list[bytes], number: int) -> bytes:
    """An export whose first row with a whole number has another one there."""
    rows = [json.loads(line)["row"] for line in lines[1:-1]]
    at = next(at for at, row in enumerate(rows) if any(type(each) is int for each in row.values()))
    row = rows[at]
    changed = {key: number if type(value) is int else value for key, value in row.items()}
    return changed_line(lines, at + 1, row=changed)


def flipped(lines: list[bytes]) -> bytes:
    body = bytearray(b"".join(lines))
    at = len(body) // 2
    body[at] ^= 1
    return bytes(body)


DAMAGED: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "empty": (lambda _: b"", "is not an export of a state"),
    "of another program": (lambda _: b'{"a": 1}\n', "is not an export of a state"),
    "no text": (lambda _: bytes(range(256)), "is not an export of a state"),
    "without its last line": (lambda lines: b"".join(lines[:-1]), "is cut off"),
    "cut in a line": (lambda lines: b"".join(lines)[:-90], "is cut off"),
    "cut in the first line": (lambda lines: lines[0][:20], "is not an export of a state"),
    "only its first line": (lambda lines: lines[0], "is cut off"),
    "a bit flipped": (flipped, "is damaged"),
    "a row twice": (lambda lines: b"".join([*lines[:5], lines[4], *lines[5:]]), "is damaged"),
    "a row less": (lambda lines: b"".join([*lines[:5], *lines[6:]]), "is damaged"),
    "more after its end": (lambda lines: b"".join([*lines, lines[4]]), "is cut off|is damaged"),
    "a row twice, signed again": (
        lambda lines: signed([*lines[:-1], lines[-2]]),
        "is damaged",
    ),
    "a row of another type, signed again": (
        lambda lines: changed_line(lines, 3, row=1),
        "is damaged",
    ),
    "a table of another type, signed again": (
        lambda lines: changed_line(lines, 3, table=["x"]),
        "is damaged",
    ),
    "a number that is too large, signed again": (
        lambda lines: numbered(lines, 2**63),
        "is damaged",
    ),
    "a value of no meaning, signed again": (
        lambda lines: revalued(lines, "vde_work", intent_json="{"),
        r"vde_work \(\d+\): intent_json cannot be read",
    ),
    "an instant of no time, signed again": (
        lambda lines: revalued(lines, "vde_promotions", promoted_at=2**62),
        "vde_promotions .*promoted_at",
    ),
    "a text in place of a number, signed again": (
        lambda lines: revalued(lines, "vde_ledger", interval_end="x"),
        "vde_ledger .*the entry cannot be read|is damaged",
    ),
    "digits that are none, signed again": (
        lambda lines: revalued(lines, "vde_ledger", high="{"),
        "vde_ledger .*the entry cannot be read",
    ),
    "a first line that is nested deeply": (
        lambda lines: b"[" * 200_000 + b"\n" + b"".join(lines[1:]),
        "is not an export of a state",
    ),
    "a line that is nested deeply": (
        lambda lines: b"".join([*lines[:3], b"[" * 200_000 + b"\n", *lines[3:]]),
        "is damaged",
    ),
    "of a newer format": (lambda lines: headed(lines, format=2), "is newer. Nothing was written"),
    "of a newer schema": (
        lambda lines: headed(lines, schema=schema.VERSION + 1),
        "is newer. Nothing was written. Import it with that release",
    ),
    "of an earlier schema": (
        lambda lines: headed(lines, schema=schema.VERSION - 1, release="0.0.1"),
        "Import it with release 0.0.1, which wrote it, and move that state forward",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_not_as_it_was_exported_is_refused_and_nothing_is_written(
    exported: Path, other_url: str, case: str
) -> None:
    make, said = DAMAGED[case]
    exported.write_bytes(make(exported.read_bytes().splitlines(keepends=True)))
    with pytest.raises(Refused, match=said):
        StoredState(other_url).restore(exported)
    with pytest.raises(Refused, match="there is no state at"):
        StoredState(other_url).version()


@pytest.mark.full
def test_a_state_with_rows_is_not_written_over(exported: Path, filled: str, other_url: str) -> None:
    state = SqlState.open(other_url)
    lease = state.acquire_lease("environment:prod", holder="plan p", ttl=MINUTE)
    with pytest.raises(Refused, match="is not empty: vde_leases has rows"):
        StoredState(other_url).restore(exported)
    state.release_lease(lease)
    state.store_snapshots([snapshot()], environment="dev")
    before = content(other_url)
    for url in (filled, other_url):
        with pytest.raises(
            Refused,
            match=r"is not empty: vde_.* Nothing was written\. Set `state\.url` in vde\.yaml to a "
            "new database",
        ):
            StoredState(url).restore(exported)
    assert content(other_url) == before
    state.close()


def fail_at(engine: Engine, number: int) -> None:
    """Let an engine fail at one of its statements."""
    left = iter(range(number))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    event.listen(engine, "before_cursor_execute", count)


@pytest.mark.full
def test_an_import_that_is_stopped_anywhere_leaves_nothing(exported: Path, other_url: str) -> None:
    SqlState.open(other_url).close()
    before = content(other_url)
    archived, stopped = archive.look(exported), 0
    for number in range(0, 400, 3):
        database = Database(open_engine(other_url))
        fail_at(database.engine, number)
        try:
            with database.write() as connection:
                archive.restore(connection, exported, archived)
        except KeyboardInterrupt:
            stopped += 1
            assert content(other_url) == before
        else:
            break
        finally:
            database.engine.dispose()
    assert stopped > 5
    assert len(content(other_url)["vde_work"]) == 5


@pytest.mark.full
def test_a_file_that_is_changed_between_look_and_import_is_refused(
    exported: Path, other_url: str
) -> None:
    archived = archive.look(exported)
    lines = exported.read_bytes().splitlines(keepends=True)
    exported.write_bytes(signed([*lines[:-2]]))
    database = Database(open_engine(other_url))
    with pytest.raises(Refused, match="is damaged"), database.write() as connection:
        archive.restore(connection, exported, archived)
    database.engine.dispose()
    with pytest.raises(Refused, match="there is no state at"):
        StoredState(other_url).version()
