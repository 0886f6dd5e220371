"""The port through which the present time is read."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The clock of the machine, in UTC."""

    def now(self) -> datetime:
        """The present instant."""
        ...
