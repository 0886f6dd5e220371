"""How work of another process ended, in a word."""

from __future__ import annotations

from vde_dagster.app.apply.visitor import EnvironmentBusy
from vde_dagster.core.errors import VdeError
from vde_dagster.ports.state import LeaseHeld


def ending(error: VdeError) -> str:
    """The name of an error; what somebody holds or has changed is a conflict like any other."""
    return "Conflict" if isinstance(error, LeaseHeld | EnvironmentBusy) else type(error).__name__
