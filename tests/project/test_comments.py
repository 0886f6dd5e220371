"""Comments between tokens belong to the tokens that sqlglot gives them to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from vde_dagster.project.formatting.comments import as_inline, comments_between, on_one_line

GAPS = st.lists(
    st.sampled_from((" ", "\n", "  ", "-- a\n", "-- it's */\n", "/* b */", "/* c\n d */", "--\n")),
    max_size=6,
).map("".join)


@given(GAPS)
def test_sqlglot_gives_them_to_the_same_tokens(gap: str) -> None:
    text = f"a {gap} b"
    first, second = Dialect.get_or_raise("spark").tokenize(text)
    found = comments_between(text[first.end + 1 : second.start])
    marks = str.maketrans("", "", "-/*")
    assert [each.translate(marks).strip() for each in found.trailing] == [
        each.translate(marks).strip() for each in first.comments
    ]
    assert [each.translate(marks).strip() for each in found.leading] == [
        each.translate(marks).strip() for each in second.comments
    ]


@pytest.mark.parametrize(
    "gap,trailing,leading",
    [
        (" -- a\n-- b\n", ("-- a",), ("-- b",)),
        ("\n-- a\n", (), ("-- a",)),
        (", /* a */ -- b \n", ("/* a */", "-- b"), ()),
        (" # a\n // b\n", ("# a",), ("// b",)),
        (" /* a\n */ -- b\n", ("/* a\n */", "-- b"), ()),
        (" /* a", ("/* a",), ()),
    ],
)
def test_comments_keep_their_form(
    gap: str, trailing: tuple[str, ...], leading: tuple[str, ...]
) -> None:
    found = comments_between(gap)
    assert (found.trailing, found.leading) == (trailing, leading)


def test_comments_in_comments_count_where_the_dialect_has_them() -> None:
    gap = "/* a /* b */ c */"
    assert comments_between(gap, nested=True).every == (gap,)
    assert comments_between(gap).every == ("/* a /* b */",)


def test_only_the_last_of_several_comments_may_end_the_line() -> None:
    assert on_one_line(("-- a", "/* b */", "-- c")) == "/* a */ /* b */ -- c"
    assert on_one_line(("-- a */", "-- b")) is None
    assert as_inline("-- it's /* odd") is None
