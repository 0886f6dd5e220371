"""Which rows readers see of a table with delete markers, by DuckDB."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from vde_dagster.core.model.hidden_rows import HiddenRows, read_hidden_rows

VALUES = "('I', 1, TRUE), ('D', -1, FALSE), (NULL, NULL, NULL)"


@pytest.mark.parametrize(
    "written,left",
    [
        ("op = 'D'", ["I", None]),
        ("op IN ('D', 'I')", [None]),
        ("op IS NOT NULL", [None]),
        ("n = -1", ["I", None]),
        ("gone", ["D", None]),
    ],
)
def test_rows_of_which_it_is_not_known_that_they_are_deleted_are_seen(
    written: str, left: list[str | None]
) -> None:
    import duckdb

    found = read_hidden_rows(parse_one(written, dialect="spark"))
    assert found is not None
    seen = found.visible.sql("duckdb")
    query = f"SELECT op FROM (VALUES {VALUES}) AS t(op, n, gone) WHERE {seen} ORDER BY n DESC"
    assert duckdb.execute(query).fetchall() == [(each,) for each in left]


def test_a_delete_marker_is_shown_as_it_is_written() -> None:
    assert str(HiddenRows(column="op", values=("D",))) == "`op` IN ('D')"
