"""The properties about columns: types, descriptions, keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.type_spelling import with_lower_words
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import BRACKETS, Value
from vde_dagster.project.properties.values import read_columns_of, read_options, read_text

_IN_PYTHON: Final = "The decorator of a Python model takes a mapping, `columns={'name': 'type'}`."


def read_columns(value: Value | None, dialect: str, problems: Problems) -> tuple[Column, ...]:
    """Declared columns: ``name type``, perhaps with COMMENT 'text'."""
    columns: dict[str, Column] = {}
    for item in value.items() if value is not None else ():
        column = _column(item, dialect, problems)
        if column is not None and column.name in columns:
            problems.add(item.place, f"the column {column.name!r} is given twice", "Remove one.")
        elif column is not None:
            columns[column.name] = column
    return tuple(columns.values())


def _column(item: Value, dialect: str, problems: Problems) -> Column | None:
    if item.tokens[0].token_type in BRACKETS:
        message = f"{item.raw} is no column with its type"
        problems.add(item.place, message, f"Write `name type`. {_IN_PYTHON}")
        return None
    rest = item.rest()
    if rest is None:
        message = f"the column {item.raw} has no type"
        problems.add(item.place, message, f"Write `name type`. {_IN_PYTHON}")
        return None
    kind, description = _commented(rest.unquoted())
    found = column_type(kind.written, dialect)
    if found is None:
        advice = "Write a type of the model's dialect, such as bigint, string or timestamp."
        problems.add(rest.place, f"{kind.written!r} is no type of a column", advice)
        return None
    return Column(name=item.tokens[0].text.lower(), type=found, description=description)


def _commented(value: Value) -> tuple[Value, str]:
    """A type without the COMMENT after it, and the comment's text."""
    tokens = value.tokens
    if len(tokens) < 3 or tokens[-2].text.upper() != "COMMENT":
        return value, ""
    if tokens[-1].token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
        return value, ""
    return value.until(len(tokens) - 2), tokens[-1].text


@lru_cache(maxsize=1024)
def column_type(text: str, dialect: str = "spark") -> str | None:
    """Spark's name for a type of a dialect; None if Spark has no such type.

    Its words are in lower case; fields of structs keep theirs: they are data where rows are JSON.
    """
    try:
        given = sqlglot.parse_one(text, dialect=dialect, into=exp.DataType)
        found = sqlglot.parse_one(given.sql("spark"), dialect="spark", into=exp.DataType)
    except (*SQL_ERRORS, RecursionError):
        return None
    if any(each.this not in _TYPES for each in found.find_all(exp.DataType)):
        return None
    return with_lower_words(found.sql("spark"))


_TYPES: Final = {
    exp.DataType.Type.ARRAY,
    exp.DataType.Type.BIGINT,
    exp.DataType.Type.BINARY,
    exp.DataType.Type.BOOLEAN,
    exp.DataType.Type.CHAR,
    exp.DataType.Type.DATE,
    exp.DataType.Type.DECIMAL,
    exp.DataType.Type.DOUBLE,
    exp.DataType.Type.FLOAT,
    exp.DataType.Type.INT,
    exp.DataType.Type.MAP,
    exp.DataType.Type.SMALLINT,
    exp.DataType.Type.STRUCT,
    exp.DataType.Type.TEXT,
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPLTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TINYINT,
    exp.DataType.Type.VARCHAR,
    exp.DataType.Type.VARIANT,
}
"""Spark's types in sqlglot's terms; Spark's TIMESTAMP is TIMESTAMPTZ there."""


def read_descriptions(value: Value | None, problems: Problems) -> dict[str, str]:
    """``(column = 'text', ...)``: descriptions of columns."""
    found: dict[str, str] = {}
    pairs = read_options(value.items(), problems) if value is not None else []
    for key, each in pairs:
        if key in found:
            problems.add(each.place, f"the column {key!r} is described twice", "Remove one.")
        else:
            found[key] = read_text(each, f"the description of {key!r}", problems)
    return found


def read_grains(values: Mapping[str, Value], problems: Problems) -> tuple[tuple[str, ...], ...]:
    """``grain (a, b)`` is one key of two columns; ``grains (a, (b, c))`` are two keys."""
    grains: list[tuple[str, ...]] = []
    if "grain" in values:
        grains.append(read_columns_of(values["grain"], "grain", problems))
    if "grains" in values:
        grains += [read_columns_of(item, "grains", problems) for item in values["grains"].items()]
    return tuple(dict.fromkeys(grain for grain in grains if grain))


def read_references(value: Value | None, problems: Problems) -> tuple[tuple[str, ...], ...]:
    """Columns (or groups) by which other models are joined; ``a AS b`` refers to their ``b``."""
    found: list[tuple[str, ...]] = []
    for item in value.items() if value is not None else ():
        unquoted = item.unquoted()
        words = [token.text.lower() for token in unquoted.tokens]
        if len(words) == 3 and words[1] == "as":
            found.append((f"{words[0]} as {words[2]}",))
        else:
            found.append(read_columns_of(unquoted, "references", problems))
    return tuple(each for each in found if each)
