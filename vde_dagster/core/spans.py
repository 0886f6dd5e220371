"""What a thread spends its time on while somebody records it: cheap, and nothing at all otherwise.

Code that waits for something says so with `span`. Spans within each other do not overlap in what is
recorded: while an inner one lasts, the outer one stands still. A row keeps its totals exactly, and
of its spans no more than a picture can show.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import Final, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
MOST_SEGMENTS: Final = 120
"""How many spans of a row are kept."""
MOST_WORKS: Final = 20
"""How many units of work of a row are kept: the last ones."""


class Kind(Enum):
    """What time is spent on."""

    WAITING = "waiting"
    START = "start"
    SPARK = "spark"
    CATALOG = "catalog"
    STATE = "state"
    USER = "user"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A time that was spent on one thing, in seconds since the recording began."""

    start: float
    end: float
    kind: Kind


class Row:
    """What one thing that was done has taken; one thread at a time writes it.

    Args:
        clock: Seconds since the recording began.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: list[Kind] = []
        self._since = clock()
        self._segments: list[Segment] = []
        self._totals: dict[Kind, float] = {}
        self.began = self._since
        self.ended = self._since
        self.error = ""
        self.works: deque[str] = deque(maxlen=MOST_WORKS)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What was spent when, in order; not more than `MOST_SEGMENTS`."""
        return bounded(self._segments, MOST_SEGMENTS)

    @property
    def totals(self) -> Mapping[Kind, float]:
        """The seconds that were spent on each, exactly."""
        return dict(self._totals)

    def enter(self, kind: Kind) -> None:
        """From now on time is spent on this."""
        self._close()
        self._open.append(kind)

    def leave(self) -> None:
        """From now on time is spent on what it was before."""
        self._close()
        self._open.pop()

    def _close(self) -> None:
        now, since = self._clock(), self._since
        self._since = self.ended = now
        if not self._open or now <= since:
            return
        kind = self._open[-1]
        self._totals[kind] = self._totals.get(kind, 0.0) + now - since
        last = self._segments[-1] if self._segments else None
        if last is not None and last.kind is kind and last.end == since:
            self._segments[-1] = Segment(start=last.start, end=now, kind=kind)
        else:
            self._segments.append(Segment(start=since, end=now, kind=kind))
        if len(self._segments) > 4 * MOST_SEGMENTS:
            self._segments = list(bounded(self._segments, MOST_SEGMENTS))


_HERE: Final = threading.local()


@contextmanager
def span(kind: Kind) -> Iterator[None]:
    """Say what this thread spends its time on; nothing happens where nobody records it."""
    row: Row | None = getattr(_HERE, "row", None)
    if row is None:
        yield
        return
    row.enter(kind)
    try:
        yield
    finally:
        row.leave()


def spent_on(kind: Kind) -> Callable[[type[T]], type[T]]:
    """Let each public method of a class say what time is spent on."""

    def decorate(found: type[T]) -> type[T]:
        for name, method in list(vars(found).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(found, name, _spent(method, kind))
        return found

    return decorate


def _spent(method: Callable[P, R], kind: Kind) -> Callable[P, R]:
    @wraps(method)
    def spent(*args: P.args, **kwargs: P.kwargs) -> R:
        with span(kind):
            return method(*args, **kwargs)

    return spent


class Recording:
    """What several threads spend their time on, by the name of what they do.

    Args:
        clock: Seconds of any origin that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        began = clock()
        self._clock: Callable[[], float] = lambda: clock() - began
        self._rows: dict[str, Row] = {}
        self._lock = threading.Lock()

    @property
    def rows(self) -> Mapping[str, Row]:
        """The rows by name, in the order in which they began."""
        with self._lock:
            return dict(self._rows)

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return self._clock()

    def of(self, name: str, steps: Iterable[T], work: Callable[[T], str]) -> Iterator[T]:
        """The same steps, and what is spent on each of them is recorded.

        What whoever takes a step does with it is not.

        Args:
            name: The row that it belongs to.
            steps: Each is done when it is asked for.
            work: The name of what a step did.
        """
        row = self._row(name)
        remaining = iter(steps)
        while True:
            try:
                with _recorded(row):
                    step = next(remaining, None)
            except BaseException as error:
                row.error = type(error).__name__
                raise
            if step is None:
                return
            row.works.append(work(step))
            yield step

    def _row(self, name: str) -> Row:
        with self._lock:
            return self._rows.setdefault(name, Row(self._clock))


@contextmanager
def _recorded(row: Row) -> Iterator[None]:
    """Record in a row what this thread spends its time on."""
    before: Row | None = getattr(_HERE, "row", None)
    _HERE.row = row
    row.enter(Kind.OTHER)
    try:
        yield
    finally:
        row.leave()
        _HERE.row = before


def bounded(segments: Sequence[Segment], most: int) -> tuple[Segment, ...]:
    """Segments in order, or if there are too many, what was spent most in each of ``most`` parts.

    Times in which nothing was spent stay empty.
    """
    if len(segments) <= most:
        return tuple(segments)
    first, last = segments[0].start, segments[-1].end
    width = (last - first) / most
    found: list[Segment] = []
    for number, kind in enumerate(parts(segments, first, last, most)):
        if kind is None:
            continue
        start, end = first + number * width, first + (number + 1) * width
        before = found[-1] if found else None
        if before is not None and before.kind is kind and before.end == start:
            found[-1] = Segment(start=before.start, end=end, kind=kind)
        else:
            found.append(Segment(start=start, end=end, kind=kind))
    return tuple(found)


def parts(
    segments: Iterable[Segment], first: float, last: float, count: int
) -> tuple[Kind | None, ...]:
    """What most of the time was spent on in each of so many equal parts; None for nothing.

    What took least is still seen, unless something else took more of the same part.
    """
    width = (last - first) / count
    if width <= 0:
        return (None,) * count
    shares: list[dict[Kind, float]] = [{} for _ in range(count)]
    for each in segments:
        begins = min(max(int((each.start - first) / width), 0), count - 1)
        ends = min(max(int((each.end - first) / width), 0), count - 1)
        for number in range(begins, ends + 1):
            low = max(each.start, first + number * width)
            high = min(each.end, first + (number + 1) * width)
            if high > low:
                share = shares[number]
                share[each.kind] = share.get(each.kind, 0.0) + high - low
    return tuple(max(each, key=lambda kind: each[kind]) if each else None for each in shares)
