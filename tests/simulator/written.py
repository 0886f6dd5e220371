"""Histories as people read them, and as code that a test can be made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from tests.simulator.steps import (
    Act,
    AtOnce,
    Correct,
    Edit,
    History,
    Hush,
    Land,
    Meddle,
    Reshape,
    Step,
    Tidy,
)


def kind_of(step: Step) -> str:  # noqa: PLR0911 - a case for each
    """What a step is, for counting."""
    match step:
        case Act(what=what):
            return what
        case AtOnce():
            return "at once"
        case Reshape(how=how):
            return f"source: {how}"
        case Edit(how=how):
            return f"edit: {how}"
        case Meddle(how=how):
            return f"others: {how}"
        case Hush():
            return "lose hours"
        case Land(hours=0):
            return "land late"
        case Correct(amount=None):
            return "lose a row"
        case Tidy(expires=expires):
            return "expire" if expires else "compact"
        case _:
            return type(step).__name__.lower()


def in_words(step: Step) -> str:
    """A step for people, in one line."""
    shown = (
        f"{name}={_word(value)}" for name, value in _given(step) if name not in ("what", "how")
    )
    return f"{kind_of(step)} ({', '.join(shown)})"


def as_test(history: History, *, name: str, why: str, is_thorough: bool) -> str:
    """A test case of a history, to be pasted into a file of tests."""
    models = "".join(f"                {_code(each)},\n" for each in history.models)
    steps = "".join(f"                {_code(each)},\n" for each in history.steps)
    said = " ".join(why.split())[:160].replace('"', "'")
    return (
        f'def test_{name}() -> None:\n    """{said}"""\n'
        f"    tell(\n        History(\n"
        f"            models=(\n{models}            ),\n"
        f"            steps=(\n{steps}            ),\n"
        f"        ),\n        is_thorough={is_thorough},\n    )\n"
    )


def _given(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a value that differ from their defaults."""
    for each in fields(value):
        given = getattr(value, each.name)
        if each.default is MISSING or given != each.default:
            yield each.name, given


def _code(value: Any) -> str:
    match value:
        case Enum():
            return str(value)
        case tuple():
            inner = ", ".join(_code(each) for each in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _ if is_dataclass(value):
            given = ", ".join(f"{name}={_code(each)}" for name, each in _given(value))
            return f"{type(value).__name__}({given})"
        case _:
            return repr(value)


def _word(value: Any) -> str:
    if is_dataclass(value):
        return in_words(value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        return "[" + ", ".join(_word(each) for each in value) + "]"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
