"""How often a model is evaluated again by itself after its query or function failed."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

RETRIES: Final = "retries"
"""The property's name."""
MOST_RETRIES: Final = 10
"""The last pause is then almost three hours long."""
FIRST_PAUSE: Final = timedelta(seconds=10)


def pause_before(retry: int) -> timedelta:
    """How long to wait before a retry, the first of which is 1: 10, 30, 70, 150 ... seconds.

    These are the pauses of `dagster.Backoff.EXPONENTIAL` for a delay of `FIRST_PAUSE`.
    """
    return FIRST_PAUSE * ((1 << retry) - 1)
