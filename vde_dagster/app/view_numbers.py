"""The numbers of swaps, where the views of a catalog move one by one."""

from __future__ import annotations

from vde_dagster.app.services import Services
from vde_dagster.ports.state import Lease


def view_number(services: Services, lease: Lease | None = None) -> int:
    """The number of a swap of views; 0 where they move at once, which needs none.

    It has to be asked for before anything is read that decides what the views are to show: what is
    decided from an earlier reading has a lower number then, and never replaces what is newer.

    Args:
        services: The ports.
        lease: What has to be held still.

    Raises:
        LeaseLost: The lease was taken over.
    """
    return 0 if services.catalog.swaps_at_once else services.state.next_view_number(lease)
