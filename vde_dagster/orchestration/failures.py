"""Expected errors as Dagster failures: their own text, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg

from vde_dagster.core.errors import AuditFailed, Refused, VdeError
from vde_dagster.ports.state import LeaseLost


@contextmanager
def failures(
    metadata: Mapping[str, Any] | None = None, *, words: Callable[[str], str] = str
) -> Iterator[None]:
    """Turn our errors into `dg.Failure`, which may be retried unless something was refused.

    Args:
        metadata: What the failed step shows, as it is when it fails.
        words: Says an error's text in the words of whoever asked.
    """
    try:
        yield
    except LeaseLost as error:
        text = "another process has taken over this work; run it again to see its result"
        raise dg.Failure(text, metadata, allow_retries=True) from error
    except VdeError as error:
        again = not isinstance(error, Refused | AuditFailed)
        raise dg.Failure(words(str(error)), metadata, allow_retries=again) from error
