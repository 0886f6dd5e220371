"""The final SQL of a model for a range and an environment, and what it reads: no state, no Spark.

What `vde render` shows, what an evaluation runs and what is known of its inputs come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.deriving import derive
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.run_text import interval_text, query_text, statement_texts
from vde_dagster.core.graph.session_reads import (
    axes_of,
    input_axis,
    interval_condition,
    interval_query,
    tracked_axes,
    tracked_columns,
)
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import MICROSECOND, TimeRange
from vde_dagster.core.sql.reads.input_ranges import Reads, declared_reads, reads
from vde_dagster.core.sql.rendering import inline
from vde_dagster.core.sql.table_names import defined_tables
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.windows import Window

Statements = tuple[tuple[SqlText, ...], tuple[SqlText, ...]]
"""The pre-statements, and the post-statements."""
Target = Callable[[ModelName], TableName | None]
"""The table or view with the rows of a model; None to leave its name as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedModel:
    """What evaluating a model runs, in Spark's dialect: query, pre- and post-statements."""

    query: SqlText
    before: tuple[SqlText, ...] = ()
    after: tuple[SqlText, ...] = ()


def render_model(
    graph: Graph,
    name: ModelName,
    times: TimeRange,
    *,
    target: Target,
    inline_views: bool = True,
) -> RenderedModel:
    """A model's statements for a range: macros as literals, models as tables or sub-queries.

    A model runs its author's text, or sqlglot's translation of it (rule R13): only macros, the
    names of tables and the query around the author's are ours.

    EMBEDDED models are always sub-queries in what reads them (seed 001, *EMBEDDED*). The time
    filter of INCREMENTAL_BY_TIME_RANGE is appended around the query.

    Args:
        graph: The models.
        name: The one to render.
        times: What the macros stand for. Without an end it is the day of its start.
        target: The table or view with the rows of each model.
        inline_views: Whether VIEW models are sub-queries, too, so that what is read are tables
            only, which can be pinned; otherwise they are read as what ``target`` gives for them.

    Raises:
        Refused: The model has no query, or it cannot be written in Spark's SQL.
    """
    node = graph[name]
    body = node.model.body
    if not isinstance(body, Query) or node.canonical is None:
        what = f"of kind {node.model.kind.keyword}" if body is None else "no SQL model"
        raise Refused(f"{name} is {what}, so it has no query to render.")
    ends = times.last + MICROSECOND
    whole = TimeRange(start=times.start, end=ends, execution_time=times.execution_time)
    bodies = inlined_texts(graph, node, whole, inline_views=inline_views)
    axis = node.time_axis
    query = query_text(graph, node) if axis is None else interval_text(graph, node, axis, whole)
    before, after = _statements(graph, node, body, whole, bodies=bodies, target=target)
    filters = interval_conditions(graph, node, whole)
    filled = query.with_times(whole).with_queries(bodies).with_conditions(filters)
    return RenderedModel(query=filled.with_tables(target), before=before, after=after)


def render_statements(
    graph: Graph, name: ModelName, times: TimeRange, *, target: Target
) -> Statements:
    """The pre- and post-statements of a Python model, as `render_model` has those of a query.

    Empty for other models.

    Raises:
        Refused: One cannot be written in Spark's SQL.
    """
    node = graph[name]
    if not isinstance(node.model.body, PythonFunction):
        return (), ()
    bodies = inlined_texts(graph, node, times, inline_views=True)
    return _statements(graph, node, node.model.body, times, bodies=bodies, target=target)


def render_text(graph: Graph, name: ModelName, text: SqlText, times: TimeRange) -> SqlText:
    """A text in Spark's dialect that runs besides a model's query, such as an audit's.

    Macros are literals, and VIEW and EMBEDDED parents of the model are sub-queries.
    """
    bodies = inlined_texts(graph, graph[name], times, inline_views=True)
    return text.with_times(times).with_queries(bodies)


def reads_of(graph: Graph, name: ModelName) -> Reads:
    """What a model reads of the tables upstream, for any interval; nothing for seeds and sources.

    VIEW and EMBEDDED parents are looked through, down to tables. Of a Python model it is what its
    ``depends_on`` declares, and of a source that its sessions track the interval alone if that
    declares no window.
    """
    return graph.once("reads", name, lambda: _reads_of(graph, name))


def _reads_of(graph: Graph, name: ModelName) -> Reads:
    node = graph[name]
    query = query_over_tables(graph, name)
    if query is None:
        parents = {parent: input_axis(graph[parent]) for parent in node.model.parents}
        tracked = tracked_axes(graph, node)
        windows = {**dict.fromkeys(tracked, Window()), **node.model.windows}
        by_interval = node.model.kind.is_by_interval
        return declared_reads({**parents, **tracked}, windows if by_interval else {})
    found = reads(query, axes=axes_of(graph, query, reader=name), kept=input_axis(node))
    return found.with_whole(_defined_inputs(graph, node))


def _defined_inputs(graph: Graph, node: Node) -> Iterator[ModelName]:
    """The tables that definitions in a model's pre-statements read, each once."""
    body = node.model.body
    named = sorted(defined_tables(body.before)) if isinstance(body, Query) else []
    for each in graph.upstream(named, through=_is_looked_through):
        if not _is_looked_through(each):
            yield each.name


