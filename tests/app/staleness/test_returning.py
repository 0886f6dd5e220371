"""Rule R15: a version that returns to an environment has the rows that its inputs give now."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

import pytest

from tests.app.memory_world import (
    DAILY,
    EVENTS,
    PROJECT,
    RAW,
    RAW_COLUMNS,
    Fuse,
    MemoryWorld,
    PowerCut,
    declared_source,
    graph_of,
    hour_of,
    made_once,
)
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EDITED,
    EVENTS_NAME,
    SALES,
    SHOP,
    TENFOLD,
    change,
    day,
    shop_in_production,
    work,
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.saved_plans import left_of
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.staleness.returning import Lag, with_lag
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import AuditFailed, Conflict, Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Behind, Plan
from vde_dagster.core.time.intervals import Interval

ORIGINAL, CHANGED = graph_of(SHOP), graph_of(EDITED)


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    """Production showed the shop, and shows tenfold amounts now."""
    world = shop_in_production()
    world.build(CHANGED)
    assert world.rows("mart.sales") == TENFOLD
    return world


@made_once
def restated_world() -> MemoryWorld:
    """The same, with a late row of the first day that production has restated since."""
    world = shop_in_production()
    world.build(CHANGED)
    world.land((2, 100), until=72)
    world.build(CHANGED, restate=("mart.sales",))
    assert world.rows("mart.sales") == [(DAYS[0], 1100), *TENFOLD[1:]]
    return world


def applied(world: MemoryWorld, plan: Plan) -> list[str]:
    """Apply a plan; returns what the engine was asked for."""
    fuse = Fuse()
    apply_plan(world.services(fuse), plan, lambda _: None)
    return [each for each in fuse.names if each in ("stage", "create_view")]


def returned(plan: Plan, name: str) -> str:
    return str(change(plan, name).behind.reason)


def amount_of(row: tuple[object, ...]) -> int:
    assert isinstance(row[2], int)
    return row[2]


# What was restated meanwhile
def test_r15_a_revert_keeps_what_was_restated_meanwhile() -> None:
    world = restated_world()
    plan = world.plan(ORIGINAL)
    assert work(plan)["sales"] == [day(1)]
    assert "raw.events" in returned(plan, "mart.sales")
    world.apply(plan)
    assert world.rows("mart.sales") == [(DAYS[0], 110), *AMOUNTS[1:]]
    assert world.rows("mart.triple") == [(DAYS[0], 330), (DAYS[1], 15), (DAYS[2], 21)]
    assert world.rows("mart.total") == [(366,)]
    assert world.plan(ORIGINAL).is_empty


def test_r15_a_revert_computes_nothing_where_no_input_has_changed(world: MemoryWorld) -> None:
    world.catalog.compact(RAW)
    plan = world.plan(ORIGINAL)
    assert plan.backfills == ()
    assert applied(world, plan) == []
    assert world.rows("mart.sales") == AMOUNTS


def test_r15_rows_of_other_days_make_nothing_stale(world: MemoryWorld) -> None:
    world.land((80, 9), until=96)
    world.build(CHANGED)
    plan = world.plan(ORIGINAL)
    assert work(plan)["sales"] == [day(4)]
    world.apply(plan)
    assert world.rows("mart.sales") == [*AMOUNTS, (date(2024, 1, 4), 9)]
    assert world.rows("mart.total") == [(3 * 31,)]


def test_r15_what_is_behind_ends_where_the_rows_come_out_the_same(world: MemoryWorld) -> None:
    world.land((2, 0), until=72)  # a late row that changes no sum
    plan = world.plan(ORIGINAL)
    assert work(plan)["sales"] == [day(1)]
    assert applied(world, plan) == ["stage"]
    assert world.rows("mart.sales") == AMOUNTS


def test_r15_a_restated_parent_that_stays_is_looked_at_for_a_child_that_returns() -> None:
    world = shop_in_production()
    tenfold = graph_of({**SHOP, "triple": SHOP["triple"].replace("* 3", "* 30")})
    world.build(tenfold)
    world.land((2, 100), until=72)
    world.build(tenfold, restate=("mart.sales",))
    plan = world.plan(ORIGINAL)
    assert work(plan) == {"triple": [day(1)], "total": [day(1, 3)]}
    assert "mart.sales" in returned(plan, "mart.triple")
    world.apply(plan)
    assert world.rows("mart.triple")[0] == (DAYS[0], 330)
    assert world.rows("mart.total") == [(366,)]


def test_r15_what_another_environment_filled_is_looked_at_when_it_is_promoted() -> None:
    world = shop_in_production()
    world.build(CHANGED, "dev")
    world.land((2, 100), until=72)
    world.build(ORIGINAL, restate=("mart.sales",))
    world.build(CHANGED)
    assert world.rows("mart.sales") == [(DAYS[0], 1100), *TENFOLD[1:]]


def test_r15_an_environment_looks_at_nothing_that_another_one_owns(world: MemoryWorld) -> None:
    world.land((2, 100), until=72)
    plan = world.plan(CHANGED, "dev")
    assert plan.backfills == ()


@cache
def calls_before_views() -> int:
    """How many calls of ports a return makes before it moves views."""
    world, counting = restated_world(), Fuse()
    plan = world.plan(ORIGINAL)
    apply_plan(world.services(counting), plan, lambda _: None)
    return counting.names.index("swap_views")


@pytest.mark.parametrize(
    "share", [0.3, *(pytest.param(each, marks=pytest.mark.full) for each in (0.5, 0.7)), 0.9]
)
def test_r15_the_old_version_is_shown_until_all_of_the_other_one_is_up_to_date(
    share: float,
) -> None:
    world = restated_world()
    shown, plan = world.rows("mart.sales"), world.plan(ORIGINAL)
    fuse = Fuse(cut_at=int(calls_before_views() * share))
    with pytest.raises(PowerCut):
        apply_plan(world.services(fuse), plan, lambda _: None)
    assert world.rows("mart.sales") == shown
    world.reboot()
    world.build(ORIGINAL)
    assert world.rows("mart.sales") == [(DAYS[0], 110), *AMOUNTS[1:]]


# What cannot be compared by traces
NONDETERMINISTIC = SALES.replace(
    "SUM(amount) AS amount", "SUM(amount) + 0 * FLOOR(RAND()) AS amount"
)


def test_r15_a_nondeterministic_version_is_computed_again_where_its_inputs_moved() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    first = graph_of({"sales": NONDETERMINISTIC})
    world.build(first)
    second = graph_of({"sales": NONDETERMINISTIC.replace("SUM(amount)", "SUM(amount * 10)")})
    world.build(second)
    assert world.plan(first).backfills == ()  # nothing has moved
    world.land((2, 100), until=72)
    plan = world.plan(first)
    assert work(plan)["sales"] == [day(1)]
    world.apply(plan)
    assert world.rows("mart.sales") == [(DAYS[0], 110), *AMOUNTS[1:]]


# Late data
DOUBLED = {
    **PROJECT,
    "events": PROJECT["events"].replace("amount AS amount", "amount * 2 AS amount"),
}
STOPPING = {
    name: text.replace("(raw.events)", "(raw.events), on_source_rewrite stop")
    for name, text in PROJECT.items()
}


def test_r15_a_version_whose_mark_is_behind_is_caught_up_before_it_is_shown() -> None:
    world = MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), (47, 1), until=48)
    world.build(graph_of(PROJECT))
    world.build(graph_of(DOUBLED))
    world.land((1.5, 100), until=48)
    world.catch_up(EVENTS_NAME)
    assert len(world.rows("staging.events")) == 5
    plan = world.plan(graph_of(PROJECT))
    assert "late" in returned(plan, "staging.events")
    assert change(plan, "staging.events").behind.intervals == (Interval(hour_of(1), hour_of(2)),)
    assert work(plan) == {"events": [], "daily": [day(1)], "totals": [day(1, 2)]}
    world.apply(plan)
    assert sorted(map(amount_of, world.rows("staging.events"))) == [1, 5, 10, 20, 100]
    assert world.rows("mart.daily") == [(DAYS[0], 130), (DAYS[1], 6)]
    assert world.rows("mart.totals") == [(2, 136)]


def test_r15_a_version_with_late_data_needs_no_session_for_rows_of_new_hours() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    world.build(graph_of(DOUBLED))
    world.land((50, 7), until=72)
    plan = world.plan(graph_of(PROJECT))
    assert change(plan, "staging.events").behind is None
    assert work(plan)["daily"] == [day(3)]
    world.apply(plan)
    assert world.rows("mart.totals") == [(3, 22)]


@made_once
def late_world(texts: dict[str, str] = PROJECT) -> MemoryWorld:
    """Production showed late data, and shows twice the amounts now."""
    world = MemoryWorld.landed((1, 10), (1.2, 3), (30, 5), until=48)
    world.build(graph_of(texts))
    events = texts["events"].replace("amount AS amount", "amount * 2 AS amount")
    world.build(graph_of({**texts, "events": events}))
    return world


def corrected(world: MemoryWorld) -> None:
    source = world.catalog.tables[RAW]
    rows = [(row[0], row[1], amount_of(row) + 100) for row in source.rows_at(source.head)]
    world.catalog.overwrite(RAW, rows)


def deleted(world: MemoryWorld) -> None:
    source = world.catalog.tables[RAW]
    world.catalog.delete(RAW, [row for row in source.rows_at(source.head) if row[2] != 3])


def expired(world: MemoryWorld) -> None:
    world.land((1.5, 100), until=48)
    world.land((1.6, 1), until=48)
    world.catalog.expire(RAW)


@pytest.mark.parametrize(
    "happens, amounts",
    [(corrected, [103, 105, 110]), (deleted, [5, 10]), (expired, [1, 3, 5, 10, 100])],
)
def test_r15_a_version_whose_source_was_rewritten_is_loaded_again_before_it_is_shown(
    happens: Callable[[MemoryWorld], None], amounts: list[int]
) -> None:
    world = late_world()
    happens(world)
    services = world.services()
    world.catch_up(EVENTS_NAME)
    plan = world.plan(graph_of(PROJECT))
    assert "source" in returned(plan, "staging.events")
    world.apply(plan)
    assert sorted(map(amount_of, world.rows("staging.events"))) == amounts
    assert world.rows("mart.totals") == [(2, sum(amounts))]
    services = world.services()
    assert isinstance(detect(services, world.bound(), EVENTS_NAME), NothingToLoad)


def test_r15_a_version_without_a_mark_is_loaded_again_before_it_is_shown() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    world.land((30.5, 7), until=48)
    evaluate(world.services(), world.bound(), EVENTS_NAME, Interval(hour_of(1), hour_of(2)))
    world.build(graph_of(DOUBLED))
    plan = world.plan(graph_of(PROJECT))
    assert "no session" in returned(plan, "staging.events")
    world.apply(plan)
    assert sorted(map(amount_of, world.rows("staging.events"))) == [5, 7, 10]


def test_r15_a_version_that_stops_at_a_rewrite_is_refused_with_what_works() -> None:
    world = late_world(STOPPING)
    corrected(world)
    with pytest.raises(Refused) as refused:
        world.build(graph_of(STOPPING))
    assert ".." not in str(refused.value)
    shown_first = r"once it is shown, `vde catch-up staging\.events --reload`"
    assert re.search(shown_first, str(refused.value))
    world.build(graph_of(STOPPING), accept_loss=True)
    world.catch_up(EVENTS_NAME, reload=True)
    assert sorted(map(amount_of, world.rows("staging.events"))) == [103, 105, 110]


def test_r15_a_session_that_would_empty_an_hour_of_what_comes_back_is_refused() -> None:
    world = late_world()
    source = world.catalog.tables[RAW]
    world.catalog.delete(RAW, [row for row in source.rows_at(source.head) if row[2] != 5])
    shown = world.rows("staging.events")
    with pytest.raises(Refused, match=r"no rows left for \[2024-01-02 06:00.*--accept-loss"):
        world.build(graph_of(PROJECT))
    assert world.rows("staging.events") == shown
    world.build(graph_of(PROJECT), accept_loss=True)
    assert sorted(map(amount_of, world.rows("staging.events"))) == [3, 10]


def test_r15_rows_that_a_source_no_longer_has_stay_where_nobody_has_read_them_since() -> None:
    world = shop_in_production()
    world.clock.advance(timedelta(hours=1))
    world.build(CHANGED, "dev")
    dropped(world, 1)
    plan = world.plan(CHANGED)
    assert plan.backfills == ()
    world.apply(plan)
    assert world.rows("mart.sales") == TENFOLD


# What cannot be computed again
def test_r15_what_the_source_no_longer_covers_is_refused_in_production(world: MemoryWorld) -> None:
    world.land((2, 100), until=72)
    world.build(CHANGED, restate=("mart.sales",))
    dropped(world, 1, 4)
    plan = world.plan(ORIGINAL)
    assert change(plan, "mart.sales").behind.lost == (day(1),)
    shown = world.rows("mart.sales")
    with pytest.raises(Refused, match=r"mart.sales.*raw.events"):
        world.apply(plan)
    assert world.rows("mart.sales") == shown
    world.build(ORIGINAL, accept_loss=True)
    assert world.rows("mart.sales") == AMOUNTS


UNMANAGED = """
MODEL (name mart.log, kind INCREMENTAL_UNMANAGED (disable_restatement true), cron '@daily');
SELECT id AS id, at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""


