"""Lineage: from which columns of the parents each column is computed, and what reads what.

A column's lineage is what its values are computed from. Filters, join conditions and grouping are
not part of it: they decide which rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from sqlglot import exp

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.model import PythonFunction, Query, SeedRows
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.select_clauses import listed_columns
from vde_dagster.core.sql.spark.names import KnownTables
from vde_dagster.core.sql.spark.scopes import Scopes
from vde_dagster.core.sql.table_names import model_name_of, query_of

T = TypeVar("T")
ColumnOf = tuple[ModelName, str]
"""A parent, and one of its columns in lower case."""


Point = tuple[ModelName, str | None]
"""A model, or with a name in lower case one of its columns."""


class End(Enum):
    """Why the lineage ends at a model or column."""

    SOURCE = "source"
    SEED = "seed"
    PYTHON = "python"
    CONSTANT = "constant"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The lineage of a model or column in both directions, or that of the whole project.

    ``points`` are in dependency order; an edge goes from what is read to what reads it. ``ends``
    has the points at which lineage ends (what the columns of a Python model are computed from is
    not known). ``opaque`` are the Python models downstream of a column: they read its model, and
    which of their own columns follow from it is not known.
    """

    points: tuple[Point, ...]
    edges: tuple[tuple[Point, Point], ...]
    ends: Mapping[Point, End]
    opaque: frozenset[Point] = frozenset()

    def upstream(self) -> dict[Point, list[Point]]:
        """What each point reads directly; a point that reads nothing is not in it."""
        return _grouped((child, parent) for parent, child in self.edges)

    def downstream(self) -> dict[Point, list[Point]]:
        """What reads each point directly; a point that nothing reads is not in it."""
        return _grouped(self.edges)


def _grouped(edges: Iterable[tuple[T, T]]) -> dict[T, list[T]]:
    found: dict[T, list[T]] = {}
    for one, other in edges:
        found.setdefault(one, []).append(other)
    return found


def project_lineage(graph: Graph) -> Lineage:
    """Every model and source of a project, with what each of them reads."""
    points = [(node.name, None) for node in graph]
    edges = [((parent, None), (node.name, None)) for node in graph for parent in node.model.parents]
    return _lineage(graph, points, edges)


def model_lineage(graph: Graph, name: ModelName) -> Lineage:
    """A model with all that it reads, and all that reads it, directly or through others."""
    children = _children(graph)
    return _walk(
        graph,
        (name, None),
        upstream=lambda point: [(each, None) for each in graph[point[0]].model.parents],
        downstream=lambda point: [(each, None) for each in children.get(point[0], ())],
    )


def lineage_of_column(graph: Graph, name: ModelName, column: str) -> Lineage:
    """A column with all columns that it is computed from, and all that are computed from it.

    Views and embedded models are passed through like every other model. A Python model says
    nothing about its columns, so it ends the walk on both sides.

    Args:
        graph: The project.
        name: A model or source.
        column: One of its columns, in any case.
    """
    children = _children(graph)
    known: dict[ModelName, dict[str, tuple[ColumnOf, ...]]] = {}

    def behind(model: ModelName) -> dict[str, tuple[ColumnOf, ...]]:
        if model not in known:
            canonical = graph[model].canonical
            known[model] = column_lineage(canonical.expression) if canonical is not None else {}
        return known[model]

    def upstream(point: Point) -> Iterable[Point]:
        return behind(point[0]).get(point[1] or "", ())

    def downstream(point: Point) -> Iterator[Point]:
        if point[1] is None:
            return
        for child in children.get(point[0], ()):
            if isinstance(graph[child].model.body, PythonFunction):
                yield child, None
            yield from ((child, own) for own, made_of in behind(child).items() if point in made_of)

    return _walk(graph, (name, column.lower()), upstream=upstream, downstream=downstream)


def _walk(
    graph: Graph,
    start: Point,
    *,
    upstream: Callable[[Point], Iterable[Point]],
    downstream: Callable[[Point], Iterable[Point]],
) -> Lineage:
    upward = [(parent, child) for child, parent in _steps(start, upstream)]
    edges = [*upward, *_steps(start, downstream)]
    points = {start, *(point for edge in edges for point in edge)}
    return _lineage(graph, points, edges)


def _steps(
    start: Point, following: Callable[[Point], Iterable[Point]]
) -> list[tuple[Point, Point]]:
    """Every step from a point on, each point left once."""
    steps: list[tuple[Point, Point]] = []
    waiting, seen = [start], {start}
    while waiting:
        point = waiting.pop()
        for each in following(point):
            steps.append((point, each))
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return steps


def _lineage(
    graph: Graph, points: Iterable[Point], edges: Iterable[tuple[Point, Point]]
) -> Lineage:
    position = _positions(graph)
    ordered = tuple(sorted(points, key=position))
    linked = tuple(sorted(edges, key=lambda edge: (position(edge[1]), position(edge[0]))))
    read = {child for _, child in linked}
    ends = {
        point: end
        for point in ordered
        if point not in read and (end := _end(graph[point[0]], point[1])) is not None
    }
    asked_column = any(column is not None for _, column in ordered)
    opaque = frozenset(point for point in ordered if asked_column and point[1] is None)
    return Lineage(points=ordered, edges=linked, ends=ends, opaque=opaque)


def _end(node: Node, column: str | None) -> End | None:
    match node.model.body:
        case None:
            return End.SOURCE if node.model.kind.is_source else End.KIND
        case SeedRows():
            return End.SEED
        case PythonFunction():
            return End.PYTHON if column is not None else None
        case Query():
            if column is None or node.canonical is None:
                return None
            named = {each.name.lower() for each in node.canonical.columns}
            return End.CONSTANT if column in named else End.KIND


