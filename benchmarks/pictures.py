"""Bars in SVG, for the pages in docs/: benchmarks that keep their numbers draw them with these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

STYLE: Final = (
    "<style>text{font-family:system-ui,sans-serif;font-size:12px;fill:#1d2725}"
    ".card{fill:#fbfcfc;stroke:#dbe2e0}"
    "@media(prefers-color-scheme:dark){text{fill:#e6ecea}.card{fill:#1d2326;stroke:#39434a}"
    'rect[fill="#1f7a66"]{fill:#4fb39c}rect[fill="#b0b7c3"]{fill:#7f8d92}}</style>'
)
"""As the pictures of the concept pages have it, on a card that fits dark pages, too."""
GREEN: Final = "#1f7a66"
GRAY: Final = "#b0b7c3"
BLUE: Final = "#5b7fb5"
LIGHT_BLUE: Final = "#a9c1e0"
STEP: Final = 22
"""Pixels from one bar to the next."""
_GAP: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value, with what stands in front of it and behind it."""

    label: str
    value: float
    shown: str
    color: str = GREEN


def chart(
    title: str, values: Sequence[Bar], *, left: int, top: int, labels: int, longest: int
) -> Iterator[str]:
    """Bars below each other under a title, the longest of them ``longest`` pixels wide.

    Args:
        title: What the bars are, with the unit.
        values: The bars.
        left: Where it begins, in pixels; ``top`` is that of the first bar, below the title.
        top: See ``left``.
        labels: How many pixels the labels take.
        longest: How many pixels the longest bar takes.
    """
    most = max(each.value for each in values) or 1
    yield f'<text x="{left}" y="{top - 14}" font-weight="bold">{escape(title)}</text>'
    edge = left + labels
    for number, each in enumerate(values):
        y, width = top + number * STEP, max(1, round(each.value / most * longest))
        yield f'<text x="{edge}" y="{y + 13}" text-anchor="end">{escape(each.label)}</text>'
        yield (f'<rect x="{edge + _GAP}" y="{y}" width="{width}" height="16" fill="{each.color}"/>')
        yield f'<text x="{edge + 2 * _GAP + width}" y="{y + 13}">{escape(each.shown)}</text>'


def page(parts: Iterable[str], *, width: int, height: int) -> str:
    """Charts on a card."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f'{STYLE}\n<rect class="card" x="0.5" y="0.5" width="{width - 1}" '
        f'height="{height - 1}" rx="10"/>\n{body}\n</svg>\n'
    )
