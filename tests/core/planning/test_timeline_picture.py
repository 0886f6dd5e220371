"""The page with the picture of a timeline: whole, without scripts, and safe whatever names say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Final

from tests.core.planning.test_timeline import carried_out
from vde_dagster.core.planning.timeline_picture import COLORS, timeline_page
from vde_dagster.core.spans import Kind

_VOID: Final = {"meta", "line", "rect"}


class Page(HTMLParser):
    """Checks that each element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_has_each_row_with_its_parts_and_what_they_took() -> None:
    page = Page(timeline_page(carried_out()))
    assert page.open == []
    parts = sum(len(row.segments) for row in carried_out().rows)
    assert page.seen.count("rect") == parts
    assert page.seen.count("g") == len(carried_out().rows)
    assert "mart.b: waiting for room 4.0 s, Spark 2.0 s" in page.texts
    text = " ".join(page.texts)
    assert "before models, then mart.a, then mart.b, then mart.both, then after models" in text
    assert "up to 2 models at once" in text


def test_nothing_is_run_and_nothing_is_fetched() -> None:
    text = timeline_page(carried_out())
    assert "script" not in Page(text).seen
    assert not re.search(r"https?:|src=|href=|url\(|@import", text)


def test_bars_lie_where_their_time_is() -> None:
    text = timeline_page(carried_out())
    found = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', text)
    bars = [(float(x), float(width)) for x, width in found]
    first = bars[0][0]
    spark = next(bar for bar in bars if bar[1] > 900 * 2.9 / 11)
    assert abs(spark[0] - first - 900 * 1 / 11) < 0.1
    assert abs(spark[1] - 900 * 3 / 11) < 0.1
    assert abs(bars[-1][0] + bars[-1][1] - first - 900) < 0.1


def test_names_are_texts_and_no_markup() -> None:
    row = replace(carried_out().rows[1], name="mart.<script>x</script>", error="<b>")
    page = Page(timeline_page(replace(carried_out(), rows=(row,), environment="<i>dev")))
    assert not {"script", "b"} & set(page.seen)
    assert page.open == []
    assert any("mart.<script>x</script>" in each for each in page.texts)


def test_a_plan_that_took_no_time_has_a_page_too() -> None:
    assert Page(timeline_page(replace(carried_out(), seconds=0.0, rows=()))).open == []
    assert Page(timeline_page(replace(carried_out(), seconds=0.0))).open == []


def test_every_kind_has_a_colour_of_its_own() -> None:
    assert set(COLORS) == set(Kind)
    assert len(set(COLORS.values())) == len(Kind)
