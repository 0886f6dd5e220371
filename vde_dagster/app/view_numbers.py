"""The numbers of swaps, where the views of a catalog move one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vde_dagster.app.services import Services
from vde_dagster.ports.catalog import SwapOvertaken
from vde_dagster.ports.state import Lease

T = TypeVar("T")


def numbered(services: Services, swap: Callable[[int], T], lease: Lease | None = None) -> T:
    """Swap views under a number; under another one, above the higher number that one of them has.

    That one was moved by a later swap, or by a state that is lost, or was put back, and had given
    higher numbers. What is read after the second number was given is not older than the later swap,
    so it may go above it.

    Args:
        services: The ports.
        swap: Reads what the views are to show, and swaps them, under the number that it is given;
            that is 0 where they move at once, which needs none. What it decides by and did not read
            itself has to stay as it is for as long as the lease is held.
        lease: What has to be held still.

    Raises:
        LeaseLost: The lease was taken over.
        SwapOvertaken: It was overtaken again.
    """
    if services.catalog.swaps_at_once:
        return swap(0)
    try:
        return swap(services.state.next_view_number(lease))
    except SwapOvertaken as error:
        return swap(services.state.next_view_number(lease, above=error.highest))
