"""A process of its own that uses the state: ``python actor.py URL ROLE [arguments]``.

It says ``ready``, waits for a line on its input, acts, and prints the outcome.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from vde_dagster.core.errors import Conflict
from vde_dagster.ports.state import Lease
from vde_dagster.state import leases, units_of_work
from vde_dagster.state.database import Database, open_engine
from vde_dagster.state.sql_state import SqlState


def wait() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def open_state(url: str) -> str:
    wait()
    SqlState.open(url)
    return "opened"


def take_lease(url: str, holder: str) -> str:
    state = SqlState.open(url)
    wait()
    try:
        return str(state.acquire_lease("r", holder=holder, ttl=timedelta(minutes=1)).epoch)
    except Conflict:
        return "conflict"


def finalize(url: str, work_id: str, resource: str, holder: str, epoch: str) -> str:
    state = SqlState.open(url)
    wait()
    lease = Lease(resource=resource, holder=holder, epoch=int(epoch))
    return str([entry.rows.rows for entry in state.finalize(work_id, lease=lease)])


def hang_in_finalize(url: str, work_id: str, resource: str, holder: str, epoch: str) -> str:
    with Database(open_engine(url)).write() as connection:
        leases.check(connection, Lease(resource=resource, holder=holder, epoch=int(epoch)))
        units_of_work.finalize(connection, work_id)
        wait()
    return "committed"


ROLES = {each.__name__: each for each in (open_state, take_lease, finalize, hang_in_finalize)}

if __name__ == "__main__":
    print(ROLES[sys.argv[2]](sys.argv[1], *sys.argv[3:]), flush=True)
