"""Running a user's own code here: where it prints to, and that it may not end the process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Final, NoReturn


class ProcessEnded(SystemExit):
    """A user's code called `os._exit`, which would have ended the process without a word."""


_END: Final = os._exit
_RUNNING: Final = threading.local()


@contextmanager
def running_users_code() -> Iterator[None]:
    """Run a user's code: its output goes to standard error, and `os._exit` raises.

    Standard output may be JSON. Like `sys.exit`, which raises SystemExit by itself, `os._exit` is
    then an error of that code, which whoever runs it reports with its place. In other threads and
    in processes that the code forks `os._exit` does what it always does.

    Raises:
        ProcessEnded: The code called `os._exit`.
    """
    before = getattr(_RUNNING, "process", None)
    _RUNNING.process = os.getpid()
    os._exit = _told
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RUNNING.process = before
        if before is None:
            os._exit = _END


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
