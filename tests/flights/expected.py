"""What the models must hold, computed by DuckDB from all that has landed, from scratch.

Nothing of the product or of the models is used. A flight that has left is in the state from the
hour of its schedule to the one in which it lands, or for a day if it is not seen to land.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from tests.flights.world import ARRIVALS, DEPARTURES, STATE, feeds
from vde_dagster.core.names import ModelName

_STATES = """
WITH d AS (
  SELECT *, date_trunc('hour', scheduled_departure) AS first FROM departures
  WHERE event_landing_ts < $until AND scheduled_departure >= $start
    AND scheduled_departure < $until
),
a AS (
  SELECT *, date_trunc('hour', actual_arrival) AS last FROM arrivals
  WHERE event_landing_ts < $until
),
h AS (
  SELECT unnest(generate_series($start, $until - INTERVAL 1 HOUR, INTERVAL 1 HOUR)) AS hour
),
lives AS (
  SELECT d.*, CASE WHEN a.last >= d.first THEN a.last END AS last
  FROM d LEFT JOIN a USING (carrier, flight, origin, dest, scheduled_departure)
)
SELECT h.hour AS hour, carrier, flight, origin, dest, scheduled_departure, actual_departure,
  CASE
    WHEN cancelled THEN 'cancelled'
    WHEN actual_departure >= h.hour + INTERVAL 1 HOUR THEN 'waiting'
    WHEN last = h.hour THEN 'arrived'
    ELSE 'in the air'
  END AS state
FROM lives JOIN h ON h.hour >= first AND (last IS NULL OR h.hour <= last)
WHERE (cancelled AND h.hour = first)
  OR (NOT cancelled AND actual_departure >= h.hour - INTERVAL 23 HOUR)
"""
_DEPARTURES = """
SELECT scheduled_departure, date_trunc('hour', scheduled_departure) AS scheduled_hour, carrier,
  flight, tailnum, origin, dest, distance AS distance_miles, actual_departure,
  departure_delay_minutes, cancelled, event_landing_ts AS landed_at
FROM departures
WHERE event_landing_ts < $until AND scheduled_departure >= $start AND scheduled_departure < $until
"""
_ARRIVALS = """
SELECT scheduled_departure, carrier, flight, origin, dest, actual_arrival, air_time_minutes,
  arrival_delay_minutes, event_landing_ts AS landed_at
FROM arrivals
WHERE event_landing_ts < $until AND scheduled_departure >= $start AND scheduled_departure < $until
"""
_QUERIES: Mapping[ModelName, str] = {
    DEPARTURES: _DEPARTURES,
    ARRIVALS: _ARRIVALS,
    STATE: _STATES,
}


@cache
def _database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("departures", "arrivals"):
        connection.register("landed", feeds()[name].rows.slice(0, 60_000))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM landed")
        connection.unregister("landed")
    return connection


def expected_rows(name: ModelName, start: datetime, until: datetime) -> pa.Table:
    """The rows of a model if all that lands before ``until`` is loaded up to there."""
    found = _database().sql(_QUERIES[name], params={"start": start, "until": until})
    return found.to_arrow_table()


def differences(
    name: ModelName, held: Sequence[tuple[Any, ...]], start: datetime, until: datetime
) -> list[tuple[Any, ...]]:
    """The rows that a model holds and must not hold, and those that it lacks."""
    wanted = expected_rows(name, start, until)
    columns: Sequence[Sequence[Any]]
    columns = list(zip(*held, strict=True)) if held else [() for _ in wanted.schema]
    arrays = [pa.array(each, kind) for each, kind in zip(columns, wanted.schema.types, strict=True)]
    have = pa.Table.from_arrays(arrays, names=wanted.schema.names)
    cursor = _database().cursor()
    cursor.register("have", have)
    cursor.register("wanted", wanted)
    found: list[tuple[Any, ...]] = cursor.sql(
        "(FROM have EXCEPT ALL FROM wanted) UNION ALL (FROM wanted EXCEPT ALL FROM have)"
    ).fetchall()
    return found


def changed_hours(
    name: ModelName, start: datetime, before: datetime, after: datetime
) -> frozenset[datetime]:
    """The hours of a model whose rows are others if all is loaded to ``after`` than to ``before``.

    Its first column is the hour.
    """
    cursor = _database().cursor()
    cursor.register("old", expected_rows(name, start, before))
    cursor.register("new", expected_rows(name, start, after))
    found = cursor.sql(
        "SELECT DISTINCT hour FROM ((FROM old EXCEPT ALL FROM new) UNION ALL "
        "(FROM new EXCEPT ALL FROM old))"
    ).fetchall()
    return frozenset(hour for (hour,) in found)
