"""`vde unlock`: who holds what, and taking it from a process that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import table
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.ports.records import HeldLease


@options.command("unlock")
@click.argument("resource", required=False)
@click.option(
    "--gone",
    metavar="PID@HOST",
    help="The process that holds it, as listed: you confirm that it has ended.",
)
def unlock_command(call: Call, *, resource: str | None, gone: str | None) -> None:
    """List the leases on environments and versions, or release one.

    A lease ends with its process on this machine, and on another machine after its time to live:
    some minutes. To release it earlier, check on that machine that the process has ended, and name
    it with --gone. A process that runs on this machine keeps its leases. One that still runs
    elsewhere can record and publish nothing under a lease that was released.

    For example:

        vde unlock environment:prod --gone 4711@etl-2
    """
    if (resource is None) != (gone is None):
        raise click.UsageError("Give RESOURCE and --gone together.")
    state = call.services.state
    held = state.leases()
    if resource is not None:
        lease = next((each for each in held if each.resource == resource), None)
        if lease is None:
            lists = f"`{vde('unlock')}` lists the leases."
            raise Refused(f"no process holds a lease on {resource}", advice=lists)
        _refuse_unless_gone(lease, gone or "")
        state.free_lease(lease)
        held = [each for each in held if each is not lease]
    said = _table(held) if held else "No process holds a lease."
    call.answer(
        {"freed": resource, "leases": held}, [said if resource is None else f"{resource} is free."]
    )


def _refuse_unless_gone(lease: HeldLease, gone: str) -> None:
    if lease.is_over:
        return
    who = process_text(lease)
    held = f"{lease.resource} is held by {lease.holder}, process {who}"
    if gone != who:
        raise Refused(
            f"{held}, and not by {gone}. Nothing was changed",
            advice="Check on that machine whether it still runs.",
        )
    if lease.runs_here:
        raise Refused(
            f"{held}, which runs on this machine. Nothing was changed",
            advice=f"It is released when that process ends: `kill {lease.pid}` ends it.",
        )


def process_text(lease: HeldLease) -> str:
    """The process that holds a lease, as `--gone` takes it."""
    return f"{lease.pid}@{lease.host}" if lease.pid is not None else lease.holder


def _table(held: Sequence[HeldLease]) -> Table:
    rows = table("what", "held by", "process", "command", "until (UTC)")
    for each in held:
        until = "over" if each.is_over else f"{each.expires_at:%Y-%m-%d %H:%M:%S}"
        rows.add_row(each.resource, each.holder, process_text(each), each.command, until)
    return rows
