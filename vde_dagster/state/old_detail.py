"""Compacting what is old: totals stay, and single records go. Functions of one transaction each.

Of a unit of work that the ledger names its intent stays, since it says what was read (rule R14).
What it published is in the ledger by then, entry by entry, and need not be stored twice.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.state import schema

_work = schema.work
_questions = schema.questions
_savings = schema.savings
_DAY: Final = 24 * 60 * 60 * 1_000_000
_MERGED: Final = "day "
"""How the occasion of a row of savings begins that stands for all of a day."""


def forget_publications(connection: Connection, until: int, *, kept: Any) -> int:  # noqa: ANN401 - a query
    """Take away what old units of work published; returns of how many.

    Args:
        connection: One that writes.
        until: When they were done at the latest. What sessions and people published stays.
        kept: The numbers of units of work that are left as they are.
    """
    is_old = (
        _work.c.state == UnitOfWorkState.DONE.value,
        _work.c.finished_at <= until,
        _work.c.publication_json.is_not(None),
        ~_work.c.is_session,
        ~_work.c.accepted,
        _work.c.number.not_in(kept),
    )
    forgotten = update(_work).where(*is_old).values(publication_json=None)
    return int(connection.execute(forgotten).rowcount)


def forget_questions(connection: Connection, until: int, *, kept: Any) -> int:  # noqa: ANN401 - a query
    """Delete what old sessions were decided from; returns how many. See `forget_publications`."""
    old = select(_work.c.work_id).where(
        _work.c.is_session, _work.c.finished_at <= until, _work.c.number.not_in(kept)
    )
    gone = delete(_questions).where(_questions.c.work_id.in_(old))
    return int(connection.execute(gone).rowcount)


def merge_savings(connection: Connection, until: int) -> int:
    """Let one row stand for what was saved in a day; returns how many rows there are less.

    Args:
        connection: One that writes.
        until: The days before the one of this instant are merged; sums of whole days stay the same.
    """
    is_old = (
        _savings.c.saved_at < until - until % _DAY,
        ~_savings.c.occasion.startswith(_MERGED),
    )
    day = _savings.c.saved_at - _savings.c.saved_at % _DAY
    by = (_savings.c.model, _savings.c.version, _savings.c.environment, _savings.c.kind)
    summed = [
        func.sum(_savings.c[name]).label(name)
        for name in ("intervals", "time_covered", "row_count", "seconds", "untimed")
    ]
    last = func.max(_savings.c.saved_at)
    merged = select(_occasion(day), *by, last, *summed).where(*is_old).group_by(day, *by)
    names = ["occasion", "model", "version", "environment", "kind", "saved_at"]
    rows = connection.execute(merged).all()
    if not rows:
        return 0
    gone = int(connection.execute(delete(_savings).where(*is_old)).rowcount)
    names += [each.name for each in summed]
    connection.execute(insert(_savings), [dict(zip(names, row, strict=True)) for row in rows])
    return gone - len(rows)


def _occasion(day: ColumnElement[int]) -> ColumnElement[str]:
    """What identifies a row of a day, next to its model."""
    parts = (cast(day, String), _savings.c.environment, _savings.c.version, _savings.c.kind)
    found: ColumnElement[str] = literal(_MERGED)
    for part in parts:
        found = found + part + literal(" ")
    return found
