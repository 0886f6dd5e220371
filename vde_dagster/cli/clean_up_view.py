"""How the commands that clean up show what they did, and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import console, print_commands, table

if TYPE_CHECKING:
    from vde_dagster.app.clean_up.lines import Line


def print_work(lines: Iterable[Line]) -> None:
    """Print what was done, with what, why, and the size; nothing if nothing was.

    The commands that the reasons name stand below, each on a line of its own.
    """
    listed = list(lines)
    if not listed:
        return
    rows = table("", "what", "why", "size", right=("size",), whole=("", "size"), folds=True)
    for line in listed:
        rows.add_row(line.what, line.name, line.why, line.size)
    console().print(rows)
    print_commands(line.why for line in listed)
