"""Compacting what is old: totals stay, and single records go. Functions of one transaction each.

Of a unit of work that the ledger names its intent stays, since it says what was read (rule R14).
What it published is in the ledger by then, entry by entry, and need not be stored twice.

Each transaction is about a bounded part, so that others never wait long for the database.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, update

from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.state import schema

_work = schema.work
_later: Final = _work.alias("later")
_questions = schema.questions
_SPAN: Final = 5_000
"""How many numbers of units of work a transaction is about."""
_IS_DONE: Final = _work.c.state == UnitOfWorkState.DONE.value


def _is_followed(*more: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether later work of the same version is done, too, which is ``more``."""
    return exists().where(
        _later.c.model == _work.c.model,
        _later.c.version == _work.c.version,
        _later.c.state == UnitOfWorkState.DONE.value,
        _later.c.number > _work.c.number,
        *more,
    )


def spans(connection: Connection) -> range:
    """The first numbers of the parts of all units of work; see `forget_publications`."""
    ends = (func.min(_work.c.number), func.max(_work.c.number))
    first, last = connection.execute(select(*(select(e).scalar_subquery() for e in ends))).one()
    return range(0) if first is None else range(first, last + 1, _SPAN)


def forget_publications(connection: Connection, until: int, first: int) -> int:
    """Take away what old units of work published; returns of how many.

    What sessions and people published stays, and what a version's last unit of work did.

    Args:
        connection: One that writes.
        until: When they were done at the latest.
        first: Where the part of them begins, one of `spans`.
    """
    is_old = (
        _work.c.number >= first,
        _work.c.number < first + _SPAN,
        _IS_DONE,
        _work.c.finished_at <= until,
        _work.c.publication_json.is_not(None),
        ~_work.c.is_session,
        ~_work.c.accepted,
        _is_followed(),
    )
    forgotten = update(_work).where(*is_old).values(publication_json=None)
    return int(connection.execute(forgotten).rowcount)


def forget_questions(connection: Connection, until: int) -> int:
    """Delete what old sessions that are done were decided from; returns how many.

    That of a version's last one stays. A session that was abandoned keeps its own as long as it is
    recorded: if audits refused its rows, a person may still accept them, and then the same has to
    be pending as when it was decided.
    """
    # Each question that is there looks up its session, of which there may be many more.
    old = exists().where(
        _work.c.work_id == _questions.c.work_id,
        _work.c.is_session,
        _IS_DONE,
        _work.c.finished_at <= until,
        _is_followed(_later.c.is_session),
    )
    return int(connection.execute(delete(_questions).where(old)).rowcount)
