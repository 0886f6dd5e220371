"""Comments between tokens, as they are written, and to which token each belongs.

The rule is sqlglot's: a comment that starts on the line where the token before it ended belongs to
that token, every other one to the token behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_PAIRS: Final = {"/*": "*/", "{#": "#}"}
_LINE_MARKS: Final = ("--", "//", "#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The comments between two tokens: behind the first one, and before the second one."""

    trailing: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All of them in order."""
        return (*self.trailing, *self.leading)


def comments_between(gap: str, *, after_token: bool = True, nested: bool = False) -> Between:
    """The comments in a text that otherwise has only spaces, commas and semicolons.

    Args:
        gap: The text between two tokens, or before the first one.
        after_token: Whether a token precedes it.
        nested: Whether the dialect has comments in comments.
    """
    trailing: list[str] = []
    leading: list[str] = []
    same_line = after_token
    index = 0
    while index < len(gap):
        end = _end_of(gap, index, nested)
        if end > index:
            (trailing if same_line and not leading else leading).append(gap[index:end].rstrip())
            index = end
        else:
            same_line = same_line and gap[index] != "\n"
            index += 1
    return Between(trailing=tuple(trailing), leading=tuple(leading))


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


def as_inline(comment: str) -> str | None:
    """A comment as ``/* ... */``, which can be within a line; None if that is impossible."""
    if not ends_line(comment):
        return comment
    mark = next(mark for mark in _LINE_MARKS if comment.startswith(mark))
    text = comment[len(mark) :].strip()
    return None if "*/" in text or "/*" in text else f"/* {text} */"


def on_one_line(comments: tuple[str, ...]) -> str | None:
    """Several comments at the end of one line; None if one cannot be on a line with others."""
    inline = [as_inline(each) for each in comments[:-1]]
    known = [each for each in inline if each is not None]
    return " ".join([*known, comments[-1]]) if len(known) == len(inline) else None
