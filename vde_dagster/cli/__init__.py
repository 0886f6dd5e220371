"""The command line `vde`. Commands are thin: they read arguments, call a use case and print."""

from __future__ import annotations


def main() -> None:
    """Run `vde` with the arguments of this process; never returns."""
    from vde_dagster.cli.commands import vde

    vde(prog_name="vde")
