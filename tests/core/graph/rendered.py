"""Small projects of models as text: what they render to, and what that returns on a few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.graph.render_model import render_model
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model
from vde_dagster.project.settings import texts_of

DEFAULTS = Defaults()
COLUMNS = {
    "i": "int",
    "k": "string",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "day": "date",
    "iso": "string",
    "digits": "string",
    "number": "int",
    "seconds": "bigint",
    "millis": "bigint",
    "hour": "int",
}
SOURCES = {
    "raw.t": COLUMNS,
    "raw.u": {"i": "int", "k": "string", "v": "double"},
    "raw.cased": {"Id": "int", "userAgent": "struct<osName: string>"},
    "raw.also": {"ID": "bigint", "USERAGENT": "struct<OSNAME: string>"},
}
INSTANTS = {
    1: "2023-12-31 23:59:59.999999",
    2: "2024-01-01 00:00:00",
    3: "2024-01-01 12:30:00",
    4: "2024-01-01 23:59:59.999999",
    5: "2024-01-02 00:00:00",
    6: "2024-01-31 23:00:00",
    7: "2024-02-01 00:00:00",
}
"""The rows of raw.t by ``i``: around the borders of an hour, a day and a month. ``k`` is a or b."""
S, E = (
    "CAST('2024-01-01 00:00:00+00:00' AS TIMESTAMP)",
    "CAST('2024-01-01 23:59:59.999999+00:00' AS TIMESTAMP)",
)
NEXT = "CAST('2024-01-02 00:00:00+00:00' AS TIMESTAMP)"
D, D2 = "CAST('2024-01-01' AS DATE)", "CAST('2024-01-02' AS DATE)"
"""Literals of the first of January: its first and its last moment, the next, the dates of both."""
EMBEDDED = "MODEL (name m.e, kind EMBEDDED);\nSELECT i, k FROM raw.t WHERE i > 2"
STORED = "MODEL (name m.s, kind FULL);\nSELECT i, k FROM raw.t"
Target = Callable[[ModelName], TableName | None]


def full(query: str, properties: str = "") -> str:
    """A FULL model m.x."""
    return f"MODEL (name m.x, kind FULL{properties and ', '}{properties});\n{query}"


def by_time(query: str, column: str = "ts", properties: str = "") -> str:
    """An INCREMENTAL_BY_TIME_RANGE model m.x."""
    kind = f"INCREMENTAL_BY_TIME_RANGE (time_column {column})"
    return f"MODEL (name m.x, kind {kind}{properties and ', '}{properties});\n{query}"


def graph_of(texts: Iterable[str], variables: Mapping[str, object] | None = None) -> Graph:
    """Models over the sources."""
    place = Place(path=Path("external_models.yaml"))
    declared = [
        external_source(ModelName.parse(name), dict(columns), place=place, defaults=DEFAULTS)
        for name, columns in SOURCES.items()
    ]
    settings = texts_of(DEFAULTS, variables or {})
    written = [
        ModelSource(path=Path(f"models/m/file{index}.sql"), text=text, defaults=settings)
        for index, text in enumerate(texts)
    ]
    return build_graph(read_model(each) for each in (*declared, *written))


def instant(text: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What runs, as Spark reads it, and the texts themselves."""

    query: exp.Query
    before: tuple[exp.Expr, ...]
    after: tuple[exp.Expr, ...]
    text: str
    texts_before: tuple[str, ...]
    texts_after: tuple[str, ...]


def read_query(text: SqlText) -> exp.Query:
    """A query's text as Spark reads it."""
    found = read_spark(text.text)
    assert isinstance(found, exp.Query)
    return found


def render(
    *texts: str,
    start: str = "2024-01-01",
    end: str = "2024-01-02",
    name: str = "m.x",
    target: Target = lambda _: None,
    inline_views: bool = True,
    variables: Mapping[str, object] | None = None,
) -> Shown:
    """What evaluating one model of a project runs; it was asked for on 2024-03-01, 01:02:03."""
    interval = Interval(instant(start), instant(end))
    found = render_model(
        graph_of(texts, variables),
        ModelName.parse(name),
        TimeRange.of(interval, execution_time=instant("2024-03-01T01:02:03")),
        target=target,
        inline_views=inline_views,
    )
    return Shown(
        query=read_query(found.query),
        before=tuple(read_spark(each.text) for each in found.before),
        after=tuple(read_spark(each.text) for each in found.after),
        text=found.query.text,
        texts_before=tuple(each.text for each in found.before),
        texts_after=tuple(each.text for each in found.after),
    )


def text_of(expression: exp.Expr) -> str:
    """A statement in Spark's dialect, without any quotes around names."""
    bare = expression.copy()
    for each in bare.find_all(exp.Identifier):
        each.set("quoted", False)
    return bare.sql(dialect="spark")


def plain(sql: str | exp.Expr) -> str:
    """A query of Spark's dialect with every name written out, so that spellings compare equal."""
    query = sqlglot.parse_one(sql, dialect="spark") if isinstance(sql, str) else sql.copy()
    schema: dict[str, object] = {"raw": {"t": COLUMNS, "u": SOURCES["raw.u"]}}
    return qualify(query, dialect="spark", schema=schema, validate_qualify_columns=False).sql(
        dialect="spark"
    )


def run(query: str | exp.Expr, zone: str = "UTC") -> list[tuple[object, ...]]:
    """The rows of a query of Spark's dialect, by DuckDB in a session of some zone."""
    parsed = sqlglot.parse_one(query, dialect="spark") if isinstance(query, str) else query
    connection = _sources()
    connection.execute("SET TimeZone = ?", [zone])
    return sorted(connection.execute(parsed.sql(dialect="duckdb")).fetchall(), key=str)


@cache
def _sources() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"SET TimeZone = 'UTC'; CREATE SCHEMA raw; {_rows_of_t()}")
    connection.execute(
        "CREATE TABLE raw.u AS SELECT * FROM "
        "(VALUES (1, 'a', 0.5), (2, 'b', 1.5), (2, 'b', 2.5), (9, 'z', NULL)) r(i, k, v)"
    )
    return connection


def _rows_of_t() -> str:
    rows = ", ".join(f"({i}, TIMESTAMP '{at}')" for i, at in INSTANTS.items())
    return f"""CREATE TABLE raw.t AS
        SELECT i, CASE WHEN i % 2 = 1 THEN 'a' ELSE 'b' END AS k, ntz AT TIME ZONE 'UTC' AS ts, ntz,
          CAST(ntz AS DATE) AS day, strftime(ntz, '%Y-%m-%d') AS iso,
          strftime(ntz, '%Y%m%d') AS digits, CAST(strftime(ntz, '%Y%m%d') AS INT) AS number,
          epoch_us(ntz) // 1000000 AS seconds, epoch_us(ntz) // 1000 AS millis, hour(ntz) AS hour
        FROM (VALUES {rows}, (8, NULL)) r(i, ntz)"""
