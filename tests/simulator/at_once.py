"""Commands of several processes at once; a seed says which one makes the next call of a port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from vde_dagster.app.services import Services

PORTS = ("state", "catalog", "engine")
_LONGEST = 5.0
"""Seconds after which it is another one's turn: who has it waits for a lock that the other holds,
such as that of `functools.cached_property` in Python 3.11. Real processes share none."""


class Turns:
    """Only the one whose turn it is goes on; after each call it is somebody's turn again."""

    def __init__(self, count: int, seed: int) -> None:
        self._chance = Random(seed)
        self._going = set(range(count))
        self._turn = 0
        self._changed = threading.Condition()

    def call(self, who: int, made: Callable[[], Any]) -> Any:
        """Make a call when it is somebody's turn."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._turn == who, timeout=_LONGEST):
                self._turn = who
            try:
                return made()
            finally:
                self._next()

    def end(self, who: int) -> None:
        """Somebody makes no more calls."""
        with self._changed:
            self._going.discard(who)
            self._next()

    def _next(self) -> None:
        if self._going:
            self._turn = self._chance.choice(sorted(self._going))
        self._changed.notify_all()


class Turned:
    """A port of one of several processes."""

    def __init__(self, port: object, turns: Turns, who: int) -> None:
        self._port, self._turns, self._who = port, turns, who

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found) or name in ("interrupt", "sharing"):
            return found
        return lambda *args, **kwargs: self._turns.call(self._who, lambda: found(*args, **kwargs))


def at_once(commands: Sequence[tuple[Services, Callable[[Services], Any]]], seed: int) -> None:
    """Carry out commands, each of which raises nothing, at once."""
    turns = Turns(len(commands), seed)

    def process(who: int, services: Services, command: Callable[[Services], Any]) -> None:
        ports: dict[str, Any] = {
            each: Turned(getattr(services, each), turns, who) for each in PORTS
        }
        try:
            command(replace(services, **ports))
        finally:
            turns.end(who)

    threads = [
        threading.Thread(target=process, args=(who, *each), daemon=True)
        for who, each in enumerate(commands)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
