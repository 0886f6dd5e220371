"""Rows of tables and views as DataFrames for users' own assets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vde_dagster.lakehouse.connect import is_remote
from vde_dagster.lakehouse.evaluation import table_sql
from vde_dagster.lakehouse.recomputing import inside
from vde_dagster.lakehouse.tables import quoted
from vde_dagster.ports.engine import TableRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows_for_users(spark: SparkSession, catalog: str, wanted: TableRows) -> DataFrame:
    """The requested rows, lazily, in the session of users' code.

    Those at an Iceberg snapshot have the columns that the table had then.
    """
    name = table_sql(catalog, wanted.table)
    if wanted.iceberg_snapshot_id is None:
        rows = spark.table(name)
    else:
        pinned = spark.read.option("versionAsOf", str(wanted.iceberg_snapshot_id))
        rows = pinned.format("iceberg").load(name)
    if wanted.axis is not None:
        rows = inside(rows, wanted.axis, wanted.intervals)
    if wanted.columns:
        rows = rows.select(*map(quoted, wanted.columns))
    if is_remote(rows):
        _ = rows.schema  # else what is missing is only found where the rows are used
    return rows
