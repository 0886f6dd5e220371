"""INCREMENTAL_BY_TIME_RANGE: the rules, and the sequence of the example, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from tests.app.memory_world import RAW, MemoryWorld, hour_of
from tests.core.written_project import problems_of
from tests.kinds.sentences.projects import (
    built,
    graph_of,
    inputs_of,
    instant,
    node_of,
    read,
    refusal,
    rows_of,
    span,
    sql_of,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.model.model import Call
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.schedule import due_interval, last_tick, missing

DEMO = """MODEL (
  name demo.incrementals_demo,
  kind INCREMENTAL_BY_TIME_RANGE (
    -- Handle late-arriving events for the past 2 (2*1) days based on cron interval.
    time_column transaction_date,
    lookback 2,
  ),
  -- Don't backfill data before this date
  start '2024-10-25',
  cron '@daily',
  grain transaction_id,
  audits (
    UNIQUE_VALUES(columns = (transaction_id)),
    NOT_NULL(columns = (transaction_id))
  )
);
WITH sales_data AS (
  SELECT transaction_id, product_id, customer_id, transaction_amount, transaction_timestamp
  FROM raw.sales -- Source A: sales data
  WHERE transaction_timestamp BETWEEN @start_dt AND @end_dt
),
product_usage AS (
  SELECT product_id, customer_id, last_usage_date, usage_count
  FROM staging.product_usage -- Source B
  -- Include usage data from the 30 days before the interval
  WHERE last_usage_date BETWEEN DATE_SUB(@start_dt, 30) AND @end_dt
)
SELECT
  s.transaction_id,
  s.transaction_amount,
  -- Extract the date to partition by day
  DATE(s.transaction_timestamp) as transaction_date,
  p.usage_count,
  CASE WHEN p.usage_count > 100 THEN 'Power User' ELSE 'Light User' END as user_type -- Derived
FROM sales_data s
LEFT JOIN product_usage p ON s.product_id = p.product_id AND s.customer_id = p.customer_id
"""
USAGE = """MODEL (
  name staging.product_usage,
  kind INCREMENTAL_BY_TIME_RANGE (time_column last_usage_date),
  start '2024-01-01'
);
SELECT product_id, customer_id, last_usage_date, usage_count FROM raw.product_usage
WHERE last_usage_date BETWEEN @start_dt AND @end_dt
"""
DAILY = """MODEL (
  name demo.daily,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  start '2024-01-01'
);
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
BY_EVENT_DATE = "kind INCREMENTAL_BY_TIME_RANGE (time_column event_date)"


def days(first: str, count: int) -> Interval:
    return Interval(instant(first), instant(first) + timedelta(days=count))


# What an evaluation does


@pytest.mark.full
def test_an_evaluation_replaces_the_rows_of_its_range_and_no_others() -> None:
    world = MemoryWorld.landed((1, 10), (25, 20), until=48)
    built(world, DAILY)
    world.land((2, 1), (26, 2), until=48)  # one more event on each of the two days
    name = ModelName("demo", "daily")
    evaluate_range(world.services(), world.bound(), name, Interval(hour_of(24), hour_of(48)))
    assert world.rows("demo.daily") == [(date(2024, 1, 1), 10), (date(2024, 1, 2), 22)]


@pytest.mark.full
def test_rows_of_its_range_that_the_query_no_longer_returns_are_deleted() -> None:
    world = MemoryWorld.landed((1, 10), (25, 20), until=48)
    built(world, DAILY)
    world.catalog.delete(RAW, [])
    services = world.services()
    name = ModelName("demo", "daily")
    interval = Interval(hour_of(24), hour_of(48))
    with pytest.raises(RowsWouldGo):  # the whole interval would be empty: rule R8
        evaluate_range(services, world.bound(), name, interval)
    asked = replace(world.bound(), may_empty={name: (interval,)})
    evaluate_range(services, asked, name, interval)
    assert world.rows("demo.daily") == [(date(2024, 1, 1), 10)]


SUM = """MODEL (name demo.sum, kind FULL, start '2024-01-01');
SELECT SUM(amount) AS total FROM raw.events"""
SHARES = """MODEL (
  name demo.shares,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  start '2024-01-01'
);
SELECT e.amount, s.total, e.at FROM raw.events AS e CROSS JOIN demo.sum AS s
WHERE e.at BETWEEN @start_dt AND @end_dt
"""


@pytest.mark.full
def test_what_reads_a_full_parent_is_evaluated_again_when_that_is_made_again() -> None:
    world = MemoryWorld.landed((1, 10), until=24)
    built(world, SUM, SHARES)
    world.land((25, 30), until=48)
    built(world, SUM, SHARES)
    # No event of the first day is another one, but the parent was made again since.
    assert [row[:2] for row in world.rows("demo.shares")] == [(10, 40), (30, 40)]


@pytest.mark.full
def test_only_missing_intervals_are_evaluated() -> None:
    world = MemoryWorld.landed((1, 10), (25, 20), until=48)
    assert built(world, DAILY) == [("demo.daily", days("2024-01-01", 2))]
    world.land((50, 7), until=72)
    assert built(world, DAILY) == [("demo.daily", days("2024-01-03", 1))]
    assert built(world, DAILY) == []