KEYED = UNMANAGED.replace(
    "INCREMENTAL_UNMANAGED (disable_restatement true)", "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
)


def test_r15_a_kind_that_cannot_be_computed_again_is_refused_in_production() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    first, second = graph_of({"log": UNMANAGED}), graph_of({"log": KEYED})
    world.build(first)
    world.land((2, 100), until=48)
    world.build(second)
    assert len(world.rows("mart.log")) == 3
    plan = world.plan(first)
    with pytest.raises(Refused, match=r"mart.log.*disable_restatement"):
        world.apply(plan)
    assert len(world.rows("mart.log")) == 3
    world.build(first, accept_loss=True)
    assert len(world.rows("mart.log")) == 2


def test_r15_a_table_that_builds_on_itself_is_made_again_as_a_whole() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    first = graph_of({"log": KEYED})
    second = graph_of({"log": KEYED.replace("amount AS amount", "amount * 2 AS amount")})
    world.build(first)
    world.build(second)
    world.land((60, 3), until=72)
    plan = world.plan(first)
    assert work(plan) == {"log": [day(3)]}  # what is new is merged
    world.build(second)
    world.land((2, 100), until=72)
    plan = world.plan(first)
    assert work(plan) == {"log": [day(1, 3)]}
    world.apply(plan)
    assert sorted(map(amount_of, world.rows("mart.log"))) == [3, 5, 10, 100]


