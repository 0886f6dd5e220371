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
    Text,
    bindparam,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Elements(FunctionElement[str]):
    """The elements of a list in JSON, a row each."""

    name = "elements"
    inherit_cache = True


@compiles(_Elements, "sqlite")
def _sqlite_elements(element: _Elements, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Elements, "postgresql")
def _postgres_elements(element: _Elements, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements(CAST({compiler.process(element.clauses, **options)} AS JSON))"


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
    return f"({found} ->> {place})"


_PAIRS: Final[BindParameter[str]] = bindparam("pairs", type_=Text)


def pairs(left: ColumnElement[str], right: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether two columns are one of the pairs that a statement is executed with: `of_pairs`.

    They are one parameter, however many there are: a statement with a parameter for each value is
    built again for each number of them, which takes longer than running it.
    """
    given = _Elements(_PAIRS).table_valued("value").alias("given")
    places = (_TextAt(given.c.value, literal_column(place)) for place in ("0", "1"))
    return tuple_(left, right).in_(select(*places))


def of_pairs(
    connection: Connection, statement: Executable, values: Iterable[tuple[str, str]]
) -> Sequence[Row[Any]]:
    """The rows of a statement with `pairs`; it is not executed if there are no values."""
    wanted = list(dict.fromkeys(values))
    return connection.execute(statement, in_pairs(wanted)).all() if wanted else ()


def in_pairs(values: Collection[tuple[str, str]]) -> dict[str, str]:
    """The parameter of a statement with `pairs`."""
    return {"pairs": json.dumps(list(values))}