# What it needs


def test_it_needs_a_time_column() -> None:
    text = DAILY.replace("(time_column day)", "(lookback 1)")
    assert refusal(text) == "the kind INCREMENTAL_BY_TIME_RANGE needs time_column"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT event_date FROM raw.rows",
        "SELECT event_date FROM raw.rows WHERE id > 1",
        "SELECT event_date FROM raw.rows WHERE event_date < @execution_date",
        "SELECT event_date, @start_ds AS ds FROM raw.rows WHERE id > 1",
        "SELECT event_date FROM raw.rows ORDER BY event_date > @start_date",
        "SELECT event_date FROM raw.rows WHERE @start_ds = @end_ds",
        "SELECT event_date FROM raw.rows WHERE id > 1 AND (@start_ds < @end_ds OR id = 2)",
        "SELECT event_date FROM raw.rows WHERE EXISTS (SELECT 1 WHERE @start_ds = @end_ds)",
        "SELECT event_date FROM raw.rows WHERE id IN (SELECT id FROM raw.menu WHERE @end_ds > '')",
        "SELECT event_date FROM raw.rows GROUP BY event_date HAVING MAX(event_date) > @start_date",
        "SELECT MIN(event_date) FILTER (WHERE event_date > @end_date) AS event_date FROM raw.rows",
        "SELECT r.event_date FROM raw.rows AS r JOIN raw.menu AS m ON @start_ds = @end_ds",
        "WITH p AS (SELECT @start_date AS first, @end_date AS last) "  # noqa: ISC004 - one query
        "SELECT r.event_date FROM raw.rows AS r JOIN p ON p.first < p.last",
    ],
)
def test_it_needs_a_filter_on_the_time_of_what_it_reads(query: str) -> None:
    text = f"MODEL (name m.x, {BY_EVENT_DATE}); {query}"
    (found,) = problems_of(lambda: graph_of(text))
    assert "needs a filter on the time of its input" in found.message
    assert "WHERE event_time BETWEEN @start_dt AND @end_dt" in found.advice


@pytest.mark.full
@pytest.mark.parametrize(
    "query",
    [
        "SELECT event_date FROM raw.rows WHERE event_date BETWEEN @start_date AND @end_date",
        "SELECT event_date FROM raw.rows WHERE id > 1 AND (event_date >= @START_DS)",
        "WITH r AS (SELECT event_date AS d FROM raw.rows WHERE event_date = @end_date) "  # noqa: ISC004 - one query
        "SELECT d AS event_date FROM r",
        "SELECT r.event_date FROM raw.menu AS m JOIN raw.rows AS r ON r.event_date = @start_date",
        "WITH p AS (SELECT @start_date AS first, @end_date AS last) "  # noqa: ISC004 - one query
        "SELECT r.event_date FROM raw.rows AS r JOIN p ON r.event_date BETWEEN p.first AND p.last",
        "SELECT DATE '2024-01-01' AS event_date",
        "SELECT event_date FROM raw.rows WHERE event_date >= DATE_SUB(@start_date, 7)",
        "SELECT event_date FROM raw.rows WHERE NOT event_date < @start_date OR id = 0",
        "SELECT event_date FROM raw.rows WHERE event_date IN (@start_date, @end_date)",
        "SELECT event_date FROM raw.rows WHERE STARTSWITH(event_date, @start_ds)",
        "SELECT CAST(updated_at AS DATE) AS event_date FROM raw.menu "  # noqa: ISC004 - one query
        "WHERE CAST(updated_at AS DATE) = @start_date",
        "SELECT d AS event_date FROM (SELECT CAST(updated_at AS DATE) AS d FROM raw.menu) AS m "  # noqa: ISC004 - one query
        "WHERE d = @start_date",
        "SELECT event_date FROM raw.rows WHERE id IN "  # noqa: ISC004 - one query
        "(SELECT id FROM raw.menu WHERE updated_at BETWEEN @start_dt AND @end_dt)",
        "SELECT event_date FROM raw.rows WHERE event_date IN "  # noqa: ISC004 - one query
        "(SELECT EXPLODE(SEQUENCE(@start_date, @end_date)) AS d)",
    ],
)
def test_the_filter_may_stand_wherever_something_is_read(query: str) -> None:
    text = f"MODEL (name m.x, {BY_EVENT_DATE}); {query}"
    assert [each.name for each in node_of(text).columns] == ["event_date"]


@pytest.mark.parametrize("condition", ["event_date >= @start_date", "@start_ds = @end_ds"])
def test_the_filter_may_stand_in_an_embedded_model_that_is_read(condition: str) -> None:
    rows = f"SELECT event_date FROM raw.rows WHERE {condition}"
    texts = (
        f"MODEL (name m.one, kind EMBEDDED); {rows}",
        "MODEL (name m.two, kind EMBEDDED); SELECT * FROM m.one",
        f"MODEL (name m.x, {BY_EVENT_DATE}); SELECT * FROM m.two",
    )
    if "event_date" in condition:
        assert [each.name for each in node_of(*texts).columns] == ["event_date"]
    else:
        with pytest.raises(ProjectInvalid, match="needs a filter on the time"):
            graph_of(*texts)


