"""`vde` on a terminal of its own, as a person has it."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import OURS
from vde_dagster.cli.commands import vde

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WINDOW: Final = {"COLUMNS": "100", "TERM": "xterm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was on the screen, without colours, and the exit code."""

    text: str
    code: int


@dataclass
class _Person:
    """Reads the screen, and types answers."""

    waiting: list[tuple[str, str]]
    screen: str = ""
    _seen: int = field(default=0, init=False)

    def sit_at(self, main: int, ended: Callable[[], bool]) -> None:
        """Read and type until the command has ended."""
        deadline = time.monotonic() + 120
        screen = select.poll()  # select() takes no number above 1023
        screen.register(main, select.POLLIN | select.POLLHUP)
        while time.monotonic() < deadline:
            ready = screen.poll(100)
            if ready:
                try:
                    part = os.read(main, 65536)
                except OSError:  # the other side is closed
                    break
                if not part:
                    break
                text = _ESCAPES.sub("", part.decode("utf-8", "replace"))
                self.screen += text.replace("\r\n", "\n")
            if self.waiting and (at := self.screen.find(self.waiting[0][0], self._seen)) >= 0:
                self._seen = at + len(self.waiting[0][0])
                os.write(main, self.waiting.pop(0)[1].encode())
            elif not ready and ended():
                break

    def leave(self) -> None:
        """All answers were asked for."""
        assert not self.waiting, f"nobody asked for {self.waiting[0][0]!r}:\n{self.screen}"


def on_terminal(*arguments: str | Path, answers: tuple[tuple[str, str], ...]) -> Said:
    """Run `vde` on a terminal of 100 columns.

    Args:
        arguments: Of `vde`.
        answers: Each with the text that is waited for before it is typed.
    """
    person = _Person(list(answers))
    main, side = pty.openpty()
    ended = threading.Event()

    def attend() -> None:
        try:
            person.sit_at(main, ended.is_set)
        finally:
            os.close(main)  # a command that still waits for an answer finds no terminal

    attending = threading.Thread(target=attend)
    attending.start()
    code: object = 0
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            opened = stack.enter_context(os.fdopen(os.dup(side), mode, encoding="utf-8"))
            patch.setattr(sys, name, opened)
        for each in OURS:
            patch.delenv(each, raising=False)
        for each, value in _WINDOW.items():
            patch.setenv(each, value)
        try:
            vde([*map(str, arguments)], prog_name="vde")
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        ended.set()
        attending.join()
    os.close(side)
    person.leave()
    assert isinstance(code, int)
    return Said(text=person.screen, code=code)
