"""Whether a query gives what its model needs: its columns, its time, its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.model.kinds import IncrementalByTimeRange
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.named_columns import clashing_columns, missing_columns
from vde_dagster.core.model.partition_types import layout_problems
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.spark.functions import GENERATORS
from vde_dagster.core.sql.time_filter import filters_by_time
from vde_dagster.core.sql.unresolved import guess, line_of
from vde_dagster.core.time.formats import why_no_axis

EmbeddedQueries = Sequence[tuple[ModelName, exp.Query]]
"""The queries of EMBEDDED models that are inlined in a model's own, each once."""


def misfits(
    model: Model, canonical: CanonicalQuery, columns: Sequence[Column], embedded: EmbeddedQueries
) -> Iterator[Finding]:
    """Why a query does not fit its model.

    Args:
        model: Of any kind that has a query.
        canonical: Its query, bound to the columns of what it reads.
        columns: What its readers see: those of the query, with the types that were declared.
        embedded: The queries of EMBEDDED models that are inlined in it.
    """
    names = [column.name.lower() for column in canonical.columns]
    yield from _uneven(canonical)
    yield from _repeated(names, canonical)
    yield from clashing_columns(model.kind, names)
    missing = missing_columns(model.kind, model.storage, names) if names else ()
    for what, column in missing:
        yield Finding(
            message=f"the {what} {column!r} is not among its columns",
            advice=f"{guess(column, names)}The query returns {', '.join(names)}.",
        )
    yield from _without_axis(model, columns)
    yield from _unfiltered(model, canonical, embedded)
    yield from _timed_view(model, embedded)


def unlaid(model: Model, columns: Sequence[Column]) -> Iterator[Finding]:
    """Partitions and sort columns of types that Iceberg has no such partition or order of."""
    types = {each.name.lower(): each.type for each in columns}
    known = replace(
        model.storage,
        partitioned_by=tuple(e for e in model.storage.partitioned_by if e.column.lower() in types),
        clustered_by=tuple(name for name in model.storage.clustered_by if name.lower() in types),
    )
    yield from layout_problems(known, types)


def _uneven(canonical: CanonicalQuery) -> Iterator[Finding]:
    """Set operations, wherever they stand, whose sides have different numbers of columns."""
    for node in canonical.expression.find_all(exp.SetOperation):
        if node.args.get("by_name"):
            continue
        left, right = _width(node.this), _width(node.expression)
        if left is not None and right is not None and left != right:
            yield Finding(
                message=f"the sides of {node.key.upper()} have {left} and {right} columns",
                advice="Give both the same number of columns, in the same order; use NULL AS "
                "name for a column that a side lacks.",
                line=line_of(node.expression) or line_of(node),
            )


def _width(side: exp.Expr) -> int | None:
    """How many columns one side of a set operation has; None where that is not known."""
    assert isinstance(side, exp.Query), "a side of a set operation is a query"
    for each in side.selects:
        inner = each.unalias()
        if inner.is_star or isinstance(inner, _OF_SEVERAL):
            return None
        if isinstance(inner, exp.Anonymous) and inner.name.lower() in GENERATORS:
            return None
    return len(side.selects)


_OF_SEVERAL: Final = (
    exp.Aliases,
    exp.Explode,
    exp.ExplodeOuter,
    exp.Inline,
    exp.Stack,
    exp.Unnest,
)
"""What gives several columns, or may: a map explodes into two."""


def _repeated(names: Sequence[str], canonical: CanonicalQuery) -> Iterator[Finding]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        projections = canonical.expression.selects
        again = [index for index, name in enumerate(names) if name in names[:index]]
        yield Finding(
            message=f"the query returns several columns named {', '.join(twice)}",
            advice="Keep only one of them, or give each its own name with AS.",
            line=line_of(projections[again[0]]),
        )


def _without_axis(model: Model, columns: Sequence[Column]) -> Iterator[Finding]:
    """A time column by which rows cannot be put into intervals."""
    kind = model.kind
    if not isinstance(kind, IncrementalByTimeRange):
        return
    for column in columns:
        if column.name.lower() != kind.time_column:
            continue
        why = why_no_axis(column.type, kind.time_format, model.unit, written=kind.written_format)
        if why is not None:
            yield replace(why, message=f"the time column {kind.time_column!r} {why.message}")


def _unfiltered(
    model: Model, canonical: CanonicalQuery, embedded: EmbeddedQueries
) -> Iterator[Finding]:
    """A query by time ranges that would read everything for each of them (seed 001).

    Stateful sessions bound what is read of the sources that they track.
    """
    query = canonical.expression
    if model.stateful is not None:
        return
    if model.time_column is None or query.find(exp.Table) is None:
        return
    if not any(map(filters_by_time, (query, *(each for _, each in embedded)))):
        yield Finding(
            message="INCREMENTAL_BY_TIME_RANGE needs a filter on the time of its input, so that "
            "an interval reads only its own rows",
            advice="Add for example `WHERE event_time BETWEEN @start_dt AND @end_dt`, a condition "
            "on a column in WHERE or in JOIN ... ON.",
            line=line_of(query),
        )


def _timed_view(model: Model, embedded: EmbeddedQueries) -> Iterator[Finding]:
    """A VIEW is read at any time, so no time macro may come into its query with another's."""
    if not model.kind.is_view:
        return
    for name, query in embedded:
        if any(True for _ in macros_in(query)):
            yield Finding(
                message="a VIEW has no intervals, so it cannot use the time macros of the "
                f"EMBEDDED {name} that is inlined in its query",
                advice="Make it FULL or INCREMENTAL_BY_TIME_RANGE, or remove the time macros "
                f"from {name}.",
            )
