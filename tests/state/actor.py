"""A process of its own that uses the state.

It says ``ready``, waits until it is let go, acts, says the outcome, and stays until it may end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection

from vde_dagster.core.errors import Conflict
from vde_dagster.ports.state import Lease
from vde_dagster.state import units_of_work
from vde_dagster.state.database import Database, open_engine
from vde_dagster.state.sql_state import SqlState

Wait = Callable[[], None]


def open_state(wait: Wait, url: str) -> str:
    wait()
    SqlState.open(url)
    return "opened"


def take_lease(wait: Wait, url: str, holder: str) -> str:
    state = SqlState.open(url)
    wait()
    try:
        return str(state.acquire_lease("r", holder=holder, ttl=timedelta(minutes=1)).epoch)
    except Conflict:
        return "conflict"


def finalize(wait: Wait, url: str, work_id: str, resource: str, holder: str, epoch: str) -> str:
    state = SqlState.open(url)
    wait()
    lease = Lease(resource=resource, holder=holder, epoch=int(epoch))
    return str([entry.rows.rows for entry in state.finalize(work_id, lease=lease)])


def hang_in_finalize(
    wait: Wait, url: str, work_id: str, resource: str, holder: str, epoch: str
) -> str:
    with Database(open_engine(url)).write() as connection:
        lease = Lease(resource=resource, holder=holder, epoch=int(epoch))
        units_of_work.finalize(connection, work_id, lease=lease)
        wait()
    return "committed"


ROLES: dict[str, Callable[..., str]] = {
    each.__name__: each for each in (open_state, take_lease, finalize, hang_in_finalize)
}


def act(line: Connection, url: str, role: str, *arguments: str) -> None:
    """What the process does, with whom it talks about it."""

    def wait() -> None:
        line.send("ready")
        line.recv()

    line.send(ROLES[role](wait, url, *arguments))
    with suppress(EOFError):
        line.recv()  # what a process holds is free once it has ended
