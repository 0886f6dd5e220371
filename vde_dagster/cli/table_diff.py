"""`vde table-diff`: what differs between the rows that two environments show of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, note, print_json
from vde_dagster.cli.query import Answer, answer_on_views, as_table

if TYPE_CHECKING:
    from sqlglot import exp

    from vde_dagster.app.inspect.table_diff import RowDiff, TableDiff
    from vde_dagster.cli.query import Engine
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.names import ModelName, TableName

_ROWS: Final = 10


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
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_ROWS,
    show_default=True,
    help="Show at most this many rows that are added, removed and changed.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="Who reads rows, as for `vde query`.",
)
@options.shared
def command(
    before: str,
    after: str,
    model: ModelName,
    *,
    on: tuple[str, ...],
    limit: int,
    engine: Engine,
    output: str,
    folder: Path,
) -> None:
    """Compare the columns and rows of MODEL in the environments A and B.

    What has one recorded D-SHA in both is equal, and is not read. All other rows are joined by
    --on, the grain of the model or the unique key of its kind; without one each row counts as a
    whole.
    """
    from vde_dagster.app.inspect.table_diff import diff_table
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    name = model.within(project.configuration.catalog.name)
    asking = _Asking(project, engine)
    found = diff_table(project.services, asking.ask, before, after, name, on=on, limit=limit)
    if output == "json":
        print_json({"diff": found, "is_equal": found.is_equal, "engines": sorted(asking.engines)})
        return
    _print(found)
    if asking.engines:
        names = {"duckdb": "DuckDB", "spark": "Spark"}
        note(f"Read by {' and '.join(names[each] for each in sorted(asking.engines))}.")


class _Asking:
    """Asks queries, and remembers who answered."""

    def __init__(self, project: VdeProject, engine: Engine) -> None:
        self._project, self._engine = project, engine
        self.engines: set[str] = set()

    def ask(
        self, query: exp.Query, views: Mapping[ModelName, TableName], most: int
    ) -> Sequence[tuple[object, ...]]:
        """At most so many rows of a query over views."""
        sql = query.sql("spark")
        answer = answer_on_views(
            self._project, sql, read=[*views], views=views, limit=most, engine=self._engine
        )
        self.engines.add(answer.engine)
        return answer.rows


def _print(found: TableDiff) -> None:
    before, after = found.before.name, found.after.name
    click.echo(f"{found.node.name}: {before} (A) -> {after} (B)")
    for each in found.columns:
        click.echo(f"  column {each.name}: {each.old or 'none'} -> {each.new or 'none'}")
    if found.rows is None:
        columns = "" if found.columns else " and columns"
        click.echo(f"Equal rows{columns}: {found.why}. Nothing was read.")
        return
    for line in _lines(found, found.rows):
        click.echo(line)
    for title, table in _samples(found.rows):
        console().print(as_table(table, title=title))


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
