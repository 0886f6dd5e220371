"""Which tables a pre- or post-statement writes, and which names in it are only its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.table_names import definition_of


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
