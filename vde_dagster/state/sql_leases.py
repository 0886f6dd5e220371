"""The part of the state for leases, in a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP
from vde_dagster.ports.held_leases import HeldLease
from vde_dagster.ports.state import VIEW_NUMBERS, Lease
from vde_dagster.state import leases
from vde_dagster.state.state_database import StateDatabase


class SqlLeases:
    """Implements the leases of `vde_dagster.ports.state.State`."""

    _database: StateDatabase

    def acquire_lease(self, resource: str, *, holder: str, ttl: timedelta) -> Lease:
        """Take a free or expired lease, or one's own again, with a higher epoch.

        Raises:
            LeaseHeld: Another process holds it.
        """
        with self._database.write() as connection:
            return leases.acquire(connection, resource, holder=holder, ttl=ttl)

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> None:
        """Hold a lease for another ``ttl`` from now.

        Raises:
            LeaseLost: It was taken over or given back.
        """
        with self._database.write() as connection:
            leases.renew(connection, lease, ttl=ttl)

    def release_lease(self, lease: Lease) -> None:
        """Give a lease back if it is still held."""
        with self._database.write() as connection:
            leases.release(connection, lease)

    def lease_holder(self, resource: str) -> str:
        """Who holds a lease that has not expired; empty if nobody does."""
        with self._database.read() as connection:
            return leases.holder(connection, resource)

    def next_view_number(self, lease: Lease | None = None, *, above: int = 0) -> int:
        """The number of a swap of views, above all that were given before; see the port.

        Raises:
            LeaseLost: The lease was taken over.
        """
        with self._database.write() as connection:
            if lease is not None:
                leases.check(connection, lease)
            apart = NUMBERS_OF_A_SWAP
            return leases.next_number(connection, VIEW_NUMBERS, apart=apart, above=above)

    def leases(self) -> Sequence[HeldLease]:
        """The leases that somebody holds."""
        with self._database.read() as connection:
            return leases.held(connection)

    def free_lease(self, lease: HeldLease) -> None:
        """Take a lease from a holder that is gone.

        Raises:
            Conflict: Somebody else has it by now.
        """
        with self._database.write() as connection:
            leases.free(connection, lease)