# What the source does not have any more
def dropped(world: MemoryWorld, *ids: int) -> None:
    """Rows leave the source."""
    source = world.catalog.tables[RAW]
    world.catalog.delete(RAW, [row for row in source.rows_at(source.head) if row[0] not in ids])


WHOLE_KINDS = {
    "by key": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)",
    "by key in batches": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1)",
    "unmanaged": "INCREMENTAL_UNMANAGED (forward_only false)",
    "history": (
        "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at, disable_restatement false, "
        "forward_only false)"
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", WHOLE_KINDS.values(), ids=WHOLE_KINDS.keys())
def test_r15_what_builds_on_itself_is_not_made_again_of_less_than_it_was_made_of(kind: str) -> None:
    text = KEYED.replace("INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", kind)
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of({"log": text}))
    other = graph_of({"log": text.replace("amount AS amount", "amount * 10 AS amount")})
    world.build(other, "dev")
    dropped(world, 1)
    world.land((31, 50), until=72)
    plan = world.plan(other)
    assert change(plan, "mart.log").behind.lost == (day(1, 3),)
    with pytest.raises(Refused, match=r"mart\.log.*no longer has all rows"):
        world.apply(plan)
    assert sorted(map(amount_of, world.rows("mart.log"))) == [5, 7, 10]


