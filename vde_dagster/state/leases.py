"""Leases: who may write a resource, by the database's clock. Functions of one transaction each.

An expired lease that was not taken over is still valid for its holder: what protects data is the
epoch, compared in the transaction that writes. The row lock keeps it unchanged until the commit.
A lease whose process has ended is free before it expires, for a process that can see that.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, select, update

from vde_dagster.core.errors import Conflict
from vde_dagster.core.time.intervals import format_instant
from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP
from vde_dagster.ports.records import HeldLease
from vde_dagster.ports.state import VIEW_NUMBERS, Lease, LeaseHeld, LeaseLost
from vde_dagster.state import schema
from vde_dagster.state.codec import decode_instant
from vde_dagster.state.database import chunks, insert_absent, now
from vde_dagster.state.processes import from_json, has_ended, runs_here, this_process

_leases = schema.leases
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000
_FIRST_NUMBER_AT: Final = 1_577_836_800 * _SECOND
"""2020-01-01, in microseconds since 1970."""
_FREE: Final = {"holder": "", "epoch": 0, "expires_at": 0}
_LEASE: Final = select(_leases).where(_leases.c.resource == bindparam("resource"))
_LOCKED_LEASE: Final = _LEASE.with_for_update()
_CHANGE: Final = update(_leases).where(_leases.c.resource == bindparam("changed"))


def acquire(connection: Connection, resource: str, *, holder: str, ttl: timedelta) -> Lease:
    """Take a free or expired lease, or one's own again.

    Raises:
        LeaseHeld: Another process holds it.
        ValueError: The holder has no name.
    """
    if not holder:
        raise ValueError("a lease needs a holder")
    insert_absent(connection, _leases, [{"resource": resource, **_FREE}])
    row = connection.execute(_LOCKED_LEASE, {"resource": resource}).one()
    instant = now(connection)
    if row.holder != holder and _is_held(row, instant):
        raise _taken(row)
    lease = Lease(resource=resource, holder=holder, epoch=row.epoch + 1)
    until = instant + ttl // _MICROSECOND
    taken = {"holder": holder, "epoch": lease.epoch, "expires_at": until}
    taken["process_json"] = this_process().as_json()
    connection.execute(_CHANGE, {"changed": resource, **taken})
    return lease


def check(connection: Connection, lease: Lease) -> None:
    """Check that a lease is held, and lock it until the end of this transaction.

    Raises:
        LeaseLost: It was taken over or given back.
    """
    row, is_same = _locked(connection, lease)
    if not is_same:
        held = f"{row.holder} holds it" if row is not None and row.holder else "it is free"
        raise LeaseLost(
            f"{lease.holder} no longer holds the lease {lease.epoch} on {lease.resource}: {held}"
            + (f" (epoch {row.epoch})" if row is not None else "")
        )


def keep_free(connection: Connection, resources: Iterable[str]) -> None:
    """Let no process write these resources until the end of this transaction.

    A holder whose lease on one of them had expired loses it.

    Raises:
        LeaseHeld: Another process holds one.
    """
    for chunk in chunks(resources):
        insert_absent(connection, _leases, [{"resource": each, **_FREE} for each in chunk])
        rows = connection.execute(
            select(_leases)
            .where(_leases.c.resource.in_(chunk))
            .order_by(_leases.c.resource)
            .with_for_update()
        ).all()
        instant = now(connection)
        for row in rows:
            if _is_held(row, instant):
                raise _taken(row)
        connection.execute(
            update(_leases).where(_leases.c.resource.in_(chunk)).values(holder="", expires_at=0)
        )


def renew(connection: Connection, lease: Lease, *, ttl: timedelta) -> None:
    """Hold a lease for another ``ttl`` from now.

    Raises:
        LeaseLost: It was taken over or given back.
    """
    check(connection, lease)
    until = now(connection) + ttl // _MICROSECOND
    connection.execute(_CHANGE, {"changed": lease.resource, "expires_at": until})


def release(connection: Connection, lease: Lease) -> None:
    """Give a lease back if it is still held; its epoch stays."""
    if _locked(connection, lease)[1]:
        connection.execute(_CHANGE, {"changed": lease.resource, "holder": "", "expires_at": 0})


def forget(connection: Connection, lease: Lease) -> None:
    """Remove a lease on a resource that will never be taken again, if it is still held."""
    if _locked(connection, lease)[1]:
        connection.execute(delete(_leases).where(_leases.c.resource == lease.resource))


def next_view_number(connection: Connection, lease: Lease | None = None, *, above: int = 0) -> int:
    """The number of a swap of views, above all that were given before; see the port.

    It is that of a resource without a holder: its epoch. It is at least the seconds since 2020,
    so that a state that is lost, or copied (which leaves leases out), goes on above what it gave
    before. It fits into 31 bits for some decades.

    Raises:
        LeaseLost: The lease was taken over.
    """
    if lease is not None:
        check(connection, lease)
    insert_absent(connection, _leases, [{"resource": VIEW_NUMBERS, **_FREE}])
    row = connection.execute(_LOCKED_LEASE, {"resource": VIEW_NUMBERS}).one()
    since = (now(connection) - _FIRST_NUMBER_AT) // _SECOND
    apart = NUMBERS_OF_A_SWAP
    found = max(int(row.epoch) + apart, since, above + apart if above else 0)
    connection.execute(_CHANGE, {"changed": VIEW_NUMBERS, "epoch": found})
    return found


def holder(connection: Connection, resource: str) -> str:
    """Who holds a lease that has not expired; empty if there is none."""
    row = connection.execute(_LEASE, {"resource": resource}).one_or_none()
    return _named(row) if row is not None and _is_held(row, now(connection)) else ""


def held(connection: Connection) -> tuple[HeldLease, ...]:
    """The leases that were not given back, by resource."""
    instant = now(connection)
    rows = connection.execute(
        select(_leases).where(_leases.c.holder != "").order_by(_leases.c.resource)
    )
    return tuple(_held_lease(row, instant) for row in rows)


def resources(connection: Connection) -> frozenset[str]:
    """The resources that are held now."""
    return frozenset(each.resource for each in held(connection) if not each.is_over)


def free(connection: Connection, lease: HeldLease) -> None:
    """Free a lease; its epoch stays, so that its holder can write nothing under it.

    Raises:
        Conflict: It was taken by another process, or again.
    """
    if not _locked(connection, lease)[1]:
        raise Conflict(
            f"another process took or released {lease.resource} in the meantime; nothing was "
            "changed"
        )
    connection.execute(_CHANGE, {"changed": lease.resource, "holder": "", "expires_at": 0})


def _locked(connection: Connection, lease: Lease | HeldLease) -> tuple[Row[Any] | None, bool]:
    """The locked row of a lease's resource, and whether the lease is the one in it."""
    row = connection.execute(_LOCKED_LEASE, {"resource": lease.resource}).one_or_none()
    return row, row is not None and (row.holder, row.epoch) == (lease.holder, lease.epoch)


def _held_lease(row: Row[Any], instant: int) -> HeldLease:
    process = from_json(row.process_json)
    return HeldLease(
        resource=row.resource,
        holder=row.holder,
        epoch=row.epoch,
        expires_at=decode_instant(row.expires_at),
        host=None if process is None else process.host,
        pid=None if process is None else process.pid,
        command="" if process is None else process.command,
        is_over=not _is_held(row, instant),
        runs_here=runs_here(process),
    )


def _is_held(row: Row[Any], instant: int) -> bool:
    is_valid = bool(row.holder) and row.expires_at > instant
    return is_valid and not has_ended(from_json(row.process_json))


def _named(row: Row[Any]) -> str:
    """The holder of a lease, for people."""
    process = from_json(row.process_json)
    return str(row.holder) if process is None else f"{row.holder} ({process})"


def _taken(row: Row[Any]) -> LeaseHeld:
    return LeaseHeld(
        f"{row.resource} is held by {_named(row)} until "
        f"{format_instant(decode_instant(row.expires_at))} UTC",
        advice="wait for it, then retry",
    )
