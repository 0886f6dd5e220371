"""Reading views: their rows in a SQL catalog, and the queries in their metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Select, and_, column, or_, select, table
from sqlglot import exp

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import common_table_of

AT_ONCE: Final = 200
"""Namespaces that are looked at by one statement, so as they are at one moment."""
_TABLES: Final = table(
    "iceberg_tables",
    *map(column, ("catalog_name", "table_namespace", "table_name")),
    *map(column, ("iceberg_type", "metadata_location")),
)


def lookup(keys: Sequence[tuple[str, str]]) -> Select[Any]:
    """All rows of some namespaces, each with its catalog."""
    catalog, namespace = _TABLES.c.catalog_name, _TABLES.c.table_namespace
    return select(_TABLES).where(or_(*(and_(catalog == a, namespace == b) for a, b in keys)))


def spark_query(metadata: Mapping[str, Any]) -> str | None:
    """The query of a view's current version in Spark's dialect.

    None if it has none, or if a table's name is completed by where the view was created.
    """
    current = metadata["current-version-id"]
    (version,) = (each for each in metadata["versions"] if each["version-id"] == current)
    texts = [each["sql"] for each in version["representations"] if each["dialect"] == "spark"]
    return texts[0] if len(texts) == 1 and _names_all(texts[0]) else None


def _names_all(sql: str) -> bool:
    """Whether every table is named with its catalog."""
    try:
        tables = [*read_spark(sql).find_all(exp.Table)]
        return all(each.catalog or common_table_of(each) is not None for each in tables)
    except SQL_ERRORS:
        return False
