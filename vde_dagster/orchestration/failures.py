"""Expected errors as Dagster failures: their own text, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from vde_dagster.core.errors import Conflict, OutcomeUnknown, VdeError
from vde_dagster.ports.state import LeaseLost


@contextmanager
def failures() -> Iterator[None]:
    """Turn our errors into `dg.Failure`; whoever was second, or lost an answer, may try again."""
    try:
        yield
    except LeaseLost as error:
        text = "another process took over this work; run it again to see what it did"
        raise dg.Failure(text, allow_retries=True) from error
    except VdeError as error:
        again = isinstance(error, Conflict | OutcomeUnknown)
        raise dg.Failure(str(error), allow_retries=again) from error