def tables_read(graph: Graph, node: Node) -> Iterator[ModelName]:
    """The tables whose rows a model may read, through VIEW and EMBEDDED parents, each once."""
    for each in graph.upstream(node.model.parents, through=_is_looked_through):
        if not _is_looked_through(each):
            yield each.name


def _is_looked_through(node: Node) -> bool:
    return node.model.kind.is_inlined


def query_over_tables(graph: Graph, name: ModelName) -> exp.Query | None:
    """A model's query in Spark's form with its macros, views inlined; None where it has no query.

    What is rendered for an interval follows from it and the interval. It is for looking at: where
    nothing is inlined it is the model's own tree.
    """
    node = graph[name]
    if node.canonical is None:
        return None
    sources = {
        source: interval_query(source, column)
        for source, column in restricted_sources(graph, node).items()
    }
    bodies = _inlined_bodies(graph, node, sources)
    return inline(node.canonical.expression, bodies) if bodies else node.canonical.expression


def restricted_sources(graph: Graph, node: Node) -> Mapping[ModelName, str]:
    """The tracked sources that are read for the interval alone, with their time columns."""
    if node.model.stateful is None or node.canonical is None:
        return {}

    def found() -> Mapping[ModelName, str]:
        assert node.canonical is not None, "only queries read sources for an interval"
        query = inline(node.canonical.expression, _inlined_bodies(graph, node, {}))
        return tracked_columns(graph, node, query)

    return graph.once("restricted sources", node.name, found)


def interval_conditions(graph: Graph, node: Node, times: TimeRange) -> dict[ModelName, SqlText]:
    """The conditions on the rows of these sources."""
    return {
        source: interval_condition(column).with_times(times)
        for source, column in restricted_sources(graph, node).items()
    }


def _inlined_bodies(
    graph: Graph, node: Node, sources: Mapping[ModelName, exp.Query]
) -> Mapping[ModelName, exp.Query]:
    """The queries of views and embedded models, over these queries in place of some sources."""
    bodies = dict(sources)
    for upstream in inlined_models(graph, node, views=True):
        assert upstream.canonical is not None, "what is inlined has a query"
        bodies[upstream.name] = inline(upstream.canonical.expression, bodies)
    return bodies


def inlined_texts(
    graph: Graph,
    node: Node,
    times: TimeRange,
    *,
    inline_views: bool,
    given: Container[ModelName] = (),
) -> Mapping[ModelName, SqlText]:
    """The texts that replace upstream models, each with its own ones inlined already.

    Those that are ``given`` are read as tables, whatever their kind.
    """
    texts: dict[ModelName, SqlText] = {}
    for upstream in inlined_models(graph, node, views=inline_views, given=given):
        texts[upstream.name] = query_text(graph, upstream).with_times(times).with_queries(texts)
    return texts


def inlined_models(
    graph: Graph, node: Node, *, views: bool, given: Container[ModelName] = ()
) -> Iterator[Node]:
    """The upstream models that are inlined in a model's query, each behind those that it reads."""
    seen: set[ModelName] = set()

    def upstream(reader: Node) -> Iterator[Node]:
        for name in reader.model.parents:
            parent = graph[name]
            kind = parent.model.kind
            stands_in = kind.is_inlined if views else kind.is_embedded
            if name in seen or name in given or parent.canonical is None or not stands_in:
                continue
            seen.add(name)
            yield from upstream(parent)
            yield parent

    return upstream(node)


def _statements(
    graph: Graph,
    node: Node,
    body: Query | PythonFunction,
    times: TimeRange,
    *,
    bodies: Mapping[ModelName, SqlText],
    target: Target,
) -> Statements:
    before, after = statement_texts(graph, node, body)
    return tuple(
        tuple(each.with_times(times).with_queries(bodies).with_tables(target) for each in part)
        for part in (before, after)
    )  # type: ignore[return-value]


def with_columns(graph: Graph, node: Node, columns: Mapping[ModelName, Sequence[Column]]) -> Graph:
    """A model with the views that are inlined in it, and the tables upstream of these.

    It is the graph itself if the tables have the columns that are known.

    Raises:
        QueryInvalid: A query does not fit these columns.
    """
    tables = {name: _known(graph[name].columns, there) for name, there in columns.items()}
    tables = {name: there for name, there in tables.items() if there != graph[name].columns}
    if not tables:
        return graph
    nodes = {each.name: each for each in graph}
    for name, there in tables.items():
        nodes[name] = replace(nodes[name], columns=there)
    for reader in (*inlined_models(graph, node, views=True), node):
        derived = derive(reader.model, nodes, undeclared=True, is_flawed=True)
        nodes[reader.name] = replace(reader, canonical=derived.canonical, columns=derived.columns)
    return Graph(nodes)


def _known(declared: tuple[Column, ...], there: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that are declared, with the types that they have; all if none are."""
    types = {each.name.lower(): each.type for each in there}
    known = (replace(each, type=types.get(each.name.lower(), each.type)) for each in declared)
    return tuple(known) or tuple(there)
