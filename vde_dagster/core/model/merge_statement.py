"""The MERGE statement that inserts and updates rows by a key (seed 001, *UNIQUE_KEY*)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot import exp

from vde_dagster.core.model.writes import MergeRows
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.text import closed

SOURCE: Final = "source"
TARGET: Final = "target"
_UPDATE_ALL: Final = "WHEN MATCHED THEN UPDATE SET *"
_BEFORE: Final = "SELECT "
_INSERT_ALL: Final = "WHEN NOT MATCHED THEN INSERT *"


def merge_statement(target: exp.Table, source: exp.Table, write: MergeRows) -> str:
    """MERGE rows of one table into another, in Spark's SQL.

    Rows whose key is there meet the clauses of the write in order, or have all columns updated
    where it has none; all others are inserted. Clauses and the condition run as they are written.
    """
    conditions = [same_key(write.key)]
    if write.merge_filter:
        conditions.append(exp.Paren(this=exp.Var(this=closed(write.merge_filter))))
    clauses = [closed(write.when_matched or _UPDATE_ALL), _INSERT_ALL]
    return exp.Merge(
        this=exp.alias_(target, TARGET, table=True),
        using=exp.alias_(source, SOURCE, table=True),
        on=exp.and_(*conditions),
        whens=exp.Whens(expressions=[exp.Var(this=each) for each in clauses]),
    ).sql("spark", identify=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """Between which values a part of a key lies; both are literals in Spark's SQL."""

    key: str
    least: str
    greatest: str

    def condition(self, value: exp.Expr) -> exp.Expr:
        """That a value lies between them."""
        return exp.Between(
            this=value, low=exp.Var(this=self.least), high=exp.Var(this=self.greatest)
        )


def update_statement(
    target: exp.Table, source: exp.Table, key: Iterable[str], ranges: Iterable[KeyRange]
) -> str:
    """Replace the rows whose key another table has by its rows, in Spark's SQL.

    Its keys lie in these ranges: files of others are not read.
    """
    within = (each.condition(_of_side(each.key, TARGET)) for each in ranges)
    return exp.Merge(
        this=exp.alias_(target, TARGET, table=True),
        using=exp.alias_(source, SOURCE, table=True),
        on=exp.and_(same_key(key), *within),
        whens=exp.Whens(expressions=[exp.Var(this=_UPDATE_ALL)]),
    ).sql("spark", identify=True)


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
    columns = read_spark(f"{_BEFORE}{key}").find_all(exp.Column)
    places = sorted(each.parts[0].meta["start"] - len(_BEFORE) for each in columns)
    borders = [0, *places, len(key)]
    pieces = [key[start:end] for start, end in pairwise(borders)]
    return exp.Paren(this=exp.Var(this=closed(f"{side}.".join(pieces))))
