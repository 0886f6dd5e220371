"""The tables of a query under the names that a project has for them.

In the project whose catalog is ``lake``, ``lake.raw.orders`` and ``raw.orders`` are one table, and
``orders`` alone is ``default.orders``. Queries are brought to the one form ``schema.name`` before
anything else looks at them, so that the way in which a name is written never counts. Here is, too,
which tables a pre- or post-statement writes, and which names in it are only its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName

ExprT = TypeVar("ExprT", bound=exp.Expr)


def name_of_table(table: exp.Table) -> ModelName:
    """The model or source that a table reference names. A quoted part is one part, dots or not.

    Raises:
        InvalidName: It has more than three parts, or one that is not a plain identifier.
    """
    return ModelName.of([part.name for part in table.parts])


def model_name_of(table: exp.Table) -> ModelName | None:
    """The model that a qualified table reference names; None for a reference without a schema."""
    if not (table.db and table.name):
        return None
    return ModelName(table.db.lower(), table.name.lower(), table.catalog.lower())


def project_names(query: exp.Query, catalog: str, *, copy: bool = True) -> exp.Query:
    """A query with every table as ``schema.name``; other catalogs' tables keep theirs.

    Args:
        query: As parsed.
        catalog: The project's own.
        copy: Whether the query itself stays as it is.

    Raises:
        SqlglotError: The query's scopes are ambiguous.
    """
    named = strip_catalog(query, catalog, copy=copy)
    _spell_alike(named)
    for table in tables_of(named):
        if isinstance(table.this, exp.Identifier) and not table.db:
            table.set("db", exp.to_identifier(DEFAULT_SCHEMA))
    return named


def _spell_alike(query: exp.Query) -> None:
    """Spell the name of each common table expression as in its definition, wherever it is read.

    The case of names does not count in Spark, but it does in sqlglot's scopes.
    """
    for table in query.find_all(exp.Table):
        meant = common_table_of(table)
        if meant is not None and table.name != meant.alias:
            table.this.set("this", meant.alias)


def project_names_of_statement(
    statement: exp.Expr, catalog: str, *, temporary: Collection[str] = ()
) -> exp.Expr:
    """A copy of a pre- or post-statement, its tables named as `project_names` names them.

    In a statement about something else than tables a single name may be a function's or a
    schema's, so it stays, except in queries that define something. The names of ``temporary``
    views, which are in lower case and in no schema, stay, too.
    """
    named = strip_catalog(statement, catalog)
    body = named if _is_about_tables(named) else definition_of(named)
    for table in list(body.find_all(exp.Table)) if body is not None else []:
        alone = isinstance(table.this, exp.Identifier) and not table.db
        if alone and table.name.lower() not in temporary and common_table_of(table) is None:
            table.set("db", exp.to_identifier(DEFAULT_SCHEMA))
    return named


def definition_of(statement: exp.Expr) -> exp.Expr | None:
    """The part of a statement that defines a function, a temporary view or a variable."""
    match statement:
        case exp.Declare() | exp.Set():
            return statement
        case exp.Create() | exp.Cache():
            is_function = str(statement.args.get("kind")).upper() == "FUNCTION"
            temporary = statement.find(exp.TemporaryProperty) is not None
            body = statement.args.get("expression")
            defines = isinstance(statement, exp.Cache) or is_function or temporary
            return body if defines and isinstance(body, exp.Expr) else None
        case _:
            return None


def _is_about_tables(statement: exp.Expr) -> bool:
    if isinstance(statement, exp.Create | exp.Drop | exp.Alter):
        return str(statement.args.get("kind")).upper() in ("TABLE", "VIEW")
    return isinstance(statement, exp.Query | exp.DML | exp.Merge | exp.TruncateTable)


def strip_catalog(query: ExprT, catalog: str, *, copy: bool = True) -> ExprT:
    """A query or statement without the project's own catalog in the names of tables.

    Also of columns that are written with their table's whole name. Identifiers compare without
    regard to case, as Spark's do.
    """
    stripped, own = query.copy() if copy else query, catalog.lower()
    named: set[tuple[str, str]] = set()
    for table in stripped.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.catalog.lower() == own:
            table.set("catalog", None)
            named.add((table.db.lower(), table.name.lower()))
    for column in stripped.find_all(exp.Column):
        # Nothing else: `lake.x.y.z` may also be a field of a field of a table called `lake`.
        whole = (column.args.get("db") is not None) and column.catalog.lower() == own
        if whole and (column.db.lower(), column.table.lower()) in named:
            column.set("catalog", None)
    return stripped


def tables_of(query: exp.Query) -> list[exp.Table]:
    """The tables that a query reads; common table expressions and table functions are none."""
    return [
        source
        for scope in traverse_scope(query)
        for source in scope.sources.values()
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier | exp.Dot)
    ]


def tables_as_of(query: exp.Query) -> list[exp.Table]:
    """The tables that a query reads as of a version or a time."""
    every = query.find_all(exp.Table)
    return [each for each in every if each.args.get("version") or each.args.get("when")]


def common_table_of(table: exp.Table) -> exp.Expr | None:
    """The common table expression that a table's name stands for, by SQL's scopes; else None."""
    if table.db or not isinstance(table.this, exp.Identifier):
        return None
    inside: exp.Expr = table
    while (around := inside.parent) is not None:
        for cte in reversed(_defined(around, inside)):
            if cte.alias.lower() == table.name.lower():
                return cte
        inside = around
    return None


def query_of(source: exp.Expr) -> exp.Expr | None:
    """The query whose rows an item of FROM has; None for a table of a catalog and a function."""
    match source:
        case exp.Table():
            cte = common_table_of(source)
            return None if cte is None else cte.this
        case exp.Subquery():
            return source
        case exp.Lateral(this=exp.Subquery() as query):
            return query
        case _:
            return None


def _defined(around: exp.Expr, inside: exp.Expr) -> list[exp.Expr]:
    """The common table expressions that a node adds to those that a part of it can name."""
    if isinstance(around, exp.With):  # those before it; itself, too, where it is recursive
        at = next(index for index, cte in enumerate(around.expressions) if cte is inside)
        return around.expressions[: at + 1 if around.recursive else at]
    found = around.args.get("with_")
    return [] if found is None or found is inside else found.expressions


def written_tables(statement: exp.Expr) -> Iterator[exp.Table]:
    """The tables and views that a statement changes, creates or drops; no temporary views.

    What it reads is not among them. Nothing is found in a statement that the parser does not know.
    """
    match statement:
        case exp.Insert() | exp.Update() | exp.Delete() | exp.Merge() | exp.Alter():
            yield from _table(statement.this)
        case exp.Create():
            if not _is_temporary(statement) and _is_table(statement):
                yield from _table(statement.this)
        case exp.Drop():
            for each in statement.args.get("tables") or [statement.this]:
                if not _is_temporary(statement) and _is_table(statement):
                    yield from _table(each)
        case exp.TruncateTable():
            for each in statement.expressions:
                yield from _table(each)


def temporary_names(statements: Iterable[exp.Expr]) -> frozenset[str]:
    """The names, in lower case, of the temporary views that statements create."""
    return frozenset(
        table.name.lower()
        for statement in statements
        if isinstance(statement, exp.Create) and _is_temporary(statement)
        for table in _table(statement.this)
        if not table.db
    )


def defined_tables(statements: Iterable[exp.Expr]) -> frozenset[ModelName]:
    """The tables that the functions, temporary views and variables of statements read.

    A query that uses such a function reads them, although it does not name them.
    """
    return frozenset(
        name
        for statement in statements
        if (body := definition_of(statement)) is not None
        for table in body.find_all(exp.Table)
        if table.db
        if (name := model_name_of(table)) is not None
    )


def _is_temporary(statement: exp.Create | exp.Drop) -> bool:
    if statement.args.get("temporary"):
        return True
    properties = statement.args.get("properties")
    return properties is not None and properties.find(exp.TemporaryProperty) is not None


def _is_table(statement: exp.Create | exp.Drop) -> bool:
    return str(statement.args.get("kind")).upper() in ("TABLE", "VIEW")


def _table(named: object) -> Iterator[exp.Table]:
    """The table that a statement names, perhaps followed by its columns."""
    if isinstance(named, exp.Schema):
        named = named.this
    if isinstance(named, exp.Table):
        yield named
