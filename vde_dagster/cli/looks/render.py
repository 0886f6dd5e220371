"""`vde render` and `vde evaluate`: the SQL of a model, and the rows that it would return."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Note, Printed, instant, note, print_json
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vde_dagster.app.binding import Binding
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.sql.text import SqlText
    from vde_dagster.core.time.intervals import Interval


def dialect_name(text: str) -> str:
    """A dialect that sqlglot writes; wrong usage where it knows none of this name."""
    from sqlglot.dialects.dialect import Dialect

    if not text or Dialect.get(text.lower()) is None:
        raise click.BadParameter(f"{text!r} is not a dialect; write one such as spark or duckdb")
    return text


@options.command("render")
@options.MODEL
@options.SHOWN_BY
@options.START
@options.END
@click.option(
    "--execution-time",
    type=options.moment,
    metavar="INSTANT",
    help="The value of @execution_*, in UTC; now by default.",
)
@click.option(
    "--dialect",
    type=dialect_name,
    default="spark",
    show_default=True,
    metavar="NAME",
    help="Print a translation into this dialect; the model itself runs as Spark SQL.",
)
def render_command(
    call: Call,
    *,
    model: ModelName,
    environment: str | None,
    start: datetime | None,
    end: datetime | None,
    execution_time: datetime | None,
    dialect: str,
) -> None:
    """Show the final SQL of MODEL for a range, with literals for macros and physical table names.

    Pre- and post-statements are printed around the query. Notes go to standard error, so that
    standard output is SQL. Nothing is run, and neither Spark nor Java is needed.

    Without --start and --end the range is the epoch day, 1970-01-01; with one of them, that day. A
    range is widened to whole intervals of the model; that of a FULL model starts at the model's
    start.

    A Python model or a seed has no query: one sentence names the function and its inputs, or the
    file. A source is refused.

    For example:

        vde render mart.revenue --start 2024-01-01 --end 2024-01-01
    """
    interval = options.one_range(start, end)
    from vde_dagster.app.inspect.rendering import around_function, bind_models, render

    binding = bind_models(call.project, environment)
    node = call.model(binding.graph, model, binding.environment)
    if start is not None or end is not None:
        interval = _widened(node, interval)
    at = execution_time or call.services.clock.now()
    rendering = render(binding, node, interval, at)
    before, after = (
        around_function(binding, node, interval, at)
        if rendering is None
        else (rendering.before, rendering.after)
    )
    texts = [[_sql(each, dialect) for each in part] for part in (before, after)]
    rows = _without_query(node) if rendering is None else _sql(rendering.query, dialect)
    if call.is_json:
        times = {"start": interval.start, "end": interval.end, "execution_time": at}
        sql = {"sql": rows if rendering else None, "before": texts[0], "after": texts[1]}
        print_json(_facts(binding, node, interval, times=times, dialect=dialect, sql=sql))
        return
    if rendering is not None:
        table = f" into {binding.table(node.name)}" if _has_table(node) else ""
        note(f"-- {node.name} of {binding.environment} for {interval}{table}")
        original = _original(node)
        if original is not None:
            lines = (f"-- {line}".rstrip() for line in original["sql"].splitlines())
            translated = f"-- sqlglot translated it from {original['dialect']}:"
            note("\n".join([translated, *lines]))
        if before or after:
            rows = f"{rows};"
    ended = [[f"{each};" for each in part] for part in texts]
    click.echo("\n\n".join([*ended[0], rows, *ended[1]]))


def _original(node: Node) -> dict[str, str] | None:
    """The dialect of a model and its text there, macros filled in; None for Spark's SQL."""
    from vde_dagster.core.model.model import Query

    body = node.model.body
    if not isinstance(body, Query) or not body.text.original:
        return None
    return {"dialect": body.dialect, "sql": body.text.original}


def _widened(node: Node, asked: Interval) -> Interval:
    """The whole intervals that cover a range; a note says so if they are longer than it."""
    from vde_dagster.app.inspect.rendering import whole_units
    from vde_dagster.core.time.intervals import format_instant

    try:
        interval = whole_units(node.model, asked)
    except OverflowError as error:
        raise click.UsageError("the range is outside the supported dates.") from error
    if interval != asked:
        first, last = (
            f"{format_instant(each.start)} to {format_instant(each.end)}"
            for each in (asked, interval)
        )
        unit = node.model.unit.value.replace("_", " ")
        why = (
            f"is not a range that {node.name} is evaluated for: a FULL model is built whole, from "
            "its start"
            if node.model.kind.is_whole
            else f"is not aligned to the interval unit of {node.name}, {unit}"
        )
        note(f"vde: {first} {why}; rendering {last}")
    return interval


