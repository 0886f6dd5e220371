"""Pre- and post-statements: their table names, and their translation to Spark's SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.sql.rendering import spark_text
from vde_dagster.core.sql.statement_tables import temporary_names
from vde_dagster.core.sql.table_names import project_names_of_statement
from vde_dagster.core.sql.translation.differences import part_with_spark_meaning
from vde_dagster.core.sql.translation.proven import functions_made
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.project.problems import Problems, message_and_advice


def statement_names(
    statements: Sequence[exp.Expr],
    *,
    every: Collection[exp.Expr],
    dialect: str,
    catalog: str,
    place: Place,
    problems: Problems,
) -> tuple[exp.Expr, ...]:
    """Statements with the project's names of tables, translated for Spark.

    Args:
        statements: The pre-statements, or the post-statements, as parsed.
        every: All pre- and post-statements: what they create for themselves keeps its name.
        dialect: The one that they are written in.
        catalog: The project's own.
        place: Used if the line of a statement is not known.
        problems: Gets what has no single meaning in Spark, at its line.

    Raises:
        SqlglotError: The scopes of a statement are ambiguous.
    """
    made, temporary = functions_made(every), temporary_names(every)

    def read(statement: exp.Expr) -> exp.Expr:
        named = project_names_of_statement(statement, catalog, temporary=temporary)
        found, unclear = part_with_spark_meaning(named, dialect=dialect, functions=made)
        for node, why in (*unclear, *_unwritable(found, dialect)):
            problems.reject(_line_in(place, node, statement), *message_and_advice(why))
        return found

    return tuple(map(read, statements))


def _unwritable(statement: exp.Expr, dialect: str) -> Iterator[tuple[exp.Expr, Refused]]:
    """Why a statement of another dialect has no form in Spark's SQL."""
    if is_spark(dialect):
        return  # it is passed on as it is written
    if isinstance(statement, exp.Command):
        yield (
            statement,
            Refused(
                f"`{statement.sql()[:60]}` is a statement that is not understood, so it cannot be "
                "written in Spark's SQL",
                advice="Leave it out, or write the model in Spark's dialect.",
            ),
        )
        return
    try:
        spark_text(statement)
    except Refused as error:
        yield statement, error


def _line_in(place: Place, node: exp.Expr, statement: exp.Expr) -> Place:
    line = line_of(node) or line_of(statement)
    return Place(path=place.path, line=line) if line is not None else place
