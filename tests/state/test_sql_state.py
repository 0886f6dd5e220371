"""What only a database can get wrong: several processes, locks, crashes, the schema's version."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import make_url

from tests.depth import is_full
from tests.forks import Fork, fork
from tests.state import actor
from tests.state.builders import KEY, MINUTE, SALES, change, intent, mark, publication, snapshot
from tests.state.next_release import next_release
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.state import leases, migrations, reference_lock, schema
from vde_dagster.state.database import Database, now, open_engine
from vde_dagster.state.sql_state import SqlState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vde_dagster.ports.state import Lease

RACERS = 4 if is_full() else 2
"""How many processes do the same thing at once."""


def start(url: str, role: str, *arguments: str, count: int = 1) -> list[Fork]:
    """Actors that have come to their starting line; ``{}`` in an argument is an actor's number."""
    actors = [
        fork(actor.act, url, role, *(each.format(number) for each in arguments))
        for number in range(count)
    ]
    for each in actors:
        assert each.line.recv() == "ready"
    return actors


def race(*actors: Fork) -> list[str]:
    """Let them all go at once; what each one said."""
    for each in actors:
        each.line.send("go")
    return ended(*actors)


def ended(*actors: Fork) -> list[str]:
    """What each of them said at its end."""
    outcomes = []
    for each in actors:
        assert each.line.poll(600)
        outcomes.append(each.line.recv())
    for each in actors:
        each.line.send("end")
        each.process.join(600)
    assert [each.process.exitcode for each in actors] == [0] * len(actors)
    return outcomes


def staged(state: SqlState) -> Lease:
    """One loaded interval, and a unit of work `w2` staged to add rows to it and move a mark."""
    lease = state.acquire_lease(str(KEY), holder="me", ttl=MINUTE)
    state.record_intent(intent("w1"), lease=lease)
    state.record_staged("w1", publication(change()), lease=lease)
    state.finalize("w1", lease=lease)
    state.record_intent(intent("w2"), lease=lease)
    added = change(operation=LedgerOperation.ADD)
    state.record_staged("w2", publication(added, moves=mark(2)), lease=lease)
    return lease


def arguments(lease: Lease) -> tuple[str, str, str]:
    return lease.resource, lease.holder, str(lease.epoch)


# Processes
def test_processes_that_create_the_schema_at_once_all_find_one(sql_url: str) -> None:
    assert race(*start(sql_url, "open_state", count=RACERS)) == ["opened"] * RACERS
    engine = open_engine(sql_url)
    with engine.connect() as connection:
        versions = connection.execute(select(schema.state_version.c.version)).scalars().all()
    engine.dispose()
    assert versions == [schema.VERSION]


def test_of_processes_that_race_for_a_lease_exactly_one_wins(sql_url: str) -> None:
    SqlState.open(sql_url).close()
    outcomes = race(*start(sql_url, "take_lease", "holder{}", count=RACERS))
    assert Counter(outcomes) == {"1": 1, "conflict": RACERS - 1}


def test_r5_processes_that_race_to_record_one_work_record_it_once(sql_url: str) -> None:
    state = SqlState.open(sql_url)
    lease = staged(state)
    actors = start(sql_url, "finalize", "w2", *arguments(lease), count=RACERS)
    assert race(*actors) == ["[6]"] * RACERS
    assert [entry.rows.rows for entry in state.ledger([KEY])[KEY]] == [6]
    state.close()


