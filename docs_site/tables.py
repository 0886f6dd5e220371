"""Tables of Markdown from the code, and their places in pages.

A place is a line `<!-- generated: NAME -->`, perhaps with arguments behind the name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MARKER: Final = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)


def filled(page: str, generators: Mapping[str, Callable[..., str]]) -> str:
    """A page with what the generators write in the place of their markers; unknown ones stay."""

    def written(found: re.Match[str]) -> str:
        name, *arguments = found[1].split()
        return generators[name](*arguments) if name in generators else found[0]

    return MARKER.sub(written, page)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in Markdown."""
    cells = [[" ".join(each.split()).replace("|", r"\|") for each in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells])


def escaped(text: str) -> str:
    """A text in which Markdown sees no HTML and no emphasis; code stays as it is."""
    parts = re.split(r"(`[^`]*`|^ {4}.*$)", text, flags=re.MULTILINE)
    plain = [each.replace("<", "&lt;").replace("*", r"\*") for each in parts[::2]]
    parts[::2] = plain
    return "".join(parts)
