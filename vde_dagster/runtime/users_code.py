"""Running a user's own code here: where it prints to, and that it may not end the process."""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from types import CodeType, ModuleType
from typing import Final, NoReturn, TextIO

from vde_dagster.runtime.spans import span


class ProcessEnded(SystemExit):
    """A user's code called `os._exit`, which would have ended the process without a word."""


_END: Final = os._exit
_NUMBERS: Final = count()
_RUNNING: Final = threading.local()


@dataclass(slots=True)
class _Guard:
    """What the whole process has replaced while any of its threads runs a user's code.

    The first thread that begins sets it up, and the last one that ends takes it away: each may end
    while others are still at it.
    """

    running: int = 0
    stdout: TextIO | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """One more user's code is started."""
        with self.lock:
            if self.running == 0:
                self.stdout, sys.stdout = sys.stdout, sys.stderr
                os._exit = _told
            self.running += 1

    def end(self) -> None:
        """One of those that were started has ended."""
        with self.lock:
            self.running -= 1
            if self.running == 0:
                sys.stdout, self.stdout = self.stdout, None
                os._exit = _END


_GUARD: Final = _Guard()


@contextmanager
def running_users_code() -> Iterator[None]:
    """Run a user's code: its output goes to standard error, and `os._exit` raises.

    Standard output may be JSON. Like `sys.exit`, which raises SystemExit by itself, `os._exit` is
    then an error of that code, which the caller reports with its place. Threads may do so at
    once. In threads that do not, and in processes that the code forks, `os._exit` does what it
    always does; their standard output is standard error, too, as long as any thread runs it.

    Raises:
        ProcessEnded: The code called `os._exit`.
    """
    before = getattr(_RUNNING, "process", None)
    _RUNNING.process = os.getpid()
    _GUARD.begin()
    try:
        with span("users' code"):
            yield
    finally:
        _GUARD.end()
        _RUNNING.process = before


@contextmanager
def users_module(stem: str) -> Iterator[ModuleType]:
    """A module for a user's file, which Python knows as long as its code runs.

    Dataclasses and annotations look there for the module that they are in. Its name is not an other
    module's, whatever is imported and however many threads run the same file.

    Args:
        stem: What the name says about the file.
    """
    module = ModuleType(f"__vde_{stem}_{next(_NUMBERS)}__")
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)


def run_code(code: str | ast.Module, path: str, module: ModuleType) -> None:
    """Run the text or the tree of a user's file in its module, by the rules of that file alone.

    Raises:
        Exception: Whatever the code raises.
    """
    found: CodeType = compile(code, path, "exec", dont_inherit=True)
    exec(found, module.__dict__)  # noqa: S102 - a user's own code


def _told(status: int) -> NoReturn:
    if getattr(_RUNNING, "process", None) == os.getpid():
        raise ProcessEnded(f"os._exit({status})")
    _END(status)


def error_text(error: BaseException) -> str:
    """The kind and text of an error that a user's code raised, printable whatever is in it."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # its __str__ is the user's code, too
        text = type(error).__name__
    if isinstance(error, SystemExit):
        text = f"{text}, which would end the whole process"
    return text.encode(errors="backslashreplace").decode()
