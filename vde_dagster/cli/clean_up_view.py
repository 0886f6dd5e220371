"""How the commands that clean up show what they did, and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from vde_dagster.cli.printing import console

if TYPE_CHECKING:
    from vde_dagster.ports.physical_layer import StoredFiles

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_STEP: Final = 1000


def print_work(rows: Iterable[tuple[str, str, str, str]]) -> None:
    """Print what was done, with what, why, and the size; nothing if nothing was."""
    from rich import box
    from rich.table import Table

    listed = list(rows)
    if not listed:
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("what", overflow="fold")
    table.add_column("why", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    for row in listed:
        table.add_row(*row)
    console().print(table)


def size_of(files: StoredFiles) -> str:
    """The bytes of files for people."""
    return bytes_text(files.size) if files.count else "no files"


def bytes_text(size: int) -> str:
    """Bytes for people, in the largest unit of which there is at least one."""
    shown, unit = float(size), 0
    while shown >= _STEP and unit < len(_UNITS) - 1:
        shown, unit = shown / _STEP, unit + 1
    return f"{shown:,.0f} {_UNITS[unit]}" if unit == 0 else f"{shown:,.1f} {_UNITS[unit]}"
