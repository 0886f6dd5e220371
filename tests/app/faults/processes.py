"""Processes of `tests.app.faults.driver`, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[3]
_PATIENCE: Final = 240.0
"""Seconds within which a process has to come to an end; a hang is a failure."""


@dataclass(frozen=True)
class Driver:
    """A driver and its JVM, which are a process group of their own."""

    process: subprocess.Popen[str]
    log: Path

    @classmethod
    def start(cls, folder: Path, name: str, **job: object) -> Driver:
        log = folder / f"{name}.log"
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.app.faults.driver", str(folder), json.dumps(job)],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        return cls(process, log)

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

    def line(self) -> str:
        """The next thing that the process says; it ends at the latest with its job."""
        assert self.process.stdout is not None
        found = self.process.stdout.readline().strip()
        assert found, self.said()
        return found

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def outcome(self) -> Mapping[str, Any]:
        """What the process prints at its end."""
        out, _ = self.process.communicate(timeout=_PATIENCE)
        assert self.process.returncode == 0, self.said()
        found = json.loads(out.splitlines()[-1])
        assert isinstance(found, dict)
        return found

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
