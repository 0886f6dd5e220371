"""`vde adopt`: rows of a table that another program has filled become a model's."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Printed, as_json
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import plural
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval, format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vde_dagster.app.evaluate.existing_rows import Adopted, Difference
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.model.snapshot import VersionKey


def _table(text: str) -> TableName:
    """The table of a name that a user wrote."""
    name = options.model(text)
    return TableName(name.schema, name.name)


@options.command("adopt")
@options.MODEL
@click.option(
    "--from",
    "table",
    type=_table,
    required=True,
    metavar="SCHEMA.TABLE",
    help="The Iceberg table, in the project's catalog. It is only read.",
)
@options.bound("start", "The first instant, in UTC: 2019-01-01. The model's start by default.")
@options.bound(
    "end", "The end, in UTC: a date means the whole day. By default all intervals that have ended."
)
@click.option(
    "--check",
    "samples",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Compute N intervals first and compare them with the table's; 0 compares nothing.",
)
@click.option(
    "--copy",
    "copies",
    is_flag=True,
    help="Copy the rows. Without --copy and --shallow they are only compared.",
)
@click.option(
    "--shallow",
    is_flag=True,
    help="Copy no row: the model's table refers to the files that have them.",
)
@options.ENVIRONMENT
def adopt_command(
    call: Call,
    *,
    model: ModelName,
    table: TableName,
    start: datetime | None,
    end: datetime | None,
    samples: int,
    copies: bool,
    shallow: bool,
    environment: str,
) -> None:
    """Fill MODEL with the rows of a table that its query would also return.

    Plan the environment with --skip-backfill first. The command computes some intervals and
    compares them with the table's rows. If they differ, it shows the rows and writes nothing.
    Audits run on all adopted rows. Loaded intervals stay, so you can repeat a stopped command.

    Models that build on their own rows get the whole table.

    Exit codes: 0 if all rows were adopted or loaded already, 1 if rows differ or it is refused.

    For example:

        vde adopt mart.revenue --from old_mart.revenue --copy
    """
    if copies and shallow:
        raise click.UsageError("--copy and --shallow cannot be combined.")
    asked = options.any_range(start, end)
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.evaluate.existing_rows import Taking, adopt

    binding = shown_binding(call.services, environment)
    node = call.model(binding.graph, model, environment)
    taking = Taking.COPY if copies else Taking.SHALLOW if shallow else Taking.NOTHING
    done = adopt(call.services, binding, node.name, table, asked, samples=samples, taking=taking)
    kept = ""
    if shallow and done.copied:
        kept = _kept(replace(table, catalog=call.catalog), binding.key(node.name), done)
    facts = {
        "model": node.name,
        "environment": environment,
        "table": table,
        "checked": done.checked,
        "differences": [_facts(each) for each in done.differences],
        "copied": done.intervals,
        "rows": done.rows,
        "left": done.left,
        "keep": kept,
    }
    looks = taking is Taking.NOTHING and not done.differences
    texts = _texts(node, table, done, kept=kept)
    call.answer(facts, (*texts, _LOOKED) if looks else texts)
    if done.differences:
        raise Refused(
            f"the query of {node.name} returns other rows than {table} has; nothing was written",
            advice="Change the query or the start. Give --check 0 if the table is right.",
        )


_LOOKED: Final = "Nothing was written. Add --copy or --shallow to write."


def _facts(each: Difference) -> dict[str, object]:
    rows = [[as_json(value) for value in row] for row in each.rows]
    return {"interval": each.interval, "columns": ["side", *each.columns], "rows": rows}


def _kept(table: TableName, key: VersionKey, done: Adopted) -> str:
    """The statement by which the table's owner keeps the files that the model's table refers to."""
    return (
        f"ALTER TABLE {table} CREATE TAG vde_{key.version[:8]} "
        f"AS OF VERSION {done.source_snapshot_id}"
    )


def _texts(node: Node, table: TableName, done: Adopted, *, kept: str) -> Iterator[Printed]:
    from vde_dagster.cli.looks.query import Answer, as_table

    for each in done.differences:
        yield f"{node.name} {_span([each.interval])}, first rows that only one side has:"
        yield as_table(Answer(columns=("side", *each.columns), rows=each.rows, more=False))
    same = len(done.checked) - len(done.differences)
    if same:
        yield f"{plural(same, 'interval')} computed and compared: the same rows as in {table}."
    if done.intervals:
        copied = "Adopted without a copy" if kept else "Copied"
        rows = plural(done.rows, "row")
        yield f"{copied} {_span(done.intervals)} into {node.name}: {rows}."
    if kept:
        yield (
            f"Its files belong to {table}. The owner of that table protects them with this "
            "statement:"
        )
        yield f"  {kept}"
    if done.left:
        yield f"Already loaded, and left unchanged: {_span(done.left)}."


def _span(intervals: Sequence[Interval]) -> str:
    first, last = intervals[0].start, intervals[-1].end
    return f"{format_instant(first)} to {format_instant(last)}"