def test_r15_a_late_row_of_the_oldest_day_that_the_source_still_has_is_read() -> None:
    world = shop_in_production()
    world.clock.advance(timedelta(hours=1))
    world.build(CHANGED, "dev")
    dropped(world, 1)  # the first row that is left is of 6 o'clock on the second day
    world.land((31, 100), until=72)
    plan = world.plan(CHANGED)
    assert work(plan)["sales"] == [day(2)]
    world.apply(plan)
    assert world.rows("mart.sales") == [TENFOLD[0], (DAYS[1], 1050), TENFOLD[2]]


def test_r15_only_what_is_gone_counts_as_lost(world: MemoryWorld) -> None:
    dropped(world, 1)
    world.land((31, 100), until=72)
    plan = world.plan(ORIGINAL)
    assert change(plan, "mart.sales").behind.lost == (day(1),)
    assert work(plan)["sales"] == [day(2)]


def test_r15_a_day_that_lost_its_first_rows_is_not_silently_made_of_the_others() -> None:
    world = MemoryWorld.landed((1, 10), (2, 5), (30, 7), until=48)
    world.build(graph_of({"sales": SALES}))
    world.build(graph_of({"sales": EDITED["sales"]}), "dev")
    dropped(world, 1)
    world.land((3, 100), until=48)
    plan = world.plan(graph_of({"sales": EDITED["sales"]}))
    assert change(plan, "mart.sales").behind.lost == (day(1),)


