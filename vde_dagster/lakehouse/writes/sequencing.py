"""Merging changes by key in the order of a sequence: the table follows from their set alone.

Of each key the last change counts, in whatever order and in how many parts they come. A change that
deletes its key stays as a delete marker (`core.model.hidden_rows`), so that an earlier one that
comes later does not bring the key back.

Only changed keys are looked for in the table, in files that may have such keys, and only their rows
are hashed. Keys that are new are appended, so that the MERGE has nothing to insert: Spark can then
find the rows to update with one scan of the table, and sorts none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql import types as t

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import MergedChanges
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.merge_statement import KeyRange, update_statement
from vde_dagster.core.model.writes import ChangeOrder, KeepHistory, MergeRows, hidden_by
from vde_dagster.core.sql.text import key_expression
from vde_dagster.lakehouse.digest import observed, row_sums
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.writes.history import own_columns, refuse_incomparable
from vde_dagster.lakehouse.writes.intervals import Written, check_count, exchanged
from vde_dagster.lakehouse.writes.key_ranges import count_and_ranges, within

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

    from vde_dagster.core.model.history import History
    from vde_dagster.core.time.intervals import Interval
    from vde_dagster.lakehouse.staging.branch import Branch

_BROADCAST_ROWS: Final = 1_000_000
"""Up to how many changes are sent to all tasks, so that the table is not sorted to find them."""
_PLACE, _FIRST, _ROW, _KEY, _OLD, _DELETES, _REPEATS, _UNTIL = (
    f"_vde_{each}"
    for each in ("place", "first", "row", "key", "old", "deletes", "repeats", "until")
)


def write_changes(
    branch: Branch, frame: DataFrame, write: MergeRows | KeepHistory, order: ChangeOrder
) -> Written:
    """Write changes in their order: to a table of the last one of each key, or to a history."""
    if isinstance(write, MergeRows):
        return merge_changes(branch, frame, write, order)
    return put_in_changes(branch, frame, write, order)


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
    if branch.head is None or branch.is_empty:
        return _all_new(branch, last, write.interval, hidden_by(write))
    changes = branch.keep(last)
    came, ranges = count_and_ranges(changes, write.key)
    known = _rows_of_keys(branch, changes, write.key, came, ranges)
    is_later = _is_later(changes.columns, write.key, order)
    merge = _merge(branch, changes, known, write.key, is_later, by_change=True)
    hidden = hidden_by(write)
    return _merged(branch, merge, write.key, write.interval, hidden, came=came, ranges=ranges)


def put_in_changes(
    branch: Branch, frame: DataFrame, write: KeepHistory, order: ChangeOrder
) -> Written:
    """Put changes into a history, each at its place: only versions beside them change.

    Args:
        branch: The branch.
        frame: The changes, in exactly the table's columns and types; those of the validity are
            ignored.
        write: How the history is kept.
        order: In which order the changes of a key follow each other.

    Raises:
        EvaluationFailed: As in `merge_changes`; or the first column of the order is not a time.
    """
    history = write.history
    _check_types(frame, order, needs_time=True)
    refuse_incomparable(frame, _compared(frame, history, order))
    hidden = hidden_by(write)
    if branch.head is None or branch.is_empty:
        return _all_new(branch, _versions(frame, history, order), write.interval, hidden)
    changes = branch.keep(frame)
    came, ranges = count_and_ranges(changes, history.key)
    known = _rows_of_keys(branch, changes, history.key, came, ranges)
    versions = branch.keep(_versions(known.unionByName(changes), history, order))
    identity = (*history.key, *map(quoted, order.by))
    is_other = _has_other_validity(history)
    merge = _merge(branch, versions, known, identity, is_other, by_change=False)
    return _merged(branch, merge, identity, write.interval, hidden, came=came, ranges=ranges)


def last_changes(frame: DataFrame, key: tuple[str, ...], order: ChangeOrder) -> DataFrame:
    """The last change of each key; the frame fails when it is computed and that is not certain.

    Args:
        frame: The changes.
        key: Columns or expressions in Spark's SQL.
        order: Which change is later. The same change may be there several times.
    """
    latest = Window.partitionBy(*_keys(key)).orderBy(*(each.desc() for each in _sequence(order)))
    return _one_of_each(frame, frame.columns, key, order, latest)


def _one_of_each(
    frame: DataFrame, told_by: list[str], key: tuple[str, ...], order: ChangeOrder, of: WindowSpec
) -> DataFrame:
    """The first row of each part of a window, whose rows of the first rank are all the same."""
    keys = _keys(key)
    placed = frame.withColumns(
        {_ROW: _as_text(told_by), _PLACE: F.row_number().over(of)}
    ).withColumn(_FIRST, F.struct(F.first(_ROW).over(of), F.rank().over(of)))
    first, rank = (F.col(f"{_FIRST}.col{number}") for number in (1, 2))
    missing = reduce(or_, (each.isNull() for each in [*keys, *_sequence(order)]))
    columns = ", ".join([*key, *order.by])
    counts = (
        F.when(missing, _failing(f"a change has NULL in {columns}; its key is ", key))
        .when((rank == 1) & (F.col(_ROW) != first), _failing(_tie(order), key))
        .otherwise(F.col(_PLACE) == 1)
    )
    return placed.where(counts).drop(_ROW, _PLACE, _FIRST)


def _versions(frame: DataFrame, history: History, order: ChangeOrder) -> DataFrame:
    """Each change once, with the time in which it is valid.

    A change that deletes its key, that changes none of the columns that are compared, or that has
    a later one at its own time makes no version: it is not valid from any time.
    """
    own = own_columns(frame, history)
    keys, sequence = _keys(history.key), _sequence(order)
    alike = Window.partitionBy(*keys, *sequence).orderBy(F.lit(1))
    once = _one_of_each(frame, own, history.key, order, alike)
    deletes = order.deletes.condition.sql("spark") if order.deletes is not None else "false"
    once = once.withColumn(_DELETES, F.coalesce(F.expr(deletes), F.lit(False)))
    before = Window.partitionBy(*keys).orderBy(*sequence)
    compared = [*map(quoted, _compared(frame, history, order)), _DELETES]
    same = [F.col(each).eqNullSafe(F.lag(each).over(before)) for each in compared]
    repeats = reduce(and_, [F.row_number().over(before) > 1, *same])
    if not history.compared:  # each change makes a version
        repeats = F.lit(False)
    flagged = once.withColumn(_REPEATS, repeats)
    at = F.col(quoted(order.by[0])).cast(history.valid_from.type)
    following = Window.partitionBy(*keys, _REPEATS).orderBy(*sequence)
    until = F.lead(F.col(quoted(order.by[0]))).over(following).cast(history.valid_to.type)
    timed = flagged.withColumn(_UNTIL, until)
    none = F.col(_REPEATS) | F.col(_DELETES) | F.coalesce(F.col(_UNTIL) == at, F.lit(False))
    ends = at.cast(history.valid_to.type)
    validity = {
        history.valid_from.name: F.when(~none, at),
        history.valid_to.name: F.when(none, ends).otherwise(F.col(_UNTIL)),
    }
    placed = timed.withColumns(validity)
    return placed.select(*map(quoted, frame.columns))


def _compared(frame: DataFrame, history: History, order: ChangeOrder) -> list[str]:
    """The columns whose change makes a version; those of the order alone do not, unless named."""
    found = history.compared_among(own_columns(frame, history))
    apart = {*order.by, *([order.deletes.column] if order.deletes is not None else [])}
    named = EVERY_COLUMN not in history.compared
    return [each for each in found if named or each.lower() not in apart]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merge:
    """What becomes of rows: all frames have the table's columns, and are computed already.

    ``replaced`` are the rows in whose place those that are ``updated`` go, each ``by_change``, or
    because of one beside it.
    """

    by_change: bool
    inserted: DataFrame
    updated: DataFrame
    replaced: DataFrame


def _all_new(
    branch: Branch, rows: DataFrame, interval: Interval, hidden: HiddenRows | None
) -> Written:
    """Write the first rows, and sum those that readers see while they are written."""
    before, algorithm, seen = branch.head, branch.staging.algorithm, _seen(hidden)
    summed, figures = observed(rows, algorithm, (seen, f"NOT ({seen})"))
    branch.writer(summed).append()
    added = branch.committed()
    taken = figures.taken()
    if taken is None or total(taken).rows != added:
        sums = row_sums(branch.rows(), algorithm, F.expr(seen))
        taken = (sums.get(True, RowSum()), sums.get(False, RowSum()))
    check_count(taken, added)
    if not added and before is not None:
        branch.go_back(before)  # so the table does not count as changed
    head = branch.head
    return Written(
        rows=lambda: branch.added_between(before, head).where(seen),
        sums={interval: taken[0] if taken else RowSum()},
    )


def _seen(hidden: HiddenRows | None) -> str:
    """The condition of the rows that readers see; never NULL."""
    return hidden.visible.sql("spark") if hidden is not None else "true"


def _merged(
    branch: Branch,
    merge: _Merge,
    identity: tuple[str, ...],
    interval: Interval,
    hidden: HiddenRows | None,
    *,
    came: int,
    ranges: tuple[KeyRange, ...],
) -> Written:
    """Write what is new and what has changed by so many changes, and sum these rows alone.

    Where a change updates a row of its key, it is one of those that are updated; in a history it is
    always one of those that are inserted.
    """
    before, loaded = branch.head, branch.loaded
    assert before is not None, "it has rows"
    seen, algorithm = _seen(hidden), branch.staging.algorithm
    inserted, updated, replaced = (
        _Sums.of(row_sums(each, algorithm, F.expr(seen)))
        for each in (merge.inserted, merge.updated, merge.replaced)
    )
    if updated.all.rows:
        with branch.view(merge.updated, "source") as source:
            branch.run(update_statement(branch.target, source, identity, ranges))
        branch.committed()
    if inserted.all.rows:
        branch.writer(merge.inserted).append()
        check_count([inserted.all], branch.committed())
    rows = merge.inserted.unionByName(merge.updated).where(seen)
    change = inserted.all + updated.all - replaced.all
    written = exchanged(branch, rows, interval, change, before=before, loaded=loaded)
    by_change = updated.all.rows if merge.by_change else 0
    return replace(
        written,
        sums={interval: inserted.seen + updated.seen - replaced.seen},
        merged=MergedChanges(
            inserted=inserted.seen.rows,
            updated=updated.seen.rows,
            hidden=inserted.hidden.rows + updated.hidden.rows,
            without_effect=came - inserted.all.rows - by_change,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """The sums of rows that readers see, and of those that they do not."""

    seen: RowSum
    hidden: RowSum

    @classmethod
    def of(cls, sums: Mapping[object, RowSum]) -> _Sums:
        """Of sums by whether the rows are seen."""
        return cls(seen=sums.get(True, RowSum()), hidden=sums.get(False, RowSum()))

    @property
    def all(self) -> RowSum:
        """The sum of both."""
        return self.seen + self.hidden


def _rows_of_keys(
    branch: Branch,
    changes: DataFrame,
    key: tuple[str, ...],
    came: int,
    ranges: tuple[KeyRange, ...],
) -> DataFrame:
    """The rows that the table has of the keys of some changes, of which so many came."""
    own = [f"{_KEY}{number}" for number in range(len(key))]
    named = dict(zip(own, _keys(key), strict=True))
    sought = changes.withColumns(named).select(*own)
    if came <= _BROADCAST_ROWS:
        sought = F.broadcast(sought)
    table = branch.rows().select(*map(quoted, changes.columns)).where(within(ranges))
    return branch.keep(table.withColumns(named).join(sought, own, "left_semi").drop(*own))


def _merge(
    branch: Branch,
    rows: DataFrame,
    known: DataFrame,
    identity: tuple[str, ...],
    is_updated: Column,
    *,
    by_change: bool,
) -> _Merge:
    """Compare rows with those that the table has in their place.

    Args:
        branch: The branch.
        rows: What there is to be.
        known: What there is of it.
        identity: What tells rows apart, in both: columns or expressions, never NULL.
        is_updated: Whether a row differs from the one in its place, which is the struct `_OLD`.
        by_change: Whether the rows are the changes themselves.
    """
    names = [quoted(each) for each in rows.columns]
    own = [f"{_KEY}{number}" for number in range(len(identity))]
    named = dict(zip(own, _keys(identity), strict=True))
    old = known.withColumns(named).select(*own, F.struct(*names).alias(_OLD))
    state = F.when(F.col(_OLD).isNull(), "inserted").when(is_updated, "updated")
    pairs = rows.withColumns(named).join(old, own, "left").withColumn(_PLACE, state)
    compared = branch.keep(pairs)
    inserted, updated = (compared.where(F.col(_PLACE) == s) for s in ("inserted", "updated"))
    return _Merge(
        by_change=by_change,
        inserted=inserted.select(*names),
        updated=updated.select(*names),
        replaced=updated.select(f"{_OLD}.*"),
    )


def _is_later(columns: list[str], key: tuple[str, ...], order: ChangeOrder) -> Column:
    """Whether a change comes after the row of its key; it fails where that is not known."""
    later, same = F.lit(False), F.lit(True)
    for each in order.by:
        new, old = F.col(quoted(each)), F.col(f"{_OLD}.{quoted(each)}")
        later = later | (same & (new > old))
        same = same & (new == old)
    differs = _as_text(columns) != _text_of(F.col(_OLD))
    return F.when(same & differs, _failing(_tie(order), key)).otherwise(later)


def _has_other_validity(history: History) -> Column:
    """Whether a version is valid in another time than the row in its place."""
    pairs = (
        F.col(quoted(each.name)).eqNullSafe(F.col(f"{_OLD}.{quoted(each.name)}"))
        for each in (history.valid_from, history.valid_to)
    )
    return ~reduce(and_, pairs)


def _sequence(order: ChangeOrder) -> list[Column]:
    return [F.col(quoted(each)) for each in order.by]


def _keys(key: tuple[str, ...]) -> list[Column]:
    return [F.expr(key_expression(each).sql("spark")) for each in key]


def _as_text(columns: list[str]) -> Column:
    """A row as a text: maps and variants cannot be compared otherwise."""
    return _text_of(F.struct(*map(quoted, columns)))


def _text_of(row: Column) -> Column:
    return F.to_json(row, _EXACT)


_EXACT: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Spark writes three decimals of a second by itself."""


