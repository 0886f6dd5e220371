"""Inserting and updating rows by a key, by DuckDB's MERGE (seed 001, *UNIQUE_KEY*)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from tests.worlds.duck import connected, in_duck, result_of
from tests.worlds.frames import Frame
from tests.worlds.tables import Row
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.merge_statement import SOURCE, TARGET, merge_statement, same_key
from vde_dagster.core.model.writes import MergeRows
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.text import key_expression

if TYPE_CHECKING:
    import duckdb

_HELD: Final = exp.table_("held")
_NEW: Final = exp.table_("new")
_MERGED: Final = exp.table_("merged")


def merged(loaded: Frame, new: Frame, write: MergeRows) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """All rows of a table after a merge, and those among them whose key is a new row's.

    Raises:
        EvaluationFailed: Two new rows have one key; the text names one.
    """
    with connected({_HELD.name: loaded, _NEW.name: new}) as connection:
        _refuse_shared_keys(connection, write.key)
        connection.execute(f"CREATE TEMP TABLE {_MERGED.name} AS FROM {_HELD.name}")
        statement = read_spark(merge_statement(_MERGED, _NEW, write))
        assert isinstance(statement, exp.Merge), "the statement is a MERGE"
        for assignment in _assignments(statement):
            assignment.set("table", None)  # DuckDB resolves the columns itself
        connection.execute(in_duck(statement))
        rows = result_of(connection, exp.select("*").from_(_MERGED))
        of_keys = exp.select(f"{TARGET}.*").from_(exp.alias_(_MERGED, TARGET, table=True))
        of_keys = of_keys.join(
            exp.alias_(_NEW, SOURCE, table=True), on=same_key(write.key), join_type="semi"
        )
        return rows.rows, result_of(connection, of_keys).rows


def _assignments(statement: exp.Merge) -> list[exp.Column]:
    """The columns that the clauses of a MERGE set."""
    return [
        each.this
        for update in statement.find_all(exp.Update)
        for each in update.expressions
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column)
    ]


def _refuse_shared_keys(connection: duckdb.DuckDBPyConnection, key: tuple[str, ...]) -> None:
    keys = [key_expression(each) for each in key]
    shown = [exp.cast(each.copy(), "string").as_(f"_{n}") for n, each in enumerate(keys)]
    count = exp.Count(this=exp.Star())
    query = exp.select(*shown, count.as_("_count")).from_(_NEW).group_by(*keys)
    found = result_of(connection, query.having(exp.GT(this=count.copy(), expression=_ONE)))
    for *values, rows in found.rows[:1]:
        reported = ", ".join("NULL" if each is None else str(each) for each in values)
        raise EvaluationFailed(
            f"rows share the key ({', '.join(key)}) = ({reported}): {rows} of them",
            advice="A key has one row at most; group the rows in the query, or name more columns "
            "in unique_key",
        )


_ONE: Final = exp.Literal.number(1)
