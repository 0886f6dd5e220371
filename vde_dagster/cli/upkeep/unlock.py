"""`vde unlock`: who holds what, and taking it from a process that is gone."""

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
    help="The process that holds it, as the list shows it: you say that it runs no more.",
)
def unlock_command(call: Call, *, resource: str | None, gone: str | None) -> None:
    """List the environments and versions that processes hold to write them, or free one.

    A process that ended on this machine holds nothing any more, and one elsewhere until its time
    to live is over: some minutes. To go on before that, look on its machine that it is gone, and
    name it: `vde unlock environment:prod --gone 4711@host`. One that runs on this machine keeps
    what it holds. If one elsewhere does run, it can record and publish nothing under what was
    taken from it.
    """
    if (resource is None) != (gone is None):
        raise click.UsageError("RESOURCE and --gone belong together.")
    state = call.services.state
    held = state.leases()
    if resource is not None:
        lease = next((each for each in held if each.resource == resource), None)
        if lease is None:
            lists = f"`{vde('unlock')}` lists what is held."
            raise Refused(f"nobody holds {resource}", advice=lists)
        _refuse_unless_gone(lease, gone or "")
        state.free_lease(lease)
        held = [each for each in held if each is not lease]
    said = _table(held) if held else "Nobody holds anything."
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
            advice="Look on that machine whether it still runs.",
        )
    if lease.runs_here:
        raise Refused(
            f"{held}, which runs on this machine. Nothing was changed",
            advice=f"It is free once that process has ended: `kill {lease.pid}` ends it.",
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
