"""Values as texts: which ones all dialects write alike, and advice for the others."""

from __future__ import annotations

from typing import Final

from vde_dagster.core.sql.translation.proven_parts import PROVEN
from vde_dagster.core.sql.translation.type_names import advised_type, text_type_in, whole_number_in

_SPARKS: Final = "write the model in Spark's dialect"


def is_written_alike(kind: str, source: str) -> bool:
    """Whether a value of a kind, cast to a text, is the same text in a dialect and in Spark."""
    alike = {"text", "integer", "date", "null"}
    alike |= {"decimal"} if source != "bigquery" else set()
    alike |= {"boolean"} if source not in ("mysql", "tsql", "redshift") else set()
    return kind in alike


def advised_text(kind: str, source: str) -> str:
    """Advice for a value whose text differs between dialects, or is not known."""
    text = text_type_in(source)
    if is_written_alike(kind, source):
        return f"Write CAST(... AS {text}) around it"
    if not kind:
        return advised_type(source)
    if kind in ("double", "decimal"):
        number = whole_number_in(source) if source == "bigquery" else "DECIMAL(18, 6)"
        return f"Write CAST(CAST(... AS {number}) AS {text}), or {_SPARKS}"
    if kind in ("time", "instant"):
        return f"Write it with {_FORMATS[source]}, or {_SPARKS}"
    if kind == "array" and "ArrayToString(expression,this)" in PROVEN[source]:
        return f"Join its elements to a text, or {_SPARKS}"
    return f"{_SPARKS[:1].upper()}{_SPARKS[1:]}"


_FORMATS: Final = {
    "bigquery": "FORMAT_TIMESTAMP('%Y-%m-%d %H:%M:%S', ...)",
    "duckdb": "STRFTIME(..., '%Y-%m-%d %H:%M:%S')",
    "mysql": "DATE_FORMAT(..., '%Y-%m-%d %H:%i:%s')",
    "postgres": "TO_CHAR(..., 'YYYY-MM-DD HH24:MI:SS')",
    "presto": "DATE_FORMAT(..., '%Y-%m-%d %H:%i:%s')",
    "redshift": "TO_CHAR(..., 'YYYY-MM-DD HH24:MI:SS')",
    "snowflake": "TO_CHAR(..., 'YYYY-MM-DD HH24:MI:SS')",
    "trino": "DATE_FORMAT(..., '%Y-%m-%d %H:%i:%s')",
    "tsql": "FORMAT(..., 'yyyy-MM-dd HH:mm:ss')",
}
"""Formatting of a time that is translated, by dialect."""
