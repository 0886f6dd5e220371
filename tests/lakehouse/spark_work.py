"""What Spark does while something runs: its jobs, and the data files that it opens.

Jobs are counted by Spark's status tracker. Files are counted by the operating system (inotify), so
it does not matter who opens them, or what for.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLOSED_UNWRITTEN: Final = 0x10  # IN_CLOSE_NOWRITE: what was opened only to be read
_OVERFLOW: Final = 0x4000  # IN_Q_OVERFLOW: events are lost
_EVENT: Final = struct.Struct("iIII")
_MOST_BYTES: Final = 1 << 20
_MOST_SECONDS: Final = 600.0


SUMS: Final = 2
"""The jobs of a sum of rows that are read again: what the tasks found is added up."""
AUDITS: Final = 2
"""The jobs of all audits of single rows and totals: what the tasks counted is added up."""


@dataclass(frozen=True, kw_only=True)
class SparkWork:
    """How many jobs ran, and how often data files were opened, by the name of what they are of."""

    jobs: int = 0
    opened: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Needed:
    """What an evaluation needs, if nothing is done twice.

    Adaptive execution makes each exchange of rows a job of its own: rows that are sorted into the
    table's partitions take two, and so do figures that come together from all tasks.

    Args:
        jobs: The jobs of the write.
        source: The data files of the source that are opened.
        own: Those of the table itself that the write opens.
        summed: Those that are opened for the sums; none where these are taken as rows are written.
        audited: Those in which audits find the rows that were written.
        audit_jobs: The jobs of all audits.
    """

    jobs: int
    source: int = 0
    own: int = 0
    summed: int = 0
    audited: int = 1
    audit_jobs: int = AUDITS

    def work(self) -> SparkWork:
        """All of it."""
        jobs = self.jobs + (SUMS if self.summed else 0) + self.audit_jobs
        opened = {"source": self.source, "own": self.own + self.summed + self.audited}
        return SparkWork(jobs=jobs, opened={name: times for name, times in opened.items() if times})


class Watch:
    """Counts what happens in a session and in some folders.

    Args:
        spark: The session whose jobs are counted, if they start in this thread.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._context = spark, spark.sparkContext
        self._system = ctypes.CDLL(None, use_errno=True)
        self._events = self._system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._events >= 0, os.strerror(ctypes.get_errno())
        self._names: dict[int, str] = {}

    def close(self) -> None:
        """Watch nothing any more."""
        os.close(self._events)

    def add(self, name: str, folder: Path, *inside: str) -> None:
        """Watch a folder's present files, under a name. Folders ``inside`` it are created."""
        for each in inside:
            (folder / each).mkdir(parents=True, exist_ok=True)
        for path, _, _ in os.walk(folder):
            found = self._system.inotify_add_watch(
                self._events, os.fsencode(path), _CLOSED_UNWRITTEN
            )
            assert found >= 0, os.strerror(ctypes.get_errno())
            self._names[found] = name

    def during(self, act: Callable[[], object]) -> SparkWork:
        """What happens while something runs, without what is counted inside of it."""
        self._opened()
        with self._group() as group:
            act()
        opened = self._opened()
        self._wait_until_told()
        return SparkWork(jobs=len(self._jobs(group)), opened=opened)

    @contextmanager
    def _group(self) -> Iterator[str]:
        """A group for all jobs of this thread; what runs around it goes on in its own."""
        group = uuid.uuid4().hex
        around = self._context.getLocalProperty("spark.jobGroup.id") or ""
        self._context.setJobGroup(group, group)
        try:
            yield group
        finally:
            self._context.setJobGroup(around, around)

    def _jobs(self, group: str) -> list[int]:
        return list(self._context.statusTracker().getJobIdsForGroup(group))

    def _opened(self) -> dict[str, int]:
        """How often data files were opened since this was asked last."""
        found: Counter[str] = Counter()
        while True:
            try:
                reported = os.read(self._events, _MOST_BYTES)
            except BlockingIOError:
                return dict(found)
            for watch, mask, file in _told(reported):
                assert not mask & _OVERFLOW, "more files were opened than could be counted"
                if file.endswith(".parquet"):
                    found[self._names[watch]] += 1

    def _wait_until_told(self) -> None:
        """Spark reports jobs in order, a little late: once it reports this one, it has all."""
        with self._group() as group:
            self._spark.range(0, 1, 1, 1).collect()
        until = time.monotonic() + _MOST_SECONDS
        while not self._jobs(group):
            assert time.monotonic() < until, "Spark does not report its jobs"
            time.sleep(0.01)


def _told(events: bytes) -> Iterator[tuple[int, int, str]]:
    """Watch, kind and file's name of each of the events that the system wrote."""
    position = 0
    while position < len(events):
        watch, mask, _, length = _EVENT.unpack_from(events, position)
        position += _EVENT.size + length
        yield watch, mask, os.fsdecode(events[position - length : position].rstrip(b"\0"))
