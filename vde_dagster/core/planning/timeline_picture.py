"""A timeline as a page of HTML with one picture in it: no script, and nothing is fetched for it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from vde_dagster.core.planning.timeline import Timeline, TimelineRow
from vde_dagster.core.planning.timeline_text import WORDS, heading
from vde_dagster.core.spans import Kind, Segment

COLORS: Final = {
    Kind.WAITING: "#d9d9d9",
    Kind.START: "#8c6bb1",
    Kind.SPARK: "#e6550d",
    Kind.CATALOG: "#3182bd",
    Kind.STATE: "#31a354",
    Kind.USER: "#d6a500",
    Kind.OTHER: "#7f7f7f",
}
_STYLE: Final = (
    "body{font:13px system-ui,sans-serif;margin:24px;color:#222;background:#fff}"
    "h1{font-size:16px}"
    ".key{display:inline-block;margin-right:16px}"
    ".key i{display:inline-block;width:12px;height:12px;margin-right:5px}"
)
_LETTER: Final = 7
"""How wide a letter is, about."""
_LONGEST_NAME: Final = 60
_BAR: Final = 900
_LINE: Final = 22
_HEIGHT: Final = 14
_TICKS: Final = 6


def timeline_page(timeline: Timeline) -> str:
    """A page that a browser shows without anything else."""
    title = escape(heading(timeline))
    longest = escape(", then ".join(timeline.longest))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            "</head><body>",
            f"<h1>{title}</h1>",
            f"<p>{''.join(_keys(timeline))}</p>",
            *_picture(timeline),
            f"<p>In bold, what decided how long it took: {longest}.</p>" if longest else "",
            "</body></html>",
            "",
        ]
    )


def _picture(timeline: Timeline) -> Iterator[str]:
    """The picture. Each bar names its model and what took how long."""
    names = max((min(len(row.name), _LONGEST_NAME) for row in timeline.rows), default=0)
    left = names * _LETTER + 12
    width, height = left + _BAR + 80, _LINE * (len(timeline.rows) + 1) + 8
    longest = set(timeline.longest)
    yield f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="12">'
    yield from _axis(timeline, left, height)
    for number, row in enumerate(timeline.rows, start=1):
        yield from _row(timeline, row, left, number * _LINE, is_bold=row.name in longest)
    yield "</svg>"


def _axis(timeline: Timeline, left: int, height: int) -> Iterator[str]:
    for tick in range(_TICKS):
        seconds = timeline.seconds * tick / (_TICKS - 1)
        at = left + _BAR * tick / (_TICKS - 1)
        yield f'<line x1="{at:.1f}" y1="16" x2="{at:.1f}" y2="{height}" stroke="#eee"/>'
        yield f'<text x="{at:.1f}" y="12" text-anchor="middle" fill="#666">{seconds:,.1f} s</text>'


def _row(
    timeline: Timeline, row: TimelineRow, left: int, top: int, *, is_bold: bool
) -> Iterator[str]:
    weight = ' font-weight="bold"' if is_bold else ""
    middle = top + _HEIGHT - 3
    name = row.name if len(row.name) <= _LONGEST_NAME else f"…{row.name[1 - _LONGEST_NAME :]}"
    end = left + _at(timeline, row.ended) + 6
    took = f"{row.ended - row.began:,.1f} s"
    failed = f" {row.error}" if row.error else ""
    yield f"<g><title>{escape(_said(row))}</title>"
    yield f'<text x="{left - 8}" y="{middle}" text-anchor="end"{weight}>{escape(name)}</text>'
    for each in row.segments:
        yield _part(timeline, each, left, top)
    yield f'<text x="{end:.1f}" y="{middle}" fill="#666">{escape(took + failed)}</text></g>'


def _part(timeline: Timeline, segment: Segment, left: int, top: int) -> str:
    start, end = _at(timeline, segment.start), _at(timeline, segment.end)
    return (
        f'<rect x="{left + start:.2f}" y="{top}" width="{max(end - start, 0.3):.2f}" '
        f'height="{_HEIGHT}" fill="{COLORS[segment.kind]}"/>'
    )


def _at(timeline: Timeline, seconds: float) -> float:
    return _BAR * seconds / timeline.seconds if timeline.seconds else 0.0


def _said(row: TimelineRow) -> str:
    """A row in words: what took how long."""
    spent = (f"{WORDS[kind]} {row.totals[kind]:,.1f} s" for kind in Kind if row.totals.get(kind))
    return f"{row.name}: {', '.join(spent)}"


def _keys(timeline: Timeline) -> Iterator[str]:
    """What the colours stand for, each with the seconds of all rows together."""
    totals = timeline.totals
    for kind, color in COLORS.items():
        if totals[kind]:
            word = f"{escape(WORDS[kind])} {totals[kind]:,.1f} s"
            yield f'<span class="key"><i style="background:{color}"></i>{word}</span>'
