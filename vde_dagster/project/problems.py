"""What is wrong with one file of a project, collected while all of it is read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.core.errors import Place, Problem, Refused, as_sentence

WARNINGS: Final = "vde_dagster.files"
"""The logger of warnings about a project's files; the one argument of each record is a Problem."""


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with one file (``found``) and what is only worth a warning.

    ``unsupported`` is what the file asks for and this version cannot do: a project is refused for
    it, but a model that an earlier version stored with it can still be read.
    """

    found: list[Problem] = field(default_factory=list)
    unsupported: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, advice: str) -> None:
        """Report a problem; the advice says what to do about it."""
        self.found.append(Problem(place=place, message=message, advice=advice))

    def refuse(self, place: Place, error: Refused) -> None:
        """Report an error; its advice as a sentence."""
        self.add(place, *message_and_advice(error))

    def reject(self, place: Place, message: str, advice: str) -> None:
        """Report what the file asks for and this version cannot do; see ``unsupported``."""
        self.unsupported.append(Problem(place=place, message=message, advice=advice))

    def warn(self, place: Place, message: str, advice: str) -> None:
        """Report what a person should know, although the file can be used."""
        self.warnings.append(Problem(place=place, message=message, advice=advice))

    def take(self, others: Problems, place: Place, what: str) -> None:
        """Report all of some others at a place, with what they are about."""
        for own, added in (
            (self.found, others.found),
            (self.unsupported, others.unsupported),
            (self.warnings, others.warnings),
        ):
            own += [replace(each, place=place, message=f"{what}: {each.message}") for each in added]


def message_and_advice(error: Refused) -> tuple[str, str]:
    """What happened, and what to do as a sentence of its own."""
    return error.message, as_sentence(error.advice)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Advice for a word that is not known."""
    every = list(known)
    close = difflib.get_close_matches(word, every, n=1)
    guess = f"Did you mean {close[0]}? " if close else ""
    return f"{guess}Known: {', '.join(every)}."
