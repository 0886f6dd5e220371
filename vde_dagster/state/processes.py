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
_FIRST_NAMESPACE: Final = "pid:[4026531836]"
"""That of a machine outside of all containers: Linux gives it this number (PROC_PID_INIT_INO)."""
_SINCE: Final = Path("/proc/stat")
_ABOUT_SECONDS: Final = 60.0
"""How far clocks may have been set since."""


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
        return False  # it is there, and belongs to another user
    began = _began(process.pid)
    return bool(began is not None and process.began and began != process.began)


def runs_here(process: Process | None) -> bool:
    """Whether a process is seen to run on this machine; False of those that cannot be seen."""
    is_here = process is not None and bool(process.machine) and process.machine == _machine()
    return is_here and not has_ended(process)


def was_restarted(process: Process | None) -> bool:
    """Whether the machine of a process was started again since, which ended the process.

    That is said of a machine of this one's name that has no containers: another one of the same
    name, with the same database, would be taken for it. So it is not a reason to take a lease over.
    """
    if process is None or not process.machine or process.host != socket.gethostname():
        return False
    boot, _, namespace = process.machine.partition(" ")
    own_boot, _, own_namespace = _machine().partition(" ")
    return boot != own_boot and namespace == own_namespace == _FIRST_NAMESPACE


def has_gone(pid: int, instant: float) -> bool:
    """Whether the process that had a number on this machine at an instant has ended.

    False where that is not known, as while another one has its number that began at about the time.

    Args:
        pid: The number.
        instant: When it was seen, in seconds since 1970.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and belongs to another user
    began = _began(pid)
    if began is None:
        return False
    if not began.isdigit():
        return True  # it is dead, and its number still there
    with suppress(OSError, ValueError, StopIteration):
        lines = _SINCE.read_text("ascii").splitlines()
        boot = next(int(each.split()[1]) for each in lines if each.startswith("btime "))
        return boot + int(began) / os.sysconf("SC_CLK_TCK") > instant + _ABOUT_SECONDS
    return False


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
