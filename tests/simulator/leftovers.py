"""What the state and the catalog have in the end: whole records, and nothing that nobody needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Final, cast

from tests.app.memory_world import MemoryWorld
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.clean_up.looking import look
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.state.checking import check
from vde_dagster.state.sql_state import SqlState

TIMES: Final = Times(grace=timedelta(minutes=5), history=timedelta(minutes=30), environment=None)
_PASSES: Final = 5
"""Passes of the janitor: what one of them finds unused, a later one drops, and then its parents."""


def wrong_records(services: Services) -> Iterator[str]:
    """What `vde state check` finds, where no process is at work."""
    state = cast(SqlState, services.state)
    with state._database.read() as connection:
        found = check(connection)
    yield from (f"{each.table}, {each.row}: {each.problem}" for each in found.findings)


def leftovers(world: MemoryWorld, known: Collection[str]) -> Iterator[str]:
    """What the janitor leaves for ever of what nobody needs.

    Tables and views in ``known`` were changed by other programs.
    """
    for _ in range(_PASSES):
        world.clock.advance(timedelta(hours=1))
        clean_up(world.services(), TIMES)
    services = world.services()
    found = look(services, TIMES)
    yield from (f"{e.table} is left: {e.reason}" for e in found.left if str(e.table) not in known)
    unused = {*found.swept.due, *found.swept.waiting, *found.swept.marked}
    yield from (f"nobody needs {key.table}, and it stays" for key in sorted(unused))
    for work in found.found.open_work:
        yield f"work on {work.key.table} stays open"
    for lease in services.state.leases():
        if not lease.is_over:
            yield f"{lease.holder} holds {lease.resource} for ever"
