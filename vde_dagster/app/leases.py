"""Holding a lease while work goes on: renewed in the background, given back at the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from vde_dagster.core.errors import VdeError
from vde_dagster.ports.clock import Ids
from vde_dagster.ports.state import Lease, LeaseLost, State
from vde_dagster.runtime.secrets import without_secrets

TTL = timedelta(minutes=2)
_LOG = logging.getLogger(__name__)


def holder_of(ids: Ids, what: str) -> str:
    """A name for the holder of a lease: what it does, with a part that no other process has.

    Two processes under one name would take a lease from each other without waiting.
    """
    return f"{what} ({ids.new()[-12:]})"


@contextmanager
def leased(state: State, resource: str, *, holder: str, ttl: timedelta = TTL) -> Iterator[Lease]:
    """Hold a lease for a ``with`` block.

    A thread renews it at a third of its time to live, ``ttl``. If it is lost all the same (the
    machine slept), every later write under it is refused by its epoch.

    Raises:
        LeaseHeld: Another process holds it.
    """
    lease = state.acquire_lease(resource, holder=holder, ttl=ttl)
    done = threading.Event()
    renewing = threading.Thread(
        target=_renew, args=(state, lease, ttl, done), name=f"renew {resource}", daemon=True
    )
    renewing.start()
    try:
        yield lease
    finally:
        done.set()
        renewing.join(timeout=ttl.total_seconds())
        with suppress(VdeError):  # if it is not given back, it expires by itself
            state.release_lease(lease)


def _renew(state: State, lease: Lease, ttl: timedelta, done: threading.Event) -> None:
    while not done.wait(ttl.total_seconds() / 3):
        try:
            state.renew_lease(lease, ttl=ttl)
        except LeaseLost:
            return
        except Exception as error:
            # The database was busy or away: there are two more tries before the lease expires.
            why = without_secrets(str(error))
            _LOG.warning("the lease %s could not be renewed: %s", lease.resource, why)
