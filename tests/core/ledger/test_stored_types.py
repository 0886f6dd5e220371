"""What a column's type can become in place (rule R11; Iceberg's schema evolution)."""

from __future__ import annotations

import itertools

import pytest

from vde_dagster.core.ledger.stored_types import (
    fits,
    grown,
    holds,
    is_known,
    is_nested,
    is_widening,
    same_type,
    shown_as,
)

WIDENED = [
    ("int", "bigint"),
    ("array<int>", "array<bigint>"),
    ("map<string,float>", "map<string,double>"),
    ("struct<a:int>", "struct<a:int,b:int>"),
    ("struct<a:int,z:int>", "struct<a:int,b:string,z:int>"),
    ("struct<a:int>", "STRUCT<B: STRING, A: BIGINT>"),
    ("struct<s:struct<a:int>>", "struct<s:struct<a:int,b:date>>"),
    ("array<struct<a:int>>", "array<struct<a:int,b:int>>"),
    ("struct<`b``c`:int>", "struct<`B``C`:int,d:map<int,array<struct<e:date>>>>"),
]
"""Pairs of a type and of one that holds its values and others."""
OTHERS = [
    ("int", "string"),
    ("struct<a:int,b:int>", "struct<a:int>"),
    ("struct<a:int,b:int>", "struct<a:int,c:int>"),
    ("struct<a:int>", "struct<a:string,b:int>"),
    ("struct<`a b`:int>", "struct<ab:int>"),
    ("struct<a:timestamp>", "struct<a:timestamp_ntz,b:int>"),
    ("array<struct<a:int>>", "array<array<struct<a:int>>>"),
    ("map<int,string>", "map<bigint,string>"),
    ("map<struct<a:int>,int>", "map<struct<a:int,b:int>,int>"),
]
"""Pairs of types neither of which the first one becomes."""
ALIKE = [
    ("struct<a:int,b:string>", "STRUCT<B: VARCHAR(3), A: SMALLINT>"),
    ("struct<`a`:decimal>", "struct<A:decimal(10, 0)>"),
]


@pytest.mark.parametrize("before,after", WIDENED)
def test_a_type_holds_what_is_promoted_to_it_and_structs_that_lack_fields(
    before: str, after: str
) -> None:
    assert is_widening(before, after)
    assert not is_widening(after, before)
    assert holds(after, before)
    assert not same_type(before, after)
    assert same_type(grown(before, after), after)
    assert same_type(shown_as(before, after), grown(before, after, adds=False))


@pytest.mark.parametrize("before,after", OTHERS)
def test_what_loses_values_or_fields_is_no_widening(before: str, after: str) -> None:
    assert not is_widening(before, after)
    assert not same_type(before, after)


@pytest.mark.parametrize("one,other", ALIKE)
def test_names_are_compared_without_case_and_fields_without_order(one: str, other: str) -> None:
    assert same_type(one, other)
    assert not is_widening(one, other)


@pytest.mark.parametrize(
    "stored,wanted,expected",
    [
        ("struct<a:int,z:int>", "struct<b:int,a:bigint>", "struct<a:bigint,z:int,b:int>"),
        ("struct<a:bigint>", "struct<a:int,`x y`:int>", "struct<a:bigint,`x y`:int>"),
        ("array<struct<a:int>>", "array<struct<b:date>>", "array<struct<a:int,b:date>>"),
        ("struct<userId:int>", "struct<USERID:bigint>", "struct<userId:bigint>"),
    ],
)
def test_a_column_keeps_its_fields_and_gets_those_that_it_lacks_behind_them(
    stored: str, wanted: str, expected: str
) -> None:
    assert fits(stored, wanted)
    assert grown(stored, wanted) == expected


@pytest.mark.parametrize(
    "stored,wanted",
    [
        ("struct<a:int>", "struct<a:string>"),
        ("struct<a:int>", "array<int>"),
        ("map<struct<a:int>,int>", "map<struct<a:int,b:int>,int>"),
        ("array<struct<s:struct<a:int>>>", "array<struct<s:struct<a:date>>>"),
    ],
)
def test_a_field_has_one_type_and_the_key_of_a_map_stays(stored: str, wanted: str) -> None:
    assert not fits(stored, wanted)
    assert grown(stored, wanted) == stored


@pytest.mark.parametrize(
    "stored,wanted,expected",
    [
        ("struct<a:int,b:int>", "struct<B:int>", "struct<b:int>"),
        ("struct<a:int,b:int>", "struct<b:bigint,c:int,a:int>", "struct<a:int,b:bigint>"),
        ("array<struct<a:int,b:int>>", "array<struct<a:int>>", "array<struct<a:int>>"),
        ("map<int,struct<a:int,b:int>>", "map<int,struct<a:int>>", "map<int,struct<a:int>>"),
        ("struct<a:bigint>", "struct<a:int>", "struct<a:bigint>"),
        ("struct<a:int>", "struct<b:int>", "struct<a:int>"),
        ("struct<a:int>", "", "struct<a:int>"),
        ("int", "bigint", "bigint"),
    ],
)
def test_a_view_shows_the_fields_that_both_have(stored: str, wanted: str, expected: str) -> None:
    assert shown_as(stored, wanted) == expected


def test_types_are_ordered_by_what_they_hold() -> None:
    types = list(dict.fromkeys(itertools.chain(*WIDENED, *OTHERS, *ALIKE)))
    for one in types:
        assert same_type(one, one)
        for other in types:
            if holds(one, other):
                assert fits(other, one)
                assert same_type(grown(other, one), one) or same_type(one, other)
            for third in types:
                assert not (holds(one, other) and holds(other, third)) or holds(one, third)


@pytest.mark.parametrize(
    "written,known,nested",
    [
        ("", False, False),
        ("unknown", False, False),
        ("int", True, False),
        ("ARRAY <int>", True, True),
    ],
)
def test_what_is_known_of_a_type(written: str, known: bool, nested: bool) -> None:
    assert (is_known(written), is_nested(written)) == (known, nested)