STRINGS = ModelName("raw", "strings")
DAYS_OF_TEXT = """
MODEL (name mart.log, kind INCREMENTAL_BY_TIME_RANGE (time_column ds), cron '@daily');
SELECT id AS id, ds AS ds, amount AS amount FROM raw.strings WHERE ds BETWEEN @start_ds AND @end_ds
"""


def strings_world(texts: list[str], query: str) -> tuple[MemoryWorld, Graph, Graph]:
    """A version in production and another one that it showed before, over days that are texts."""
    world = MemoryWorld.landed((1, 1), until=72)
    columns = {"id": "bigint", "ds": "string", "amount": "bigint"}
    source = declared_source(STRINGS, columns)
    table = TableName("raw", "strings")
    world.catalog.create_table(table, tuple(Column(name=n, type=t) for n, t in columns.items()))
    rows = [(number, text, number) for number, text in enumerate(texts, 1)]
    world.catalog.append(table, rows)
    first = graph_of({"log": query}, source)
    second = graph_of({"log": query.replace("amount AS", "amount * 10 AS")}, source)
    world.build(first)
    world.build(second)
    world.catalog.delete(table, rows[1:])
    return world, first, second


def test_r15_days_that_are_texts_have_an_order_too() -> None:
    texts = ["2024-01-01", "2024-01-02", "2024-01-03"]
    world, first, _ = strings_world(texts, DAYS_OF_TEXT)
    plan = world.plan(first)
    assert change(plan, "mart.log").behind.lost == (day(1),)
    with pytest.raises(Refused, match=r"mart\.log.*no longer has all rows"):
        world.apply(plan)


OTHER_TEXTS = DAYS_OF_TEXT.replace("ds BETWEEN", "REPLACE(ds, '/', '-') BETWEEN").replace(
    "ds AS ds", "REPLACE(ds, '/', '-') AS ds"
)
KEYED_TEXTS = OTHER_TEXTS.replace(
    "INCREMENTAL_BY_TIME_RANGE (time_column ds)", "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
)


@pytest.mark.parametrize("query", [OTHER_TEXTS, KEYED_TEXTS], ids=["by time", "by key"])
def test_r15_rows_are_not_taken_away_where_nobody_knows_how_far_a_source_reaches(
    query: str,
) -> None:
    world, first, _ = strings_world(["2024/01/01", "2024/01/02", "2024/01/03"], query)
    shown = world.rows("mart.log")
    with pytest.raises(Refused, match=r"mart\.log.*rows.*--accept-loss"):
        world.build(first)
    assert world.rows("mart.log") == shown
    world.build(first, accept_loss=True)
    assert [row[0] for row in world.rows("mart.log")] == [2, 3]


