"""States of earlier releases, as they were stored in their databases, opened by this one.

`stored/N.DIALECT.sql` is what the release with schema version N wrote; it is never written again.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import ReflectedIndex

from tests.state.builders import (
    KEY,
    MINUTE,
    RAW,
    SALES,
    change,
    day,
    intent,
    mark,
    publication,
    session,
    snapshot,
)
from tests.state.test_sql_state import RACERS, race, start
from vde_dagster.core.ledger.dsha import FIRST_ALGORITHM, RowSum
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.state import migrations, schema
from vde_dagster.state.database import open_engine
from vde_dagster.state.sql_state import SqlState

STORED = Path(__file__).with_name("stored")
EARLIER = range(1, schema.VERSION)


def restore(url: str, version: int) -> None:
    """Put the stored state of an earlier release in an empty database."""
    backend = make_url(url).get_backend_name()
    script = (STORED / f"{version}.{backend}.sql").read_text("utf-8")
    if backend == "sqlite":
        path = Path(make_url(url).database or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(path) as connection:
            connection.executescript(script)
        connection.close()
        return
    engine = open_engine(url)
    with engine.begin() as connection_:
        connection_.exec_driver_sql(script)
    engine.dispose()


def shape(engine: Engine) -> dict[str, Any]:
    """Tables with their columns, keys and indexes, as the database reports them."""
    found = inspect(engine)
    tables = sorted(found.get_table_names())
    return {
        name: (
            {
                each["name"]: (str(each["type"]), each["nullable"], _default(each["default"]))
                for each in found.get_columns(name)
            },
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(map(_index, found.get_indexes(name))),
        )
        for name in tables
    }


def _index(found: ReflectedIndex) -> tuple[str, ...]:
    """The name of an index, its columns, and which rows it has; empty for all."""
    options = found.get("dialect_options", {})
    where = (str(each) for name, each in options.items() if name.endswith("_where"))
    return str(found["name"]), *map(str, found["column_names"]), "".join(where)


def _default(written: str | None) -> str | None:
    return written.split("::")[0] if written else None


@pytest.fixture(params=EARLIER)
def earlier(request: pytest.FixtureRequest, sql_url: str) -> str:
    """The address of a state that an earlier release wrote."""
    restore(sql_url, request.param)
    return sql_url


def test_there_is_a_stored_state_and_a_step_for_every_earlier_version() -> None:
    wanted = {f"{version}.{name}.sql" for version in EARLIER for name in ("sqlite", "postgresql")}
    assert {path.name for path in STORED.iterdir()} == wanted
    assert set(migrations._STEPS) == set(range(2, schema.VERSION + 1))


def test_an_earlier_state_is_moved_forward_with_all_that_it_holds(earlier: str) -> None:
    state = SqlState.open(earlier)
    assert list(state.environments()) == ["dev", "prod"]
    prod, dev = state.environment("prod"), state.environment("dev")
    assert prod is not None
    assert dev is not None
    assert (prod.revision, prod.plan_id, prod.promoting) == (1, "p1", False)
    assert (dev.revision, dev.plan_id, dev.promoting) == (1, "p2", True)
    orders = prod.snapshots[ModelName("shop", "orders")]
    assert (orders.category, orders.reasons) == (None, ("new model",))
    assert prod.snapshots[SALES] == snapshot()
    assert dev.snapshots[SALES].source.text == "SELECT 2"
    assert state.owners([prod.snapshots[SALES].key, dev.snapshots[SALES].key]) == {
        prod.snapshots[SALES].key: "prod",
        dev.snapshots[SALES].key: "dev",
    }
    (entry,) = state.ledger([KEY])[KEY]
    assert (entry.interval, entry.rows) == (day(0), RowSum.of_halves(3, 2**64 - 1, 2**63))
    assert state.marks(KEY) == {RAW: mark(2)}
    (late,) = state.sessions(KEY, limit=9)
    assert (late.state, late.intent) == (UnitOfWorkState.DONE, intent("w1", late=session()))
    (unfinished,) = state.open_work(KEY)
    assert unfinished.intent == intent("w2")
    state.close()


def test_whoever_decided_before_anybody_could_be_asked_was_no_person(earlier: str) -> None:
    state = SqlState.open(earlier)
    shown = [state.environment(name) for name in state.environments()]
    deciders = {each.decided_by for env in shown if env for each in env.snapshots.values()}
    assert deciders == {DecidedBy.AUTOMATIC}
    assert not any(each.drifted for env in shown if env for each in env.snapshots.values())
    state.close()


def test_the_sums_of_the_first_release_are_known_as_such(earlier: str) -> None:
    # Before there was a choice all rows were hashed with the first algorithm.
    state = SqlState.open(earlier)
    (entry,) = state.ledger([KEY])[KEY]
    assert entry.algorithm == FIRST_ALGORITHM
    (work,) = state.sessions(KEY, limit=1)
    assert work.publication is not None
    assert work.publication.algorithm == FIRST_ALGORITHM
    state.close()


def test_a_summary_that_was_not_stored_yet_is_computed_from_the_entries(
    earlier: str,
) -> None:
    state = SqlState.open(earlier)
    (entry,) = state.ledger([KEY])[KEY]
    reported = state.holdings([KEY])[KEY]
    assert (reported.number, reported.computed, reported.columns) == (0, (day(0),), entry.columns)
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    state.record_intent(intent("w3"), lease=lease)
    state.record_staged("w3", publication(change(1)), lease=lease)
    state.finalize("w3", lease=lease)
    kept = state.holdings([KEY])[KEY]
    both = Interval(day(0).start, day(1).end)
    assert (kept.number, kept.removed, kept.computed) == (1, 0, (both,))
    assert [each.interval for each in state.changed_since(KEY, 0)] == [day(1)]
    state.close()


def test_an_earlier_state_goes_on_as_any_other(earlier: str) -> None:
    state = SqlState.open(earlier)
    decided = snapshot(text="SELECT 3", decided_by=DecidedBy.PERSON)
    state.store_snapshots([decided], environment="dev")
    state.finish_promotion("dev", plan_id="p2")
    lease = state.acquire_lease("environment prod", holder="plan p3", ttl=MINUTE)
    shown = state.begin_promotion(
        "prod", expected_revision=1, plan_id="p3", snapshots=[decided], lease=lease
    )
    assert shown.snapshots == {SALES: decided}
    assert decided.category is Category.INDIRECT_NON_BREAKING
    state.close()


def test_a_state_that_was_moved_has_the_tables_of_a_new_one(earlier: str, tmp_path: Path) -> None:
    SqlState.open(earlier).close()
    moved = open_engine(earlier)
    found = shape(moved)
    with moved.connect() as connection:
        versions = connection.execute(select(schema.state_version.c.version)).scalars().all()
    assert max(versions) == schema.VERSION
    # The same database, created again: types and defaults are spelled alike then.
    schema.metadata.drop_all(moved)
    schema.metadata.create_all(moved)
    assert found == shape(moved)
    moved.dispose()


def test_processes_that_open_an_earlier_state_at_once_move_it_once(earlier: str) -> None:
    assert race(*start(earlier, "open_state", count=RACERS)) == ["opened"] * RACERS
    engine = open_engine(earlier)
    with engine.connect() as connection:
        versions = connection.execute(select(schema.state_version.c.version)).scalars().all()
    engine.dispose()
    assert len(versions) == 2
    assert max(versions) == schema.VERSION


def test_a_move_that_fails_half_way_leaves_the_earlier_state(
    earlier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(earlier)
    before = shape(engine)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vde_dagster.state.migrations.now", fail)
        with pytest.raises(KeyboardInterrupt):
            SqlState.open(earlier)
    assert shape(engine) == before
    engine.dispose()
    SqlState.open(earlier).close()
