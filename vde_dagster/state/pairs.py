"""Statements about pairs of values, such as models and versions: one for all of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Executable,
    Row,
    Subquery,
    Text,
    bindparam,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Lines(FunctionElement[str]):
    """The lines of a text, a row each: lists in JSON."""

    name = "lines"
    inherit_cache = True


@compiles(_Lines, "sqlite")
def _sqlite_lines(element: _Lines, compiler: SQLCompiler, **options: object) -> str:
    lines = compiler.process(element.clauses, **options)
    return f"json_each('[' || replace({lines}, char(10), ',') || ']')"


@compiles(_Lines, "postgresql")
def _postgres_lines(element: _Lines, compiler: SQLCompiler, **options: object) -> str:
    """Postgres knows how many rows these are: of a list in JSON it would assume a hundred."""
    lines = compiler.process(element.clauses, **options)
    return f"unnest(string_to_array(CAST({lines} AS TEXT), chr(10)))"


class _TextAt(FunctionElement[str]):
    """The text at a place of a list in JSON: of the list and the place, from 0 on."""

    type = Text()
    inherit_cache = True


@compiles(_TextAt, "sqlite")
def _sqlite_text_at(element: _TextAt, compiler: SQLCompiler, **options: object) -> str:
    found, place = (compiler.process(each, **options) for each in element.clauses)
    return f"json_extract({found}, '$[{place}]')"


@compiles(_TextAt, "postgresql")
def _postgres_text_at(element: _TextAt, compiler: SQLCompiler, **options: object) -> str:
    found, place = (compiler.process(each, **options) for each in element.clauses)
    return f"(CAST({found} AS JSON) ->> {place})"


_PAIRS: Final[BindParameter[str]] = bindparam("pairs", type_=Text)


def pairs(left: ColumnElement[str], right: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether two columns are one of the pairs that a statement is executed with: `of_pairs`.

    They are one parameter, however many there are: a statement with a parameter for each value is
    built again for each number of them, which takes longer than running it.
    """
    return tuple_(left, right).in_(select(*_texts()))


def given(left: str, right: str) -> Subquery:
    """The pairs that a statement is executed with as rows of it, with these names of columns.

    A condition with `pairs` reads every row of a pair. A statement that is joined with the pairs
    can look up one row of each, such as the newest unit of work of a version.
    """
    columns = (text.label(name) for text, name in zip(_texts(), (left, right), strict=True))
    return select(*columns).subquery("wanted")


def _texts() -> tuple[ColumnElement[str], ColumnElement[str]]:
    """Both texts of each pair that a statement is executed with."""
    lines = _Lines(_PAIRS).table_valued("value").alias("value")  # Postgres names the column so, too
    value = lines.c.value
    return _TextAt(value, literal_column("0")), _TextAt(value, literal_column("1"))


def of_pairs(
    connection: Connection, statement: Executable, values: Iterable[tuple[str, str]]
) -> Sequence[Row[Any]]:
    """The rows of a statement with `pairs` or `given`, which is only executed for some values."""
    wanted = list(dict.fromkeys(values))
    return connection.execute(statement, in_pairs(wanted)).all() if wanted else ()


def in_pairs(values: Collection[tuple[str, str]]) -> dict[str, str]:
    """The parameter of a statement with `pairs` or `given`."""
    lines = (f"[{_quoted(left)}, {_quoted(right)}]" for left, right in values)
    return {"pairs": "\n".join(lines)}


_quoted: Final = json.JSONEncoder().encode
"""A text as JSON has it; to write each pair as a list would take ten times as long."""
