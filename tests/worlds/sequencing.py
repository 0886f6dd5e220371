"""Changes of keys in the order of a sequence, one after the other and without any query."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tests.worlds.duck import connected, result_of
from tests.worlds.frames import Frame
from tests.worlds.tables import Row
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.delete_markers import DeleteMarkers
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
                f"of {_shown(key, at)}"
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


def is_delete_marker(value: object, hidden: DeleteMarkers) -> bool:
    """Whether a row with this value in the column is one."""
    return value in hidden.values if hidden.values else value is not None


def _keys(frame: Frame, key: tuple[str, ...]) -> list[Row]:
    with connected({"rows": frame}) as connection:
        values = [key_expression(each).as_(f"k{number}") for number, each in enumerate(key)]
        return list(result_of(connection, exp.select(*values).from_("rows")).rows)


def _places(frame: Frame, order: ChangeOrder) -> list[Row]:
    return list(zip(*(frame.values(each) for each in order.by), strict=True))


def _shown(key: tuple[str, ...], values: Row) -> str:
    found = ", ".join("NULL" if each is None else str(each) for each in values)
    return f"({', '.join(key)}) = ({found})"
