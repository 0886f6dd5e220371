"""Lists and numbers in texts for people."""

from __future__ import annotations

import pytest

from vde_dagster.core.listing import first, plural, some


@pytest.mark.parametrize(
    "names, most, what, said",
    [
        ([], 2, "", ""),
        (["a", "b"], 2, "", "a, b"),
        (["a", "b", "c"], 2, "", "a, b and 1 more"),
        (range(2_000), 1, "ranges", "0 and 1,999 more ranges"),
    ],
)
def test_names_beyond_the_most_are_counted(
    names: list[object], most: int, what: str, said: str
) -> None:
    assert some(names, most, what) == said


def test_lines_beyond_the_most_are_counted_in_a_line_of_their_own() -> None:
    assert first(["a", "b"], 2) == ["a", "b"]
    assert first(["a", "b", "c"], 2, "... and {:,} more lines") == [
        "a",
        "b",
        "... and 1 more lines",
    ]


def test_a_noun_is_plural_unless_there_is_one() -> None:
    assert [plural(n, "model") for n in (0, 1, 2_000)] == ["0 models", "1 model", "2,000 models"]
