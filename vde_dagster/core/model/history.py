"""What becomes of a history when its source is looked at again (seed 001, *SCD Type 2*).

A history has at most one *open* row per key, whose valid_to is NULL, and any number of closed ones.
An evaluation compares the source with the open rows alone. It returns the open rows as they are
now, those that it opened, and those that it closed; rows that were closed before are never written
again. Of these only the time at which each key was closed last is read, and only where keys may be
closed without a successor: where the source's deletes close rows, or once did.

One statement says all of it, so that the rows of an evaluation are computed in one pass: source,
open and closed rows are put into one union, and compared by a window over the key. That
compares keys as GROUP BY does, so NULL is a key like any other.

The times are these, with ``at`` for the source row's own time (by column without ``updated_at``,
and wherever that is NULL, the execution time):

- A key that the history has not: 1970-01-01 on the first load (``at``, if ``from_epoch`` is off),
  later ``at``, or the time at which the key was closed last, if that is later.
- A row that has changed: ``at``, or the open row's valid_from, if that is later.
- A row that is missing: the execution time, or the open row's valid_from, if that is later.

So the rows of a key never overlap, and none ends before it begins, whatever order the source's
times come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.macros import timestamp_literal
from vde_dagster.core.sql.text import key_expression
from vde_dagster.core.time.intervals import EPOCH

EVERY_COLUMN: Final = "*"
"""All columns, in the option that names those that are compared."""
SHARED_KEY: Final = "rows share the key ("
"""The beginning of the message that several rows of a source share one key."""

_OPEN, _SOURCE, _CLOSED = range(3)
_SIDE: Final = "_vde_side"
_KEY: Final = "_vde_key_{}"
_FROM: Final = "_vde_from"
_TO: Final = "_vde_to"
_AFTER: Final = "_vde_after"
_CHANGED: Final = "_vde_changed"
_OPENED: Final = "_vde_opened"
_COPIES: Final = "_vde_copies"
_CLOSED_AT: Final = "_vde_closed_at"
_START: Final = "_vde_start"
_SUCCEEDED: Final = "_vde_succeeded"
_ADVICE: Final = (
    "A key has one row at most; group the rows in the query, or name more columns in unique_key"
)
_INSTANT: Final = exp.DataType.Type.TIMESTAMPTZ


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """How a history is kept.

    ``key`` are expressions over the query's columns in Spark's dialect. ``updated_at`` is the
    column with the time of a row's last change; by time it is needed. ``compared`` are the columns
    whose change makes a new row, ``*`` for all but those of the key; empty where ``updated_at``
    shows changes. ``from_epoch`` is whether the rows of the first load are valid from
    1970-01-01, ``closes_missing`` whether keys that the source lacks are closed, and
    ``once_closed_missing`` whether an earlier definition may have closed some. ``valid_from`` and
    ``valid_to`` are the columns that are added, with their types in the table.
    """

    key: tuple[str, ...]
    updated_at: str | None
    compared: tuple[str, ...]
    from_epoch: bool
    closes_missing: bool
    valid_from: Column
    valid_to: Column
    once_closed_missing: bool = False

    def __post_init__(self) -> None:
        if not self.key:
            raise ValueError("a history has a key")
        if self.updated_at is None and not self.compared:
            raise ValueError("a history detects changes by a time or by columns")

    @property
    def has_gaps(self) -> bool:
        """Whether there may be keys all of whose rows are closed."""
        return self.closes_missing or self.once_closed_missing

    def compared_among(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns that are compared, where the query returns these."""
        if EVERY_COLUMN not in self.compared:
            return self.compared
        keys = {each.name.lower() for each in self.keys() if isinstance(each, exp.Column)}
        return tuple(name for name in columns if name.lower() not in keys)

    def without_validity(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """Columns without the two that are added."""
        added = {self.valid_from.name.lower(), self.valid_to.name.lower()}
        return tuple(each for each in columns if each.name.lower() not in added)

    def keys(self) -> list[exp.Expr]:
        """The expressions of the key, for a statement over one table that has the columns."""
        return [key_expression(each) for each in self.key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The names of the tables that an evaluation reads, each of them once.

    ``source`` has the query's columns. ``open`` and ``closed`` have those of the history: its rows
    without and with a valid_to; `written_rows` says when it reads the closed ones.
    """

    source: str
    open: str
    closed: str


def written_rows(
    history: History,
    columns: Sequence[str],
    sides: Sides,
    *,
    execution_time: datetime,
    is_first: bool,
    returned: Sequence[str] | None = None,
    fail: str = "raise_error",
) -> exp.Select:
    """The rows that take the place of a history's open rows.

    They are the open rows of after the evaluation, and those that it closed, with the query's
    columns in order, then valid_from and valid_to. ``sides.closed`` is read where
    ``history.has_gaps`` and not ``is_first``. The same source a second time changes nothing.

    Args:
        history: How the history is kept.
        columns: The history's columns, without valid_from and valid_to.
        sides: What to read.
        execution_time: When the evaluation was asked for.
        is_first: Whether the history was never loaded before.
        returned: Those of them that the query returns, if it does not return all of them any more;
            ``*`` compares no other.
        fail: The engine's function that fails with a text. It is called with `shared_key` of the
            first such key where the source has several rows of one key.
    """
    closed = history.has_gaps and not is_first
    stacked = _stacked(history, columns, sides, closed=closed)
    now = timestamp_literal(execution_time)
    start = _start(history, now, is_first=is_first)
    return (
        _final(history, columns, now, fail)
        .with_("_vde_rows", stacked)
        .with_("_vde_paired", _paired(history, columns if returned is None else returned))
        .with_("_vde_started", _star("_vde_paired", start.as_(_name(_START))))
        .with_("_vde_ended", _star("_vde_started", _of_key(history, exp.Max, _START, _SUCCEEDED)))
    )


def duplicate_keys(history: History, source: str, *, limit: int) -> exp.Select:
    """Keys that a source has several times, at most ``limit``: the key as text, and how often."""
    keys = history.keys()
    copies = exp.Count(this=exp.Star())
    return (
        exp.select(_text(keys).as_("key", quoted=True), copies.as_("copies", quoted=True))
        .from_(_table(source))
        .group_by(*keys)
        .having(exp.GT(this=copies.copy(), expression=exp.Literal.number(1)))
        .order_by(exp.Ordered(this=exp.Literal.number(1)))
        .limit(limit)
    )


def shared_key(history: History, keys: Sequence[str], *, limit: int) -> str:
    """What to say of keys that several rows of a source have; those beyond a limit are not named.

    Args:
        history: Whose key it is.
        keys: The values, as `duplicate_keys` returns them.
        limit: How many of them to name.
    """
    more = " and others" if len(keys) > limit else ""
    return f"{_shared(history)}{', '.join(keys[:limit])}{more}. {_ADVICE}"


def _shared(history: History) -> str:
    return f"{SHARED_KEY}{', '.join(history.key)}) = "


def open_rows(history: History) -> exp.Expr:
    """The condition of the rows that an evaluation replaces: those that are open."""
    return _column(history.valid_to.name).is_(exp.null())


def _stacked(history: History, columns: Sequence[str], sides: Sides, *, closed: bool) -> exp.Query:
    """The union of all that is read: side, key, the query's columns, valid from and to."""
    own = [_column(each) for each in columns]
    none = [exp.null().as_(_name(each)) for each in columns]
    never = exp.cast(exp.null(), _INSTANT)
    since = _instant(_column(history.valid_from.name))
    until = _instant(_column(history.valid_to.name))
    parts = [
        _side(history, _OPEN, sides.open, own, since=since, until=never),
        _side(history, _SOURCE, sides.source, own, since=never, until=never),
    ]
    if closed:
        parts.append(_side(history, _CLOSED, sides.closed, none, since=never, until=until))
    return exp.union(*parts, distinct=False)


def _side(
    history: History,
    side: int,
    table: str,
    values: Iterable[exp.Expr],
    *,
    since: exp.Expr,
    until: exp.Expr,
) -> exp.Select:
    keys = [each.as_(_name(_KEY.format(number))) for number, each in enumerate(history.keys())]
    return exp.select(
        exp.Literal.number(side).as_(_name(_SIDE)),
        *keys,
        *(each.copy() for each in values),
        since.copy().as_(_name(_FROM)),
        until.copy().as_(_name(_TO)),
    ).from_(_table(table))


def _paired(history: History, columns: Sequence[str]) -> exp.Select:
    """Each row with what its key's other rows say; a source row comes behind the open row."""
    is_source = _when(_is(_SIDE, _SOURCE), exp.Literal.number(1))
    copies = exp.Window(this=exp.Count(this=is_source), partition_by=_key_columns(history))
    return _star(
        "_vde_rows",
        _before(history, _SIDE).as_(_name(_AFTER)),
        _before(history, _FROM).as_(_name(_OPENED)),
        _changed(history, columns).as_(_name(_CHANGED)),
        copies.as_(_name(_COPIES)),
        _of_key(history, exp.Max, _TO, _CLOSED_AT),
    )


def _changed(history: History, columns: Sequence[str]) -> exp.Expr:
    """Whether a source row differs from the open row before it, and is not older than that."""
    updated = history.updated_at
    if not history.compared:
        assert updated is not None, "by time there is one"
        new, old = _instant(_column(updated)), _instant(_before(history, updated))
        newer = exp.or_(old.copy().is_(exp.null()), exp.GT(this=new, expression=old))
        return exp.and_(new.copy().is_(exp.null()).not_(), newer)
    compared = history.compared_among(columns)
    pairs = [
        exp.NullSafeEQ(this=_column(each), expression=_before(history, each)) for each in compared
    ]
    differs = exp.or_(*(each.not_() for each in pairs)) if pairs else exp.false()
    if updated is None:
        return differs
    new, old = _instant(_column(updated)), _instant(_before(history, updated))
    return exp.and_(differs, exp.func("coalesce", exp.GTE(this=new, expression=old), exp.true()))


def _start(history: History, now: exp.Expr, *, is_first: bool) -> exp.Expr:
    """From when the row is valid that a source row opens; NULL where it opens none."""
    updated = history.updated_at
    at = now
    if updated is not None:
        at = exp.func("coalesce", _instant(_column(updated)), now.copy())
    if is_first:
        unknown = timestamp_literal(EPOCH) if history.from_epoch else at
    else:
        unknown = _later(at, _column(_CLOSED_AT))
    changed = _when(_column(_CHANGED), _later(at, _column(_OPENED)))
    known = _when(_is(_AFTER, _OPEN), changed, unknown)
    return _when(_is(_SIDE, _SOURCE), known)


def _final(history: History, columns: Sequence[str], now: exp.Expr, fail: str) -> exp.Select:
    gone = _later(now, _column(_FROM)) if history.closes_missing else exp.null()
    has_source = exp.GT(this=_column(_COPIES), expression=exp.Literal.number(0))
    since = _when(_is(_SIDE, _OPEN), _column(_FROM), _column(_START))
    until = _when(_is(_SIDE, _OPEN), _when(has_source, _column(_SUCCEEDED), gone))
    stays = exp.or_(
        _is(_SIDE, _OPEN),
        exp.and_(_is(_SIDE, _SOURCE), _column(_START).is_(exp.null()).not_()),
    )
    twice = exp.GT(this=_column(_COPIES), expression=exp.Literal.number(1))
    text = _concatenated(
        exp.Literal.string(_shared(history)),
        _text(_key_columns(history)),
        exp.Literal.string(f". {_ADVICE}"),
    )
    return (
        exp.select(
            *map(_column, columns),
            _typed(since, history.valid_from),
            _typed(until, history.valid_to),
        )
        .from_(_table("_vde_ended"))
        .where(_when(twice, exp.Anonymous(this=fail, expressions=[text]), stays))
    )


def _typed(value: exp.Expr, column: Column) -> exp.Expr:
    to = exp.DataType.build(column.type, dialect="spark")
    return exp.cast(value, to).as_(_name(column.name))


def _text(keys: Iterable[exp.Expr]) -> exp.Expr:
    """A key as a person reads it, in parentheses."""
    null, comma = exp.Literal.string("NULL"), exp.Literal.string(", ")
    parts: list[exp.Expr] = []
    for each in keys:
        parts += [comma, exp.func("coalesce", exp.cast(each.copy(), "text"), null.copy())]
    return _concatenated(exp.Literal.string("("), *parts[1:], exp.Literal.string(")"))


def _concatenated(*parts: exp.Expr) -> exp.Expr:
    return exp.func("concat", *(each.copy() for each in parts))


def _before(history: History, column: str) -> exp.Expr:
    """A value of the row before this one among the rows of its key."""
    return exp.Window(
        this=exp.Lag(this=_column(column)),
        partition_by=_key_columns(history),
        order=exp.Order(expressions=[exp.Ordered(this=_column(_SIDE), nulls_first=True)]),
    )


def _of_key(history: History, of: type[exp.AggFunc], column: str, name: str) -> exp.Expr:
    window = exp.Window(this=of(this=_column(column)), partition_by=_key_columns(history))
    return window.as_(_name(name))


def _key_columns(history: History) -> list[exp.Expr]:
    return [_column(_KEY.format(number)) for number in range(len(history.key))]


def _star(table: str, *more: exp.Expr) -> exp.Select:
    return exp.select(exp.Star(), *more).from_(_table(table))


def _when(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    found = exp.Case().when(condition, then.copy())
    return found if otherwise is None else found.else_(otherwise.copy())


def _later(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """The later of two instants; the other one where one is NULL."""
    return exp.Greatest(this=one.copy(), expressions=[other.copy()], ignore_nulls=True)


def _instant(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, _INSTANT)


def _is(column: str, number: int) -> exp.Expr:
    return exp.EQ(this=_column(column), expression=exp.Literal.number(number))


def _column(name: str) -> exp.Column:
    return exp.column(_name(name))


def _table(name: str) -> exp.Table:
    return exp.Table(this=_name(name))


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