def test_r5_a_process_killed_within_a_transaction_leaves_the_old_state(sql_url: str) -> None:
    state = SqlState.open(sql_url)
    lease = staged(state)
    before = (state.ledger([KEY]), state.marks(KEY), state.work("w2"))
    (killed,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    assert (state.ledger([KEY]), state.marks(KEY), state.work("w2")) == before
    killed.process.kill()
    killed.process.join()
    assert (state.ledger([KEY]), state.marks(KEY), state.work("w2")) == before
    (entry,) = state.finalize("w2", lease=lease)
    assert entry.rows.rows == 6
    state.close()


# Locks
def test_a_lock_time_out_is_a_conflict_and_nothing_is_written(sql_url: str) -> None:
    state = SqlState.open(sql_url)
    lease = staged(state)
    impatient = SqlState.open(sql_url, lock_timeout=timedelta(milliseconds=50))
    (slow,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    with pytest.raises(Conflict, match="locked by another process; nothing was written"):
        impatient.abandon("w2", reason="too late", lease=lease)
    assert impatient.work("w2") == state.work("w2"), "readers do not wait for writers"
    assert race(slow) == ["committed"]
    work = impatient.work("w2")
    assert work is not None
    assert work.state is UnitOfWorkState.DONE
    impatient.close()
    state.close()


def test_as_many_threads_as_there_are_models_have_a_connection_to_a_file_each(
    sqlite_url: str,
) -> None:
    """Each of them may wait for the file's lock meanwhile, and none for a connection."""
    database = Database(open_engine(sqlite_url, lock_timeout=timedelta(milliseconds=1)))
    with ExitStack() as transactions:
        for _ in range(MOST_MODELS):
            transactions.enter_context(database.read())


def test_who_gets_no_connection_in_time_has_written_nothing_and_is_told_so() -> None:
    database = Database(open_engine("sqlite://", lock_timeout=timedelta(milliseconds=1)))
    with database.read():
        for transaction in (database.read, database.write):
            with pytest.raises(Conflict, match="nothing was written, try again"), transaction():
                raise AssertionError("there is one connection")


def test_a_writer_waits_for_one_that_is_slow(sql_url: str) -> None:
    state = SqlState.open(sql_url)
    lease = staged(state)
    (slow,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    (waiting,) = start(sql_url, "finalize", "w2", *arguments(lease))
    waiting.line.send("go")
    assert not waiting.line.poll(0.2)
    assert waiting.process.is_alive()
    slow.line.send("go")
    assert ended(slow, waiting) == ["committed", "[6]"]
    state.close()


# The schema's version
def test_a_state_of_a_newer_release_is_refused_and_untouched(sql_url: str) -> None:
    SqlState.open(sql_url).close()
    engine = open_engine(sql_url)
    with engine.begin() as connection:
        newer = {"version": schema.VERSION + 1, "applied_at": 0}
        connection.execute(insert(schema.state_version), newer)
    engine.dispose()
    with pytest.raises(Refused, match=f"schema version {schema.VERSION + 1}.*install"):
        SqlState.open(sql_url)


def test_whoever_opened_a_state_before_a_newer_release_moved_it_writes_nothing_more(
    sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SqlState.open(sql_url)
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    _move(sql_url)
    with pytest.raises(Refused, match=f"schema version {schema.VERSION + 1}.*install"):
        state.store_snapshots([snapshot()], environment="dev")
    with pytest.raises(Refused, match="schema version"):
        state.record_intent(intent(), lease=lease)
    assert state.owners([snapshot().key]) == {}
    assert state.open_work(KEY) == ()
    state.close()


@pytest.mark.postgres
def test_a_state_is_moved_once_those_that_write_it_have_ended(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SqlState.open(postgres_url)
    with ThreadPoolExecutor(1) as pool:
        with state._database.write() as connection:
            moving = pool.submit(_move, postgres_url)
            while not connection.scalar(text("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")):
                assert not moving.done(), "it waits"
                time.sleep(0.01)
            leases.acquire(connection, "r", holder="me", ttl=MINUTE)
        moving.result()
    assert [each.resource for each in state.leases()] == ["r"]
    with pytest.raises(Refused, match="schema version"):
        state.acquire_lease("s", holder="me", ttl=MINUTE)
    state.close()


def _move(url: str) -> None:
    """Move a state forward as the next release does."""
    with next_release():
        engine = open_engine(url)
        migrations.migrate(Database(engine))
        engine.dispose()


def test_a_schema_that_fails_half_way_is_not_there(
    sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vde_dagster.state.migrations.now", fail)
        with pytest.raises(KeyboardInterrupt):
            SqlState.open(sql_url)
    engine = open_engine(sql_url)
    assert inspect(engine).get_table_names() == []
    engine.dispose()
    SqlState.open(sql_url).close()


def test_opening_again_keeps_what_is_stored(sql_url: str) -> None:
    first = SqlState.open(sql_url)
    first.store_snapshots([snapshot()], environment="dev")
    first.close()
    second = SqlState.open(sql_url)
    assert second.owners([snapshot().key]) == {snapshot().key: "dev"}
    second.close()


def test_every_table_has_our_prefix_next_to_tables_of_others(sqlite_url: str) -> None:
    path = Path(make_url(sqlite_url).database or "")
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE iceberg_tables (catalog_name TEXT, table_namespace TEXT, table_name TEXT)"
        )
    connection.close()
    SqlState.open(sqlite_url).close()
    engine = create_engine(sqlite_url)
    names = set(inspect(engine).get_table_names())
    engine.dispose()
    assert {name for name in names if not name.startswith("vde_")} == {"iceberg_tables"}


@pytest.mark.parametrize(
    "url, text",
    [
        ("state.db", "is no database URL"),
        ("postgresql+nope://host/name", "is no database URL"),
        ("sqlite:///a\0b", "is no database URL"),
        ("oracle://host/name", "cannot live in oracle"),
        ("sqlite:////proc/none/state.db", "cannot be opened: no folder"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, text: str) -> None:
    with pytest.raises(Refused, match=text):
        SqlState.open(url)


def test_a_refusal_shows_no_password() -> None:
    with pytest.raises(Refused, match="cannot be opened") as refused:
        SqlState.open("postgresql://me:hunter2@127.0.0.1:1/vde")
    assert "hunter2" not in str(refused.value)


@pytest.mark.postgres
def test_what_waited_for_a_lock_sees_what_was_committed_meanwhile_whatever_the_default_is(
    postgres_url: str,
) -> None:
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = connection.engine.url.database
        change = "SET default_transaction_isolation TO 'repeatable read'"
        connection.exec_driver_sql(f"ALTER DATABASE {name} {change}")
    engine.dispose()
    one, other = (SqlState.open(postgres_url) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        with one._database.write() as connection:
            reference_lock.while_deciding(connection)
            waiting = pool.submit(_leases_seen_while_deciding, other)
            while not connection.scalar(text("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")):
                time.sleep(0.01)
            leases.acquire(connection, "r", holder="me", ttl=MINUTE)
        assert waiting.result() == 1
    for state in (one, other):
        state.close()


def _leases_seen_while_deciding(state: SqlState) -> int:
    with state._database.write() as connection:
        reference_lock.while_deciding(connection)
        return len(leases.held(connection))


# Clock and scale
def test_the_database_gives_the_time(sql_url: str) -> None:
    with Database(open_engine(sql_url)).read() as connection:
        reported = now(connection) / 1_000_000
    assert abs(reported - datetime.now(UTC).timestamp()) < 2


@contextmanager
def counted_statements(state: SqlState) -> Iterator[Counter[str]]:
    """Statements by their first word; rows sent for each insert under ``rows``."""
    counter: Counter[str] = Counter()

    def count(
        _c: object, _cursor: object, statement: str, parameters: object, _x: object, many: bool
    ) -> None:
        word = statement.split(maxsplit=1)[0]
        counter[word] += 1
        if word == "INSERT":
            counter["rows"] += len(parameters) if many and isinstance(parameters, list) else 1

    engine = state._database.engine
    event.listen(engine, "before_cursor_execute", count)
    yield counter
    event.remove(engine, "before_cursor_execute", count)


def test_questions_about_many_things_are_few_statements(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    many = [snapshot(ModelName("shop", f"m{number}")) for number in range(1000)]
    with counted_statements(state) as written:
        state.store_snapshots(many, environment="dev")
    assert (written["SELECT"], written["INSERT"]) == (4, 2), "of all tombstones, and the version"
    assert written["rows"] == 2 * len(many)
    with counted_statements(state) as read:
        state.snapshots((each.name, each.fingerprint) for each in many)
        state.owners(each.key for each in many)
        state.ledger(each.key for each in many)
    assert read["SELECT"] == 3
    state.close()


def test_snapshots_that_are_stored_are_not_written_again(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    many = [snapshot(ModelName("shop", f"m{number}")) for number in range(10)]
    state.store_snapshots(many[:9], environment="dev")
    with counted_statements(state) as written:
        state.store_snapshots(many, environment="dev")
    assert written["rows"] == 1 + len(many), "the new one, and the owners of all"
    assert len(state.snapshots((each.name, each.fingerprint) for each in many)) == len(many)
    state.close()


def test_no_question_is_asked_about_nothing(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    with counted_statements(state) as read:
        assert not state.snapshots([])
        assert not state.holdings([])
        assert not state.owners([])
        assert not state.heads([])
    assert read["SELECT"] == 0
    state.close()


def test_recording_one_interval_of_thousands_writes_its_entry_and_the_summary(
    sqlite_url: str,
) -> None:
    state = SqlState.open(sqlite_url)
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    state.record_intent(intent("w1"), lease=lease)
    state.record_staged("w1", publication(*map(change, range(3000))), lease=lease)
    state.finalize("w1", lease=lease)
    state.record_intent(intent("w2"), lease=lease)
    state.record_staged("w2", publication(change(7)), lease=lease)
    with counted_statements(state) as counted:
        state.finalize("w2", lease=lease)
    assert (counted["INSERT"], counted["rows"], counted["UPDATE"]) == (2, 2, 1)
    assert counted["DELETE"] == 0
    state.close()


def test_a_question_about_keys_is_answered_from_the_primary_key(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    asked: list[str] = []
    engine = state._database.engine

    def explain(_c: object, cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith("SELECT vde_ledger"):
            assert isinstance(cursor, sqlite3.Cursor)
            assert isinstance(parameters, tuple)
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            asked.extend(row[3] for row in plan)

    event.listen(engine, "after_cursor_execute", explain)
    state.ledger([KEY, VersionKey(SALES, "b" * 32)])
    assert any("SEARCH vde_ledger" in step for step in asked), asked
    assert not any("SCAN vde_ledger" in step for step in asked)
    state.close()
