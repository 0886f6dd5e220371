"""The state of a world, which answers a question again without asking the database again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vde_dagster.ports.state import State

_REMEMBERED: Final = frozenset(
    {
        *("accepted", "adopted", "changed_since", "digests", "drifted", "entries_within"),
        *("environment", "environments", "failed", "heads", "holdings", "identity"),
        *("last_looks", "ledger", "marks", "newest_computed", "open_work", "owners", "pauses"),
        *("pending", "revision", "sessions", "snapshots", "sums", "unfinished", "versions"),
        *("work", "works"),
    }
)
"""Questions whose answers depend on nothing but what is stored: on no clock and no lease."""


_OF_LEASES: Final = frozenset({"acquire_lease", "lease_holder", "release_lease", "renew_lease"})
"""Calls that write nothing but leases."""


class Remembered:
    """A `vde_dagster.ports.state.State` whose answers are remembered until the next other call.

    Half of a step's time went into the same statements over the same rows. A call that is neither
    one of these questions nor about leases may write, so all answers are forgotten around it.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._state, name)
        if name in _OF_LEASES:
            return method
        return self._question(name, method) if name in _REMEMBERED else self._other(method)

    def _question(self, name: str, method: Any) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            args = [_lasting(each) for each in given]
            key = (name, *args, *sorted(named.items()))
            if key not in self._known:
                self._known[key] = method(*args, **named)
            return self._known[key]

        return asked

    def _other(self, method: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            self._known.clear()
            try:
                return method(*given, **named)
            finally:
                self._known.clear()

        return called


def _lasting(given: Any) -> Any:
    """An argument that can be read twice and compared."""
    is_many = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return tuple(given) if is_many and not isinstance(given, tuple) else given
