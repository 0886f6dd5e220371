"""Every error that vde_dagster raises on purpose.

Three outcomes are kept apart (rule R5): *refused* (nothing was done, and trying again unchanged
will be refused again), *conflict* (another process was first; nothing of ours was done), and
*unknown* (the answer was lost: read the state again before doing anything).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from vde_dagster.core.listing import plural
from vde_dagster.runtime.secrets import without_secrets


class VdeError(Exception):
    """Root of all errors of this package; as a text it is its message and then its advice.

    Args:
        message: What happened, and where.
        advice: What to do next; empty where that follows from the message, or nothing can be done.
            It begins in lower case where it goes on with the message's last sentence.

    Stars stand for secrets in both (`runtime/secrets.py`).
    """

    def __init__(self, message: str, *, advice: str = "") -> None:
        self.message = without_secrets(message)
        self.advice = without_secrets(advice)
        super().__init__(self.message)

    def __str__(self) -> str:
        return with_advice(self.message, self.advice)


class Refused(VdeError):
    """The request is impossible or not allowed as it was made; nothing was written."""


class Conflict(VdeError):
    """Another writer was first; nothing of ours was written. Reading again and retrying is safe."""


class OutcomeUnknown(VdeError):
    """The answer to a write was lost: it may or may not have happened. Re-read before retrying."""


class SetupError(Refused):
    """The machine lacks something (Java, jars, a package); the text says what to install or set."""


class EvaluationFailed(VdeError):
    """A model's query or function failed; what was published before is untouched.

    ``fragment`` is the part of the SQL that ran at which it failed; empty if that is not known.
    """

    fragment: str = ""

    def within(self, subject: object) -> Self:
        """The same failure with what it is a part of before its message."""
        whole = type(self)(f"{subject}: {self.message}", advice=self.advice)
        whole.fragment = self.fragment
        return whole


class AuditFailed(EvaluationFailed):
    """A blocking audit found bad rows; kept for inspection, shown by no environment."""


def with_advice(message: str, advice: str) -> str:
    """One text of what happened and what to do next.

    Advice that begins with a capital letter is a sentence of its own, and stands on a line of its
    own below a message of several lines; other advice goes on with the last sentence.
    """
    if not advice:
        return message
    if "\n" in message and advice[0].isupper():
        joint = "\n"
    elif message.endswith((".", "?", "!", ":")):
        joint = " "
    else:
        joint = ". " if advice[0].isupper() else "; "
    return f"{message}{joint}{advice}"


def as_sentence(text: str) -> str:
    """A text with a capital letter at its start and a full stop at its end; empty stays empty."""
    if not text:
        return ""
    end = "" if text.endswith((".", "?", "!")) else "."
    return f"{text[0].upper()}{text[1:]}{end}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A place in a file of a user's project. ``line`` and ``column`` count from 1."""

    path: Path
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong in a user's project: where, what, and what to do about it."""

    place: Place
    message: str
    advice: str = ""

    def __str__(self) -> str:
        advice = f"\n    {self.advice}" if self.advice else ""
        return f"{self.place}: {self.message}{advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a model: what, what to do, and the line of its file if known."""

    message: str
    advice: str
    line: int | None = None


class ProjectInvalid(Refused):
    """A project cannot be loaded. Carries every problem that was found, sorted by place.

    Args:
        problems: At least one problem.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems, key=lambda each: each.place))
        count = len(self.problems)
        title = f"{plural(count, 'problem')} in this project; nothing was changed."
        super().__init__("\n".join([title, *map(str, self.problems)]))
