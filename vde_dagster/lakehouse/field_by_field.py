"""Selecting the structs of a table field by field, in Spark's SQL.

Spark reads a view only if its structs have as many fields as those of what it selects. A view that
names the fields can be read before and after its table gets another one, at any depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

ROWS = "vde_rows"
"""The name of the table in the query, since a table may be called as a column of structs is."""


def selected(name: str, kind: object) -> str:
    """A column with exactly these fields of its structs, in this order.

    Args:
        name: The column's.
        kind: Its type with the fields that are selected, as Iceberg's specification writes it.
    """
    column = quoted(name)
    value = _value(f"{ROWS}.{column}", kind, 0)
    return f"{value} AS {column}"


def quoted(name: str) -> str:
    """A name as Spark's SQL quotes it."""
    return "`" + name.replace("`", "``") + "`"


def _value(value: str, kind: object, depth: int) -> str:
    """The value of a type, or of what is inside of one; ``depth`` counts the lambdas around it."""
    match kind:
        case {"type": "struct", "fields": fields}:
            parts = ", ".join(_field(value, each, depth) for each in fields)
            return f"IF({value} IS NULL, NULL, NAMED_STRUCT({parts}))"
        case {"type": "list", "element": element} if _has_struct(element):
            inner = _value(f"e{depth}", element, depth + 1)
            return f"TRANSFORM({value}, e{depth} -> {inner})"
        case {"type": "map", "value": entry} if _has_struct(entry):
            inner = _value(f"e{depth}", entry, depth + 1)
            return f"TRANSFORM_VALUES({value}, (k{depth}, e{depth}) -> {inner})"
        case _:
            return value


def _field(struct: str, field: Mapping[str, Any], depth: int) -> str:
    name = field["name"]
    value = _value(f"{struct}.{quoted(name)}", field["type"], depth)
    return f"{exp.Literal.string(name).sql('spark')}, {value}"


def _has_struct(kind: object) -> bool:
    """Whether a type has fields that a table may get more of: those in keys of maps stay."""
    match kind:
        case {"type": "struct"}:
            return True
        case {"type": "list", "element": inner} | {"type": "map", "value": inner}:
            return _has_struct(inner)
        case _:
            return False
