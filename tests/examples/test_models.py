"""The example's SQL, run on DuckDB over really landed rows, against the independent computation.

Each model runs once per interval of its cron, as the product does, so that a model that reads
beyond its interval is found here, without a JVM. The Python model needs Spark and is not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import expected
import landing
import pytest
import yaml
from pyiceberg.catalog.sql import SqlCatalog
from sqlglot import exp, parse_one

UNTIL = datetime(2013, 1, 3, tzinfo=UTC)
MID_DAY = datetime(2013, 1, 2, 15, tzinfo=UTC)
PROJECT = Path(landing.__file__).parent
HOURLY = timedelta(hours=1)
DAILY = timedelta(days=1)
STEPS = {
    "staging.departures": HOURLY,
    "staging.arrivals": HOURLY,
    "staging.weather": HOURLY,
    "core.flights": HOURLY,
    "mart.carrier_delays": DAILY,
    "mart.airport_delays": DAILY,
}
VIEWS = ("mart.delays_by_airline",)
QUERIES = sorted(path.name for path in (PROJECT / "queries").glob("*.sql"))


def query_of(name: str) -> exp.Expr:
    schema, model = name.split(".")
    text = (PROJECT / "models" / schema / f"{model}.sql").read_text()
    _block, query = text.split("\n);\n", 1)
    return parse_one(query, read="spark")


def rendered(query: exp.Expr, start: datetime, end: datetime) -> str:
    """The query in DuckDB with the interval's bounds as literals, the end inclusive."""
    bounds = {"start_dt": start, "end_dt": end - timedelta(microseconds=1)}

    def literal(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Parameter):
            return node
        return exp.cast(exp.Literal.string(bounds[node.name].isoformat()), "TIMESTAMPTZ")

    return query.transform(literal).sql(dialect="duckdb")


def intervals(step: timedelta, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    start = expected.START
    while start + step <= until:
        yield start, start + step
        start += step


def land_into(connection: duckdb.DuckDBPyConnection, lake: SqlCatalog, until: datetime) -> None:
    """What the lake had at that time."""
    before = f"event_landing_ts < '{until.isoformat()}'"
    for name in ("departures", "arrivals", "weather"):
        connection.register("landed", lake.load_table(f"raw.{name}").scan(before).to_arrow())
        connection.table("landed").create(f"raw.{name}")
    airlines = connection.read_csv(str(PROJECT / "seeds" / "airlines.csv"), header=True)
    airlines.create("staging.airlines")


def build(connection: duckdb.DuckDBPyConnection, until: datetime) -> None:
    for name, step in STEPS.items():
        query = query_of(name)
        for number, (start, end) in enumerate(intervals(step, until)):
            relation = connection.sql(rendered(query, start, end))
            relation.insert_into(name) if number else relation.create(name)
    for name in VIEWS:
        connection.sql(query_of(name).sql(dialect="duckdb")).create(name)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(UNTIL, id="two days", marks=pytest.mark.full),
        pytest.param(MID_DAY, id="in a day"),
    ],
)
def built(
    request: pytest.FixtureRequest, lake: SqlCatalog
) -> Iterator[tuple[datetime, duckdb.DuckDBPyConnection]]:
    until: datetime = request.param
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for schema in ("raw", "staging", "core", "mart"):
            connection.execute(exp.Create(this=exp.table_(schema), kind="SCHEMA").sql("duckdb"))
        land_into(connection, lake, until)
        build(connection, until)
        yield until, connection


def rows_of(
    cursor: duckdb.DuckDBPyConnection,
) -> tuple[tuple[str, ...], list[expected.Row]]:
    columns = tuple(str(column[0]) for column in cursor.description or ())
    return columns, [tuple(as_utc(value) for value in row) for row in cursor.fetchall()]


def as_utc(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


@pytest.mark.full
def test_every_model_holds_the_rows_of_the_independent_computation(
    built: tuple[datetime, duckdb.DuckDBPyConnection],
) -> None:
    until, connection = built
    wanted = expected.model_rows(until)
    assert set(wanted) == {*STEPS, *VIEWS, "staging.airlines", "mart.punctuality"}
    for name in (*STEPS, *VIEWS, "staging.airlines"):
        relation = exp.select("*").from_(exp.to_table(name)).sql("duckdb")
        assert expected.normalized(*rows_of(connection.execute(relation))) == wanted[name], name
        assert wanted[name].rows, name


@pytest.mark.full
def test_every_query_answers_with_the_rows_of_the_independent_computation(
    built: tuple[datetime, duckdb.DuckDBPyConnection],
) -> None:
    until, connection = built
    wanted = expected.query_rows(until)
    assert set(wanted) == set(QUERIES)
    for name in QUERIES:
        query = parse_one((PROJECT / "queries" / name).read_text(), read="spark")
        columns, rows = rows_of(connection.execute(query.sql(dialect="duckdb")))
        answer = expected.Rows(columns=columns, rows=tuple(rows))
        assert answer == wanted[name], name


def test_external_models_declare_the_tables_as_they_are_landed() -> None:
    spark = {
        "string": "string",
        "int": "int",
        "double": "double",
        "boolean": "boolean",
        "date": "date",
        "timestamptz": "timestamp",
    }
    landed = {
        "raw.departures": landing.DEPARTURE_COLUMNS,
        "raw.arrivals": landing.ARRIVAL_COLUMNS,
        "raw.weather": landing.WEATHER_COLUMNS,
        "raw.airports": landing.AIRPORT_COLUMNS,
        "raw.planes": landing.PLANE_COLUMNS,
    }
    declared = yaml.safe_load((PROJECT / "external_models.yaml").read_text())
    assert {model["name"]: model["columns"] for model in declared} == {
        name: {column: spark[str(kind)] for column, kind in columns.items()}
        for name, columns in landed.items()
    }


def test_the_seed_is_the_data_sets_file() -> None:
    data = landing.data_folder() / "airlines.csv"
    assert (PROJECT / "seeds" / "airlines.csv").read_bytes() == data.read_bytes()