def test_the_time_column_is_named_in_the_kind() -> None:
    text = (
        "MODEL (name m.x, kind INCREMENTAL_BY_TIME_RANGE (time_column event_date)); "
        "SELECT event_date FROM raw.rows WHERE event_date BETWEEN @start_date AND @end_date"
    )
    assert read(text).time_column == "event_date"


@pytest.mark.full
@pytest.mark.parametrize(
    "condition",
    [
        "event_date BETWEEN @start_date AND @end_date",
        "CAST(event_date AS STRING) BETWEEN @start_ds AND @end_ds",
        "CAST(event_date AS TIMESTAMP) BETWEEN @start_dt AND @end_dt",
    ],
)
def test_the_macros_stand_for_the_first_and_the_last_day_of_the_range(condition: str) -> None:
    # A FULL model has no output filter, so these conditions alone choose the rows.
    text = f"MODEL (name m.x, kind FULL); SELECT id FROM raw.rows WHERE {condition}"
    data = [[str(day), "0", "", "", f"2024-01-0{day}"] for day in range(1, 7)]
    found = rows_of(text, start="2024-01-02", end="2024-01-05", data={"raw.rows": data})
    assert found == [(2,), (3,), (4,)]


# The header of the example


def test_a_lookback_of_two_days_also_evaluates_the_two_days_before() -> None:
    loaded = [days("2024-10-25", 10)]  # to the end of 3 November
    found = missing(read(DEMO), loaded, instant("2024-11-05"))
    assert found == (span("2024-11-02", "2024-11-05"),)


def test_nothing_before_the_start_is_evaluated() -> None:
    assert due_interval(read(DEMO), instant("2024-11-05")) == span("2024-10-25", "2024-11-05")
    assert due_interval(read(DEMO), instant("2024-10-25T23:59")) is None
    again = missing(read(DEMO), [days("2024-10-25", 1)], instant("2024-10-27"))
    assert again == (span("2024-10-25", "2024-10-27"),)  # the lookback ends there, too


def test_daily_is_midnight_in_utc() -> None:
    for now, tick in (
        ("2024-11-04T23:59:59", "2024-11-04"),
        ("2024-11-05T00:00:00", "2024-11-05"),
        ("2024-11-05T00:00:01", "2024-11-05"),
    ):
        assert last_tick(read(DEMO), instant(now)) == instant(tick)


def test_a_grain_names_the_key_of_the_rows() -> None:
    assert read(DEMO).grains == (("transaction_id",),)


def test_audits_name_their_columns() -> None:
    arguments = (("columns", "(transaction_id)"),)
    assert read(DEMO).audits == (
        Call(name="unique_values", arguments=arguments),
        Call(name="not_null", arguments=arguments),
    )


# The sequence of the example


@pytest.mark.full
@pytest.mark.parametrize(
    "dialect,bound",
    [
        ("spark", "DATE_SUB(@start_dt, 30)"),
        ("spark", "@start_dt - INTERVAL 30 DAYS"),
        ("bigquery", "DATE_SUB(@start_dt, INTERVAL 30 DAY)"),
    ],
)
def test_a_parent_may_be_read_in_a_wider_range_than_the_interval(dialect: str, bound: str) -> None:
    text = DEMO.replace("DATE_SUB(@start_dt, 30)", bound)
    text = text.replace("cron '@daily'", f"cron '@daily', dialect {dialect}")
    found = inputs_of(USAGE, text, start="2024-10-25", end="2024-11-05")
    usage = ModelName("staging", "product_usage")
    assert found[usage] == (span("2024-09-25", "2024-11-05"),)


def test_comments_on_projections_describe_the_columns() -> None:
    described = {each.name: each.description for each in node_of(USAGE, DEMO).columns}
    assert described["transaction_date"] == "Extract the date to partition by day"
    assert described["user_type"] == "Derived"
    assert described["transaction_id"] == ""


def test_columns_have_the_types_that_follow_from_the_query() -> None:
    types = {each.name: each.type for each in node_of(USAGE, DEMO).columns}
    assert types == {
        "transaction_id": "string",
        "transaction_amount": "decimal(18, 2)",
        "transaction_date": "date",
        "usage_count": "bigint",
        "user_type": "string",
    }


def test_a_query_that_does_not_fit_what_it_reads_is_refused_before_any_data_is() -> None:
    with pytest.raises(ProjectInvalid, match="amonut"):
        graph_of(DAILY.replace("SUM(amount)", "SUM(amonut)"))


def test_the_end_of_the_range_is_its_last_microsecond() -> None:
    found = sql_of(USAGE, DEMO, start="2024-10-25", end="2024-11-05")
    assert (
        "transaction_timestamp BETWEEN CAST('2024-10-25 00:00:00+00:00' AS TIMESTAMP) "
        "AND CAST('2024-11-04 23:59:59.999999+00:00' AS TIMESTAMP)"
    ) in found
