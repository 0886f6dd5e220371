"""Checks of a model's query against its header and kind (seed 001)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Place
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.kinds import Managed, View
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.model.model import Query
from vde_dagster.core.model.named_columns import added_columns, clashing_columns, missing_columns
from vde_dagster.core.sql.macros import TIME_MACROS, macros_in
from vde_dagster.core.sql.row_local import why_not_once, why_not_row_local
from vde_dagster.core.sql.star_macro import is_star_macro
from vde_dagster.core.sql.table_names import tables_as_of
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_properties import Properties


def check_query(body: Query, properties: Properties, place: Place, problems: Problems) -> None:
    """Report what is wrong with a query, given what its header says.

    Args:
        body: The query.
        properties: The header.
        place: Where the query starts.
        problems: Gets what is wrong.
    """
    query, kind = body.expression, properties.model.kind
    if properties.kind_is_known and isinstance(kind, View | Managed):
        made = "read" if kind.is_view else "refreshed"
        for name in dict.fromkeys(name for name, _ in macros_in(query) if name in TIME_MACROS):
            message = f"a {kind.keyword} is {made} at any time, so @{name} has no meaning in it"
            advice = "Use the kind FULL, or filter in the queries that read the view."
            problems.add(place, message, advice)
    if properties.kind_is_known and kind.is_inlined and (body.before or body.after):
        message = f"a model of kind {kind.keyword} cannot have pre- or post-statements"
        problems.add(place, message, "Remove the statements: such models do not run.")
    _check_tables(body, place, problems)
    if properties.kind_is_known and kind.is_view:
        _check_windows(body, place, problems)
    else:
        _check_times(body, place, problems)
    _check_names(body, place, problems)
    _check_columns(query, properties, place, problems)
    _check_late_data(query, properties, problems)


def _check_tables(body: Query, place: Place, problems: Problems) -> None:
    """Report tables whose names are known only at run time."""
    for function in body.expression.find_all(exp.Anonymous):
        if isinstance(function.parent, exp.Table) and function.name.upper() == "IDENTIFIER":
            message = (
                "IDENTIFIER names a table at run time, so the inputs of the model are not known"
            )
            advice = "Write the table's name, or a macro such as @{name}."
            problems.add(_at(function, place), message, advice)


def _check_windows(body: Query, place: Place, problems: Problems) -> None:
    """Report named windows of a view: Spark does not keep them, so a query of the view fails."""
    for select in body.expression.find_all(exp.Select):
        if select.args.get("windows"):
            message = "Spark cannot read a view with a WINDOW clause"
            advice = "Write each window after its OVER, or use the kind FULL."
            problems.reject(_at(select, place), message, advice)


def _check_times(body: Query, place: Place, problems: Problems) -> None:
    """Report tables that are read as they were."""
    for table in tables_as_of(body.expression):
        name = exp.table_name(table)
        message = f"{name} is read as of a version or a time, which only a VIEW can do"
        advice = "Remove that: a model reads the current state of each table when it is computed."
        problems.add(_at(table, place), message, advice)


def _at(node: exp.Expr, place: Place) -> Place:
    line = line_of(node)
    return Place(path=place.path, line=line) if line is not None else place


def _check_names(body: Query, place: Place, problems: Problems) -> None:
    for projection in body.expression.selects:
        if not isinstance(projection, exp.Aliases) and not _output_name(projection):
            sql = projection.sql(dialect="spark")[:60]
            where = _at(projection, place)
            problems.add(where, f"the column `{sql}` has no name", "Write `... AS name`.")


def _check_columns(
    query: exp.Query, properties: Properties, place: Place, problems: Problems
) -> None:
    """The columns that a header names must be among those that the table will have."""
    names = {name for projection in query.selects for name in _output_names(projection)}
    for finding in clashing_columns(properties.model.kind, names):
        problems.add(place, finding.message, finding.advice)
    if EVERY_COLUMN not in names:  # else they are known when the graph is built
        check_named_columns(properties, names, place, problems)


def check_named_columns(
    properties: Properties, names: Collection[str], place: Place, problems: Problems
) -> None:
    """Report the columns that a header names and that the model does not have.

    Args:
        properties: The header.
        names: The columns that the query returns; of a Python model, those that it declares.
        place: Used if the place of a property is not known.
        problems: Gets what is wrong.
    """
    known = sorted(name for name in names if name)
    found = {*names, *properties.maybe_columns}
    every = {*found, *added_columns(properties.model.kind)}
    missing = (
        *missing_columns(properties.model.kind, properties.model.storage, found),
        *(each for each in _described_by(properties) if each[1] not in every),
    )
    for what, column in missing:
        message = f"the {what} {column!r} is not among the columns"
        where = properties.places.get(_PROPERTY.get(what, "kind"), place)
        problems.add(where, message, suggestion(column, known))


_PROPERTY: Final = {
    "partitioned_by column": "partitioned_by",
    "clustered_by column": "clustered_by",
    "declared column": "columns",
    "described column": "column_descriptions",
    "grain column": "grain",
    "grains column": "grains",
}
"""The properties other than the kind's options that name a column of the table."""


def _described_by(properties: Properties) -> Iterator[tuple[str, str]]:
    for declared in properties.model.columns:
        yield "declared column", declared.name
    for name in properties.model.column_descriptions:
        yield "described column", name
    what = "grain column" if "grain" in properties.places else "grains column"
    for column in dict.fromkeys(each for key in properties.model.grains for each in key):
        yield what, column


def _output_names(projection: exp.Expr) -> list[str]:
    if isinstance(projection, exp.Aliases):
        return [each.name.lower() for each in projection.expressions]
    return [_output_name(projection)]


def _output_name(projection: exp.Expr) -> str:
    """The name that a column was given; ``*`` for all columns, empty where there is none."""
    if is_star_macro(projection):
        return EVERY_COLUMN
    if projection.is_star and not isinstance(projection, exp.Alias):
        named = isinstance(projection, exp.Star | exp.Column | exp.Dot)
        return EVERY_COLUMN if named else ""
    return "" if isinstance(projection, exp.Literal) else projection.output_name.lower()


def _check_late_data(query: exp.Query, properties: Properties, problems: Problems) -> None:
    policy = properties.model.late_data
    if policy is None or policy.mode is not LateDataMode.STATELESS:
        return
    why = why_not_row_local(query, policy.sources[0])
    if why is not None:
        problems.add(
            properties.places["late_data"],
            f"stateless late_data appends rows one by one, but the query has {why}",
            "Read only that one source, row by row, and aggregate in a downstream model.",
        )
    elif properties.model.kind.is_sequential and (why := why_not_once(query)):
        problems.add(
            properties.places["late_data"],
            f"late_data loads each new row of the source once, but {why}",
            "Filter rows with `column BETWEEN @start_ts AND @end_ts`, or not by time.",
        )
