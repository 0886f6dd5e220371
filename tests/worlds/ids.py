"""Identities that are the same in every run."""

from __future__ import annotations

from itertools import count


class CountingIds:
    """``ports.ids.Ids`` that counts from 1, in hexadecimal digits."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def copied(self) -> CountingIds:
        """One that goes on from here, apart from this one."""
        made, reached = CountingIds(), next(self._numbers)
        self._numbers, made._numbers = count(reached), count(reached)
        return made

    def new(self) -> str:
        """32 hexadecimal digits, one higher than the answer before."""
        return f"{next(self._numbers):032x}"
