"""Identities that are the same in every run."""

from __future__ import annotations

from itertools import count


class CountingIds:
    """``ports.ids.Ids`` that counts from 1, in hexadecimal digits."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self) -> str:
        """32 hexadecimal digits, one higher than the answer before."""
        return f"{next(self._numbers):032x}"