def _positions(graph: Graph) -> Callable[[Point], tuple[int, int, str]]:
    """The place of a point: its model's in the graph, then its column's in the model."""
    models = {node.name: index for index, node in enumerate(graph)}
    columns = {
        (node.name, column.name.lower()): index
        for node in graph
        for index, column in enumerate(node.columns)
    }

    def position(point: Point) -> tuple[int, int, str]:
        model, column = point
        if column is None:
            return models[model], -1, ""
        return models[model], columns.get((model, column), len(columns)), column

    return position


def _children(graph: Graph) -> dict[ModelName, list[ModelName]]:
    return _grouped((parent, node.name) for node in graph for parent in node.model.parents)


def column_lineage(query: exp.Query) -> dict[str, tuple[ColumnOf, ...]]:
    """The parents' columns behind each output column, sorted; none for a constant.

    Linear in the size of the query for each output column at most once per query in it.

    Args:
        query: Canonical: every column is bound to its table or sub-query, no star is left.
    """
    traced = trace_columns(query, _Origins())
    return {name: tuple(sorted(columns)) for name, columns in traced.items()}


class Tracing(Protocol[T]):
    """What is found of a column, from what is found of the columns that it is computed from."""

    def leaf(self, column: ColumnOf, scan: int) -> T:
        """What is found of a parent's column; ``scan`` counts how often a FROM has the parent."""
        ...

    def computed(self, expression: exp.Expr, read: Sequence[T]) -> T:
        """What is found of an expression, from what it reads in the order of its text."""
        ...

    def united(self, branches: Sequence[T]) -> T:
        """What is found of a column of a set operation."""
        ...


class _Origins:
    """Finds the parents' columns that a column is computed from."""

    def leaf(self, column: ColumnOf, scan: int) -> frozenset[ColumnOf]:
        return frozenset([column])

    def computed(
        self,
        expression: exp.Expr,
        read: Sequence[frozenset[ColumnOf]],
    ) -> frozenset[ColumnOf]:
        return self.united(read)

    def united(self, branches: Sequence[frozenset[ColumnOf]]) -> frozenset[ColumnOf]:
        return frozenset[ColumnOf]().union(*branches)


def trace_columns(query: exp.Query, tracing: Tracing[T]) -> dict[str, T]:
    """What is found of each output column, through the sources of a canonical query."""
    tracer = _Tracer(tracing)
    return {name: tracer.output(query, at) for at, name in enumerate(outputs_of(query))}


@dataclass(slots=True)
class _Tracer(Generic[T]):
    """Follows columns through queries; each column of each query is followed once."""

    tracing: Tracing[T]
    scopes: Scopes = field(default_factory=lambda: Scopes(KnownTables({})))
    known: dict[tuple[int, int], T] = field(default_factory=dict)

    def output(self, query: exp.Expr, position: int) -> T:
        """What is found of one output column of a query, or of a function in FROM."""
        query = query.unnest()
        key = (id(query), position)
        if key not in self.known:
            self.known[key] = self.tracing.united([])  # a recursive query meets itself
            self.known[key] = self._output(query, position)
        return self.known[key]

    def _output(self, query: exp.Expr, position: int) -> T:
        if isinstance(query, exp.SetOperation):
            sides = branches_of(query)
            return self.tracing.united([self.output(each, position) for each in sides])
        if not isinstance(query, exp.Query):  # EXPLODE and its like: all that it unfolds
            return self._expression(query)
        selects = query.selects
        if position < len(selects):
            return self._expression(selects[position])
        return self.tracing.united([])

    def _expression(self, expression: exp.Expr) -> T:
        return self.tracing.computed(expression, list(self._read(expression)))

    def _read(self, expression: exp.Expr) -> Iterator[T]:
        for node in expression.walk(prune=lambda each: isinstance(each, exp.Query)):
            if isinstance(node, exp.Query):
                for position, _ in enumerate(outputs_of(node)):
                    yield self.output(node, position)
            elif isinstance(node, exp.Column):
                yield from self._column(node)

    def _column(self, column: exp.Column) -> Iterator[T]:
        source, name = self.scopes.source_of(column), column.name.lower()
        query = None if source is None else query_of(source)
        if source is None:
            return
        if query is not None:
            outputs = outputs_of(source)
            if name in outputs:
                yield self.output(query, outputs.index(name))
        elif not isinstance(source, exp.Table):
            yield self.output(source, 0)
        elif (table := model_name_of(source)) is not None:
            yield self.tracing.leaf((table, name), self._scan(source))

    def _scan(self, table: exp.Table) -> int:
        """Which of the scans of its table that a SELECT has it is; the first one is 0."""
        select = table.find_ancestor(exp.Select)
        sources = self.scopes.sources_in(select) if select is not None else ()
        tables = [each for each in sources if isinstance(each, exp.Table)]
        same = [id(each) for each in tables if model_name_of(each) == model_name_of(table)]
        return same.index(id(table)) if id(table) in same else 0


def branches_of(query: exp.Expr) -> Iterator[exp.Expr]:
    """The queries that set operations combine, in the order of their text; else the query alone."""
    waiting = [query]
    while waiting:
        inner = waiting.pop().unnest()
        if isinstance(inner, exp.SetOperation):
            waiting += [inner.expression, inner.this]
        else:
            yield inner


def outputs_of(source: exp.Expr) -> list[str]:
    """The names of a query's columns in lower case; those that an alias in FROM lists go first."""
    query = query_of(source) or source
    around = query.parent if isinstance(source, exp.Table) else None
    names = [*listed_columns(source)]
    for each in (around, query.unnest()):
        if isinstance(each, exp.CTE):
            names += listed_columns(each)[len(names) :]
        elif isinstance(each, exp.Query):
            names += [name.lower() for name in each.named_selects[len(names) :]]
    return names
