"""`vde compare`, `vde diff` and `vde table-diff`: what differs in two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text
from rich.tree import Tree

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.looks.query import Answer, answer_on_views, as_table
from vde_dagster.cli.plans.plan_view import MARKS, head
from vde_dagster.cli.printing import Note, Printed
from vde_dagster.core.listing import plural, some
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import sentence
from vde_dagster.core.planning.plan_text import bound_text, counted_ranges, versions_text

if TYPE_CHECKING:
    from rich.text import Text
    from sqlglot import exp

    from vde_dagster.app.inspect.compare import ComparedModel, Comparison
    from vde_dagster.app.inspect.environment_diff import EnvironmentDiff, ModelDiff
    from vde_dagster.app.inspect.table_diff import RowDiff, TableDiff
    from vde_dagster.cli.looks.query import Engine
    from vde_dagster.core.names import ModelName, TableName


@options.command("compare")
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--strict-columns",
    is_flag=True,
    help="Removing or changing a column that no model reads is breaking, since others may read it "
    "(also strict_columns of AFTER's vde.yaml).",
)
def compare_command(call: Call, *, before: str, after: str | None, strict_columns: bool) -> None:
    """Compare two revisions of a project, by their files alone.

    BEFORE and AFTER are folders with a project, or git revisions (a branch, a tag, a commit,
    HEAD~1) of the project in --project DIR. If a name is both, the folder is used; git:NAME is the
    revision. Without AFTER, the project's current folder is used.

    For each model it shows whether the model or only an upstream model changed, the category with
    its reasons, the changed columns, and whether it would be rebuilt. It compares definitions, not
    environments or rows.

    No environment, catalog or Spark is needed. The work tree and git stay unchanged, and nothing is
    fetched: compare folders if seeds are stored in Git LFS. Problems of both sides are reported
    together, as `revision:path:line`.

    For example:

        vde compare main
    """
    from vde_dagster.app.inspect.compare import compare

    found = compare(before, after, project=call.folder, strict_columns=strict_columns)
    counts = Counter(each.difference.change.value for each in found.models)
    call.answer(lambda: {**fields_of(found), "counts": counts}, _comparison(found))


_SECTIONS: Final = {
    Change.DIRECT: "Changed",
    Change.INDIRECT: "Changed upstream",
    Change.METADATA: "Only metadata",
    Change.ADDED: "New",
    Change.REMOVED: "Removed",
}
_MOST: Final = 30
"""How many models of each section but the first are shown, and how many columns of a model."""


def _comparison(comparison: Comparison) -> Iterator[Printed]:
    """What differs and what follows; unchanged models are only counted."""
    yield Text(f"{comparison.before.title} -> {comparison.after.title}", style="bold")
    for change, heading in _SECTIONS.items():
        found = [each for each in comparison.models if each.difference.change is change]
        if found:
            yield ""
            yield _section(f"{heading} ({len(found):,})", change, found)
    yield ""
    yield from _totals(comparison)


def _section(heading: str, change: Change, models: Sequence[ComparedModel]) -> Tree:
    tree = Tree(Text(heading, style="bold underline"), guide_style="dim")
    most = len(models) if change is Change.DIRECT else _MOST
    for each in models[:most]:
        branch = tree.add(_head(each))
        for line in _details(each):
            branch.add(line)
    if len(models) > most:
        tree.add(_and_more(len(models) - most))
    return tree


def _and_more(number: int) -> str:
    return f"... and {number:,} more (--format json lists all)"


def _head(compared: ComparedModel) -> Text:
    """What a model is called, what happens to it, and its versions."""
    is_source = compared.model.kind.is_source
    text = head(compared.difference, changed=False, of=" source" if is_source else "")
    if not is_source:
        sides = (each.version if each else None for each in (compared.before, compared.after))
        text.append(f"  {versions_text(*sides)}", style="not bold cyan")
    outcome = _outcome(compared)
    if outcome:
        text.append(f"  {outcome}", style="" if outcome == _REBUILT else "not bold")
    return text


def _details(compared: ComparedModel) -> Iterator[Text]:
    difference = compared.difference
    if difference.change not in (Change.ADDED, Change.REMOVED):
        yield from (Text(sentence(reason), style="dim") for reason in difference.reasons)
        if difference.columns_changed:
            yield Text(f"columns: {some(difference.columns_changed, _MOST)}")


_BUILT: Final = "built"
_REBUILT: Final = "rebuilt"
_VIEW_REBUILT: Final = "view rebuilt"
_KEPT: Final = "kept"


def _outcome(compared: ComparedModel) -> str:
    """What would happen to a model's table or view; empty for a model that has neither."""
    old, new = compared.before, compared.after
    if new is None or not compared.model.kind.is_physical:
        return ""
    if old is None:
        return _BUILT
    if compared.model.kind.is_view:
        return _KEPT if old.version == new.version else _VIEW_REBUILT
    return _REBUILT if compared.difference.rebuild else _KEPT


def _totals(comparison: Comparison) -> Iterator[str]:
    models = [each for each in comparison.models if not each.model.kind.is_source]
    sources = len(comparison.models) - len(models)
    tally = Counter(each.difference.change for each in models)
    said = ", ".join(f"{tally[each]:,} {MARKS[each][2]}" for each in MARKS if tally[each])
    yield f"{said or 'No models'}; {plural(sources, 'source')}."
    yield _work(Counter(map(_outcome, comparison.models)))


