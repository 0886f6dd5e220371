"""Which process holds a lease, and whether it has ended.

That is only ever said of a process of this machine that the operating system does not have any
more. Of all others it is not known, and their leases end by the database's clock.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

_WORDS: Final = 3
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/pid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process: where it runs, its number there, when it began, and what it was called with.

    ``machine`` is one start of one machine, and the container in which numbers of processes count;
    empty where that is not known. ``began`` is a number that only orders, empty likewise.
    """

    host: str
    machine: str
    pid: int
    began: str
    command: str

    def __str__(self) -> str:
        return f"`{self.command}`, process {self.pid} on {self.host}"

    def as_json(self) -> str:
        """The process as it is stored with a lease."""
        return json.dumps(asdict(self), separators=(",", ":"))


def from_json(text: str | None) -> Process | None:
    """A stored process; None where none was stored."""
    return None if text is None else Process(**json.loads(text))


def this_process() -> Process:
    """The process that runs this."""
    pid = os.getpid()
    program, *words = sys.argv or ["python"]
    return Process(
        host=socket.gethostname(),
        machine=_machine(),
        pid=pid,
        began=_began(pid) or "",
        command=" ".join([Path(program).name, *words[:_WORDS]]),
    )


def has_ended(process: Process | None) -> bool:
    """Whether a process is known to have ended; False of those that cannot be seen from here."""
    if process is None or not process.machine or process.machine != _machine():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # it is there, and belongs to somebody else
    began = _began(process.pid)
    return bool(began is not None and process.began and began != process.began)


@cache
def _machine() -> str:
    with suppress(OSError):
        return f"{_BOOT.read_text('ascii').strip()} {_NAMESPACE.readlink()}"
    return ""


def _began(pid: int) -> str | None:
    """When a process began, as the kernel counts; None where that cannot be read.

    One that has ended, and whose parent was not told yet, never began.
    """
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return "ended" if fields[0] in ("Z", "X") else fields[19]
    return None
