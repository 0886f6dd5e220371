"""What can go wrong at a call of a port; each sort of fault is one entry of `FAULTS`."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.app.memory_world import WRITING, PowerCut
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, EvaluationFailed, OutcomeUnknown, Refused

PORTS: Final = ("state", "catalog", "engine")
BLAMELESS: Final = (PowerCut, OSError)
"""How commands may end by faults alone, beside errors of the product's own."""
_OF_THE_PROCESS: Final = {"interrupt", "sharing"}
"""Methods that are about threads alone, and call nobody."""


@dataclass
class Trouble:
    """What goes wrong at the first fitting call from a number on, counted across all ports.

    Only calls of the method ``strikes`` are counted, where one is named.
    ``after`` is whether that call is done before. ``meanwhile`` is what others do in a sleep.
    """

    fault: Fault
    at: int
    after: bool
    meanwhile: Callable[[], object]
    strikes: str = ""
    calls: int = 0
    has_happened: bool = False

    def call(self, port: str, method: str, made: Callable[[], Any]) -> Any:
        """Make a call of a port, or let the fault have its way."""
        self.calls += not self.strikes or self.strikes == method
        again = self.has_happened and self.fault.lasts
        is_now = not self.has_happened and self.calls >= self.at
        is_now = is_now and self.strikes in ("", method)
        if not (again or is_now) or not self.fault.fits(port, method):
            return made()
        is_done = self.after and not again and self.fault.may_follow(port)
        result = made() if is_done else None
        self.has_happened = True
        self.fault.strikes(self, port, method)
        return result if is_done else made()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A sort of fault.

    ``strikes`` raises what the real port raises; if it returns, the call is made. ``fits`` says for
    which ports and methods, and ``may_follow`` at which ports it may happen once the call is done.
    """

    strikes: Callable[[Trouble, str, str], None]
    fits: Callable[[str, str], bool]
    may_follow: Callable[[str], bool] = lambda _: True
    lasts: bool = False


class Troubled:
    """A port of a process in trouble."""

    def __init__(self, port: object, name: str, trouble: Trouble) -> None:
        self._port, self._name, self._trouble = port, name, trouble

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._port, method)
        if not callable(found) or method in _OF_THE_PROCESS:
            return found
        return lambda *args, **kwargs: self._trouble.call(
            self._name, method, lambda: found(*args, **kwargs)
        )


def in_trouble(services: Services, trouble: Trouble) -> Services:
    """What a process works with that has a fault ahead."""
    ports: dict[str, Any] = {
        name: Troubled(getattr(services, name), name, trouble) for name in PORTS
    }
    return replace(services, **ports)


def _cut(*_: object) -> None:
    raise PowerCut


def _lost(_: Trouble, port: str, method: str) -> None:
    if port == "engine":
        raise EvaluationFailed(f"Spark ended while it was at work on {method}")
    raise OutcomeUnknown(f"the answer to {method} was lost")


def _full(_: Trouble, port: str, method: str) -> None:
    """As `state/database.py`, `lakehouse/iceberg/publish.py` and the files of views have it."""
    if port == "state":
        raise Refused("the state cannot be used, since the disk is full. Nothing was written")
    if port == "engine":
        raise EvaluationFailed("No space left on device")
    if method == "swap_views":
        raise OSError(errno.ENOSPC, "No space left on device")
    raise OutcomeUnknown(f"the answer to {method} was lost (No space left on device)")


def _locked(*_: object) -> None:
    raise Conflict("the state's database is locked by another process; nothing was written")


def _sleep(trouble: Trouble, *_: object) -> None:
    trouble.meanwhile()


def _writes(_: str, method: str) -> bool:
    return method in WRITING


def _is_engine(port: str) -> bool:
    return port == "engine"


FAULTS: Final[Mapping[str, Fault]] = {
    "dies": Fault(strikes=_cut, fits=lambda *_: True, lasts=True),
    "loses an answer": Fault(strikes=_lost, fits=_writes),
    "has no space": Fault(strikes=_full, fits=_writes, may_follow=_is_engine, lasts=True),
    "is locked out": Fault(
        strikes=_locked, fits=lambda port, _: port == "state", may_follow=lambda _: False
    ),
    "sleeps": Fault(strikes=_sleep, fits=_writes),
}
