"""`vde lineage`: what is upstream and downstream of a model or a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.model_choice import chosen, nearest, parsed
from vde_dagster.cli.printing import console, print_json, table
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from vde_dagster.core.graph.graph import Graph, Node
    from vde_dagster.core.graph.lineage import Lineage, Point
    from vde_dagster.project.loading import ProjectFiles


@click.command("lineage")
@click.argument("of", required=False, metavar="[MODEL | MODEL.COLUMN]")
@options.shared
def command(*, of: str | None, output: str, folder: Path) -> None:
    """Show what MODEL reads and what reads it, through all models in between.

    With a column, the columns that it is computed from, up to the sources, and the columns that are
    computed from it. Without an argument, every model and what it reads.
    """
    from vde_dagster.core.graph.lineage import lineage_of_column, model_lineage, project_lineage
    from vde_dagster.project.loading import load_project

    files = load_project(folder)
    graph, catalog = files.graph, files.configuration.catalog.name
    if of is None:
        found, start = project_lineage(graph), None
    else:
        node, column = _asked(graph, of, catalog=catalog)
        start = (node.name, column)
        if column is None:
            found = model_lineage(graph, node.name)
        else:
            found = lineage_of_column(graph, node.name, column)
    types = _types(files, found) if start is not None or output == "json" else {}
    if output == "json":
        print_json(_facts(graph, found, start, types))
    elif start is None:
        _print_models(graph)
    else:
        _print_trees(graph, found, start, types)


def _asked(graph: Graph, text: str, *, catalog: str) -> tuple[Node, str | None]:
    """The model, or the model and its column, that a text names; a model's name wins."""
    whole = parsed(text, catalog=catalog)
    if whole is not None and whole in graph:
        return graph[whole], None
    before, dot, column = text.strip().lower().rpartition(".")
    name = parsed(before, catalog=catalog) if dot else None
    if name is None or name not in graph:
        meant = name if "." in before else whole
        if meant is None:
            raise Refused(f"{text!r} is neither `schema.model` nor `schema.model.column`.")
        return chosen(graph, meant, catalog=catalog, where="this project"), None
    columns = [each.name.lower() for each in graph[name].columns]
    if column not in columns:
        guess = nearest(column, columns) or f"It has {', '.join(columns)}."
        raise Refused(f"{name} has no column {column!r}", advice=guess)
    return graph[name], column


def _facts(
    graph: Graph, found: Lineage, start: Point | None, types: Mapping[Point, str]
) -> dict[str, object]:
    return {
        "model": str(start[0]) if start else None,
        "column": start[1] if start else None,
        "nodes": [_node_facts(graph, found, point, types) for point in found.points],
        "edges": [
            {"from": _written(parent), "to": _written(child)} for parent, child in found.edges
        ],
    }


def _node_facts(
    graph: Graph, found: Lineage, point: Point, types: Mapping[Point, str]
) -> dict[str, object]:
    name, column = point
    end = found.ends.get(point)
    return {
        "id": _written(point),
        "model": str(name),
        "column": column,
        "kind": graph[name].model.kind.keyword,
        "type": types.get(point),
        "end": end.value if end else None,
        "columns_known": point not in found.opaque,
    }


def _written(point: Point) -> str:
    name, column = point
    return str(name) if column is None else f"{name}.{column}"


def _types(files: ProjectFiles, found: Lineage) -> Mapping[Point, str]:
    """The types of columns that are declared, or that are told without starting an engine."""
    from vde_dagster.app.unit_tests.column_types import ColumnTypes
    from vde_dagster.app.unit_tests.running import Engines
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.unit_tests.column_types import declared_columns
    from vde_dagster.core.unit_tests.definition import NeedsEngine

    graph, quick = files.graph, VdeProject(files.configuration).quick_answers
    types: dict[Point, str] = {}
    known = ColumnTypes(engines=Engines(engine=None, quick=quick))
    for name in {name for name, column in found.points if column is not None}:
        try:
            columns = known.columns(graph, name)
        except NeedsEngine:
            columns = declared_columns(graph[name])
        types |= {(name, each.name.lower()): each.type for each in columns}
    return types


def _print_models(graph: Graph) -> None:
    from rich.text import Text

    rows = table("model", "kind", "reads", whole=("model",))
    for node in graph:
        reads = ", ".join(str(parent) for parent in node.model.parents)
        rows.add_row(Text(str(node.name), style="bold"), node.model.kind.keyword, Text(reads))
    console().print(rows)


def _print_trees(graph: Graph, found: Lineage, start: Point, types: Mapping[Point, str]) -> None:
    made, used = ("computed from", "used in") if start[1] is not None else ("reads", "read by")
    screen = console()
    screen.print(_label(graph, found, start, types, end=False))
    for title, following, upward in (
        (made, found.upstream(), True),
        (used, found.downstream(), False),
    ):
        end = found.ends.get(start)
        if start in following:
            screen.print(_tree(graph, found, start, types, title=title, following=following))
        else:
            why = _ENDS[end.value] if upward and end is not None else "nothing"
            screen.print(f"{title}: {why}", style="dim")


def _tree(
    graph: Graph,
    found: Lineage,
    start: Point,
    types: Mapping[Point, str],
    *,
    title: str,
    following: Mapping[Point, Sequence[Point]],
) -> Tree:
    """The tree that starts at a point; a point that is met again is not expanded again."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(title, style="dim"), guide_style="dim")
    shown: set[Point] = set()
    waiting: list[tuple[Point, Tree]] = [(point, tree) for point in reversed(following[start])]
    while waiting:
        point, branch = waiting.pop()
        label = _label(graph, found, point, types, end=True)
        if point in shown and point in following:
            branch.add(label.append(" (see above)", style="dim"))
            continue
        shown.add(point)
        mine = branch.add(label)
        waiting += [(each, mine) for each in reversed(following.get(point, ()))]
    return tree


def _label(
    graph: Graph, found: Lineage, point: Point, types: Mapping[Point, str], *, end: bool
) -> Text:
    from rich.text import Text

    label = Text(_written(point), style="bold" if not end else "")
    label.append(f" {types.get(point) or graph[point[0]].model.kind.keyword}", style="cyan")
    if point in found.opaque:
        label.append(" which of its columns is not known: a Python model", style="yellow")
    elif end and point in found.ends and point[1] is not None:
        label.append(f" {_ENDS[found.ends[point].value]}", style="yellow")
    return label


_ENDS: Final = {
    "source": "a source",
    "seed": "a seed's file",
    "python": "not known: a Python model",
    "constant": "no column: a constant, or a count of rows",
    "kind": "added by the model kind itself",
}
