"""`vde` on a terminal of its own, as a person has it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cli.calling import OURS

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was on the screen, without colours, and the exit code."""

    text: str
    code: int


def on_terminal(*arguments: str | Path, answers: tuple[tuple[str, str], ...]) -> Said:
    """Run `vde` in a process on a terminal of 100 columns.

    Args:
        arguments: Of `vde`.
        answers: Each with the text that is waited for before it is typed.
    """
    main, side = pty.openpty()
    code = "from vde_dagster.cli import main; main()"
    env = {key: each for key, each in os.environ.items() if key not in OURS}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=env | {"COLUMNS": "100", "TERM": "xterm"},
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    screen, seen = "", 0
    waiting = list(answers)
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([main], [], [], 0.1)
            if ready:
                try:
                    part = os.read(main, 65536)
                except OSError:  # the other side is closed
                    break
                if not part:
                    break
                screen += _ESCAPES.sub("", part.decode("utf-8", "replace")).replace("\r\n", "\n")
            if waiting and (at := screen.find(waiting[0][0], seen)) >= 0:
                seen = at + len(waiting[0][0])
                os.write(main, waiting.pop(0)[1].encode())
            elif not ready and process.poll() is not None:
                break
        return Said(text=screen, code=process.wait(timeout=600))
    finally:
        process.kill()
        process.wait()
        os.close(main)
        assert not waiting, f"nobody asked for {waiting[0][0]!r}:\n{screen}"
