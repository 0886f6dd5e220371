"""The final SQL of a model for a range and an environment, and what it reads: no state, no Spark.

What `vde render` shows, what an evaluation runs and what is told of its inputs come from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, cast

from sqlglot import exp

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.kind import Embedded, IncrementalByTimeRange, View
from vde_dagster.core.model import PythonFunction, Query
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.reads.input_ranges import Reads, TimeAxis, declared_reads, reads
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.macros import MICROSECOND, TIME_MACROS, TimeRange, resolve_time_macros
from vde_dagster.core.sql.rendering import (
    inline,
    model_name_of,
    render_interval,
    replace_tables,
    spark_form,
    spark_text,
    with_own_names,
)
from vde_dagster.core.time_formats import axis_type
from vde_dagster.core.work import TimeAxisSpec

Statements = tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]
"""Those before a query or function, and those behind it."""
Target = Callable[[ModelName], TableName | None]
"""Where the rows of a model lie; None to leave its name as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedModel:
    """What evaluating a model runs, in Spark's dialect: its query, and the statements around it."""

    query: exp.Query
    before: tuple[exp.Expr, ...] = ()
    after: tuple[exp.Expr, ...] = ()


def render_model(
    graph: Graph,
    name: ModelName,
    times: TimeRange,
    *,
    target: Target,
    inline_views: bool = True,
) -> RenderedModel:
    """A model's statements for a range: macros as literals, models as tables or sub-queries.

    EMBEDDED models always stand as sub-queries in who reads them (seed 001, *EMBEDDED*). The time
    filter of INCREMENTAL_BY_TIME_RANGE is appended around the query.

    Args:
        graph: The models.
        name: The one to render.
        times: What the macros stand for. Without an end it is the day of its start.
        target: Where the rows of each model lie.
        inline_views: Whether VIEW models stand as sub-queries, too, so that what is read are tables
            only, which can be pinned; otherwise they are read as what ``target`` gives for them.

    Raises:
        Refused: The model has no query, or it cannot be written in Spark's SQL.
    """
    node = graph[name]
    body, canonical = _query_of(node)
    ends = times.last + MICROSECOND
    whole = TimeRange(start=times.start, end=ends, execution_time=times.execution_time)
    bodies = _bodies(graph, node, whole, inline_views=inline_views)
    axis = time_axis(node)
    if axis is None:
        query = resolve_time_macros(canonical.expression, whole)
    else:
        query = render_interval(
            canonical.expression,
            columns=tuple(column.name for column in node.columns),
            time_column=axis.column,
            time_type=axis.type,
            time_format=axis.format,
            times=whole,
        )

    before, after = _beside(node, body, whole, bodies=bodies, target=target)
    return RenderedModel(
        query=_in_spark(node, replace_tables(inline(query, bodies), target)),
        before=before,
        after=after,
    )


def render_beside(graph: Graph, name: ModelName, times: TimeRange, *, target: Target) -> Statements:
    """The statements beside a Python model's function, as `render_model` has those of a query.

    None of what is no Python model.

    Raises:
        Refused: One cannot be written in Spark's SQL.
    """
    node = graph[name]
    if not isinstance(node.model.body, PythonFunction):
        return (), ()
    bodies = _bodies(graph, node, times, inline_views=True)
    return _beside(node, node.model.body, times, bodies=bodies, target=target)


def render_query(graph: Graph, name: ModelName, query: exp.Query, times: TimeRange) -> exp.Query:
    """A query that is asked beside a model's own, such as an audit's, over the names of tables.

    Macros are literals, and VIEW and EMBEDDED parents of the model stand as sub-queries.

    Raises:
        Refused: It cannot be written in Spark's SQL.
    """
    node = graph[name]
    bodies = _bodies(graph, node, times, inline_views=True)
    return _in_spark(node, inline(resolve_time_macros(query, times), bodies))


def reads_of(graph: Graph, name: ModelName) -> Reads:
    """What a model reads of the tables below it, for any interval; nothing for seeds and sources.

    VIEW and EMBEDDED parents are looked through, down to tables. Of a Python model it is what its
    ``depends_on`` declares.
    """
    node = graph[name]
    query = query_over_tables(graph, name)
    if query is None:
        parents = {parent: input_axis(graph[parent]) for parent in node.model.parents}
        return declared_reads(parents, node.model.windows if _has_intervals(node) else {})
    return reads(query, axes=axes_of(graph, query), kept=input_axis(node))


def query_over_tables(graph: Graph, name: ModelName) -> exp.Query | None:
    """A model's query in Spark's form with its macros, views inlined; None where it has no query.

    What is rendered for an interval follows from it and the interval.
    """
    node = graph[name]
    if node.canonical is None:
        return None
    bodies = _bodies(graph, node, None, inline_views=True)
    return _in_spark(node, inline(node.canonical.expression, bodies))


