"""Rows of CSV files: what `vde query --format csv` writes is read back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples
from vde_dagster.cli.looks.query import Answer, as_csv
from vde_dagster.core.columns import Column
from vde_dagster.core.model.seed_rows import seed_columns, seed_lines, seed_rows

TEXTS = st.none() | st.text("ab\",\n\r \t#'", max_size=4) | st.text(max_size=5)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[TEXTS] * width), max_size=6))


def columns(*types: str) -> tuple[Column, ...]:
    return tuple(Column(name=f"c{at}", type=kind) for at, kind in enumerate(types))


@settings(max_examples=examples(300), deadline=None)
@given(ROWS)
def test_what_a_query_writes_as_csv_is_read_back_as_a_seed(rows: list[tuple[str | None]]) -> None:
    names = columns(*["string"] * (len(rows[0]) if rows else 2))
    answer = Answer(
        columns=tuple(each.name for each in names), rows=rows, engine="duckdb", more=False, why=""
    )
    text = as_csv(answer)
    assert seed_columns(text) == names
    assert seed_rows(text, names) == rows
    assert len(seed_lines(text)[1]) == len(rows)


@pytest.mark.parametrize(
    "text, types, rows",
    [
        ('c0,c1\n"",\n,""\n', ("string", "string"), [("", None), (None, "")]),
        ('c0,c1\r\n"",x\r\n', ("varchar(3)", "string"), [("", "x")]),
        ('c0,c1\n"",""\n', ("int", "date"), [(None, None)]),
        ('c0,c1\n"a""b",""""\n', ("string", "string"), [('a"b', '"')]),
        ('c0,c1\n"a,"",b","x\n""\n"\n', ("string", "string"), [('a,",b', 'x\n"\n')]),
        ('c0\n""\n\nx\n', ("string",), [("",), (None,), ("x",)]),
        ("c0\n1\n\n2", ("int",), [(1,), (None,), (2,)]),
        ("c0\r\n1\r\n\r\n", ("int",), [(1,), (None,)]),
        ("c0,c1\n1,2\n\n3,4\n\n", ("int", "int"), [(1, 2), (3, 4)]),
        ("c0\n", ("int",), []),
    ],
)  # fmt: skip
def test_an_empty_cell_is_null_and_an_empty_text_stands_in_quotes(
    text: str, types: tuple[str, ...], rows: list[tuple[object, ...]]
) -> None:
    assert seed_rows(text, columns(*types)) == rows


@pytest.mark.parametrize("cell", ['""abc', '"" ', '"a"b'])
def test_a_cell_that_goes_on_behind_its_quotes_is_no_csv(cell: str) -> None:
    assert seed_lines(f"a,b\n1,{cell}\n") == ([], [[f"a,b\n1,{cell}\n"]])


@pytest.mark.parametrize("one, other", [('a,b\n1,""\n', "a,b\n1,\n"), ("a\n1\n\n", "a\n1\n")])
def test_other_rows_are_another_content(one: str, other: str) -> None:
    assert seed_lines(one) != seed_lines(other)
