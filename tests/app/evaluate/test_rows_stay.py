"""Rule R8, whoever evaluates a model and why: rows go only if a person says so, in memory.

Each kind is evaluated once with rows, and again from a source that has none any more.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound, declared_source, graph_of, hour_of
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_rest
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.evaluate.refusals import still_refused, waiting_for_person
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, WaitingRows
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency
from vde_dagster.core.time.intervals import Interval

BY_HOUR = (
    "MODEL (name m.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'{more}); "
    "SELECT id AS id, at AS at, amount AS amount FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts AND amount > 0"
)
HOURS = BY_HOUR.format(more="")
STATEFUL = BY_HOUR.format(more=", late_data (mode stateful, sources ('raw.events|at'))")
CHILD = (
    "MODEL (name m.child, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'); "
    "SELECT at AS at, COUNT(*) AS n FROM m.hours WHERE at BETWEEN @start_ts AND @end_ts GROUP BY at"
)
OTHER = (
    "MODEL (name m.other, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'); "
    "SELECT id AS id, at AS at FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts"
)
FULL = (
    "MODEL (name m.full, kind FULL, cron '@hourly'); "
    "SELECT id AS id, amount AS amount FROM raw.events WHERE amount > 0"
)
HISTORY = (
    "MODEL (name m.history, kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount], "
    "invalidate_hard_deletes {deletes}), cron '@hourly'); "
    "SELECT id AS id, amount AS amount FROM raw.events WHERE amount > 0"
)
BY_TIME = (
    "MODEL (name m.history, kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at, "
    "invalidate_hard_deletes true), cron '@hourly'); "
    "SELECT id AS id, at AS at FROM raw.events WHERE amount > 0"
)
ENDS = HISTORY.format(deletes="true")


def run(world: MemoryWorld, concurrency: Concurrency = ONE_AT_A_TIME) -> None:
    services = world.services()
    apply_plan(services, world.plan_run(), lambda _: None, concurrency=concurrency)


def refused(world: MemoryWorld, concurrency: Concurrency = ONE_AT_A_TIME) -> Refused:
    with pytest.raises(Refused, match="no rows left") as caught:
        run(world, concurrency)
    return caught.value


def allow(world: MemoryWorld, graph: Graph, said: Refused) -> None:
    """Carry out the commands that a refusal names; ``graph`` are the files."""
    for command in commands(said):
        words = command.split()
        assert (words[2], words[-1]) == ("prod", "--allow-empty")
        given = dict(zip(words[3:-1:2], words[4:-1:2], strict=True))
        options = PlanOptions(
            allow_empty=True,
            restate=(given["--restate-model"],) if "--restate-model" in given else (),
            start=instant(given.get("--start")),
            end=instant(given.get("--end")),
        )
        services = world.services()
        plan = (
            plan_run(services, "prod", options=options)
            if words[1] == "run"
            else plan_environment(services, graph, "prod", options)
        )
        world.apply(plan)


def commands(said: Refused) -> list[str]:
    return str(said).split("`")[1::2]


def instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def removed(world: MemoryWorld, *gone: int) -> None:
    kept = [row for row in world.rows("raw.events") if row[2] not in gone]
    world.catalog.overwrite(RAW, kept)


def corrected(world: MemoryWorld, amount: int) -> None:
    """A row gets an amount that the models leave out; the source still covers its hour."""
    rows = world.rows("raw.events")
    new = [(row[0], row[1], -amount if row[2] == amount else row[2]) for row in rows]
    world.catalog.overwrite(RAW, new)


def landed(**texts: str) -> tuple[MemoryWorld, Graph]:
    world, graph = MemoryWorld(), graph_of(texts)
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    world.build(graph)
    return world, graph


def five_hours(**texts: str) -> MemoryWorld:
    """A row of 10, 20, 30, 40 and 50 in each of five hours."""
    world = MemoryWorld.landed(*((hour + 0.5, 10 * hour + 10) for hour in range(5)), until=5)
    world.build(graph_of(texts))
    return world


def test_r8_the_commands_of_a_refusal_empty_only_what_waits() -> None:
    world = five_hours(hours=HOURS, other=OTHER, child=CHILD)
    for amount in (20, 40):
        corrected(world, amount)
    said = refused(world)
    assert len(commands(said)) == 2
    assert [each.split()[-2] for each in commands(said)] == [
        "2024-01-01T02:00:00+00:00",
        "2024-01-01T04:00:00+00:00",
    ]
    corrected(world, 30)  # the hour between them has no rows left either, and nobody was asked
    for command, there in zip(commands(said), [[10, 30, 40, 50], [10, 30, 50]], strict=True):
        with pytest.raises(RowsWouldGo, match=r"\[2024-01-01 02:00, "):
            allow(world, graph_of({}), only(command))
        assert world.amounts("m.hours") == there
        assert len(world.rows("m.child")) == len(there)
    allow(world, graph_of({}), refused(world))
    assert world.amounts("m.hours") == [10, 50]
    assert world.plan_run().is_empty


def only(command: str) -> Refused:
    return Refused("it waits", advice=f"Run `{command}`.")


def test_r8_what_was_allowed_of_one_model_is_not_allowed_of_others() -> None:
    other = HOURS.replace("m.hours", "m.other")
    world = five_hours(hours=HOURS, other=other)
    corrected(world, 20)
    with suppress(Refused):
        run(world)
    with pytest.raises(RowsWouldGo, match=r"m\.other was not loaded"):
        allow(world, graph_of({}), only("vde run prod --restate-model m.hours --allow-empty"))
    assert world.amounts("m.hours") == [10, 30, 40, 50]
    assert world.amounts("m.other") == [10, 20, 30, 40, 50]


def test_r8_a_run_that_waits_is_advised_to_run_and_not_to_plan_the_files() -> None:
    world = five_hours(hours=HOURS)
    corrected(world, 20)
    edited = graph_of({"hours": HOURS.replace("amount AS amount", "amount * 2 AS amount")})
    said = refused(world)
    allow(world, edited, said)  # other files are checked out
    assert world.amounts("m.hours") == [10, 30, 40, 50]


def test_of_many_ranges_that_wait_the_first_have_a_command() -> None:
    world = MemoryWorld.landed(*((hour + 0.5, 10 * hour + 10) for hour in range(9)), until=9)
    world.build(graph_of({"hours": HOURS}))
    for amount in (10, 30, 50, 70, 90):
        corrected(world, amount)
    said = refused(world)
    assert len(commands(said)) == 3
    assert "and so on for 2 more." in str(said)


@pytest.mark.parametrize("models", [1, 3])
def test_r8_a_stale_interval_keeps_its_rows_and_all_else_goes_on(models: int) -> None:
    concurrency = Concurrency(models=models)
    world, graph = landed(hours=HOURS, child=CHILD, other=OTHER)
    corrected(world, 20)
    world.land((0.7, 11), (3.5, 40), until=4)
    said = refused(world, concurrency)
    assert "m.hours was not loaded" in str(said)
    assert "[2024-01-01 01:00, 2024-01-01 02:00)" in str(said)
    assert "m.child" not in str(said)
    assert world.amounts("m.hours") == [10, 11, 20, 30, 40]
    assert len(world.rows("m.child")) == 5
    assert len(world.rows("m.other")) == 5
    again = refused(world, concurrency)  # it is not taken for fresh
    assert str(again) == str(said)
    assert "m.hours" in {str(each.name) for each in world.plan_run().backfills}
    allow(world, graph, again)
    assert world.amounts("m.hours") == [10, 11, 30, 40]
    assert len(world.rows("m.child")) == 4
    assert world.plan_run().is_empty


def test_r8_a_plan_of_an_edit_beside_it_is_promoted() -> None:
    world, _ = landed(hours=HOURS, other=OTHER)
    corrected(world, 20)
    edited = graph_of({"hours": HOURS, "other": OTHER.replace("id AS id", "id + 1 AS id")})
    with pytest.raises(RowsWouldGo):
        world.build(edited)
    assert [row[0] for row in world.rows("m.other")] == [2, 3, 4]
    assert world.amounts("m.hours") == [10, 20, 30]


def test_r8_rows_stay_below_an_edit_in_dev_too() -> None:
    edited = {"hours": HOURS, "child": CHILD.replace("COUNT(*)", "COUNT(*) + 0")}
    world, _ = landed(hours=HOURS, child=CHILD)
    world.build(graph_of(edited), "dev")
    more = HOURS.replace("amount AS amount FROM", "amount AS amount, 1 AS more FROM")
    corrected(world, 20)
    graph = graph_of({**edited, "hours": more})
    with pytest.raises(RowsWouldGo, match=r"m\.child was not loaded.*02:00\)") as said:
        world.build(graph, "dev")
    assert len(world.rows("m__dev.child")) == 3
    assert commands(said.value) == ["vde plan dev --restate-model m.child --allow-empty"]
    world.build(graph, "dev", restate=("m.child",), allow_empty=True)
    assert len(world.rows("m__dev.child")) == 2
    assert world.plan_run("dev").is_empty


def test_r8_what_production_has_left_keeps_rows_that_qa_shows_whoever_plans_it() -> None:
    world, graph = landed(hours=HOURS)
    world.build(graph, "qa")
    world.build(graph_of({"hours": HOURS.replace("amount AS amount", "amount * 2 AS amount")}))
    corrected(world, 20)
    world.build(graph, "dev")
    assert world.amounts("m__qa.hours") == world.amounts("m__dev.hours") == [10, 20, 30]
    with pytest.raises(RowsWouldGo):
        world.run("qa")
    assert world.amounts("m__qa.hours") == [10, 20, 30]


def test_r8_a_stateful_session_loads_all_but_the_hour_that_would_be_empty() -> None:
    world, graph = landed(hours=STATEFUL)
    corrected(world, 20)
    world.land((0.7, 11), (3.5, 40), until=4)
    with pytest.raises(RowsWouldGo, match="01:00, 2024-01-01 02:00"):
        world.catch_up(ModelName("m", "hours"))
    assert world.amounts("m.hours") == [10, 11, 20, 30, 40]
    said = refused(world)
    assert world.amounts("m.hours") == [10, 11, 20, 30, 40]
    allow(world, graph, said)
    assert world.amounts("m.hours") == [10, 11, 30, 40]
    assert world.plan_run().is_empty


@pytest.mark.parametrize("text", [ENDS, BY_TIME], ids=["by column", "by time"])
def test_r8_a_history_is_not_ended_by_a_source_without_rows(text: str) -> None:
    world, graph = landed(history=text)
    before = world.rows("m.history")
    world.catalog.overwrite(RAW, [])
    world.land(until=4)
    said = refused(world)
    assert "all open rows of its history would be closed" in str(said)
    assert "`vde run prod --allow-empty`" in str(said)  # restating it would begin it from nothing
    assert world.rows("m.history") == before
    assert str(refused(world)) == str(said)
    allow(world, graph, said)
    after = world.rows("m.history")
    assert [row[:-1] for row in after] == [row[:-1] for row in before]
    assert None not in [row[-1] for row in after]
    assert world.plan_run().is_empty


def test_a_history_goes_on_with_fewer_keys_and_where_no_key_is_closed() -> None:
    world, _ = landed(history=ENDS)
    removed(world, 10, 20)
    world.land(until=4)
    run(world)
    assert [row[-1] is None for row in world.rows("m.history")] == [False, False, True]
    world, _ = landed(history=HISTORY.format(deletes="false"))
    world.catalog.overwrite(RAW, [])
    world.land(until=4)
    run(world)
    assert {row[-1] for row in world.rows("m.history")} == {None}


def test_a_history_that_comes_back_to_life_after_it_was_ended_is_loaded() -> None:
    world, graph = landed(history=ENDS)
    world.catalog.overwrite(RAW, [])
    world.land(until=4)
    allow(world, graph, refused(world))
    world.land(until=5)
    run(world)  # a history without open rows loses none
    world.land((5.5, 50), until=6)
    run(world)
    assert [row[-1] for row in world.rows("m.history")].count(None) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(each, marks=pytest.mark.full) for each in range(4, 20))]
)
def test_r8_whatever_lands_and_goes_no_run_leaves_an_hour_without_its_rows(seed: int) -> None:
    chance = random.Random(seed)
    texts = {"hours": HOURS if seed % 2 else STATEFUL, "full": FULL, "history": ENDS}
    world, until = MemoryWorld(), 3
    graph = graph_of(texts)
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=until)
    world.build(graph)
    for step in range(6):
        rows = world.rows("raw.events")
        gone = [int(str(row[2])) for row in rows if int(str(row[2])) > 0 and chance.random() < 0.5]
        for amount in gone:
            corrected(world, amount)
        if chance.random() < 0.5:
            until += 1
        world.land((chance.randrange(until) + 0.3, 100 + step), until=until)
        before = rows_by_hour(world)
        full, history = world.rows("m.full"), world.rows("m.history")
        with suppress(Refused):
            run(world)
        after, wanted = rows_by_hour(world), expected_by_hour(world)
        for hour in range(until):
            expected = wanted.get(hour) or before.get(hour, [])
            assert after.get(hour, []) == expected, (hour, step)
        assert world.rows("m.full") or not full
        is_open = [row[-1] is None for row in world.rows("m.history")]
        assert any(is_open) or not any(row[-1] is None for row in history)


def rows_by_hour(world: MemoryWorld) -> dict[int, list[int]]:
    return by_hour(timed(world, "m.hours"))


def expected_by_hour(world: MemoryWorld) -> dict[int, list[int]]:
    return by_hour(each for each in timed(world, "raw.events") if each[1] > 0)


def timed(world: MemoryWorld, view: str) -> list[tuple[datetime, int]]:
    """The time and amount of each row."""
    rows = ((row[1], int(str(row[2]))) for row in world.rows(view))
    return [(at, amount) for at, amount in rows if isinstance(at, datetime)]


def by_hour(rows: Iterable[tuple[datetime, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at, amount in rows:
        found.setdefault(int((at - hour_of(0)).total_seconds() // 3600), []).append(amount)
    return {hour: sorted(amounts) for hour, amounts in found.items()}


MERGED = (
    "MODEL (name m.keys, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, "
    "when_matched (WHEN MATCHED AND source.amount < 0 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET target.amount = source.amount)), cron '@hourly'); "
    "SELECT CASE WHEN amount < 0 THEN -amount ELSE amount END AS id, amount AS amount "
    "FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts"
)


def test_r8_a_merge_that_would_delete_every_row_waits() -> None:
    world, graph = landed(keys=MERGED)
    world.land((3.5, -10), (3.6, -20), until=4)
    run(world)  # a part of them may go
    assert [row[1] for row in world.rows("m.keys")] == [30]
    world.land((4.5, -30), until=5)
    said = refused(world)
    assert [row[1] for row in world.rows("m.keys")] == [30]
    assert "`vde run prod --allow-empty`" in str(said)
    allow(world, graph, said)
    assert world.rows("m.keys") == []
    assert world.plan_run().is_empty


def restated_whole(world: MemoryWorld, graph: Graph) -> Refused:
    """All hours are restated, of which the second has no rows left."""
    rows = world.rows("raw.events")
    other = {10: 11, 20: -20, 30: 31}
    world.catalog.overwrite(RAW, [(row[0], row[1], other[int(str(row[2]))]) for row in rows])
    options = PlanOptions(restate=("m.hours",), start=hour_of(0), end=hour_of(3))
    with pytest.raises(RowsWouldGo, match="no rows left") as caught:
        world.apply(plan_environment(world.services(), graph, "prod", options))
    return caught.value


@pytest.mark.parametrize("text", [HOURS, STATEFUL], ids=["plain", "stateful"])
def test_r8_a_refused_restatement_stops_only_what_reads_its_hour(text: str) -> None:
    world, graph = landed(hours=text, child=CHILD)
    said = restated_whole(world, graph)
    assert world.amounts("m.hours") == [11, 20, 31]
    world.land((3.5, 40), until=4)
    again = refused(world)
    assert again.message == said.message  # the child has nothing to say of its own
    assert world.amounts("m.hours") == [11, 20, 31, 40]
    assert len(world.rows("m.child")) == 4
    allow(world, graph, again)
    assert world.amounts("m.hours") == [11, 31, 40]
    assert len(world.rows("m.child")) == 3
    assert world.plan_run().is_empty


NAME = ModelName("m", "hours")


@pytest.mark.full
@pytest.mark.parametrize("more", ["", ", batch_size 1"])
@pytest.mark.parametrize("gone", [(10,), (10, 30), (10, 20, 40)])
def test_what_waits_is_known_with_all_of_its_hours_until_its_source_changes(
    more: str, gone: tuple[int, ...]
) -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), (2.5, 30), (3.5, 40), (4.5, 50), until=5)
    graph = graph_of({"hours": HOURS.replace("time_column at", f"time_column at{more}")})
    world.build(graph)
    for each in gone:
        corrected(world, each)
    said = refused(world)
    services = world.services()
    binding = world.bound()
    assert still_refused(services, binding, NAME) == str(said)
    assert waiting_for_person(services, binding, [NAME]) == {NAME: str(said)}
    assert str(refused(world)) == str(said)
    rows = world.rows("raw.events")
    world.catalog.overwrite(RAW, [(row[0], row[1], abs(int(str(row[2])))) for row in rows])
    services = world.services()
    assert still_refused(services, world.bound(), NAME) == ""
    run(world)
    assert world.plan_run().is_empty


LOOKUP = TableName("raw", "lookup")
JOINED = (
    "MODEL (name m.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'{more}); "
    "SELECT e.id AS id, e.at AS at, e.amount * l.factor AS amount "
    "FROM raw.events AS e JOIN raw.lookup AS l ON e.id = l.id "
    "WHERE e.at BETWEEN @start_ts AND @end_ts"
)


@pytest.mark.full
@pytest.mark.parametrize("more", ["", ", late_data (mode stateful, sources ('raw.events|at'))"])
def test_a_range_is_evaluated_but_for_what_waits_in_the_middle_of_it(more: str) -> None:
    world, types = MemoryWorld(), {"id": "bigint", "factor": "bigint"}
    columns = tuple(Column(name=name, type=each) for name, each in types.items())
    world.catalog.create_table(LOOKUP, columns)
    world.catalog.append(LOOKUP, [(number, 1) for number in range(1, 10)])
    lookup = declared_source(ModelName("raw", "lookup"), types)
    graph = graph_of({"hours": JOINED.format(more=more)}, lookup)
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    world.build(graph)
    ids = [int(str(row[0])) for row in world.rows("raw.events")]
    world.catalog.overwrite(LOOKUP, [(ids[0], 2), (ids[2], 2)])
    services, waiting = world.services(), WaitingRows()
    whole = Interval(hour_of(0), hour_of(3))
    units = [*evaluate_rest(services, bound(services), NAME, whole, waiting=waiting)]
    assert waiting.intervals == (Interval(hour_of(1), hour_of(2)),)
    assert [unit.interval for unit in units] == [
        Interval(hour_of(0), hour_of(1)),
        Interval(hour_of(2), hour_of(3)),
    ]
    assert world.amounts("m.hours") == [20, 20, 60]