def _work(outcomes: Counter[str]) -> str:
    """The last line: how many tables and views are computed, and how many stay."""
    built, views = outcomes[_BUILT], outcomes[_VIEW_REBUILT]
    parts = [
        f"{outcomes[_REBUILT]:,} rebuilt",
        f"{built:,} built new" if built else "",
        f"{plural(views, 'view')} rebuilt" if views else "",
        f"{outcomes[_KEPT]:,} kept",
    ]
    return f"Effect of a plan: {', '.join(filter(None, parts))}."


@options.command("diff")
@click.argument("before", type=options.environment, metavar="A")
@click.argument("after", type=options.environment, default="prod", metavar="[B]")
def diff_command(call: Call, *, before: str, after: str) -> None:
    """Compare the models of environment A with those of B (prod by default).

    It lists the models whose definition or version differs, why, and which intervals only one side
    has. Intervals that both have are compared by their recorded D-SHAs: no row is read, and Spark
    is not started.

    Rows are reported as `one table` (both show the same version), `equal rows`, `other rows in`
    some intervals, or `rows not compared`. The last is for views, models without common intervals,
    and rows hashed in two ways.

    For example:

        vde diff dev prod
    """
    from vde_dagster.app.inspect.environment_diff import diff_environments

    found = diff_environments(call.services, before, after)
    document = {"before": found.before, "after": found.after, "models": found.models}
    call.answer(document, _differences(found))


def _differences(found: EnvironmentDiff) -> Iterator[Printed]:
    one, other = found.before, found.after
    title = f"{one.name} (revision {one.revision}) -> {other.name} (revision {other.revision})"
    yield Text(title, style="bold")
    different = [each for each in found.models if not each.is_same]
    for each in different[:_MOST]:
        tree = Tree(head(each.difference, changed=False), guide_style="dim")
        for line in _model_differences(found, each):
            tree.add(line)
        yield tree
    if len(different) > _MOST:
        yield _and_more(len(different) - _MOST)
    yield f"{len(different):,} differ, {len(found.models) - len(different):,} are the same."


def _model_differences(found: EnvironmentDiff, each: ModelDiff) -> Iterator[Text]:
    if each.before is None or each.after is None:
        lacking = found.before if each.before is None else found.after
        yield Text(f"not in {lacking.name}", style="dim")
        return
    for reason in each.difference.reasons:
        yield Text(sentence(reason), style="dim")
    old, new = each.before.version, each.after.version
    yield Text(versions_text(old, new), style="cyan")
    for shown, snapshot in ((found.before, each.before), (found.after, each.after)):
        if snapshot.bounded is not None:
            yield Text(f"{shown.name}: {bound_text(snapshot.bounded)}, and never promoted")
    if old != new:
        where = f" in {counted_ranges(each.node, each.different)}" if each.different else ""
        yield Text(f"{each.rows.value}{where}")
    for shown, alone in ((found.before, each.only_before), (found.after, each.only_after)):
        if alone:
            yield Text(f"only {shown.name} has {counted_ranges(each.node, alone)}")


@options.command("table-diff")
@click.argument("before", type=options.environment, metavar="A")
@click.argument("after", type=options.environment, metavar="B")
@options.MODEL
@click.option(
    "--on",
    multiple=True,
    metavar="COLUMN",
    help="A column of the join key; repeatable. By default the model's own key.",
)
@options.limit(10, "Show at most this many rows that are added, removed and changed.")
@options.ENGINE
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

    Intervals with the same recorded D-SHA are equal, and are not read. Other rows are joined by
    --on, or by a grain of the model, or by the unique key of its kind. Nulls are equal. Without a
    key, each row counts as a whole, and so do rows whose key is not unique.

    It prints how many rows only A or only B has, how many differ and in which columns, and some of
    each. Columns whose types do not fit, and maps, are listed as not compared. If a table is
    written or a view moves meanwhile, it reports that instead.

    For example:

        vde table-diff prod dev mart.revenue --on day
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
    texts = [*_table_differences(found)]
    if engines:
        names = {"duckdb": "DuckDB", "spark": "Spark"}
        texts.append(Note(f"Read by {' and '.join(names[each] for each in sorted(engines))}."))
    call.answer({"diff": found, "is_equal": found.is_equal, "engines": sorted(engines)}, texts)


def _table_differences(found: TableDiff) -> Iterator[Printed]:
    before, after = found.before.name, found.after.name
    yield f"{found.node.name}: {before} (A) -> {after} (B)"
    for each in found.columns:
        yield f"  column {each.name}: {each.old or 'none'} -> {each.new or 'none'}"
    if found.rows is None:
        columns = "" if found.columns else " and columns"
        yield f"Equal rows{columns}: {found.why}. Nothing was read."
        return
    yield from _row_differences(found, found.rows)
    for title, sample in _samples(found.rows):
        yield as_table(sample, title=title)


def _row_differences(found: TableDiff, rows: RowDiff) -> Iterator[str]:
    from vde_dagster.core.planning.plan_text import counted_ranges

    if found.read is not None:
        read = counted_ranges(found.node, found.read)
        yield f"Compared: {read}; all other intervals have equal D-SHAs."
    for name, repeated in zip(("A", "B"), rows.repeated, strict=True):
        if repeated:
            keys = "; ".join(
                f"({', '.join(map(str, each[:-1]))}) {each[-1]} times" for each in repeated[:3]
            )
            asked = ", ".join(rows.asked_keys)
            yield f"Rows of {name} share a key ({asked}), such as {keys}. Rows are not joined."
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
