"""Lists and numbers in texts for people: what is too long is cut, and the rest of it counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def some(names: Iterable[object], most: int, what: str = "") -> str:
    """Names in one text, such as ``a, b and 7 more``.

    Args:
        names: What is named, as its texts.
        most: How many of them are named; the others are counted.
        what: What the others are called behind "more", such as ``ranges``.
    """
    every = [*map(str, names)]
    more = len(every) - most
    rest = f" and {more:,} more {what}".rstrip() if more > 0 else ""
    return f"{', '.join(every[:most])}{rest}"


def first(lines: Sequence[str], most: int, rest: str = "and {:,} more") -> list[str]:
    """The first lines; if there are more, a last one that counts them, with a place for it."""
    more = len(lines) - most
    return [*lines[:most], *([rest.format(more)] if more > 0 else [])]


def plural(number: int, noun: str) -> str:
    """A number of things, such as ``1 model`` and ``2,000 models``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
