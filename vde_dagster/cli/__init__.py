"""The command line `vde`. Commands are thin: they read arguments, call a use case and print."""

from __future__ import annotations

import logging


def main() -> None:
    """Run `vde` with the arguments of this process; never returns."""
    from vde_dagster.cli.commands import vde

    # The code that calls sqlglot reports its warnings itself, with file and line.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    # What goes wrong with the JVM is reported once, by `failures`.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    vde(prog_name="vde")
