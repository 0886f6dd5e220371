"""How much of a parent an interval reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What of a parent an interval [start, end) reads: [start - before, end + after)."""

    before: timedelta = timedelta(0)
    after: timedelta = timedelta(0)
