"""The machine's clock, and random ids: what real runs use."""

from __future__ import annotations

import getpass
import os
import socket
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from vde_dagster.core.variables import Variable


class SystemClock:
    """``ports.clock.Clock`` of this machine."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return datetime.now(UTC)

    def wait(self, length: timedelta) -> None:
        """Sleep; a signal that raises ends it."""
        time.sleep(length.total_seconds())


class RandomIds:
    """``ports.ids.Ids`` from 122 random bits each."""

    def new(self) -> str:
        """32 hexadecimal digits, different from every other answer."""
        return uuid4().hex


def user() -> str:
    """Who works here, as the operating system or the environment variable VDE_USER names them.

    A user id without a name, as in some containers, is given as the number.
    """
    if named := os.environ.get(Variable.USER, "").strip():
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def author() -> str:
    """Who works here, as ``user@machine``, or what the environment variable VDE_AUTHOR says."""
    if named := os.environ.get(Variable.AUTHOR, "").strip():
        return named
    return f"{user()}@{socket.gethostname()}"
