"""A state as a thing of its own: its version, its place, and whether it can be written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, make_url, select

from tests.state.builders import MINUTE
from tests.state.conftest import connected
from vde_dagster.core.errors import Refused
from vde_dagster.state import schema
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState


def test_a_newer_state_is_neither_read_nor_moved(
    sql_url: str, sql_state: SqlState, tmp_path: Path
) -> None:
    sql_state.environments()
    newer = insert(schema.state_version).values(version=schema.VERSION + 1, applied_at=0)
    with connected(sql_url) as connection:
        connection.execute(newer)
    with pytest.raises(Refused, match=f"schema version {schema.VERSION + 1}.*install"):
        SqlState.open(sql_url)
    for each in ("migrate", "check", "version"):
        with pytest.raises(Refused, match="install the release that wrote it"):
            getattr(StoredState(sql_url), each)()
    with pytest.raises(Refused, match="install the release that wrote it"):
        StoredState(sql_url).export(tmp_path / "state.jsonl")
    assert not (tmp_path / "state.jsonl").exists()


def test_where_there_is_no_state_none_is_made(sql_url: str, tmp_path: Path) -> None:
    for each in ("migrate", "check", "version"):
        with pytest.raises(Refused, match="there is no state at"):
            getattr(StoredState(sql_url), each)()
    with pytest.raises(Refused, match="there is no state at"):
        StoredState(sql_url).export(tmp_path / "state.jsonl")
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


@pytest.mark.postgres
def test_a_place_is_named_without_its_password(tmp_path: Path) -> None:
    said = StoredState("postgresql://ana:hunter2@127.0.0.1:1/vde").place
    assert "hunter2" not in said
    assert "127.0.0.1:1/vde" in said
    said = StoredState("postgresql://127.0.0.1:1/vde?user=ana&password=pw9").place
    assert "pw9" not in said
    assert "user=ana" in said
    assert StoredState(f"sqlite:///{tmp_path / 'a.db'}").place == str(tmp_path / "a.db")


@pytest.mark.postgres
def test_the_options_of_an_address_count_besides_ours(postgres_url: str) -> None:
    """They may say in which schema the tables are."""
    with connected(postgres_url) as connection:
        connection.exec_driver_sql("CREATE SCHEMA apart")
    address = make_url(postgres_url).update_query_dict({"options": "-csearch_path=apart"})
    SqlState.open(address.render_as_string(hide_password=False)).close()
    there = "SELECT table_schema FROM information_schema.tables WHERE table_name = 'vde_leases'"
    with connected(postgres_url) as connection:
        assert connection.exec_driver_sql(there).scalars().all() == ["apart"]
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "1min"


def test_a_trial_writes_and_leaves_nothing_but_the_leases_of_others(
    sql_url: str, sql_state: SqlState
) -> None:
    lease = sql_state.acquire_lease("version", holder="somebody", ttl=MINUTE)
    stored = StoredState(sql_url)
    for _ in range(2):
        stored.try_writing("one")
    sql_state.renew_lease(lease, ttl=MINUTE)
    with connected(sql_url) as connection:
        assert len(connection.execute(select(schema.leases)).all()) == 1
    stored.close()


@pytest.mark.full
def test_a_place_without_a_state_is_told_from_one_that_cannot_be_read(
    sql_url: str, tmp_path: Path
) -> None:
    stored = StoredState(sql_url)
    assert stored.found_version() == 0
    stored.close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(Refused, match="is an empty file"):
        StoredState(f"sqlite:///{tmp_path / 'empty.db'}")


@pytest.mark.full
def test_the_databases_clock_is_read_in_utc(sql_url: str) -> None:
    SqlState.open(sql_url).close()
    stored = StoredState(sql_url)
    before = datetime.now(UTC)
    said = stored.clock()
    after = datetime.now(UTC)
    precision = timedelta(milliseconds=1)  # SQLite's
    assert before - precision <= said <= after + precision
    stored.close()