def time_axis(node: Node) -> TimeAxisSpec | None:
    """How a model's rows belong to intervals; None for kinds without intervals.

    A column whose type is not known is taken for a timestamp.
    """
    if not isinstance(node.model.kind, IncrementalByTimeRange):
        return None
    kind = node.model.kind
    known = axis_type(_type_of(node, kind.time_column))
    return TimeAxisSpec(
        column=kind.time_column,
        type=known if known not in ("", "unknown") else "timestamp",
        unit=node.model.unit,
        format=kind.time_format,
    )


def axes_of(graph: Graph, query: exp.Query) -> dict[ModelName, TimeAxis | None]:
    """The time axes of the models and sources that a query names."""
    names = {model_name_of(table) for table in query.find_all(exp.Table)}
    return {name: input_axis(graph[name]) for name in names if name is not None and name in graph}


def input_axis(node: Node) -> TimeAxis | None:
    """How rows of a model are bounded by who reads them; None for kinds without intervals."""
    if not isinstance(node.model.kind, IncrementalByTimeRange):
        return None
    column = node.model.kind.time_column
    return TimeAxis(
        column=column,
        unit=node.model.unit,
        type=_type_of(node, column),
        format=node.model.kind.time_format,
    )


def _query_of(node: Node) -> tuple[Query, CanonicalQuery]:
    if not isinstance(node.model.body, Query) or node.canonical is None:
        what = f"of kind {node.model.kind.keyword}" if node.model.body is None else "no SQL model"
        raise Refused(f"{node.name} is {what}, so it has no query to render.")
    return node.model.body, node.canonical


def _in_spark(node: Node, query: exp.Query) -> exp.Query:
    with _told_of(node):
        return spark_form(query)


@contextmanager
def _told_of(node: Node) -> Iterator[None]:
    """A refusal begins with the name of the model."""
    try:
        yield
    except Refused as error:
        raise Refused(f"{node.name}: {error}") from error


def _has_intervals(node: Node) -> bool:
    return isinstance(node.model.kind, IncrementalByTimeRange)


def _type_of(node: Node, column: str) -> str:
    types = {each.name.lower(): each.type for each in node.columns}
    return types.get(column, "unknown")


def _bodies(
    graph: Graph, node: Node, times: TimeRange | None, *, inline_views: bool
) -> Mapping[ModelName, exp.Query]:
    """The queries that stand in place of models above, each with its own ones inlined already."""
    bodies: dict[ModelName, exp.Query] = {}
    kinds = (Embedded, View) if inline_views else Embedded

    def gather(reader: Node) -> None:
        for parent in reader.model.parents:
            above = graph[parent]
            if parent in bodies or above.canonical is None:
                continue
            if isinstance(above.model.kind, kinds):
                gather(above)
                query = above.canonical.expression
                resolved = query if times is None else resolve_time_macros(query, times)
                bodies[parent] = inline(resolved, bodies)

    gather(node)
    return bodies


def _beside(
    node: Node,
    body: Query | PythonFunction,
    times: TimeRange,
    *,
    bodies: Mapping[ModelName, exp.Query],
    target: Target,
) -> Statements:
    def statement(each: exp.Expr) -> exp.Expr:
        return _statement(each, node, times, bodies=bodies, target=target)

    return tuple(map(statement, body.before)), tuple(map(statement, body.after))


def _statement(
    written: exp.Expr,
    node: Node,
    times: TimeRange,
    *,
    bodies: Mapping[ModelName, exp.Query],
    target: Target,
) -> exp.Expr:
    """A pre- or post-statement. What the parser does not know is left as it is written."""
    if isinstance(written, exp.Command):
        found = _MACRO.search(written.sql())
        if found is not None and found[1].lower() in TIME_MACROS:
            raise Refused(
                f"{node.name}: the statement `{written.sql()[:60]}` is none that is understood, "
                f"so {found[0]} in it cannot be replaced. Write it without the macro, or as a "
                "statement of Spark's SQL."
            )
        return written
    # Both functions rewrite a tree of any kind, and keep its root.
    resolved = cast("exp.Query", resolve_time_macros(written, times))
    name_tables(resolved)
    rendered = with_own_names(replace_tables(inline(resolved, bodies), target))
    with _told_of(node):
        spark_text(rendered)  # refuses what has no form there
    return rendered


_MACRO: Final = re.compile(r"@(\w+)")
_CAN_HAVE_ALIAS: Final = (exp.From, exp.Join, exp.Delete, exp.Update, exp.Merge)


def name_tables(statement: exp.Expr) -> None:
    """Let columns find their tables when these have other names.

    The canonical form of a query has done so already, but statements stay as they are written.
    """
    named: set[tuple[str, str]] = set()
    for table in statement.find_all(exp.Table):
        named.add((table.db.lower(), table.name.lower()))
        can_have = isinstance(table.parent, _CAN_HAVE_ALIAS)
        if can_have and table.db and not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    for column in statement.find_all(exp.Column):
        if (column.db.lower(), column.table.lower()) in named:  # else a field of a column
            column.set("catalog", None)
            column.set("db", None)
