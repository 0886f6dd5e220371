"""The ports of time and of unique ids."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The clock of the machine, in UTC."""

    def now(self) -> datetime:
        """The present instant."""
        ...

    def wait(self, length: timedelta) -> None:
        """Return that much later."""
        ...


class Ids(Protocol):
    """Makes ids that no other process makes."""

    def new(self) -> str:
        """32 hexadecimal digits, different from every other answer."""
        ...
