"""Queries that DuckDB answers in this process, over rows in Arrow's memory: no JVM is started.

So are questions over given rows, where the rows that come out are those of Spark.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import GivenRows
from vde_dagster.core.unit_tests.question import QueryOverRows, Question
from vde_dagster.ports.engine import ArrowRows, LocalQueries

if TYPE_CHECKING:
    import duckdb

_INSTANT: Final = "timestamp"
_TIMES: Final = (_INSTANT, "timestamp_ntz", "date")
_ALONE: Final[dict[str, str | int | float | list[str]]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "memory_limit": "2GB",
    "lock_configuration": True,
}
"""It reads what it is given and nothing else: no files, no network, no variables of Python."""


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """The one DuckDB of this process; what is registered belongs to a connection of it."""
    import duckdb

    atexit.register(_close)
    return duckdb.connect(":memory:", config={**_ALONE})


def _close() -> None:
    """Close it while Python still works: nanobind prints all that lives when it has ended."""
    _database().close()
    _database.cache_clear()


class DuckDbQueries:
    """Implements `vde_dagster.ports.engine.LocalQueries`."""

    def answer(
        self, query: DuckQuery, tables: Mapping[ModelName, ArrowRows], *, limit: int
    ) -> Sequence[tuple[object, ...]]:
        """At most ``limit`` rows of a query; see the port."""
        import duckdb

        connection = _database().cursor()
        try:
            for name, rows in tables.items():
                assert isinstance(rows, pa.Table), f"the rows of {name} are Arrow's"
                connection.register(str(name), _as_read(rows, query.reads.get(name, ())))
            found = connection.execute(query.sql).fetchmany(limit)
        except (duckdb.Error, pa.ArrowException, OverflowError) as error:
            first = str(error).splitlines()[0]
            raise EvaluationFailed(f"DuckDB failed: {first}") from error
        finally:
            connection.close()
        kinds = [each.type for each in query.columns]
        return [
            tuple(_value(value, kind) for value, kind in zip(row, kinds, strict=True))
            for row in found
        ]


def _value(value: object, kind: str) -> object:
    """A value as Spark's rows have it.

    Raises:
        EvaluationFailed: It is a time that Python cannot hold, which DuckDB gives as a text.
    """
    if kind in _TIMES and isinstance(value, str):
        raise EvaluationFailed(f"DuckDB returned the time {value}, which Python cannot represent")
    return value.replace(tzinfo=UTC) if kind == _INSTANT and isinstance(value, datetime) else value


def _as_read(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Rows in the types with which the query computes: instants are local times in UTC.

    Raises:
        EvaluationFailed: The files have another type than the catalog says.
    """
    for each in columns:
        at = rows.column_names.index(each.name)
        found, wanted = rows.schema.field(at).type, arrow_type(each.type)
        if found != wanted and not (each.type in _OTHER_FORMS and _OTHER_FORMS[each.type](found)):
            raise EvaluationFailed(f"{each.name} is {found} in its files, but {each.type} in SQL")
        if found != wanted:
            rows = rows.set_column(at, each.name, rows.column(at).cast(wanted))
    return rows


def arrow_type(name: str) -> pa.DataType:
    """The type in Arrow of values of a type, by its name, that DuckDB computes with as Spark."""
    if name.startswith("decimal"):
        precision, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return _IN_ARROW[name]


_IN_ARROW: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
}
_OTHER_FORMS: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "string": pa.types.is_large_string,
    "timestamp": lambda found: found == pa.timestamp("us", tz="UTC"),
}
"""Types in which Arrow may have the same values; casting them changes none."""


_MOST_ROWS: Final = 100_000
"""A query over rows in a test that returns more is left to Spark."""


class DuckAnswers:
    """Implements `vde_dagster.ports.engine.Answering` for queries that mean the same in DuckDB.

    What fails there has no answer, too: a value on which the engines differ makes a query fail.

    Args:
        local: Runs the queries.
    """

    def __init__(self, local: LocalQueries) -> None:
        self._local = local

    def answer(self, question: Question, *, subject: str) -> Answer | None:
        """The rows of a query over given rows; None for what only Spark answers. See the port."""
        del subject  # nothing fails here: Spark is asked then, and says why it does
        if not isinstance(question, QueryOverRows):
            return None
        given = {ModelName(DEFAULT_SCHEMA, name): each for name, each in question.tables.items()}
        query = in_duckdb(
            question.rows.sql,
            catalog="",
            tables=lambda name: given[name].columns if name in given else None,
        )
        if not isinstance(query, DuckQuery):
            return None
        tables = {name: _table(given[name], columns) for name, columns in query.reads.items()}
        try:
            rows = self._local.answer(query, tables, limit=_MOST_ROWS)
        except EvaluationFailed:
            return None
        return Answer(columns=query.columns, rows=tuple(rows)) if len(rows) < _MOST_ROWS else None


def _table(given: GivenRows, columns: tuple[Column, ...]) -> pa.Table:
    """The columns that a query reads of given rows; one of NULL, where only rows are counted."""
    if not columns:
        return pa.table({"_": pa.nulls(len(given.rows), pa.int32())})
    places = {each.name: at for at, each in enumerate(given.columns)}
    arrays = [
        pa.array([_local(row[places[each.name]]) for row in given.rows], arrow_type(each.type))
        for each in columns
    ]
    return pa.table(arrays, names=[each.name for each in columns])


def _local(value: object) -> object:
    """An instant as local time in UTC, which is how DuckDB is given one."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
