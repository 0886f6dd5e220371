"""Writes whose rows say what they replace: by a key, or by their partitions.

MERGE inserts and updates rows by a key (seed 001, INCREMENTAL_BY_UNIQUE_KEY), of which two new rows
are refused while they are written. Partitions that new rows belong to are replaced
(INCREMENTAL_BY_PARTITION).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.model.merge_statement import SOURCE, TARGET, merge_statement, same_key
from vde_dagster.core.model.writes import AppendRows, MergeRows, ReplacePartitions
from vde_dagster.core.sql.text import key_expression
from vde_dagster.lakehouse.writes.intervals import (
    Written,
    append_rows,
    changed_sum,
    exchanged,
    put,
    whole_sum,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from vde_dagster.lakehouse.staging.branch import Branch

_COUNT: Final = "_vde_rows_of_key"


def one_row_per_key(frame: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The frame, which fails when it is computed and two of its rows have one key.

    Args:
        frame: The rows.
        key: Columns or expressions in Spark's SQL. NULL is a key like any other.
    """
    keys = [F.expr(key_expression(each).sql("spark")) for each in key]
    counted = frame.withColumn(_COUNT, F.count(F.lit(1)).over(Window.partitionBy(*keys)))
    return counted.where(F.coalesce(_refusal(key, keys), F.lit(True))).drop(_COUNT)


def _refusal(key: tuple[str, ...], keys: list[Column]) -> Column:
    """NULL for a key of one row; an error that names it for others."""
    shown = [F.coalesce(each.cast("string"), F.lit("NULL")) for each in keys]
    text = F.concat(
        F.lit(f"rows share the key ({', '.join(key)}) = ("),
        F.concat_ws(", ", *shown),
        F.concat(F.lit("): "), F.col(_COUNT).cast("string"), F.lit(" of them. ")),
        F.lit("A key has one row at most; group the rows in the query, or name more columns in "),
        F.lit("unique_key"),
    )
    return F.when(F.col(_COUNT) > 1, F.raise_error(text).cast("boolean"))


def merge_rows(branch: Branch, frame: DataFrame, write: MergeRows) -> Written:
    """Insert rows whose key is new, and update those whose key is there; all others stay.

    NULL is a key like any other, so rows without a key do not pile up. The new rows are computed
    once, although MERGE reads them twice: to find the files concerned, and for the rows.

    Raises:
        EvaluationFailed: Two new rows have one key; the text names some keys.
    """
    before, loaded, new = branch.head, branch.loaded, one_row_per_key(frame, write.key)
    if before is None or branch.is_empty:  # no row matches, so all are inserted
        return append_rows(branch, new, AppendRows(interval=write.interval))
    rows = branch.keep(new)
    with branch.view(rows, "source") as source:
        branch.run(merge_statement(branch.target, source, write))
    branch.committed()
    staged = _of_keys(branch.rows(), rows, write.key)
    change = changed_sum(branch, before)
    return exchanged(branch, staged, write.interval, change, before=before, loaded=loaded)


def _of_keys(rows: DataFrame, of: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The rows whose keys another frame has as well."""
    left, right = rows.alias(TARGET), of.alias(SOURCE)
    same = same_key(key).sql("spark", identify=True)
    return left.join(right, F.expr(same), "left_semi")


def replace_partitions(branch: Branch, frame: DataFrame, write: ReplacePartitions) -> Written:
    """Replace every partition that has a new row. Without new rows nothing changes."""
    before, loaded = branch.head, branch.loaded
    if before is None or branch.is_empty:
        return append_rows(branch, frame, AppendRows(interval=write.interval))
    added, seen = put(branch, frame, lambda writer: writer.overwritePartitions())
    if seen is None:
        change = changed_sum(branch, before)
    elif loaded is not None and branch.loaded == loaded + added:  # nothing was replaced
        change = seen
    else:
        change = seen - whole_sum(branch.removed_since(before), branch.staging.algorithm)
    rows = branch.inserted_since(before)
    return exchanged(branch, rows, write.interval, change, before=before, loaded=loaded)
