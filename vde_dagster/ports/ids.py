"""The port that gives unique ids."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """Makes ids that no other process makes."""

    def new(self) -> str:
        """32 hexadecimal digits, different from every other answer."""
        ...
