"""The MERGE statement that inserts and updates rows by a key (seed 001, *UNIQUE_KEY*)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp, parse_one

from vde_dagster.core.work import MergeRows

SOURCE: Final = "source"
TARGET: Final = "target"
_UPDATE_ALL: Final = "MERGE INTO t USING s ON TRUE WHEN MATCHED THEN UPDATE SET *"


def merge_statement(target: exp.Table, source: exp.Table, write: MergeRows) -> exp.Merge:
    """MERGE rows of one table into another, in Spark's dialect.

    Rows whose key is there meet the clauses of the write in order, or have all columns updated
    where it has none; all others are inserted.
    """
    conditions = [same_key(write.key)]
    if write.merge_filter is not None:
        conditions.append(write.merge_filter)
    default = parse_one(_UPDATE_ALL, dialect="spark").args["whens"].expressions
    return exp.merge(
        *(each.copy() for each in write.when_matched or default),
        "WHEN NOT MATCHED THEN INSERT *",
        into=exp.alias_(target, TARGET, table=True),
        using=exp.alias_(source, SOURCE, table=True),
        on=exp.and_(*conditions),
        dialect="spark",
    )


def same_key(key: Iterable[str]) -> exp.Expr:
    """That a row of each side has the same key; NULL is a key like any other."""
    return exp.and_(
        *(
            exp.NullSafeEQ(this=_of_side(each, TARGET), expression=_of_side(each, SOURCE))
            for each in key
        )
    )


def _of_side(key: str, side: str) -> exp.Expr:
    """A key over one side's columns; of what looks like a table's column, it is a field."""
    expression = exp.paren(parse_one(key, dialect="spark"))
    for column in list(expression.find_all(exp.Column)):
        first, *fields = column.parts
        of_side = exp.column(first.copy(), table=side)
        of_field = [of_side, *(each.copy() for each in fields)]
        column.replace(exp.Dot.build(of_field) if fields else of_side)
    return expression
