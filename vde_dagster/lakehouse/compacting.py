"""Rewriting the small files of a table, by Iceberg's own procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from vde_dagster.core.clean_up.compaction import SMALL, Compaction
from vde_dagster.ports.engine import Compacted

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from vde_dagster.core.names import TableName


def compact(
    spark: SparkSession, catalog: str, name: TableName, wanted: Compaction, found: Table
) -> Compacted:
    """Replace the small files of the partitions that have enough of them; see the port.

    Iceberg commits it as one replacement, or not at all.

    Args:
        spark: The session.
        catalog: The catalog's name in it.
        name: The table.
        wanted: What is small, and how large files should be.
        found: The table's metadata.
    """
    options = {
        "target-file-size-bytes": wanted.file_size,
        "min-file-size-bytes": int(wanted.file_size * SMALL),
        "min-input-files": wanted.least,
    }
    given = ", ".join(f"{_text(key)}, {_text(str(value))}" for key, value in options.items())
    strategy = "sort" if found.sort_order().fields else "binpack"
    procedure = ".".join(
        exp.to_identifier(part, quoted=True).sql("spark")
        for part in (catalog, "system", "rewrite_data_files")
    )
    table = exp.table_(name.name, db=name.namespace, quoted=True).sql("spark")
    row = spark.sql(
        f"CALL {procedure}(table => {_text(table)}, strategy => {_text(strategy)}, "
        f"options => map({given}))"
    ).collect()[0]
    return Compacted(
        files=int(row["rewritten_data_files_count"]), files_after=int(row["added_data_files_count"])
    )


def _text(text: str) -> str:
    return exp.Literal.string(text).sql("spark")
