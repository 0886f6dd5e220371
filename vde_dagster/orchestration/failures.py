"""Expected errors as Dagster failures: their own text, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from vde_dagster.core.errors import Conflict, OutcomeUnknown, VdeError
from vde_dagster.ports.state import LeaseLost


@contextmanager
def failures() -> Iterator[None]:
    """Turn our errors into `dg.Failure`; after a conflict or a lost answer it may be retried."""
    try:
        yield
    except LeaseLost as error:
        text = "another process has taken over this work; run it again to see its result"
        raise dg.Failure(text, allow_retries=True) from error
    except VdeError as error:
        again = isinstance(error, Conflict | OutcomeUnknown)
        raise dg.Failure(str(error), allow_retries=again) from error
