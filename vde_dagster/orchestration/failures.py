"""Expected errors as Dagster failures: their own text, and whether trying again can help.

Dagster stores an error with all that caused it. So what leaves our code has no secret in its text,
nor in those of its causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg

from vde_dagster.core.errors import AuditFailed, Refused, VdeError, as_sentence, with_advice
from vde_dagster.core.faults import FoundFault, fault_of
from vde_dagster.ports.state import LeaseLost
from vde_dagster.runtime.secrets import without_secrets


@contextmanager
def failures(metadata: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Turn our errors, and faults of machines and services, into `dg.Failure`.

    It may be retried unless something was refused. ``metadata`` is what the failed step shows, as
    it is when it fails.
    """
    try:
        with secrets_hidden():
            yield
    except LeaseLost as error:
        text = "another process has taken over this work; run it again to see the result"
        raise dg.Failure(text, metadata, allow_retries=True) from error
    except VdeError as error:
        again = not isinstance(error, Refused | AuditFailed)
        raise dg.Failure(str(error), metadata, allow_retries=again) from error
    except Exception as error:
        found = error.fault if isinstance(error, HiddenError) else fault_of(error)
        if found is None:
            raise
        raise dg.Failure(_sentence(found), metadata, allow_retries=True) from error


def _sentence(found: FoundFault) -> str:
    """What a fault is and what to do, for people."""
    return without_secrets(with_advice(as_sentence(found.message), found.advice))


class HiddenError(Exception):
    """What another library raised, without the secrets that its text had.

    ``fault`` is what it stands for, if that is a fault of a machine or service: then its text says
    what to do.
    """

    def __init__(self, error: Exception) -> None:
        self.fault = fault_of(error)
        said = without_secrets(f"{type(error).__name__}: {error}")
        super().__init__(said if self.fault is None else _sentence(self.fault))


@contextmanager
def secrets_hidden() -> Iterator[None]:
    """Let no error out that has a secret in its text, or in that of one of its causes.

    One of ours, which never has one in its own text, is raised without its causes, any other one as
    a `HiddenError`; both with their traceback.
    """
    try:
        yield
    except VdeError as error:
        if _shows_secrets(error):
            raise error from None
        raise
    except Exception as error:
        if _shows_secrets(error):
            raise HiddenError(error).with_traceback(error.__traceback__) from None
        raise


def _shows_secrets(error: BaseException) -> bool:
    """Whether a secret is in the text of an error, or of those that led to it."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        text = str(each)
        if without_secrets(text) != text:
            return True
        waiting += [each.__cause__, None if each.__suppress_context__ else each.__context__]
    return False
