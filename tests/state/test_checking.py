"""A check finds what is wrong with a state, and nothing where all is right."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from tests.app.memory_world import PROJECT, MemoryWorld, build, graph_of
from tests.app.shop_world import EDITED, SHOP, done, shop_in_production
from tests.state.builders import KEY, MINUTE, intent
from tests.state.conftest import connected
from tests.state.next_release import next_release
from tests.state.rich import fill
from vde_dagster.core.errors import Refused
from vde_dagster.state import checking, schema
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState


@pytest.fixture
def filled(sql_url: str, sql_state: SqlState) -> str:
    """The address of a state with rows in every table."""
    fill(sql_state)
    return sql_url


def change(url: str, *statements: str) -> None:
    """Somebody edits the database by hand; foreign keys are not looked at."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(make_url(url).database or "")) as file:
            for each in statements:
                file.execute(each)
            file.commit()
        return
    with connected(url) as connection:
        for each in ("SET session_replication_role = replica", *statements):
            connection.execute(text(each))


def test_a_state_with_rows_in_every_table_is_whole_and_what_was_begun_is_listed(
    filled: str,
) -> None:
    before = datetime.now(UTC)
    report = StoredState(filled).check()
    assert report.findings == ()
    assert [name for name, count in report.rows.items() if not count] == []
    (promotion,) = report.promotions
    assert (promotion.environment, promotion.revision, promotion.plan_id) == ("dev", 2, "p4")
    assert promotion.started_at <= before
    (work,) = report.work
    assert (work.work_id, work.state, work.environment) == ("w4", "intent", "prod")
    assert (work.model, work.version) == (str(KEY.model), KEY.version)


def test_every_text_that_is_json_has_its_reader() -> None:
    written = {
        column.name
        for table in schema.metadata.sorted_tables
        for column in table.columns
        if column.name.endswith(("_json", "_at"))
    }
    # Times of leases are compared by the database, and never read.
    assert written - checking._BY_COLUMN.keys() == {"expires_at"}
    named = {c.name for table in schema.metadata.sorted_tables for c in table.columns}
    assert checking._BY_COLUMN.keys() <= named


WRONG = {
    "a text that is no JSON": (
        "UPDATE vde_work SET intent_json = '{' WHERE work_id = 'w1'",
        r"vde_work \(1\): intent_json cannot be read: JSONDecodeError",
    ),
    "JSON of another thing": (
        "UPDATE vde_marks SET mark_json = '[]'",
        r"vde_marks \(shop\.sales, a+, raw\.sales\): mark_json cannot be read",
    ),
    "a word that no release wrote": (
        "UPDATE vde_ledger SET status = 'odd' WHERE work_id = 'w2'",
        r"vde_ledger \(shop\.sales, a+, \d+\): status cannot be read: .*odd",
    ),
    "an owner of what is not there": (
        "UPDATE vde_owners SET model = 'x' WHERE model = 'shop.sales'",
        r"vde_owners \(x, \w+\): no snapshot has this version",
    ),
    "entries of a version that nobody knows": (
        "UPDATE vde_ledger SET version = 'b' WHERE work_id = 'w2'",
        r"vde_ledger \(shop\.sales, b\): no snapshot has this version",
    ),
    "an entry less": (
        "DELETE FROM vde_ledger WHERE work_id = 'w2'",
        r"vde_holdings \(shop\.sales, a+\): the summary does not match the entries",
    ),
    "no entries at all": (
        "DELETE FROM vde_ledger",
        r"vde_holdings \(shop\.sales, a+\): the summary has intervals, but there are no entries",
    ),
    "entries that overlap": (
        "UPDATE vde_ledger SET interval_end = interval_end + 1 WHERE status = 'outdated'",
        r"vde_ledger \(shop\.sales, a+\): .* and .* overlap",
    ),
    "no table": (
        "DROP TABLE vde_pending",
        r"vde_pending: the table is missing",
    ),
    "no column": (
        "ALTER TABLE vde_work DROP COLUMN reason",
        r"vde_work: the column reason is missing",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_row(filled: str, case: str) -> None:
    statement, said = WRONG[case]
    change(filled, statement)
    report = StoredState(filled).check()
    assert report.findings
    assert any(re.match(said, str(each)) for each in report.findings), report.findings


def test_what_was_shown_has_to_be_stored(filled: str) -> None:
    change(
        filled,
        "DELETE FROM vde_snapshots WHERE model = 'shop.orders'",
        "DELETE FROM vde_promotions WHERE environment = 'prod' AND revision = 2",
    )
    said = [str(each) for each in StoredState(filled).check().findings]
    assert "vde_promoted_snapshots (prod, 1, shop.orders): its snapshot is not stored" in said
    assert "vde_promoted_snapshots (prod, 2, shop.sales): its promotion is not recorded" in said


@pytest.mark.full
def test_of_many_findings_of_one_sort_the_first_are_listed(
    filled: str, sql_state: SqlState
) -> None:
    lease = sql_state.acquire_lease("r", holder="me", ttl=MINUTE)
    for number in range(30):
        sql_state.record_intent(intent(f"m{number}"), lease=lease)
    change(filled, "UPDATE vde_work SET intent_json = '{'")
    report = StoredState(filled).check()
    assert len(report.findings) == checking.MOST + 1
    assert str(report.findings[-1]) == "vde_work: and more of these"


@pytest.mark.full
def test_an_earlier_state_is_moved_before_it_is_checked(filled: str) -> None:
    with (
        next_release(),
        pytest.raises(Refused, match=r"has schema version \d.*then run `vde state migrate`"),
    ):
        StoredState(filled).check()


@pytest.mark.full
def test_what_plans_and_sessions_leave_in_the_state_is_whole() -> None:
    shop = shop_in_production()
    done(shop.services(), graph_of(EDITED), "dev")
    done(shop.services(), graph_of(EDITED), "prod", forward_only=True)
    done(shop.services(), graph_of(SHOP), "prod", restate=("mart.sales",))
    late = MemoryWorld()
    late.land((0.5, 10), (1.5, 5), until=24)
    build(late.services(), graph_of(PROJECT))
    late.land((1.6, 2), until=48)
    build(late.services(), graph_of(PROJECT))
    for world in (shop, late):
        state = world.state
        assert isinstance(state, SqlState)
        with state._database.read() as connection:
            report = checking.check(connection)
        assert (report.findings, report.promotions, report.work) == ((), (), ())
        assert report.rows["vde_ledger"] > 5
