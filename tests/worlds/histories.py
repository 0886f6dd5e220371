"""Keeping the history of rows (seed 001, *SCD Type 2*), by the statement that Spark runs."""

from __future__ import annotations

from typing import Final

from tests.worlds.duck import connected, result_of
from tests.worlds.frames import Frame
from tests.worlds.tables import Row, Table
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.model.history import History, Sides, duplicate_keys, shared_key, written_rows
from vde_dagster.core.model.writes import KeepHistory

_SIDES: Final = Sides(source="source", open="held_open", closed="held_closed")
_NAMED: Final = 5


def kept(loaded: Frame, new: Frame, write: KeepHistory) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """All rows of a history after its source was looked at, and those that were written for it.

    Args:
        loaded: The history's rows.
        new: The source's rows, in the history's columns; their validity columns are ignored.
        write: How the history is kept, and when it was asked for.

    Raises:
        EvaluationFailed: Two rows of the source have one key; the text names some keys.
    """
    history = write.history
    names = [each.name for each in loaded.columns]
    added = {history.valid_from.name.lower(), history.valid_to.name.lower()}
    own = [name for name in names if name.lower() not in added]
    is_open = [each is None for each in loaded.values(history.valid_to.name)]
    closed = [row for row, still in zip(loaded.rows, is_open, strict=True) if not still]
    open_now = [row for row, still in zip(loaded.rows, is_open, strict=True) if still]
    frames = {
        _SIDES.source: new,
        _SIDES.open: Frame(loaded.columns, open_now),
        _SIDES.closed: Frame(loaded.columns, closed),
    }
    with connected(frames) as connection:
        found = result_of(connection, duplicate_keys(history, _SIDES.source, limit=_NAMED + 1))
        if found.rows:
            keys = [str(key) for key, _ in found.rows]
            raise EvaluationFailed(shared_key(history, keys, limit=_NAMED))
        statement = written_rows(
            history,
            own,
            _SIDES,
            execution_time=write.execution_time,
            is_first=write.is_first,
            fail="error",
        )
        written = result_of(connection, statement).selected(names).rows
    return (*closed, *written), written


def with_validity(frame: Frame, history: History) -> Frame:
    """The rows of a query with the columns that the history adds, still NULL."""
    added = (history.valid_from, history.valid_to)
    return Frame((*frame.columns, *added), [(*row, None, None) for row in frame.rows])


def ends(table: Table, staging: Staging) -> bool:
    """Whether a history whose source closes rows had open rows at the base, and has none now."""
    history = staging.closing_history
    if history is None:
        return False

    def is_open(snapshot: int | None) -> bool:
        rows = Frame(table.columns, table.rows_at(snapshot) if snapshot is not None else ())
        return None in rows.values(history.valid_to.name)

    return is_open(staging.base) and not is_open(table.branches[staging.work_id])
