"""Who holds which lease, for people, and freeing one of a process that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """A lease that somebody holds, expired or not, and what is known of the process.

    ``host`` and ``pid`` are None for a lease of a release that did not store them. ``is_over`` if
    it has expired, or the process is known to have ended: then whoever wants it takes it.
    ``runs_here`` if the process is seen to run on this machine.
    """

    resource: str
    holder: str
    epoch: int
    expires_at: datetime
    host: str | None
    pid: int | None
    command: str
    is_over: bool
    runs_here: bool


class HeldLeases(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def leases(self) -> Sequence[HeldLease]:
        """The leases that somebody holds, by resource; those that were given back are absent."""
        ...

    def free_lease(self, lease: HeldLease) -> None:
        """Take a lease from a holder that is gone. What it wrote under it can be written no more.

        Raises:
            Conflict: Somebody else has it by now; nothing was changed.
        """
        ...
