"""Programs that a story needs, started and ended with whatever they start themselves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.conftest import not_run
from tests.dagster_server import group

LOOPBACK: Final = "127.0.0.1"
_PATIENCE_SECONDS: Final = 600
_LOOK_SECONDS: Final = 0.2
_LINES: Final = 60


@dataclass(frozen=True)
class Program:
    """A process that leads a group, and the file that it prints to."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """The end of what it has printed."""
        lines = self.log.read_text("utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LINES:])

    def command_lines(self) -> list[str]:
        """What other users of the machine see of each process of the group."""
        found = []
        for number in group(self.process.pid):
            try:
                found.append(Path(f"/proc/{number}/cmdline").read_text("utf-8", errors="replace"))
            except OSError:  # it has just ended
                continue
        return found

    def wait_until_it_answers(self, port: int) -> None:
        """Wait until somebody listens on a port of the loopback network."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not _listens(port):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, f"nothing answers:\n{self.said()}"
            time.sleep(_LOOK_SECONDS)


@contextmanager
def running(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[Program]:
    """A program at work. At the end of the block nothing of it is left."""
    with log.open("wb") as printed:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
    try:
        yield Program(process, log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group: ask it first, and then do not ask."""
    for way, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 60)):
        if not group(process.pid):
            break
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, way)
        until = time.monotonic() + seconds
        while time.monotonic() < until and group(process.pid):
            process.poll()  # else it stays in the list when it has ended
            time.sleep(_LOOK_SECONDS)
    process.wait(timeout=_PATIENCE_SECONDS)
    assert group(process.pid) == []


def required(module: str, why: str) -> None:
    """Leave a test out where a package is missing."""
    if find_spec(module) is None:
        not_run(why)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((LOOPBACK, port)) == 0