def _has_table(node: Node) -> bool:
    return not node.model.kind.is_embedded


def _sql(statement: SqlText, dialect: str) -> str:
    """A statement exactly as it runs, or its translation into another dialect."""
    from vde_dagster.core.sql.spark.reading import read_spark

    if dialect == "spark":
        return statement.text
    return read_spark(statement.text).sql(dialect=dialect, pretty=True)


def _without_query(node: Node) -> str:
    """One sentence on where the rows of a model without a query come from.

    Raises:
        Refused: It is a source.
    """
    from vde_dagster.core.model.model import PythonFunction, Query, SeedRows

    match node.model.body:
        case PythonFunction(function=function):
            reads = ", ".join(str(each) for each in node.model.parents) or "no other model"
            return (
                f"{node.name} is a Python model: `{function}` in {node.model.source.path} returns "
                f"its rows. It reads {reads}."
            )
        case SeedRows():
            return f"{node.name} is a seed: its rows are those of {_csv(node)}."
        case Query() | None:
            raise Refused(
                f"{node.name} is a source, written outside this project, so there is no SQL to run."
            )


def _csv(node: Node) -> str | None:
    """A seed's file, relative to the project."""
    from os.path import normpath

    from vde_dagster.core.model.kinds import Seed

    kind = node.model.kind
    if not isinstance(kind, Seed):
        return None
    return Path(normpath(node.model.source.path.parent / kind.path)).as_posix()


def _facts(
    binding: Binding,
    node: Node,
    interval: Interval,
    *,
    times: Mapping[str, datetime],
    dialect: str,
    sql: Mapping[str, object],
) -> dict[str, object]:
    from vde_dagster.app.inspect.rendering import inputs_of
    from vde_dagster.core.model.model import PythonFunction
    from vde_dagster.core.sql.reads.input_ranges import WholeTable

    body, path = node.model.body, str(node.model.source.path)
    function = body.function if isinstance(body, PythonFunction) else None
    return {
        "model": str(node.name),
        "kind": node.model.kind.keyword,
        "environment": binding.environment,
        "table": str(binding.table(node.name)) if _has_table(node) else None,
        "table_version": binding.key(node.name).version if _has_table(node) else None,
        **{key: instant(time) for key, time in times.items()},
        "dialect": dialect,
        "original": _original(node),
        **sql,
        "python": {"path": path, "function": function} if function else None,
        "csv": _csv(node),
        "inputs": [
            {
                "model": name,
                "table": binding.table(name),
                "ranges": None if isinstance(read, WholeTable) else read,
            }
            for name, read in sorted(inputs_of(binding, node, interval).items())
        ],
    }


@options.command("evaluate")
@options.MODEL
@options.SHOWN_BY
@options.START
@options.END
@options.limit(50, "Print at most this many rows.")
def evaluate_command(
    call: Call,
    *,
    model: ModelName,
    environment: str | None,
    start: datetime | None,
    end: datetime | None,
    limit: int,
) -> None:
    """Compute MODEL as its file is now, show its rows, and write nothing.

    Its inputs are the tables that a plan for prod would give the upstream models; they have to be
    loaded. With --env it computes the model of that environment from the tables that the
    environment shows.

    Without --start and --end it computes the last interval that could be evaluated now. A range is
    widened to whole intervals. A model that reads its own rows cannot be evaluated alone, and is
    refused.

    For example:

        vde evaluate mart.revenue --limit 20
    """
    from vde_dagster.app.inspect.rendering import bind_models, preview
    from vde_dagster.cli.looks.query import Answer, as_table
    from vde_dagster.core.time.intervals import format_instant

    binding = bind_models(call.project, environment)
    node = call.model(binding.graph, model, binding.environment)
    asked = options.asked_range(node.model, start, end)
    found = preview(call.services, binding, node.name, asked, limit=limit)
    answer = Answer(columns=found.columns, rows=found.rows, more=found.more)
    times = {"start": instant(found.interval.start), "end": instant(found.interval.end)}
    facts = {"model": str(node.name), "environment": environment, **times}

    def texts() -> Iterator[Printed]:
        yield as_table(answer)
        if node.model.kind.is_by_interval or node.model.kind.is_whole:
            first, last = format_instant(found.interval.start), format_instant(found.interval.end)
            yield Note(f"{node.name} from {first} to {last}; nothing was written.")
        if found.more:
            yield Note(f"The first {limit} rows; --limit shows more.")

    call.answer(lambda: facts | answer.as_json(), texts())
