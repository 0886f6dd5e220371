"""`vde table-diff`: what differs between the rows that two environments show of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Note, Printed
from vde_dagster.cli.query import Answer, answer_on_views, as_table

if TYPE_CHECKING:
    from sqlglot import exp

    from vde_dagster.app.inspect.table_diff import RowDiff, TableDiff
    from vde_dagster.cli.query import Engine
    from vde_dagster.core.names import ModelName, TableName


@click.command("table-diff")
@click.argument("before", type=options.environment, metavar="A")
@click.argument("after", type=options.environment, metavar="B")
@click.argument("model", type=options.model, metavar="MODEL")
@click.option(
    "--on",
    multiple=True,
    metavar="COLUMN",
    help="A column of the key that joins rows; may be repeated. By default the model's own key.",
)
@options.limit(10, "Show at most this many rows that are added, removed and changed.")
@options.ENGINE
@options.shared
def table_diff_command(
    call: Call,
    *,
    before: str,
    after: str,
    model: ModelName,
    on: tuple[str, ...],
    limit: int,
    engine: Engine,
) -> None:
    """Compare the columns and rows of MODEL in the environments A and B.

    What has one recorded D-SHA in both is equal, and is not read. All other rows are joined by
    --on, the grain of the model or the unique key of its kind; without one each row counts as a
    whole.
    """
    from vde_dagster.app.inspect.table_diff import diff_table

    name, engines = model.within(call.catalog), set[str]()

    def ask(
        query: exp.Query, views: Mapping[ModelName, TableName], most: int
    ) -> Sequence[tuple[object, ...]]:
        answer = answer_on_views(
            call.project, query.sql("spark"), read=[*views], views=views, limit=most, engine=engine
        )
        engines.add(answer.engine)
        return answer.rows

    found = diff_table(call.services, ask, before, after, name, on=on, limit=limit)
    texts = [*_texts(found)]
    if engines:
        names = {"duckdb": "DuckDB", "spark": "Spark"}
        texts.append(Note(f"Read by {' and '.join(names[each] for each in sorted(engines))}."))
    call.answer({"diff": found, "is_equal": found.is_equal, "engines": sorted(engines)}, texts)


def _texts(found: TableDiff) -> Iterator[Printed]:
    before, after = found.before.name, found.after.name
    yield f"{found.node.name}: {before} (A) -> {after} (B)"
    for each in found.columns:
        yield f"  column {each.name}: {each.old or 'none'} -> {each.new or 'none'}"
    if found.rows is None:
        columns = "" if found.columns else " and columns"
        yield f"Equal rows{columns}: {found.why}. Nothing was read."
        return
    yield from _lines(found, found.rows)
    for title, sample in _samples(found.rows):
        yield as_table(sample, title=title)


def _lines(found: TableDiff, rows: RowDiff) -> Iterator[str]:
    from vde_dagster.core.planning.plan_text import counted_ranges

    if found.read is not None:
        yield f"Compared: {counted_ranges(found.node, found.read)}; all else has equal D-SHAs."
    for name, repeated in zip(("A", "B"), rows.repeated, strict=True):
        if repeated:
            keys = "; ".join(
                f"({', '.join(map(str, each[:-1]))}) {each[-1]} times" for each in repeated[:3]
            )
            asked = ", ".join(rows.asked_keys)
            yield f"Rows of {name} share a key ({asked}), such as {keys}: so rows are not joined."
    if rows.not_compared:
        yield f"Not compared (types without equality): {', '.join(rows.not_compared)}"
    by = f"joined by {', '.join(rows.keys)}" if rows.keys else "each row as a whole"
    yield f"Rows: {rows.before:,} in A, {rows.after:,} in B ({by})"
    changed = f", {rows.changed:,} changed" if rows.keys else ""
    yield f"{rows.added:,} only in B, {rows.removed:,} only in A{changed}"
    for name, count in rows.by_column.items():
        yield f"  {name}: {count:,} changed"


def _samples(rows: RowDiff) -> Iterator[tuple[str, Answer]]:
    for title, sample in (("Only in B", rows.added_rows), ("Only in A", rows.removed_rows)):
        if sample:
            yield title, Answer(columns=rows.columns, rows=sample, more=False)
    if rows.changed_rows:
        lines = [
            (*each.key, name, old, new)
            for each in rows.changed_rows
            for name, (old, new) in each.values.items()
        ]
        columns = (*rows.keys, "column", "A", "B")
        yield "Changed", Answer(columns=columns, rows=lines, more=False)
