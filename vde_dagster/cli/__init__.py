"""The command line `vde`. Commands are thin: they read arguments, call a use case and print."""

from __future__ import annotations

import gc
import logging
from typing import Final

_OBJECTS: Final = 100_000
"""So many new objects before Python looks for cycles among them.

Imports make a million objects that stay. With Python's own 700, to look through them again and
again takes a tenth of a short command.
"""


def begin_process() -> None:
    """Set up this process for one command: its collection of cycles, and what is logged."""
    gc.set_threshold(_OBJECTS)
    # The code that calls sqlglot reports its warnings itself, with file and line.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    # What goes wrong with the JVM is reported once, by `failures`.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def main() -> None:
    """Run `vde` with the arguments of this process; never returns."""
    begin_process()
    from vde_dagster.cli.commands import vde

    vde(prog_name="vde")
