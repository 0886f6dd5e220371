"""Merging changes by key in the order of a sequence: the table follows from their set alone.

Of each key the last change counts, in whatever order and in how many parts they come. A change that
deletes its key stays as a delete marker (`core.model.delete_markers`), so that an earlier one that
comes later does not bring the key back.

Only changed keys are looked for in the table, and only their rows are hashed. Keys that are new are
appended, so that the MERGE has nothing to insert: Spark can then find the rows to update with one
scan of the table, and sorts none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql import types as t

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.merge_statement import update_statement
from vde_dagster.core.model.writes import AppendRows, ChangeOrder, MergeRows
from vde_dagster.core.sql.text import key_expression
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.writes.intervals import (
    Written,
    append_rows,
    check_count,
    exchanged,
    whole_sum,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from vde_dagster.lakehouse.staging.branch import Branch

_BROADCAST_ROWS: Final = 1_000_000
"""Up to how many changes are sent to all tasks, so that the table is not sorted to find them."""
_PLACE, _FIRST, _ROW, _KEY, _OLD = (
    f"_vde_{each}" for each in ("place", "first", "row", "key", "old")
)


def merge_changes(
    branch: Branch, frame: DataFrame, write: MergeRows, order: ChangeOrder
) -> Written:
    """Insert keys that are new, and update those of which a later change has come.

    Args:
        branch: The branch.
        frame: The changes, in exactly the table's columns and types.
        write: By which key they are merged.
        order: Which change of a key counts.

    Raises:
        EvaluationFailed: A key or a sequence is NULL, two different changes of a key have the same
            sequence, or the columns do not fit the order. Texts name a key.
    """
    _check_types(frame, order)
    last = last_changes(frame, write.key, order)
    before, loaded = branch.head, branch.loaded
    if before is None or branch.is_empty:
        written = append_rows(branch, last, AppendRows(interval=write.interval))
        return Written(rows=lambda: _visible(written.rows(), order), sums=written.sums)
    merge = _matched(branch, branch.keep(last), write.key, order)
    inserted, updated, replaced = (
        whole_sum(each, branch.staging.algorithm)
        for each in (merge.inserted, merge.updated, merge.replaced)
    )
    if updated.rows:
        with branch.view(merge.updated, "source") as source:
            branch.run(update_statement(branch.target, source, write.key))
        branch.committed()
    if inserted.rows:
        branch.writer(merge.inserted).append()
        check_count([inserted], branch.committed())
    rows = _visible(merge.inserted.unionByName(merge.updated), order)
    change = inserted + updated - replaced
    return exchanged(branch, rows, write.interval, change, before=before, loaded=loaded)


def last_changes(frame: DataFrame, key: tuple[str, ...], order: ChangeOrder) -> DataFrame:
    """The last change of each key; the frame fails when it is computed and that is not certain.

    Args:
        frame: The changes.
        key: Columns or expressions in Spark's SQL.
        order: Which change is later. The same change may be there several times.
    """
    keys = _keys(key)
    sequence = [F.col(quoted(each)) for each in order.by]
    latest = Window.partitionBy(*keys).orderBy(*(each.desc() for each in sequence))
    placed = frame.withColumns(
        {_ROW: _as_text(frame.columns), _PLACE: F.row_number().over(latest)}
    ).withColumn(_FIRST, F.struct(F.first(_ROW).over(latest), F.rank().over(latest)))
    first, rank = (F.col(f"{_FIRST}.col{number}") for number in (1, 2))
    shown = _shown(key, keys)
    missing = reduce(or_, (each.isNull() for each in [*keys, *sequence]))
    columns = ", ".join([*key, *order.by])
    counts = (
        F.when(missing, _failing(f"a change has NULL in {columns}; its key is ", shown))
        .when((rank == 1) & (F.col(_ROW) != first), _failing(_tie(order), shown))
        .otherwise(F.col(_PLACE) == 1)
    )
    return placed.where(counts).drop(_ROW, _PLACE, _FIRST)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merge:
    """What becomes of changes: all frames have the table's columns, and are computed already.

    ``replaced`` are the rows in whose place those that are ``updated`` go.
    """

    inserted: DataFrame
    updated: DataFrame
    replaced: DataFrame


def _matched(
    branch: Branch, changes: DataFrame, key: tuple[str, ...], order: ChangeOrder
) -> _Merge:
    """Compare each change with the row of its key."""
    names = changes.columns
    own = [f"{_KEY}{number}" for number in range(len(key))]
    keyed = changes.withColumns(dict(zip(own, _keys(key), strict=True)))
    sought = keyed.select(*own)
    if changes.count() <= _BROADCAST_ROWS:
        sought = F.broadcast(sought)
    table = branch.rows().select(*map(quoted, names))
    old = table.withColumns(dict(zip(own, _keys(key), strict=True))).join(sought, own, "left_semi")
    old = old.select(*own, F.struct(*map(quoted, names)).alias(_OLD))
    pairs = keyed.join(branch.keep(old), own, "left")
    later, same = _is_later(order)
    equal = _as_text(names) == F.to_json(F.col(_OLD))
    tie = _failing(_tie(order), _shown(key, [F.col(each) for each in own]))
    state = (
        F.when(F.col(_OLD).isNull(), F.lit("inserted"))
        .when(later, F.lit("updated"))
        .when(same & ~equal, tie.cast("string"))
        .otherwise(F.lit("older"))
    )
    known = branch.keep(pairs.withColumn(_PLACE, state))
    chosen = {each: known.where(F.col(_PLACE) == each) for each in ("inserted", "updated")}
    new = {each: rows.select(*map(quoted, names)) for each, rows in chosen.items()}
    return _Merge(
        inserted=new["inserted"],
        updated=new["updated"],
        replaced=chosen["updated"].select(f"{_OLD}.*"),
    )


def _is_later(order: ChangeOrder) -> tuple[Column, Column]:
    """Whether a change comes after the row of its key, and whether it has the same sequence."""
    later, same = F.lit(False), F.lit(True)
    for each in order.by:
        new, old = F.col(quoted(each)), F.col(f"{_OLD}.{quoted(each)}")
        later = later | (same & (new > old))
        same = same & (new == old)
    return later, same


def _keys(key: tuple[str, ...]) -> list[Column]:
    return [F.expr(key_expression(each).sql("spark")) for each in key]


def _as_text(columns: list[str]) -> Column:
    """A row as a text: maps and variants cannot be compared otherwise."""
    return F.to_json(F.struct(*map(quoted, columns)))


def _shown(key: tuple[str, ...], values: list[Column]) -> Column:
    shown = [F.coalesce(each.cast("string"), F.lit("NULL")) for each in values]
    return F.concat(F.lit(f"({', '.join(key)}) = ("), F.concat_ws(", ", *shown), F.lit(")"))


def _tie(order: ChangeOrder) -> str:
    return f"different changes have the same {', '.join(order.by)}, so none is the last one of "


def _failing(text: str, key: Column) -> Column:
    return F.raise_error(F.concat(F.lit(text), key)).cast("boolean")


def _visible(rows: DataFrame, order: ChangeOrder) -> DataFrame:
    """The rows that readers see."""
    if order.delete_markers is None:
        return rows
    return rows.where(order.delete_markers.visible.sql("spark"))


_ORDERED: Final = (
    t.NumericType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
    t.StringType,
)
_CONSTANTS: Final = {str: t.StringType, bool: t.BooleanType, int: t.IntegralType}


def _check_types(frame: DataFrame, order: ChangeOrder) -> None:
    """Refuse columns whose values have no order, or are nothing like what they are compared with.

    Raises:
        EvaluationFailed: There are such columns; all are named.
    """
    types = {each.name.lower(): each.dataType for each in frame.schema.fields}
    wrong = [
        f"sequence_by {each}: {types[each].simpleString()} has no order"
        for each in order.by
        if not isinstance(types[each], _ORDERED)
    ]
    deleted = order.delete_markers
    if deleted is not None and deleted.values:
        wanted, of = _CONSTANTS[type(deleted.values[0])], types[deleted.column]
        if not isinstance(of, wanted):
            wrong.append(f"delete_when {deleted}: {deleted.column} is {of.simpleString()}")
    if wrong:
        raise EvaluationFailed(
            "; ".join(wrong),
            advice="Name columns of numbers, dates, times or texts, and compare like with like.",
        )
