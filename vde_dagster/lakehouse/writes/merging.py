"""Inserting and updating rows by a key, by MERGE (seed 001, INCREMENTAL_BY_UNIQUE_KEY)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp, parse_one

from vde_dagster.core.work import MergeRows
from vde_dagster.lakehouse.writes.keys import one_row_per_key
from vde_dagster.lakehouse.writes.written import Written, changed_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch

_SOURCE: Final = "source"
_TARGET: Final = "target"


def merge_rows(branch: Branch, frame: DataFrame, write: MergeRows) -> Written:
    """Insert rows whose key is new, and update those whose key is there; all others stay.

    NULL is a key like any other, so rows without a key do not pile up. The new rows are computed
    once, although MERGE looks at them twice: for the files that it concerns, and for the rows.

    Raises:
        EvaluationFailed: Two new rows have one key; the text names some keys.
    """
    before = branch.head
    rows = branch.keep(one_row_per_key(frame, write.key))
    with branch.view(rows, "source") as source:
        branch.run(_statement(branch.target, source, write))
    branch.committed()
    return Written(
        rows=_of_keys(branch.rows(), rows, write.key),
        sums={write.interval: changed_sum(branch, before)},
    )


def _statement(target: exp.Table, source: exp.Table, write: MergeRows) -> exp.Merge:
    matches = [_match(each) for each in write.key]
    condition = exp.and_(*matches, *([write.merge_filter] if write.merge_filter else []))
    clauses = write.when_matched or (_UPDATE_ALL,)
    return exp.merge(
        *(each.copy() for each in clauses),
        "WHEN NOT MATCHED THEN INSERT *",
        into=exp.alias_(target, _TARGET, table=True),
        using=exp.alias_(source, _SOURCE, table=True),
        on=condition,
        dialect="spark",
    )


_UPDATE_ALL: Final = (
    parse_one("MERGE INTO t USING s ON TRUE WHEN MATCHED THEN UPDATE SET *", dialect="spark")
    .args["whens"]
    .expressions[0]
)


def _match(key: str) -> exp.Expr:
    """That a key is the same on both sides."""
    return exp.NullSafeEQ(this=_side(key, _TARGET), expression=_side(key, _SOURCE))


def _side(key: str, side: str) -> exp.Expr:
    """A key over one side's columns."""
    expression = parse_one(key, dialect="spark")
    for column in expression.find_all(exp.Column):
        column.set("table", exp.to_identifier(side))
    return exp.paren(expression)


def _of_keys(rows: DataFrame, of: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The rows whose keys another frame has, too."""
    from pyspark.sql import functions as F  # noqa: N812

    left, right = rows.alias(_TARGET), of.alias(_SOURCE)
    same = exp.and_(*map(_match, key)).sql("spark", identify=True)
    return left.join(right, F.expr(same), "left_semi")
