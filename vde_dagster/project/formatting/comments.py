"""Comments between tokens, as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_PAIRS: Final = {"/*": "*/", "{#": "#}"}
_LINE_MARKS: Final = ("--", "//", "#")


def comments_between(gap: str, *, nested: bool = False) -> Iterator[str]:
    """The comments in a text that otherwise has only spaces, commas and semicolons.

    Args:
        gap: The text between two tokens, or before the first one.
        nested: Whether the dialect has comments in comments.
    """
    index = 0
    while index < len(gap):
        end = _end_of(gap, index, nested)
        if end > index:
            yield gap[index:end].rstrip()
        index = max(end, index + 1)


def _end_of(gap: str, start: int, nested: bool) -> int:
    """Where the comment that starts here ends; ``start`` if none does."""
    for opening, closing in _PAIRS.items():
        if gap.startswith(opening, start):
            return _closed(gap, start, opening, closing, nested)
    if gap.startswith(_LINE_MARKS, start):
        end = gap.find("\n", start)
        return len(gap) if end < 0 else end
    return start


def _closed(gap: str, start: int, opening: str, closing: str, nested: bool) -> int:
    depth, index = 1, start + len(opening)
    while index < len(gap):
        if gap.startswith(closing, index):
            depth -= 1
            index += len(closing)
            if not depth:
                return index
        elif nested and gap.startswith(opening, index):
            depth += 1
            index += len(opening)
        else:
            index += 1
    return len(gap)


def ends_line(comment: str) -> bool:
    """Whether a comment goes to the end of its line."""
    return comment.startswith(_LINE_MARKS)
