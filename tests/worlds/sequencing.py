"""Changes of keys in the order of a sequence, one after the other and without any query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise

from sqlglot import exp

from tests.worlds.duck import connected, result_of
from tests.worlds.frames import Frame
from tests.worlds.tables import Row
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.history import EVERY_COLUMN, History
from vde_dagster.core.model.writes import ChangeOrder
from vde_dagster.core.sql.text import key_expression


def in_order(
    loaded: Frame, new: Frame, key: tuple[str, ...], order: ChangeOrder
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """All rows of a table after some changes, and those of the changes that count.

    Raises:
        EvaluationFailed: A key or sequence is NULL, or none of two changes of a key is the last.
    """
    held = dict(zip(_keys(loaded, key), loaded.rows, strict=True))
    changes: dict[Row, set[Row]] = {}
    for at, row, place in zip(_keys(new, key), new.rows, _places(new, order), strict=True):
        if None in (*at, *place):
            named = ", ".join([*key, *order.by])
            raise EvaluationFailed(f"a change has NULL in {named}; its key is {_shown(key, at)}")
        changes.setdefault(at, set()).add(row)
    counting: dict[Row, Row] = {}
    for at, rows in changes.items():
        last = _last(new, order, rows)
        if len(last) == 1 and at in held:
            last = _last(new, order, [held[at], *last])
        if len(last) > 1:
            raise EvaluationFailed(
                f"different changes have the same {', '.join(order.by)}, so none is the last one "
                f"(add a column to sequence_by that orders them) of {_shown(key, at)}"
            )
        (row,) = last
        if row != held.get(at):
            counting[at] = row
    return tuple({**held, **counting}.values()), tuple(counting.values())


def _last(frame: Frame, order: ChangeOrder, rows: Iterable[Row]) -> set[Row]:
    """The different rows with the highest sequence."""
    known = set(rows)
    places = dict(zip(known, _places(Frame(frame.columns, known), order), strict=True))
    highest = max(places.values())
    return {each for each, place in places.items() if place == highest}


def history_of(
    loaded: Frame, new: Frame, history: History, order: ChangeOrder
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """All rows of a history after some changes, each with its time, and those that are others.

    Raises:
        EvaluationFailed: As `in_order`; or two changes of a key have the same sequence.
    """
    own = own_names(new, history)
    every = Frame(new.columns, (*loaded.rows, *new.rows)).selected(own)
    changes: dict[Row, dict[Row, Row]] = {}
    for at, row, place in zip(
        _keys(every, history.key), every.rows, _places(every, order), strict=True
    ):
        if None in (*at, *place):
            named = ", ".join([*history.key, *order.by])
            raise EvaluationFailed(
                f"a change has NULL in {named}; its key is {_shown(history.key, at)}"
            )
        if changes.setdefault(at, {}).setdefault(place, row) != row:
            raise EvaluationFailed(
                f"different changes have the same {', '.join(order.by)}, so none is the last one "
                f"of {_shown(history.key, at)}"
            )
    versions = [
        row
        for places in changes.values()
        for row in _versions(own, [places[each] for each in sorted(places)], history, order)
    ]
    # columns that were added to the table come after those of the validity
    columns = (*every.columns, history.valid_from, history.valid_to)
    rows = tuple(Frame(columns, versions).selected([each.name for each in new.columns]).rows)
    return rows, tuple(set(rows) - set(loaded.rows))


def own_names(frame: Frame, history: History) -> list[str]:
    """The columns that a history does not add."""
    added = {history.valid_from.name, history.valid_to.name}
    return [each.name for each in frame.columns if each.name not in added]


def _versions(
    own: list[str], changes: list[Row], history: History, order: ChangeOrder
) -> Iterator[Row]:
    """The changes of a key in their order, each with its time; NULL from where it is no version."""
    apart = {*order.by, *([order.deletes.column] if order.deletes else [])}
    compared = [
        own.index(each)
        for each in history.compared_among(own)
        if EVERY_COLUMN not in history.compared or each not in apart
    ]

    def deletes(row: Row) -> bool:
        found = order.deletes
        return found is not None and is_hidden(row[own.index(found.column)], found)

    def said(row: Row) -> object:
        return deletes(row), [row[each] for each in compared]

    time = own.index(order.by[0])
    pairs = [(None, changes[0]), *pairwise(changes)] if changes else []
    tells = [
        before is None or not history.compared or said(before) != said(row) for before, row in pairs
    ]
    told = list(zip(changes, tells, strict=True))
    since, to = history.valid_from.type, history.valid_to.type
    for at, row in enumerate(changes):
        later = [each[time] for each, tell in told[at + 1 :] if tell]
        begins, until = _cut(row[time], since), _cut(later[0], to) if later else None
        is_version = tells[at] and not deletes(row) and until != begins
        yield (*row, begins, until) if is_version else (*row, None, _cut(row[time], to))


def _cut(time: object, kind: str) -> object:
    """A time as the type of a column of the validity has it."""
    assert isinstance(time, datetime)
    match kind:
        case "date":
            return time.date()
        case "timestamp_ntz":
            return time.replace(tzinfo=None)
        case _:
            return time


def is_hidden(value: object, hidden: HiddenRows) -> bool:
    """Whether a row with this value in the column is one."""
    if hidden.values:
        return value in hidden.values
    return (value is None) == hidden.is_null


def _keys(frame: Frame, key: tuple[str, ...]) -> list[Row]:
    with connected({"rows": frame}) as connection:
        values = [key_expression(each).as_(f"k{number}") for number, each in enumerate(key)]
        return list(result_of(connection, exp.select(*values).from_("rows")).rows)


def _places(frame: Frame, order: ChangeOrder) -> list[Row]:
    return list(zip(*(frame.values(each) for each in order.by), strict=True))


def _shown(key: tuple[str, ...], values: Row) -> str:
    found = ", ".join("NULL" if each is None else str(each) for each in values)
    return f"({', '.join(key)}) = ({found})"
