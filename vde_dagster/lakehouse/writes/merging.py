"""Inserting and updating rows by a key, by MERGE (seed 001, INCREMENTAL_BY_UNIQUE_KEY)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.model.merge_statement import SOURCE, TARGET, merge_statement, same_key
from vde_dagster.core.model.writes import AppendRows, MergeRows
from vde_dagster.lakehouse.writes.keys import one_row_per_key
from vde_dagster.lakehouse.writes.whole import append_rows
from vde_dagster.lakehouse.writes.written import Written, changed_sum, exchanged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


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
