"""`vde query`: rows for people, from the views of an environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, get_args

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Note, Printed, as_json, as_text, table
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.composition import VdeProject
    from vde_dagster.ports.catalog import ViewDefinition
    from vde_dagster.ports.state import Environment

Engine = Literal["auto", "duckdb", "spark"]
_ENGINES: Final = get_args(Engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A query's columns and rows; ``more`` where there are rows beyond the limit.

    ``engine`` is the one that answered, and ``why`` says why it was not the other one.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    more: bool
    engine: Literal["duckdb", "spark"] = "spark"
    why: str = ""

    def as_json(self) -> dict[str, object]:
        """The fields of the JSON contract: each row is a list in the order of the columns."""
        return {
            "columns": list(self.columns),
            "rows": [[as_json(value) for value in row] for row in self.rows],
            "more": self.more,
        }


@click.command("query")
@click.argument("sql", metavar="SQL")
@options.limit(50, "Print at most this many rows.")
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default="auto",
    show_default=True,
    help="auto uses DuckDB, without a JVM, for plain queries, and Spark for others.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["table", "text", "json", "csv"]),
    default="table",
    show_default=True,
    help="table (or text) for people, json or csv for programs.",
)
@options.ENVIRONMENT
@options.PROJECT
@options.WITH_DEBUG
def query_command(
    *, sql: str, limit: int, engine: Engine, environment: str, output: str, folder: Path
) -> None:
    """Run a SELECT in Spark's dialect and print its rows. `-` reads it from standard input.

    Models keep their names in every environment: with --env dev, `mart.revenue` is the version that
    dev shows. All views are resolved together, so all rows are of one promotion. The last line on
    standard error names the engine and why it was chosen.

    DuckDB answers plain queries: selections, joins, groupings, unions and WITH over columns of
    simple types. They may use comparisons, conditions, CASE, IF, COALESCE and NULLIF, and
    arithmetic of whole numbers and doubles. Casts are plain between whole numbers, decimals, dates
    and times. Aggregates are COUNT, COUNT_IF, MIN, MAX, SUM of whole numbers and decimals, and AVG
    of whole numbers. Other functions are LENGTH, UPPER, LOWER, CONCAT, YEAR, MONTH, DAY, HOUR,
    TO_DATE, DATE_TRUNC and TYPEOF.

    Spark answers all others. It also answers if the tables have more than 256 MiB of files, if
    pyiceberg cannot read one, if values could differ between the engines, or if spark.conf changes
    how values are computed.

    For example:

        vde query "SELECT * FROM mart.revenue" --env dev
    """
    text = sys.stdin.read() if sql == "-" else sql
    call = Call(folder=folder, output=output)
    answer = ask(call.project, text, environment=environment, limit=limit, engine=engine)

    def shown() -> Iterator[Printed]:
        yield as_csv(answer).removesuffix("\n") if output == "csv" else as_table(answer)
        if answer.more:
            yield Note(f"The first {limit} rows; --limit shows more.")
        name = "DuckDB" if answer.engine == "duckdb" else "Spark"
        yield Note(f"Answered by {name}{': ' if answer.why else '.'}{answer.why}")

    about = {"environment": environment, "engine": answer.engine}
    call.answer(lambda: about | answer.as_json(), shown())


def as_csv(answer: Answer) -> str:
    """Rows as CSV (RFC 4180, lines that end with a line feed), values as in JSON.

    A null is an empty field, an empty text a pair of quotes.
    """

    def cell(value: object) -> str:
        plain = as_json(value)
        if plain is None:
            return ""
        if isinstance(plain, bool):
            return "true" if plain else "false"
        text = json.dumps(plain) if isinstance(plain, dict | list) else str(plain)
        special = not text or any(each in text for each in ',"\r\n')
        return '"' + text.replace('"', '""') + '"' if special else text

    lines = [answer.columns, *answer.rows]
    return "".join(",".join(map(cell, each)) + "\n" for each in lines)


def ask(
    project: VdeProject, sql: str, *, environment: str, limit: int, engine: Engine = "auto"
) -> Answer:
    """The rows of a query over models, read from an environment's views.

    Args:
        project: The project.
        sql: A SELECT over models.
        environment: Its canonical name.
        limit: At most how many rows.
        engine: Who answers; ``auto`` is DuckDB where it certainly answers as Spark would.

    Raises:
        Refused: The text is not a query, the environment does not exist, or DuckDB has to answer
        what
            is left to Spark.
        EvaluationFailed: The query failed.
    """
    return answer_on_views(
        project, **_on_environment(project, sql, environment), limit=limit, engine=engine
    )


def answer_on_views(
    project: VdeProject,
    sql: str,
    *,
    read: Sequence[ModelName],
    views: Mapping[ModelName, TableName],
    limit: int,
    engine: Engine = "auto",
    whole: Mapping[TableName, ViewDefinition] | None = None,
) -> Answer:
    """The rows of a query in which names stand for views, all of one promotion.

    Args:
        project: The project.
        sql: A SELECT in Spark's dialect.
        read: Every name that it reads.
        views: What names stand for; others are tables of the catalog.
        limit: At most how many rows.
        engine: Who answers.
        whole: The views of one revision, where they move one by one; else they are looked up here,
            all at once.

    Raises:
        Conflict: A view cannot be read as it was.
        Refused: DuckDB has to answer what is left to Spark.
        EvaluationFailed: The query failed.
    """
    from vde_dagster.app.inspect.local_answers import LocalAnswer, answer_locally
    from vde_dagster.core.sql.duckdb.translating import LeftToSpark

    catalog, why = project.configuration.catalog.name, ""
    if whole is None:
        whole = project.services.catalog.views([views[each] for each in read if each in views])
    if engine != "spark":
        found = (
            LeftToSpark(reason=f"vde.yaml sets {', '.join(against)}")
            if (against := project.settings_against_duckdb)
            else answer_locally(
                project.services,
                project.local_queries,
                sql,
                catalog=catalog,
                views=views,
                limit=limit + 1,
                whole=whole,
            )
        )
        if isinstance(found, LocalAnswer):
            more = len(found.rows) > limit
            return Answer(
                columns=found.columns, rows=found.rows[:limit], more=more, engine="duckdb"
            )
        why = found.reason
        if engine == "duckdb":
            raise Refused(
                f"DuckDB cannot answer this as Spark would: {why}",
                advice="Leave out --engine duckdb to use Spark.",
            )
    if any(view.catalog for view in views.values()):
        project.open_spark(reading=views.values())  # the session that the engine finds, too
    shown = {name: view for name, view in views.items() if name in read}
    bound = _over_tables(project, sql, shown, whole)
    columns, rows = project.services.engine.fetch(bound, limit=limit + 1)
    return Answer(columns=columns, rows=rows[:limit], more=len(rows) > limit, why=why)


def _over_tables(
    project: VdeProject,
    sql: str,
    views: Mapping[ModelName, TableName],
    whole: Mapping[TableName, ViewDefinition],
) -> str:
    """A query over the tables that views show, without the rows that these leave out."""
    from vde_dagster.app.inspect.local_answers import read_as
    from vde_dagster.core.sql.places import placed
    from vde_dagster.core.sql.text import SqlText

    tables = {  # all of one revision
        name: read_as(project.services, whole[view]) if view in whole else view
        for name, view in views.items()
    }
    visible = {
        name: SqlText((whole[view].visible,))
        for name, view in views.items()
        if view in whole and whole[view].visible
    }
    query = placed(sql, catalog=project.configuration.catalog.name).with_conditions(visible)
    return query.with_tables(tables.get).text


def as_table(answer: Answer, *, title: str | None = None) -> Table:
    """An answer for people; numbers are aligned right."""
    from rich.text import Text

    shown = table(title=title)
    for index, name in enumerate(answer.columns):
        cells = [row[index] for row in answer.rows if row[index] is not None]
        numbers = bool(cells) and all(_is_number(cell) for cell in cells)
        shown.add_column(name, justify="right" if numbers else "left", no_wrap=numbers)
    for row in answer.rows:
        shown.add_row(*(Text(as_text(value)) for value in row))
    return shown


def _is_number(value: object) -> bool:
    from decimal import Decimal

    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


class _Asked(TypedDict):
    """A query over models, what it reads, and the views that it may read."""

    sql: str
    read: Sequence[ModelName]
    views: Mapping[ModelName, TableName]
    whole: Mapping[TableName, ViewDefinition] | None


def _on_environment(project: VdeProject, sql: str, environment: str) -> _Asked:
    """A query over models, and the views of an environment that it may read."""
    from sqlglot import exp

    from vde_dagster.app.inspect.local_answers import whole_revision, whole_views
    from vde_dagster.app.view_names import shown_naming
    from vde_dagster.core.names import PRODUCTION, environment_view
    from vde_dagster.core.sql.errors import SQL_ERRORS
    from vde_dagster.core.sql.places import placed
    from vde_dagster.core.sql.spark.reading import read_spark
    from vde_dagster.core.sql.table_names import model_name_of, project_names, tables_of

    try:
        text = sql.rstrip("; \t\r\n")
        parsed = read_spark(text)
        if not isinstance(parsed, exp.Query):
            raise Refused(
                "this is not a SELECT", advice="Use Spark's own tools for other statements."
            )
        query = project_names(parsed, project.configuration.catalog.name)
        placed(text, catalog=project.configuration.catalog.name)  # Spark would get it so
    except SQL_ERRORS as error:
        raise Refused(f"this is not a query: {error}") from error
    shown = whole_revision(project.services, environment)
    if shown is None:
        raise Refused(
            f"there is no environment {environment}", advice="`vde environments` lists them."
        )
    read = {name for each in tables_of(query) if (name := model_name_of(each)) is not None}
    _list_late_data(project, read)
    _refuse_unknown(project, read, shown)
    absent = sorted(name for name in shown.hidden if name in read)
    if absent:
        raise Refused(
            f"{environment} has no view of {', '.join(map(str, absent))}: it shows only what "
            f"differs from {PRODUCTION}",
            advice=f"Query {PRODUCTION}, or plan again with --include-unmodified.",
        )
    # A source has no view: everybody reads the same one.
    naming = shown_naming(project.services, shown)
    views = {
        name: environment_view(name, environment, naming)
        for name, each in shown.snapshots.items()
        if not each.is_source
    }
    whole = whole_views(project.services, shown, [name for name in read if name in views])
    return {"sql": text, "read": sorted(read), "views": views, "whole": whole}


def _list_late_data(project: VdeProject, read: set[ModelName]) -> None:
    """Bring the tables of late data up to date, if a query reads one of them."""
    from vde_dagster.app.catch_up.listing import list_late_data

    settings, tables = project.configuration.late_data, project.services.late_tables
    names = {TableName(each.schema, each.name) for each in read if not each.catalog}
    if tables is not None and names & {settings.sessions, settings.marks}:
        tables.create()
        list_late_data(project.services)


def _refuse_unknown(project: VdeProject, read: set[ModelName], shown: Environment) -> None:
    """Say what a query misspells, before Spark is started for it.

    Raises:
        Refused: It reads what is neither a model nor a table of the project's catalog.
    """
    from vde_dagster.core.sql.unresolved import guess

    tables = {
        name: TableName(name.schema, name.name)
        for name in sorted(read)
        if name not in shown.snapshots and not name.catalog
    }
    if not tables:
        return
    present = project.services.catalog.present(tables.values())
    unknown = [name for name, table in tables.items() if table not in present]
    if unknown:
        known = [str(name) for name in shown.snapshots]
        raise Refused(
            f"there is no model or table {', '.join(map(str, unknown))}",
            advice=guess(str(unknown[0]), known).strip() or f"`{vde('status')}` lists the models.",
        )
