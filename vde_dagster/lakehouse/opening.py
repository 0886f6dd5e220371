"""Adapters that are opened, and whose modules are imported, by the first use of them.

Most commands use few of a project's adapters, and pyiceberg alone takes half a second to import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")


def opened_when_used(opens: Callable[[], T]) -> T:
    """What a function opens, as if it were open: the first use of an attribute opens it, once.

    Several threads may share it. An error of ``opens`` is raised by the use, and the next use tries
    again. Only attributes are found, so ``isinstance`` and special methods are not for it.
    """
    return cast(T, _Opening(opens))


class _Opening:
    """Has the attributes of what a function opens."""

    def __init__(self, opens: Callable[[], object]) -> None:
        self._opens = opens
        self._lock = threading.RLock()
        self._opened: object = None

    def __getattr__(self, name: str) -> object:
        """Called for what it has not itself, which is everything that is asked of it."""
        with self._lock:
            if self._opened is None:
                self._opened = self._opens()
        return getattr(self._opened, name)
