"""A state of this release, opened by the next one, whose schema has a step more."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import inspect, select

from tests.state.builders import snapshot
from tests.state.conftest import connected
from tests.state.next_release import ADDED, next_release
from vde_dagster.core.errors import Refused
from vde_dagster.state import schema
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import Moved, StoredState

FIRST = schema.VERSION


def versions(url: str) -> list[int]:
    with connected(url) as connection:
        return sorted(connection.scalars(select(schema.state_version.c.version)))


def columns(url: str) -> dict[str, list[str]]:
    with connected(url) as connection:
        found = inspect(connection)
        names = sorted(found.get_table_names())
        return {name: [str(each["name"]) for each in found.get_columns(name)] for name in names}


@pytest.fixture
def earlier(sql_url: str, sql_state: SqlState) -> str:
    """The address of a state of this release with something in it."""
    sql_state.store_snapshots([snapshot()], environment="dev")
    return sql_url


def test_it_is_moved_forward_once_with_all_that_it_holds(earlier: str) -> None:
    before = columns(earlier)
    with next_release():
        for _ in range(2):
            state = SqlState.open(earlier)
            assert state.owners([snapshot().key]) == {snapshot().key: "dev"}
            state.close()
        table, column = ADDED
        assert columns(earlier) == before | {table: [*before[table], column]}
        assert versions(earlier) == [FIRST, FIRST + 1]


def test_it_is_moved_only_if_somebody_says_so(earlier: str) -> None:
    before = columns(earlier)
    with next_release():
        for _ in range(2):
            with pytest.raises(Refused, match=rf"schema version {FIRST}, .*`vde state migrate`"):
                SqlState.open(earlier, moves=False)
        assert (columns(earlier), versions(earlier)) == (before, [FIRST])
        stored = StoredState(earlier)
        with pytest.raises(Refused, match="`vde state migrate`"):
            stored.try_writing("one")
        assert stored.version() == FIRST
        assert stored.migrate() == Moved(before=FIRST, after=FIRST + 1)
        assert stored.migrate() == Moved(before=FIRST + 1, after=FIRST + 1)
        assert stored.check().findings == ()
        stored.close()
        SqlState.open(earlier, moves=False).close()


@pytest.mark.full
def test_a_move_that_fails_half_way_leaves_the_earlier_state(earlier: str) -> None:
    before = columns(earlier)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with next_release(), pytest.MonkeyPatch.context() as patched:
        patched.setattr("vde_dagster.state.state_database.now", fail)
        with pytest.raises(KeyboardInterrupt):
            SqlState.open(earlier)
    assert (columns(earlier), versions(earlier)) == (before, [FIRST])
    with next_release():
        SqlState.open(earlier).close()
        assert versions(earlier) == [FIRST, FIRST + 1]
