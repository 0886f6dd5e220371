"""The properties about columns: types, descriptions, keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.type_spelling import with_lower_words
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import BRACKETS, Value
from vde_dagster.project.properties.values import (
    column_name,
    read_columns_of,
    read_options,
    read_text,
)

_IN_PYTHON: Final = "In a Python model, the decorator takes a mapping, `columns={'name': 'type'}`."


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
        message = f"{item.raw} is not a column with its type"
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
        problems.add(rest.place, f"{kind.written!r} is not a column type", advice)
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


_TRANSFORMS: Final = {
    "year": Transform.YEARS,
    "years": Transform.YEARS,
    "month": Transform.MONTHS,
    "months": Transform.MONTHS,
    "day": Transform.DAYS,
    "days": Transform.DAYS,
    "date": Transform.DAYS,
    "hour": Transform.HOURS,
    "hours": Transform.HOURS,
    "bucket": Transform.BUCKET,
    "truncate": Transform.TRUNCATE,
}
_SIZED: Final = (Transform.BUCKET, Transform.TRUNCATE)
_TRUNCATIONS: Final = ("date_trunc", "timestamp_trunc", "datetime_trunc", "trunc")
_FORMATS: Final = ("parquet", "orc", "avro")
_RESERVED: Final = {
    "format-version": "Leave it out: every table uses Iceberg's format version 2.",
    "location": "Leave it out: tables are stored in the catalog's warehouse.",
    "write.merge.mode": (
        "Leave it out: vde derives the changes of a merge from the files that it wrote."
    ),
    "provider": "Leave it out: every table is an Iceberg table.",
    "comment": "Write `description` instead.",
    "owner": "Write `owner` as a property of the model.",
}
"""Table properties that are set elsewhere, with what to do instead."""


def read_storage(values: Mapping[str, Value], problems: Problems) -> Storage:
    """The storage that a model's properties ask for."""
    partitioned = values.get("partitioned_by")
    clustered = values.get("clustered_by")
    fields = (
        [_field(item, problems) for item in partitioned.items()] if partitioned is not None else []
    )
    _check_table_format(values.get("table_format"), problems)
    return Storage(
        partitioned_by=tuple(field for field in fields if field is not None),
        clustered_by=read_columns_of(clustered, "clustered_by", problems)
        if clustered is not None
        else (),
        storage_format=_storage_format(values.get("storage_format"), problems),
        properties=_properties(values.get("physical_properties"), problems),
    )


def _field(item: Value, problems: Problems) -> PartitionField | None:
    """A column, a transform such as ``days(ts)`` or ``bucket(16, id)``, or DATE_TRUNC."""
    name = column_name(item)
    if name is not None:
        return PartitionField(column=name)
    found = _transformed(item.unquoted())
    if found is None:
        problems.add(
            item.place,
            f"{item.sql!r} is not a partitioning that Iceberg supports",
            "Write a column, or years, months, days, hours(column), bucket(16, column) or "
            "truncate(10, column).",
        )
    return found


def _transformed(item: Value) -> PartitionField | None:
    name, group = item.name.lower(), item.group()
    if group is None:
        return None
    if name in _TRUNCATIONS and len(group) == 2:
        # Spark has the unit first, BigQuery last; either order is accepted.
        for unit, column in (group, group[::-1]):
            if unit.written.lower() in _TRANSFORMS:
                name, group = unit.written.lower(), (column,)
                break
    transform = _TRANSFORMS.get(name)
    if transform is None:
        return None
    if transform not in _SIZED:
        return _plain(transform, group[0], None) if len(group) == 1 else None
    sizes = [each.written for each in group if each.written.isdigit()]
    columns = [each for each in group if not each.written.isdigit()]
    if len(sizes) != 1 or len(columns) != 1 or not 0 < int(sizes[0]) < 2**31:
        return None
    return _plain(transform, columns[0], int(sizes[0]))


def _plain(transform: Transform, column: Value, argument: int | None) -> PartitionField | None:
    name = column_name(column)
    if name is None:
        return None
    return PartitionField(column=name, transform=transform, argument=argument)


def _check_table_format(value: Value | None, problems: Problems) -> None:
    if value is not None and value.written.lower() != "iceberg":
        message = (
            f"the table format {value.written!r} is not supported: every table is an Iceberg table"
        )
        problems.add(value.place, message, "Write `table_format iceberg`, or leave it out.")


def _storage_format(value: Value | None, problems: Problems) -> str:
    if value is None:
        return ""
    found = value.written.lower()
    if found not in _FORMATS:
        message = f"{value.written!r} is not a file format of Iceberg"
        problems.add(value.place, message, f"Use one of {', '.join(_FORMATS)}.")
        return ""
    return found


def _properties(value: Value | None, problems: Problems) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    found: dict[str, str] = {}
    for item in value.items():
        # Table properties have dots and hyphens in their names: write.format.default = 'orc'.
        name = item.first_word()
        key, rest = name.written, item.after(len(name.tokens))
        if rest is None:
            message = f"the table property {item.raw} has no value"
            problems.add(item.place, message, "Write `name = value`.")
        elif key in _RESERVED or key.startswith("vde."):
            message = f"the table property {key!r} cannot be set by a model"
            problems.add(item.place, message, _RESERVED.get(key, "Leave it out."))
        elif key in found:
            problems.add(item.place, f"the table property {key!r} is given twice", "Remove one.")
        elif not rest.is_word:
            message = f"the table property {key!r} has the value {rest.raw}"
            problems.add(rest.place, message, "Write a text in quotes, a number, true or false.")
        else:
            flag = rest.tokens[0].token_type in (TokenType.TRUE, TokenType.FALSE)
            found[key] = rest.written.lower() if flag else rest.written
    return tuple(sorted(found.items()))
