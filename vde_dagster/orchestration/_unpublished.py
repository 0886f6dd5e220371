"""Every call of something that Dagster does not publish stands here (dagster 1.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from dagster._core.definitions.declarative_automation.operators import (
        AndAutomationCondition as AndCondition,
    )

__all__ = ["AndCondition", "set_data_version"]


def set_data_version(context: dg.OutputContext, version: str) -> None:
    """Set the data version of the materialization that follows a ``handle_output``.

    An IO manager's published context cannot. ``handle_output`` runs before Dagster builds the
    event, so what is set here is in it.
    """
    context.step_context.set_data_version(context.asset_key, dg.DataVersion(version))
