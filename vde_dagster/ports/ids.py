"""Identities come in through here."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """Makes identities that nobody else makes."""

    def new(self) -> str:
        """32 hexadecimal digits, different from every other answer."""
        ...
