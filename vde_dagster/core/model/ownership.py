"""Who may write a version (rule R9)."""

from __future__ import annotations

from vde_dagster.core.names import PRODUCTION


def may_write(environment: str, owner: str | None) -> bool:
    """Whether an environment may evaluate a version (rule R9).

    Production may always: what it shows it owns, and what it is about to show it will own.
    """
    return owner is None or environment in (owner, PRODUCTION)