def test_r15_without_a_backfill_production_is_not_taken_back(world: MemoryWorld) -> None:
    world.land((2, 100), until=72)
    with pytest.raises(Refused, match="--skip-backfill"):
        world.build(ORIGINAL, skip_backfill=True)
    assert world.rows("mart.sales") == TENFOLD


def test_r15_a_saved_plan_is_refused_where_more_is_behind_than_was_reviewed(
    world: MemoryWorld,
) -> None:
    saved = world.plan(ORIGINAL)
    assert left_of(world.services(), saved)[0].backfills == ()
    world.land((2, 100), until=72)
    with pytest.raises(Conflict, match=r"mart\.sales.*changed since"):
        left_of(world.services(), saved)
    again = world.plan(ORIGINAL)
    world.apply(left_of(world.services(), again)[0])
    assert world.rows("mart.sales") == [(DAYS[0], 110), *AMOUNTS[1:]]


HISTORY = """
MODEL (
  name mart.history,
  kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount]),
  cron '@daily'
);
SELECT id AS id, amount AS amount FROM raw.events
"""


def test_r15_a_history_that_missed_what_the_shown_one_has_seen_is_refused() -> None:
    world = MemoryWorld.landed((1, 10), until=24)
    first = graph_of({"history": HISTORY})
    second = graph_of({"history": HISTORY.replace("cron", "stamp 'two', cron")})
    world.build(first)
    rebuilds = {ModelName("mart", "history"): Category.BREAKING}  # else it would keep its table
    world.build(second, decisions=rebuilds)
    assert change(world.plan(first), "mart.history").behind is None
    world.catalog.overwrite(RAW, [(1, hour_of(1), 20)])
    world.land(until=48)
    world.build(second)
    seen = world.rows("mart.history")
    assert len(seen) == 2
    plan = world.plan(first)
    assert change(plan, "mart.history").behind.lost == (day(2),)
    with pytest.raises(Refused, match=r"mart\.history.*history"):
        world.apply(plan)
    assert world.rows("mart.history") == seen


def test_r15_what_is_behind_for_two_reasons_is_behind_and_lost_by_both() -> None:
    name = EVENTS_NAME
    first = Behind(intervals=(day(1),), reason="its source was changed")
    second = Behind(intervals=(day(2, 3),), reason="it reads", lost=(day(3),), why_lost="kept")
    both = with_lag(Lag(found={name: first}), Lag(found={name: second})).found[name]
    assert both == Behind(
        intervals=(day(1, 3),), reason=first.reason, lost=(day(3),), why_lost="kept"
    )
    assert with_lag(Lag(), Lag(found={name: second})).found == {name: second}


def test_a_source_that_was_created_again_before_the_first_plan_was_done_is_loaded_as_advised() -> (
    None
):
    """No plan can load what is due of it, and nothing can load it again that is not shown."""
    world = MemoryWorld.landed((1, 10), until=24)
    audit = "audits (accepted_range (column := amount, max_v := 0))"
    bad = DAILY.replace("cron '@daily'", f"cron '@daily', {audit}")
    with pytest.raises(AuditFailed):
        world.build(graph_of({"events": EVENTS, "daily": bad}))
    world.catalog.drop_table(RAW)
    columns = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
    world.catalog.create_table(RAW, columns, properties={})
    world.land((1, 7), (25, 8), until=48)
    graph = graph_of({"events": EVENTS, "daily": DAILY})
    with pytest.raises(Refused, match=r"--accept-loss; also pass --skip-backfill"):
        world.build(graph)
    with pytest.raises(Refused, match=r"vde catch-up staging\.events --reload"):
        world.build(graph, accept_loss=True)
    world.build(graph, accept_loss=True, skip_backfill=True)
    world.catch_up(EVENTS_NAME, reload=True)
    world.build(graph)
    assert [amount for _, amount in world.rows("mart.daily")] == [7, 8]
