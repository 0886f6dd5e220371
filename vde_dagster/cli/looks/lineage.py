"""`vde lineage`: what is upstream and downstream of a model or a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text
from rich.tree import Tree

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Printed, table
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import InvalidName, ModelName

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.core.graph.graph import Graph
    from vde_dagster.core.graph.lineage import Lineage, Point
    from vde_dagster.project.loading import ProjectFiles


@options.command("lineage")
@click.argument("of", required=False, metavar="[MODEL | MODEL.COLUMN]")
def lineage_command(call: Call, *, of: str | None) -> None:
    """Show all upstream and downstream models of MODEL.

    With a column, show the columns that it is computed from, up to the sources, and the columns
    computed from it. Filters, join conditions and groupings do not count: they decide which rows
    there are. Without an argument, show every model with its direct inputs.

    Columns are followed through views and embedded models. The lineage of columns ends at a Python
    model, which is named. A type is `unknown` where neither a declaration nor a plain query gives
    it. Only files are read.

    For example:

        vde lineage mart.revenue.revenue
    """
    from vde_dagster.core.graph.lineage import lineage_of_column, model_lineage, project_lineage
    from vde_dagster.project.loading import load_project

    files = load_project(call.folder)
    graph = files.graph
    start = None if of is None else _asked(call, files, of)
    if start is None:
        found = project_lineage(graph)
    elif (column := start[1]) is None:
        found = model_lineage(graph, start[0])
    else:
        found = lineage_of_column(graph, start[0], column)
    types = _types(files, found) if start is not None or call.is_json else {}
    shown = _Shown(graph=graph, found=found, types=types)
    document = {
        "model": str(start[0]) if start else None,
        "column": start[1] if start else None,
        "nodes": [shown.facts(point) for point in found.points],
        "edges": [
            {"from": _written(parent), "to": _written(child)} for parent, child in found.edges
        ],
    }
    call.answer(document, shown.trees(start) if start is not None else [_models(graph)])


def _asked(call: Call, files: ProjectFiles, text: str) -> Point:
    """The model, or the model and its column, that a text names; a model's name wins."""
    from vde_dagster.core.sql.unresolved import guess

    graph, catalog = files.graph, files.configuration.catalog.name
    whole = _parsed(text, catalog)
    if whole is not None and whole in graph:
        return whole, None
    before, _, column = text.strip().lower().rpartition(".")
    name = _parsed(before, catalog)
    if name is None or name not in graph:
        meant = name if "." in before else whole
        if meant is None:
            raise Refused(f"{text!r} is neither `schema.model` nor `schema.model.column`.")
        return call.model(graph, meant).name, None
    columns = [each.name.lower() for each in graph[name].columns]
    if column not in columns:
        advice = guess(column, columns).strip() or f"It has {', '.join(columns)}."
        raise Refused(f"{name} has no column {column!r}", advice=advice)
    return name, column


def _parsed(text: str, catalog: str) -> ModelName | None:
    try:
        return ModelName.parse(text).within(catalog)
    except InvalidName:
        return None


def _written(point: Point) -> str:
    name, column = point
    return str(name) if column is None else f"{name}.{column}"


def _types(files: ProjectFiles, found: Lineage) -> Mapping[Point, str]:
    """The types of columns that are declared, or known without starting an engine."""
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


def _models(graph: Graph) -> Table:
    rows = (
        (
            Text(str(node.name), style="bold"),
            node.model.kind.keyword,
            ", ".join(map(str, node.model.parents)),
        )
        for node in graph
    )
    return table("model", "kind", "reads", whole=("model",), rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A lineage, and the types of its columns."""

    graph: Graph
    found: Lineage
    types: Mapping[Point, str]

    def facts(self, point: Point) -> dict[str, object]:
        """A model or column as JSON."""
        name, column = point
        end = self.found.ends.get(point)
        return {
            "id": _written(point),
            "model": str(name),
            "column": column,
            "kind": self.graph[name].model.kind.keyword,
            "type": self.types.get(point),
            "end": end.value if end else None,
            "columns_known": point not in self.found.opaque,
        }

    def trees(self, start: Point) -> Iterator[Printed]:
        """What a model or column is made of, and what it is used in."""
        yield self._label(start, end=False)
        made, used = ("reads", "read by") if start[1] is None else ("computed from", "used in")
        end = self.found.ends.get(start)
        why = _ENDS[end.value] if end is not None else "nothing"
        for title, following, otherwise in (
            (made, self.found.upstream(), why),
            (used, self.found.downstream(), "nothing"),
        ):
            if start in following:
                yield self._tree(start, title, following)
            else:
                yield Text(f"{title}: {otherwise}", style="dim")

    def _tree(self, start: Point, title: str, following: Mapping[Point, Sequence[Point]]) -> Tree:
        """The tree that starts at a point; a point that is met again is not expanded again."""
        tree = Tree(Text(title, style="dim"), guide_style="dim")
        shown: set[Point] = set()
        waiting: list[tuple[Point, Tree]] = [(point, tree) for point in reversed(following[start])]
        while waiting:
            point, branch = waiting.pop()
            label = self._label(point, end=True)
            if point in shown and point in following:
                branch.add(label.append(" (see above)", style="dim"))
                continue
            shown.add(point)
            mine = branch.add(label)
            waiting += [(each, mine) for each in reversed(following.get(point, ()))]
        return tree

    def _label(self, point: Point, *, end: bool) -> Text:
        kind = self.graph[point[0]].model.kind.keyword
        label = Text(_written(point), style="" if end else "bold")
        label.append(f" {self.types.get(point) or kind}", style="cyan")
        if point in self.found.opaque:
            label.append(" unknown columns: a Python model", style="yellow")
        elif end and point in self.found.ends and point[1] is not None:
            label.append(f" {_ENDS[self.found.ends[point].value]}", style="yellow")
        return label


_ENDS: Final = {
    "source": "a source",
    "seed": "a seed's file",
    "python": "unknown: a Python model",
    "constant": "no column: a constant, or a count of rows",
    "kind": "added by the model kind itself",
}
