"""The fewest steps and models with which a history still ends wrongly in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.app.generated_models import downstream
from tests.simulator.histories import FIRST
from tests.simulator.steps import History

Ending = Callable[[History], str]
"""How a history ends: the first line of what is wrong, or nothing."""

_NAMES: Final = re.compile(r"\b(?:gen\.)?[mr]\d+\w*|\b(?:prod|dev|qa)\b|\d+")
_WORDS: Final = 6
"""How many words at the beginning say which sort of fault it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What is left of a history without some of its steps, by their numbers, and models.

    ``why`` is what is wrong at its end, in the same way as before. ``tried`` is how many
    histories were told for it.
    """

    history: History
    without: tuple[int, ...]
    without_models: tuple[str, ...]
    why: str
    tried: int


def left_of(
    history: History, without: Collection[int] = (), without_models: Collection[str] = ()
) -> History:
    """A history without some steps and models; nothing else in it changes."""
    return History(
        models=tuple(each for each in history.models if each.name not in without_models),
        steps=tuple(each for at, each in enumerate(history.steps) if at not in without),
    )


def sort_of(why: str) -> str:
    """Which sort of fault it is: the beginning of its line, without numbers and names."""
    lines = why.splitlines() or [""]
    return " ".join(_NAMES.sub("*", lines[0]).split()[:_WORDS])


def shrunk(
    history: History,
    ends: Ending,
    *,
    seconds: float,
    without: Collection[int] = (),
    without_models: Collection[str] = (),
) -> Shrunk | None:
    """The fewest steps and models that end in the same sort of fault; None where nothing is wrong.

    Args:
        history: What happens.
        ends: Tells a history.
        seconds: After these the fewest so far are the answer.
        without: Steps that are left out from the beginning, by their numbers.
        without_models: Models that are.
    """
    search = _Search(history=history, ends=ends, until=time.monotonic() + seconds)
    search.without, search.without_models = frozenset(without), frozenset(without_models)
    search.why = ends(search.left())
    search.tried = 1
    if not search.why:
        return None
    search.shrink()
    return Shrunk(
        history=search.left(),
        without=tuple(sorted(search.without)),
        without_models=tuple(sorted(search.without_models)),
        why=search.why,
        tried=search.tried,
    )


class _Search:
    """Delta debugging: leaves out many steps at a time, then fewer, as long as something goes."""

    def __init__(self, *, history: History, ends: Ending, until: float) -> None:
        self.history, self.ends, self.until = history, ends, until
        self.without: frozenset[int] = frozenset()
        self.without_models: frozenset[str] = frozenset()
        self.why, self.tried = "", 0

    def left(self) -> History:
        return left_of(self.history, self.without, self.without_models)

    def shrink(self) -> None:
        size = len(self.history.steps)
        while size > 1:
            size = (size + 1) // 2
            self._leave_out(size)
        while self._leave_out_models() | self._leave_out(1):
            pass

    def _leave_out(self, size: int) -> bool:
        """Leave out steps, that many at a time and the last ones first; whether any went."""
        gone = False
        for some in _chunks(self._there(), size):
            gone |= self._goes(self.without | {*some}, self.without_models)
        return gone

    def _there(self) -> list[int]:
        return [at for at in range(FIRST, len(self.history.steps)) if at not in self.without]

    def _leave_out_models(self) -> bool:
        """Leave out models, with all that reads them; whether any went."""
        gone = False
        for made in reversed(self.history.models):
            models = self.left().models
            readers = {each.name for each in downstream(made, models)}
            if made in models and len(readers) < len(models):
                gone |= self._goes(self.without, self.without_models | readers)
        return gone

    def _goes(self, without: frozenset[int], without_models: frozenset[str]) -> bool:
        if time.monotonic() > self.until:
            return False
        self.tried += 1
        why = self.ends(left_of(self.history, without, without_models))
        if not why or sort_of(why) != sort_of(self.why):
            return False
        self.without, self.without_models, self.why = without, without_models, why
        return True


def _chunks(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for end in range(len(numbers), 0, -size):
        yield numbers[max(0, end - size) : end]


def as_numbers(text: str) -> frozenset[int]:
    """The numbers of `3,7-9`.

    Raises:
        ValueError: It is no such text.
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def as_text(numbers: Collection[int]) -> str:
    """`3,7-9` of these numbers."""
    parts: list[list[int]] = []
    for each in sorted(numbers):
        if parts and parts[-1][-1] == each - 1:
            parts[-1].append(each)
        else:
            parts.append([each])
    return ",".join(f"{p[0]}" if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
