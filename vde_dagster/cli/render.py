"""`vde render`: the SQL that an evaluation would run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.model_choice import ENVIRONMENT, chosen
from vde_dagster.cli.printing import instant, note, print_json
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vde_dagster.app.binding import Binding
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.graph.render_model import RenderedModel
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.sql.text import SqlText
    from vde_dagster.core.time.intervals import Interval


def dialect_name(text: str) -> str:
    """A dialect that sqlglot writes; wrong usage where it knows none of this name."""
    from sqlglot.dialects.dialect import Dialect

    if not text or Dialect.get(text.lower()) is None:
        raise click.BadParameter(f"{text!r} is no dialect; write one such as spark or duckdb")
    return text


@click.command("render")
@click.argument("model", type=options.model)
@ENVIRONMENT
@timing.START
@timing.END
@click.option(
    "--execution-time",
    type=options.moment,
    metavar="INSTANT",
    help="What @execution_* stands for, in UTC; now by default.",
)
@click.option(
    "--dialect",
    type=dialect_name,
    default="spark",
    show_default=True,
    metavar="NAME",
    help="Print a translation into this dialect; what runs is Spark SQL.",
)
@options.shared
def command(
    model: ModelName,
    *,
    environment: str | None,
    start: datetime | None,
    end: datetime | None,
    execution_time: datetime | None,
    dialect: str,
    output: str,
    folder: Path,
) -> None:
    """Show the final SQL of MODEL for a range: macros as literals, tables by their physical names.

    Without --start and --end the range is the epoch day, 1970-01-01; with one of them, that day.
    Any range is widened to whole intervals of the model; that of a FULL model begins at the model's
    start. The tables are those of ENV, or those that a plan would give the models of the files.
    """
    interval = timing.one_range(start, end)
    from vde_dagster.app.inspect.rendering import around_function, bind_models, render
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    binding = bind_models(project, environment)
    catalog = project.configuration.catalog.name
    node = chosen(binding.graph, model, catalog=catalog, where=binding.environment)
    if start is not None or end is not None:
        interval = _widened(node, interval)
    at = execution_time or project.services.clock.now()
    rendering = render(binding, node, interval, at)
    if output == "json":
        times = {"start": interval.start, "end": interval.end, "execution_time": at}
        print_json(_facts(binding, node, interval, rendering, times=times, dialect=dialect))
    elif rendering is not None:
        note(_heading(binding, node, interval))
        original = _original(node)
        if original is not None:
            note(f"-- sqlglot translated it from {original[0]}:\n{_commented(original[1])}")
        click.echo("\n\n".join(_statements(rendering, dialect)))
    else:
        before, after = around_function(binding, node, interval, at)
        texts = [[f"{_sql(each, dialect)};" for each in part] for part in (before, after)]
        click.echo("\n\n".join([*texts[0], _without_query(node), *texts[1]]))


def _original(node: Node) -> tuple[str, str] | None:
    """The dialect of a model and its text there, macros filled in; None for Spark's SQL."""
    from vde_dagster.core.model.model import Query

    body = node.model.body
    if not isinstance(body, Query) or not body.text.original:
        return None
    return body.dialect, body.text.original


def _commented(text: str) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in text.splitlines())


def _widened(node: Node, asked: Interval) -> Interval:
    """The whole intervals that cover a range; a note says so if they are longer than it."""
    from vde_dagster.app.inspect.rendering import whole_units
    from vde_dagster.core.time.intervals import format_instant

    try:
        interval = whole_units(node.model, asked)
    except OverflowError as error:
        raise click.UsageError("the range lies before or after every date.") from error
    if interval != asked:
        first, last = (
            f"{format_instant(each.start)} to {format_instant(each.end)}"
            for each in (asked, interval)
        )
        unit = node.model.unit.value.replace("_", " ")
        why = (
            f"is not what an evaluation of {node.name} has, since a FULL model is made at once "
            "from its start"
            if node.model.kind.is_whole
            else f"is not aligned to the interval unit of {node.name}, {unit}"
        )
        note(f"vde: {first} {why}; rendering {last}")
    return interval


def _heading(binding: Binding, node: Node, interval: Interval) -> str:
    table = f" into {binding.table(node.name)}" if _has_table(node) else ""
    return f"-- {node.name} of {binding.environment} for {interval}{table}"


def _has_table(node: Node) -> bool:

    return not node.model.kind.is_embedded


def _version(binding: Binding, node: Node) -> str:
    return binding.key(node.name).version


def _statements(rendering: RenderedModel, dialect: str) -> list[str]:
    """Every statement as it runs; a query alone has no semicolon."""
    every = (*rendering.before, rendering.query, *rendering.after)
    texts = [_sql(each, dialect) for each in every]
    return texts if len(texts) == 1 else [f"{text};" for text in texts]


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
                f"{node.name} is a Python model: `{function}` in {node.model.source.path} makes "
                f"its rows. It reads {reads}."
            )
        case SeedRows():
            return f"{node.name} is a seed: its rows are those of {_csv(node)}."
        case Query() | None:
            raise Refused(f"{node.name} is a source: others write it, so nothing is run for it.")


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
    rendering: RenderedModel | None,
    *,
    times: Mapping[str, datetime],
    dialect: str,
) -> dict[str, object]:
    from vde_dagster.app.inspect.rendering import around_function, inputs_of
    from vde_dagster.core.model.model import PythonFunction
    from vde_dagster.core.sql.reads.input_ranges import WholeTable

    if rendering is None:
        _without_query(node)  # a source is refused
    before, after = (
        (rendering.before, rendering.after)
        if rendering is not None
        else around_function(binding, node, interval, times["execution_time"])
    )
    body = node.model.body
    function = body.function if isinstance(body, PythonFunction) else None
    original = _original(node)
    return {
        "model": str(node.name),
        "kind": node.model.kind.keyword,
        "environment": binding.environment,
        "table": str(binding.table(node.name)) if _has_table(node) else None,
        "table_version": _version(binding, node) if _has_table(node) else None,
        **{key: instant(time) for key, time in times.items()},
        "dialect": dialect,
        "original": {"dialect": original[0], "sql": original[1]} if original else None,
        "sql": _sql(rendering.query, dialect) if rendering else None,
        "before": [_sql(each, dialect) for each in before],
        "after": [_sql(each, dialect) for each in after],
        "python": {"path": str(node.model.source.path), "function": function} if function else None,
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
