"""Processes of `tests.app.faults.driver`, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[3]
_PATIENCE: Final = 1200.0
"""Seconds within which a process has to come to an end; a hang is a failure."""


@dataclass(frozen=True)
class Driver:
    """A driver and its JVM, which are a process group of their own."""

    process: subprocess.Popen[str]
    log: Path

    @classmethod
    def start(cls, log: Path) -> Driver:
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.app.faults.driver"],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        return cls(process, log)

    def tell(self, do: str, folder: Path, **job: object) -> None:
        """Give it a job of `tests.app.faults.driver`, and go on."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, "folder": str(folder), **job}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """What it says next; it ends at the latest with its job."""
        assert self.process.stdout is not None
        found = self.process.stdout.readline().strip()
        assert found, self.said()
        return json.loads(found)

    def ask(self, do: str, folder: Path, **job: object) -> Any:
        """Give it a job, and wait for what it says."""
        self.tell(do, folder, **job)
        return self.answer()

    def wait_until_killed(self) -> None:
        """Return when the process killed itself, and its JVM has gone with it."""
        self.process.communicate(timeout=_PATIENCE)
        assert self.process.returncode == -signal.SIGKILL, self.said()
        deadline = time.monotonic() + _PATIENCE
        while self._group_lives():
            assert time.monotonic() < deadline, "the JVM outlives its process"
            time.sleep(0.05)

    def wait_until_stopped(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            wanted = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
            found = os.waitid(os.P_PID, self.process.pid, wanted)
            if found is not None:
                assert found.si_code == os.CLD_STOPPED, self.said()
                return
            time.sleep(0.05)
        raise AssertionError(self.said())

    def wake(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Leave nothing behind, whatever the test found."""
        if self._group_lives():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")[-4000:]

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@dataclass
class Drivers:
    """Drivers that several tests have one after the other: each starts Spark only once."""

    folder: Path
    idle: list[Driver] = field(default_factory=list)
    started: int = 0

    @contextmanager
    def lent(self, count: int) -> Iterator[list[Driver]]:
        """Some drivers; those that still run are used again, unless the test has failed."""
        while len(self.idle) < count:
            self.started += 1
            self.idle.append(Driver.start(self.folder / f"{self.started}.log"))
        lent = [self.idle.pop() for _ in range(count)]
        try:
            yield lent
        except BaseException:
            for each in lent:
                each.end()
            raise
        self.idle += [each for each in lent if each.lives]

    def end(self) -> None:
        for each in self.idle:
            each.end()