def _tie(order: ChangeOrder) -> str:
    by = ", ".join(order.by)
    also = "add a column to sequence_by that orders them"
    return f"different changes have the same {by}, so none is the last one ({also}) of "


def _failing(text: str, key: tuple[str, ...]) -> Column:
    """An error that names a key."""
    shown = [F.coalesce(each.cast("string"), F.lit("NULL")) for each in _keys(key)]
    named = F.concat(F.lit(f"({', '.join(key)}) = ("), F.concat_ws(", ", *shown), F.lit(")"))
    return F.raise_error(F.concat(F.lit(text), named)).cast("boolean")


_ORDERED: Final = (
    t.NumericType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
    t.StringType,
)
_CONSTANTS: Final = {str: t.StringType, bool: t.BooleanType, int: t.IntegralType}


_TIMES: Final = (t.DateType, t.TimestampType, t.TimestampNTZType)


def _check_types(frame: DataFrame, order: ChangeOrder, *, needs_time: bool = False) -> None:
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
    if needs_time and not isinstance(types[order.by[0]], _TIMES):
        wrong.append(
            f"sequence_by {order.by[0]}: {types[order.by[0]].simpleString()} is not a time"
        )
    deleted = order.deletes
    if deleted is not None and deleted.values:
        wanted, of = _CONSTANTS[type(deleted.values[0])], types[deleted.column]
        if not isinstance(of, wanted):
            wrong.append(f"delete_when {deleted}: {deleted.column} is {of.simpleString()}")
    if wrong:
        raise EvaluationFailed(
            "; ".join(wrong),
            advice="Name columns of numbers, dates, times or texts, and compare like with like.",
        )
