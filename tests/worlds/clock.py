"""A clock that only moves when a test advances it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_START: Final = datetime(2024, 1, 1, tzinfo=UTC)


class ManualClock:
    """``ports.clock.Clock`` whose time stands still between two calls of ``advance``."""

    def __init__(self, now: datetime = _START) -> None:
        self._now = now

    def now(self) -> datetime:
        """The instant that was set last."""
        return self._now

    def wait(self, length: timedelta) -> None:
        """Advance by that, at once."""
        self.advance(length)

    def advance(self, by: timedelta) -> None:
        """Move on; time never runs backwards.

        Raises:
            ValueError: ``by`` is negative.
        """
        if by < timedelta():
            raise ValueError(f"a clock does not run backwards: {by}")
        self._now += by

    def jump(self, by: timedelta) -> None:
        """Be set by somebody, forwards or back."""
        self._now += by
