"""Projects of a few model texts over a few sources, read, planned and rendered without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from tests.app.memory_world import RAW_COLUMNS, MemoryWorld, plan
from tests.core.graph.rendered import read_query
from tests.core.written_project import problems_of
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.graph.graph import Graph, Node, build_graph
from vde_dagster.core.graph.render_model import reads_of, render_model
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import InputRange
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

DEFAULTS = Defaults()
SOURCES: Mapping[str, Mapping[str, str]] = {
    "raw.events": RAW_COLUMNS,
    "raw.receipts": {"id": "bigint", "event_date": "date", "receipt_date": "date"},
    "raw.sales": {
        "transaction_id": "string",
        "product_id": "string",
        "customer_id": "string",
        "transaction_amount": "decimal(18, 2)",
        "transaction_timestamp": "timestamp",
        "currency": "string",
    },
    "raw.product_usage": {
        "product_id": "string",
        "customer_id": "string",
        "last_usage_date": "timestamp",
        "usage_count": "bigint",
    },
    "raw.menu": {
        "id": "bigint",
        "name": "string",
        "price": "double",
        "updated_at": "timestamp",
        "changed_on": "timestamp",
        "ds": "date",
    },
    "raw.rows": {
        "id": "bigint",
        "item_id": "bigint",
        "region": "string",
        "department": "string",
        "event_date": "date",
    },
}


def source(text: str, attachments: Mapping[str, str] | None = None) -> ModelSource:
    """A model's file, SQL or Python."""
    path = Path("models/m/x.py" if "@model(" in text else "models/m/x.sql")
    return ModelSource(
        path=path, text=text, defaults=DEFAULTS.as_texts(), attachments=attachments or {}
    )


def read(text: str, attachments: Mapping[str, str] | None = None) -> Model:
    """The model of a file's text."""
    return read_model(source(text, attachments))


def problems(text: str) -> tuple[Problem, ...]:
    """What is wrong with a file's text; all of it has a place in the file, and advice."""
    found = problems_of(lambda: read(text))
    assert all(each.place.path.stem == "x" and each.advice for each in found)
    return found


def refusal(text: str) -> str:
    """The one thing that is wrong with a file's text."""
    (found,) = problems(text)
    return found.message


def graph_of(*texts: str, attachments: Mapping[str, str] | None = None) -> Graph:
    """Models over the sources."""
    place = Place(path=Path("external_models.yaml"))
    declared = [
        external_source(ModelName.parse(name), dict(columns), place=place, defaults=DEFAULTS)
        for name, columns in SOURCES.items()
    ]
    written = [source(text, attachments) for text in texts]
    return build_graph(read_model(each) for each in (*declared, *written))


def node_of(*texts: str, attachments: Mapping[str, str] | None = None) -> Node:
    """The last of these models in its graph."""
    graph = graph_of(*texts, attachments=attachments)
    return graph[read(texts[-1], attachments).name]


def columns_of(*texts: str) -> list[tuple[str, str]]:
    """Names and types of the last model's columns, as its readers see them."""
    return [(each.name, each.type) for each in node_of(*texts).columns]


def plan_of(graph: Graph, environment: str = "prod", world: MemoryWorld | None = None) -> Plan:
    """The plan of a project; in a new world unless one is given."""
    return plan((world or MemoryWorld()).services(), graph, environment)


def binding_of(graph: Graph, environment: str = "prod") -> Binding:
    """A project's models on the tables that a plan gives them."""
    return bind_plan(plan_of(graph, environment))


def query_of(*texts: str, start: str, end: str) -> exp.Query:
    """What evaluating the last of these models for a range runs, over models' names."""
    times = TimeRange.of(span(start, end), execution_time=instant("2024-06-01T12:00"))
    name = read(texts[-1]).name
    return read_query(render_model(graph_of(*texts), name, times, target=lambda _: None).query)


def inputs_of(*texts: str, start: str, end: str) -> Mapping[ModelName, InputRange]:
    """What evaluating the last of these models for a range reads of what is upstream."""
    interval = span(start, end)
    reads = reads_of(graph_of(*texts), read(texts[-1]).name)
    return reads.ranges(Moments.between(interval, interval))


def sql_of(*texts: str, start: str = "2024-01-01", end: str = "2024-01-02") -> str:
    """The query of the last of these models for a range, in Spark's dialect."""
    return query_of(*texts, start=start, end=end).sql("spark")


def rows_of(
    *texts: str, start: str, end: str, data: Mapping[str, Iterable[Sequence[str]]]
) -> list[tuple[object, ...]]:
    """What evaluating the last of these models for a range returns, by DuckDB.

    ``data`` are the rows of sources, every value as text.
    """
    query = query_of(*texts, start=start, end=end)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; CREATE SCHEMA raw")
        for name, rows in data.items():
            columns = ", ".join(f"{key} {kind}" for key, kind in SOURCES[name].items())
            made = sqlglot.transpile(f"CREATE TABLE {name} ({columns})", "spark", "duckdb")[0]
            connection.execute(made)
            places = ", ".join("?" for _ in SOURCES[name])
            connection.executemany(f"INSERT INTO {name} VALUES ({places})", list(rows))
        return sorted(connection.execute(query.sql("duckdb")).fetchall(), key=str)


def instant(text: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def span(start: str, end: str) -> Interval:
    """The range from one instant to another."""
    return Interval(instant(start), instant(end))


def table_of(world: MemoryWorld, name: str, environment: str = "prod") -> TableName:
    """The table with the rows of a model that an environment shows."""
    return world.bound(environment).key(ModelName.parse(name)).table


def built(
    world: MemoryWorld,
    *texts: str,
    environment: str = "prod",
    attachments: Mapping[str, str] | None = None,
) -> list[tuple[str, Interval]]:
    """What planning and applying a project evaluated: models and ranges, in order."""
    done = world.build(graph_of(*texts, attachments=attachments), environment)
    return [(str(each.key.model), each.interval) for each in done]


def fill(world: MemoryWorld, name: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Append rows to a source in a world, which is made if it is not there."""
    schema, _, table = name.partition(".")
    target = TableName(schema, table)
    if world.catalog.table(target) is None:
        columns = [Column(name=key, type=kind) for key, kind in SOURCES[name].items()]
        world.catalog.create_table(target, columns)
    world.catalog.append(target, list(rows))
