"""Comments between tokens are those that sqlglot sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from vde_dagster.project.formatting.models import comments_between

GAPS = st.lists(
    st.sampled_from((" ", "\n", "  ", "-- a\n", "-- it's */\n", "/* b */", "/* c\n d */", "--\n")),
    max_size=6,
).map("".join)


@given(GAPS)
def test_sqlglot_sees_the_same(gap: str) -> None:
    text = f"a {gap} b"
    first, second = Dialect.get_or_raise("spark").tokenize(text)
    marks = str.maketrans("", "", "-/*")
    found = comments_between(text[first.end + 1 : second.start])
    assert [each.translate(marks).strip() for each in found] == [
        each.translate(marks).strip() for each in (*first.comments, *second.comments)
    ]


@pytest.mark.parametrize(
    "gap,comments",
    [
        (" -- a\n-- b\n", ["-- a", "-- b"]),
        (", /* a */ -- b \n", ["/* a */", "-- b"]),
        (" # a\n // b\n", ["# a", "// b"]),
        (" /* a\n */ -- b\n", ["/* a\n */", "-- b"]),
        (" /* a", ["/* a"]),
    ],
)
def test_comments_keep_their_form(gap: str, comments: list[str]) -> None:
    assert list(comments_between(gap)) == comments


def test_comments_in_comments_count_where_the_dialect_has_them() -> None:
    gap = "/* a /* b */ c */"
    assert list(comments_between(gap, nested=True)) == [gap]
    assert next(comments_between(gap)) == "/* a /* b */"
