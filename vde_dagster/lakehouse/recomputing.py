"""The sums of a table's rows, computed again from storage.

Rows of tables and views as DataFrames for users' own assets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import AsOf
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.connect import is_remote
from vde_dagster.lakehouse.digest import row_sums
from vde_dagster.lakehouse.evaluation import input_frame, table_sql
from vde_dagster.lakehouse.storable import stored_type
from vde_dagster.lakehouse.stored_values import as_type
from vde_dagster.lakehouse.tables import quoted
from vde_dagster.lakehouse.times import rows_inside, unit_sums
from vde_dagster.ports.engine import Sought, TableRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sums_of(
    spark: SparkSession, catalog: str, sought: Sought, algorithm: str
) -> Mapping[Interval | None, RowSum]:
    """The requested sums, in one Spark job over the rows that they cover.

    Columns have the requested types: a table's types only ever widen, and its structs only get
    fields (rule R11), so this gives every value as it was when it was recorded, or as it is now.
    """
    pinned = AsOf(table=sought.table, iceberg_snapshot_id=sought.iceberg_snapshot_id)
    rows = input_frame(spark, catalog, pinned)
    if sought.axis is not None and sought.intervals is not None:
        rows = rows_inside(rows, sought.axis, sought.intervals)
    types = {each.name.lower(): each.dataType for each in rows.schema.fields}
    then = rows.select(
        *[
            as_type(
                rows[quoted(each.name)], types[each.name.lower()], stored_type(each.type)
            ).alias(each.name)
            for each in sought.columns
        ]
    )
    if sought.axis is None:
        return {None: total(row_sums(then, algorithm).values())}
    return unit_sums(then, sought.axis, algorithm)


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
        rows = rows_inside(rows, wanted.axis, wanted.intervals)
    if wanted.columns:
        rows = rows.select(*map(quoted, wanted.columns))
    if is_remote(rows):
        _ = rows.schema  # else what is missing is only found where the rows are used
    return rows
