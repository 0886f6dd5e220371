"""How the commands that clean up show what they did, and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import console, print_commands

if TYPE_CHECKING:
    from vde_dagster.app.clean_up.lines import Line


def print_work(lines: Iterable[Line]) -> None:
    """Print what was done, with what, why, and the size; nothing if nothing was.

    The commands that the reasons name stand below, each on a line of its own.
    """
    from rich import box
    from rich.table import Table

    listed = list(lines)
    if not listed:
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("what", overflow="fold")
    table.add_column("why", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    for line in listed:
        table.add_row(line.what, line.name, line.why, line.size)
    console().print(table)
    print_commands(line.why for line in listed)
