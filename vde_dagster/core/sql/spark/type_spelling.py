"""Spark's simple names of types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.scopes import type_named

_Type: Final = exp.DataType.Type
_NAMES: Final[Mapping[exp.DType, str]] = {
    _Type.BOOLEAN: "boolean",
    _Type.TINYINT: "tinyint",
    _Type.SMALLINT: "smallint",
    _Type.INT: "int",
    _Type.BIGINT: "bigint",
    _Type.FLOAT: "float",
    _Type.DOUBLE: "double",
    _Type.TEXT: "string",
    _Type.VARCHAR: "string",
    _Type.CHAR: "string",
    _Type.BINARY: "binary",
    _Type.DATE: "date",
    _Type.TIMESTAMP: "timestamp",
    _Type.TIMESTAMPTZ: "timestamp",
    _Type.TIMESTAMPLTZ: "timestamp",
    _Type.TIMESTAMPNTZ: "timestamp_ntz",
}
_PRECISION: Final = 10
"""That of a decimal without one."""


def spelled(kind: exp.DataType) -> str | None:
    """A type by Spark's simple name, such as ``decimal(10,2)``; None of one that is not listed."""
    if kind.is_type(_Type.DECIMAL):
        return _decimal([each.name for each in kind.expressions])
    parts = [spelled(each) for each in kind.expressions if isinstance(each, exp.DataType)]
    if kind.is_type(_Type.ARRAY, _Type.MAP):
        wanted = 1 if kind.is_type(_Type.ARRAY) else 2
        known = [each for each in parts if each is not None]
        return f"{kind.this.name.lower()}<{','.join(known)}>" if len(known) == wanted else None
    if kind.is_type(_Type.STRUCT):
        return _struct(kind)
    return _NAMES.get(kind.this)


def _decimal(parts: Sequence[str]) -> str | None:
    if not all(each.isdigit() for each in parts):
        return None
    precision = int(parts[0]) if parts else _PRECISION
    return f"decimal({precision},{int(parts[1]) if len(parts) > 1 else 0})"


def _struct(kind: exp.DataType) -> str | None:
    fields = []
    for each in kind.expressions:
        inner = each.args.get("kind") if isinstance(each, exp.ColumnDef) else None
        found = spelled(inner) if isinstance(inner, exp.DataType) else None
        if found is None:
            return None
        fields.append(f"{field_name(each.name)}:{found}")
    return f"struct<{','.join(fields)}>" if fields else None


@lru_cache(maxsize=4096)
def field_name(name: str) -> str:
    """A field's name in the name of a struct's type: in backquotes where it is not read without."""
    if _WORD.fullmatch(name):
        try:
            read = type_named(f"struct<{name}:int>").expressions
        except SQL_ERRORS:
            read = []
        if len(read) == 1 and isinstance(read[0], exp.ColumnDef) and read[0].name == name:
            return name
    return exp.to_identifier(name, quoted=True).sql("spark")


def type_text(kind: exp.DataType) -> str:
    """A type as Spark's SQL reads it, in lower case but for the names of fields."""
    copy = kind.copy()
    for field in copy.find_all(exp.ColumnDef):
        if isinstance(field.this, exp.Identifier):
            field.this.set("quoted", field_name(field.name) != field.name)
    return with_lower_words(copy.sql("spark"))


def with_lower_words(name: str) -> str:
    """A type's name in lower case, but for fields of structs: they are data where rows are JSON."""
    return _WORDS.sub(lambda word: word[1] or word[0].lower(), name)


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final = re.compile(r"((?:`(?:[^`]|``)*`|[^<>(),:`]+):)|\w+")
"""A word, or the name of a field with the colon behind it."""
