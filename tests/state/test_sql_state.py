"""What only a database can get wrong: several processes, locks, crashes, the schema's version."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, event, inspect, select, text

from tests.depth import is_full
from tests.forks import Fork, fork
from tests.state import actor
from tests.state.builders import (
    KEY,
    MINUTE,
    OTHER,
    change,
    intent,
    load,
    many,
    mark,
    publication,
    snapshot,
    stage,
)
from tests.state.conftest import connected, steps_of
from tests.state.next_release import next_release
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.state import leases, schema
from vde_dagster.state import pairs as reference_lock
from vde_dagster.state.database import Database, now, open_engine
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState

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
    load(state, lease, "w1", change())
    added = change(operation=LedgerOperation.ADD)
    stage(state, lease, intent("w2"), publication(added, moves=mark(2)))
    return lease


def arguments(lease: Lease) -> tuple[str, str, str]:
    return lease.resource, lease.holder, str(lease.epoch)


# Processes
def test_processes_that_create_the_schema_at_once_all_find_one(sql_url: str) -> None:
    assert race(*start(sql_url, "open_state", count=RACERS)) == ["opened"] * RACERS
    with connected(sql_url) as connection:
        versions = connection.execute(select(schema.state_version.c.version)).scalars().all()
    assert versions == [schema.VERSION]


def test_of_processes_that_race_for_a_lease_exactly_one_wins(sql_url: str) -> None:
    SqlState.open(sql_url).close()
    outcomes = race(*start(sql_url, "take_lease", "holder{}", count=RACERS))
    assert Counter(outcomes) == {"1": 1, "conflict": RACERS - 1}


def test_r5_processes_that_race_to_record_one_work_record_it_once(
    sql_url: str, sql_state: SqlState
) -> None:
    lease = staged(sql_state)
    actors = start(sql_url, "finalize", "w2", *arguments(lease), count=RACERS)
    assert race(*actors) == ["[6]"] * RACERS
    assert [entry.rows.rows for entry in sql_state.ledger([KEY])[KEY]] == [6]


def test_r5_a_process_killed_within_a_transaction_leaves_the_old_state(
    sql_url: str, sql_state: SqlState
) -> None:
    lease = staged(sql_state)
    before = (sql_state.ledger([KEY]), sql_state.marks(KEY), sql_state.work("w2"))
    (killed,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    assert (sql_state.ledger([KEY]), sql_state.marks(KEY), sql_state.work("w2")) == before
    killed.process.kill()
    killed.process.join()
    assert (sql_state.ledger([KEY]), sql_state.marks(KEY), sql_state.work("w2")) == before
    (entry,) = sql_state.finalize("w2", lease=lease)
    assert entry.rows.rows == 6


# Locks
def test_a_lock_time_out_is_a_conflict_and_nothing_is_written(
    sql_url: str, sql_state: SqlState
) -> None:
    lease = staged(sql_state)
    impatient = SqlState.open(sql_url, lock_timeout=timedelta(milliseconds=50))
    (slow,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    with pytest.raises(Conflict, match="locked by another process; nothing was written"):
        impatient.abandon("w2", reason="too late", lease=lease)
    assert impatient.work("w2") == sql_state.work("w2"), "readers do not wait for writers"
    assert race(slow) == ["committed"]
    work = impatient.work("w2")
    assert work is not None
    assert work.state is UnitOfWorkState.DONE
    impatient.close()


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
            with pytest.raises(Conflict, match="nothing was written; retry"), transaction():
                raise AssertionError("there is one connection")


def test_a_writer_waits_for_one_that_is_slow(sql_url: str, sql_state: SqlState) -> None:
    lease = staged(sql_state)
    (slow,) = start(sql_url, "hang_in_finalize", "w2", *arguments(lease))
    (waiting,) = start(sql_url, "finalize", "w2", *arguments(lease))
    waiting.line.send("go")
    assert not waiting.line.poll(0.2)
    assert waiting.process.is_alive()
    slow.line.send("go")
    assert ended(slow, waiting) == ["committed", "[6]"]


def test_whoever_opened_a_state_before_a_newer_release_moved_it_writes_nothing_more(
    sql_url: str, sql_state: SqlState
) -> None:
    lease = sql_state.acquire_lease("r", holder="me", ttl=MINUTE)
    _move(sql_url)
    with pytest.raises(Refused, match=f"schema version {schema.VERSION + 1}.*install"):
        sql_state.store_snapshots([snapshot()], environment="dev")
    with pytest.raises(Refused, match="schema version"):
        sql_state.record_intent(intent(), lease=lease)
    assert sql_state.owners([snapshot().key]) == {}
    assert sql_state.open_work(KEY) == ()


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
        StoredState(url).migrate()


def test_a_schema_that_fails_half_way_is_not_there(
    sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vde_dagster.state.state_database.now", fail)
        with pytest.raises(KeyboardInterrupt):
            SqlState.open(sql_url)
    with connected(sql_url) as connection:
        assert inspect(connection).get_table_names() == []
    SqlState.open(sql_url).close()


@pytest.mark.parametrize(
    "url, text",
    [
        ("state.db", "is not a database URL"),
        ("postgresql+nope://host/name", "is not a database URL"),
        ("sqlite:///a\0b", "is not a database URL"),
        ("oracle://host/name", "cannot be stored in oracle"),
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


def test_questions_about_many_things_are_few_statements(sqlite_state: SqlState) -> None:
    models = many(1000)
    with counted_statements(sqlite_state) as written:
        sqlite_state.store_snapshots(models, environment="dev")
    assert (written["SELECT"], written["INSERT"]) == (4, 2), "of all tombstones, and the version"
    assert written["rows"] == 2 * len(models)
    with counted_statements(sqlite_state) as read:
        sqlite_state.snapshots((each.name, each.fingerprint) for each in models)
        sqlite_state.owners(each.key for each in models)
        sqlite_state.ledger(each.key for each in models)
    assert read["SELECT"] == 3


def test_snapshots_that_are_stored_are_not_written_again(sqlite_state: SqlState) -> None:
    models = many(10)
    sqlite_state.store_snapshots(models[:9], environment="dev")
    with counted_statements(sqlite_state) as written:
        sqlite_state.store_snapshots(models, environment="dev")
    assert written["rows"] == 1 + len(models), "the new one, and the owners of all"
    assert len(sqlite_state.snapshots((each.name, each.fingerprint) for each in models)) == len(
        models
    )


def test_no_question_is_asked_about_nothing(sqlite_state: SqlState) -> None:
    with counted_statements(sqlite_state) as read:
        assert not sqlite_state.snapshots([])
        assert not sqlite_state.holdings([])
        assert not sqlite_state.owners([])
        assert not sqlite_state.heads([])
    assert read["SELECT"] == 0


def test_recording_one_interval_of_thousands_writes_its_entry_and_the_summary(
    sqlite_state: SqlState,
) -> None:
    lease = sqlite_state.acquire_lease("r", holder="me", ttl=MINUTE)
    load(sqlite_state, lease, "w1", *map(change, range(3000)))
    stage(sqlite_state, lease, intent("w2"), publication(change(7)))
    with counted_statements(sqlite_state) as counted:
        sqlite_state.finalize("w2", lease=lease)
    assert (counted["INSERT"], counted["rows"], counted["UPDATE"]) == (2, 2, 1)
    assert counted["DELETE"] == 0


def test_a_question_about_keys_is_answered_from_the_primary_key(sqlite_state: SqlState) -> None:
    with steps_of(sqlite_state, "SELECT vde_ledger") as steps:
        sqlite_state.ledger([KEY, OTHER])
    assert any("SEARCH vde_ledger" in step for step in steps), steps
    assert not any("SCAN vde_ledger" in step for step in steps), steps


def test_every_table_has_our_prefix() -> None:
    assert [name for name in schema.metadata.tables if not name.startswith("vde_")] == []
