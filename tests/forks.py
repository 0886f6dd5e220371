"""Processes that tests start often: each is a fork of one that has loaded what all of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any, Final

_FORKS: Final = get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "psycopg2",
        "tests.state.actor",
        "tests.app.faults.environment_driver",
        "tests.project.cache.reader",
        "vde_dagster.lakehouse.catalogs.iceberg_catalog",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A process, and the line to it."""

    process: ForkServerProcess
    line: Connection


def fork(act: Callable[..., object], *arguments: Any) -> Fork:
    """Start a process that calls a function of a module with its end of a line, and the arguments.

    Without an answer, its end is seen at the line: receiving raises EOFError.
    """
    ours, theirs = _FORKS.Pipe()
    process = _FORKS.Process(target=act, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return Fork(process=process, line=ours)
