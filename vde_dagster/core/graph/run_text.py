"""The text that a model runs: its author's own, or sqlglot's translation of it (R13).

The names of the table's columns and the filter by the interval are put around the author's query,
which stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.places import placed
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.sql.select_clauses import from_of
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.star_macro import with_star_columns
from vde_dagster.core.sql.table_names import model_name_of, temporary_names
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.intervals import Interval

_ROWS: Final = "_rows"


def query_text(graph: Graph, node: Node) -> SqlText:
    """A model's query, its columns named as those of its table, over the names of models.

    Raises:
        Refused: An earlier release accepted the query, which is refused now.
    """
    text, names = authors_query(graph, node)
    columns = [each.name for each in node.canonical.columns] if node.canonical else []
    if not columns or names == columns:
        return text
    hole = exp.Var(this="")
    rows = exp.Subquery(this=hole, alias=_alias(columns))
    return text.around(exp.select("*").from_(rows, copy=False), hole)


def interval_text(graph: Graph, node: Node, axis: TimeAxisSpec, times: TimeRange) -> SqlText:
    """A model's query, filtered to the rows of an interval (seed 001, *Time column*).

    Raises:
        Refused: An earlier release accepted the query, which is refused now.
    """
    assert times.end is not None, "an interval has an end"
    text, names = authors_query(graph, node)
    columns = [each.name for each in node.columns]
    hole = exp.Var(this="")
    rows = exp.Subquery(this=hole, alias=_alias(columns if names != columns else ()))
    selected = [exp.column(_quoted(each), table=_ROWS).as_(_quoted(each)) for each in columns]
    inside = within(
        exp.column(_quoted(axis.column), table=_ROWS),
        Interval(times.start, times.end),
        time_type=axis.type,
        time_format=axis.format,
    )
    outer = (
        exp.select(*(selected or [exp.Star()])).from_(rows, copy=False).where(inside, copy=False)
    )
    return text.around(outer, hole)


def _alias(columns: Sequence[str]) -> exp.TableAlias:
    return exp.TableAlias(
        this=exp.to_identifier(_ROWS), columns=[_quoted(each) for each in columns]
    )


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def authors_query(graph: Graph, node: Node) -> tuple[SqlText, list[str]]:
    """A model's query, and what its columns are called in it; nothing where that is not known.

    Raises:
        Refused: An earlier release accepted the query, which is refused now.
    """
    body = node.model.body
    assert isinstance(body, Query), f"{node.name} has a query"
    assert node.canonical is not None, f"{node.name} is resolved"
    for each in node.canonical.refusals:
        raise Refused(f"{node.name}: {each.message}", advice=f"{each.advice} Then plan again.")
    schemas = {read: graph[read].columns for read in _read_by(node)}
    text = with_star_columns(body.text.query, schemas=schemas)
    found = placed(
        text,
        catalog=body.text.catalog,
        temporary=temporary_names((*body.before, *body.after)),
        columns={name: [each.name for each in columns] for name, columns in schemas.items()},
    )
    return found, list(_written_names(read_spark(text), schemas))


def _written_names(query: exp.Expr, schemas: Mapping[ModelName, Sequence[Column]]) -> Iterator[str]:
    """What the columns of a query are called as they are written; empty where that is not clear.

    A table that is read with ``*`` has the columns that are known of it (see `placed`).
    """
    for each in query.selects if isinstance(query, exp.Query) else ():
        match each:
            case exp.Star() if not any(each.args.values()):
                known = schemas.get(table, ()) if (table := _only_table(query)) is not None else ()
                yield from (column.name for column in known)
            case exp.Aliases():
                yield from (name.name for name in each.expressions)
            case exp.Alias():
                yield each.alias
            case exp.Column(this=exp.Identifier()):
                yield each.name
            case _:
                yield ""


def _only_table(query: exp.Expr) -> ModelName | None:
    """The one table that a SELECT reads, where it is a model's."""
    from_ = from_of(query)
    first = from_.first
    if first is None or not from_.is_single or not isinstance(first.node, exp.Table):
        return None
    return None if first.columns or "pivots" in first.others else model_name_of(first.node)


def statement_texts(
    graph: Graph, node: Node, body: Query | PythonFunction
) -> tuple[tuple[SqlText, ...], tuple[SqlText, ...]]:
    """The pre- and post-statements of a model, over the names of models."""
    temporary = temporary_names((*body.before, *body.after))
    columns = {read: [each.name for each in graph[read].columns] for read in _read_by(node)}
    before, after = (
        tuple(
            placed(each, catalog=body.text.catalog, temporary=temporary, columns=columns)
            for each in part
        )
        for part in (body.text.before, body.text.after)
    )
    return before, after


def _read_by(node: Node) -> tuple[ModelName, ...]:
    """What a model's query names: its parents, and perhaps itself."""
    return (*node.model.parents, node.name) if node.model.reads_itself else node.model.parents
