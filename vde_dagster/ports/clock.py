"""Time comes in through here."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time of the machine, in UTC."""

    def now(self) -> datetime:
        """The present instant."""
        ...
