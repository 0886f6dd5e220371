# ruff: noqa: E501 - rows of tables stay on one line
"""What audits find, asked of DuckDB: the table of cases, and how calls become checks."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from tests.core.audits.audit_cases import (
    KIND,
    ROW_CASES,
    TOTAL_CASES,
    audits,
    every_audit,
    failing_in_duckdb,
    ids,
)
from vde_dagster.core.audits.queries import counting, failing_rows, sql_of
from vde_dagster.core.audits.results import failed, passed, scalar
from vde_dagster.core.names import TableName


@pytest.mark.parametrize("call, expected", ROW_CASES, ids=[each[0] for each in ROW_CASES])
def test_rows_fail_as_the_definition_says(call: str, expected: set[int]) -> None:
    assert ids(*failing_in_duckdb(every_audit()[call])) == sorted(expected)


@pytest.mark.parametrize("call, fails, figures", TOTAL_CASES, ids=[each[0] for each in TOTAL_CASES])
def test_totals_fail_as_the_definition_says(
    call: str, fails: bool, figures: dict[str, object]
) -> None:
    columns, rows = failing_in_duckdb(every_audit()[call])
    assert [dict(zip(columns, row, strict=True)) for row in rows] == ([figures] if fails else [])


def test_names_of_calls_are_those_of_the_results() -> None:
    (audit,) = audits("not_null (columns := (shop), condition := id > 1)")
    assert str(audit) == "not_null (columns := (shop), condition := id > 1)"
    columns, rows = failing_in_duckdb(audit)
    found = failed(audit, 2, columns, rows)
    assert (found.name, found.arguments, found.stops) == (audit.name, audit.arguments, True)
    assert not passed(audit).stops
    assert not failed(replace(audit, blocking=False), 2, columns, rows).stops


TABLE = ("id", "shop", "_vde_times_0")


@pytest.mark.parametrize(
    "call, failing, rows, words",
    [
        ("not_null (columns := (shop))", 1, [(1, None, 2)], "(shop)) failed: 1 row fails: (id = 1, shop = NULL). Nothing is published"),
        ("not_null (columns := (shop))", 9, [(1, "a", 2), (2, "b", 2), (3, "c", 2), (4, "d", 2)], "9 rows fail, such as (id = 1, shop = 'a'); (id = 2, shop = 'b'); (id = 3, shop = 'c'). Nothing"),
        ("not_null (columns := (shop))", 9, [], "9 rows fail. Nothing"),
        ("not_null_non_blocking (columns := (shop))", 1, [(1, True, 2)], "shop = true). It is non-blocking, so the rows are published"),
    ],
)  # fmt: skip
def test_the_message_gives_the_audit_the_rows_and_what_to_do(
    call: str, failing: int, rows: list[tuple[object, ...]], words: str
) -> None:
    (audit,) = audits(call)
    found = failed(audit, failing, TABLE, rows)
    assert words in found.message
    assert found.message.startswith(f"the audit {call.split(maxsplit=1)[0]} (")
    assert found.columns == ("id", "shop")


def test_of_a_wide_row_the_columns_of_the_audit_are_shown_first() -> None:
    (audit,) = audits("accepted_range (column := c9, min_v := 0)")
    found = failed(audit, 1, [f"c{number}" for number in range(10)], [range(10)])
    assert (
        ": (c9 = 9, c0 = 0, c1 = 1, c2 = 2, c3 = 3, c4 = 4, c5 = 5, c6 = 6, ...)." in found.message
    )


def test_the_message_of_totals_gives_their_figures() -> None:
    (audit,) = audits("number_of_rows (threshold := 8)")
    found = failed(audit, 1, ("row_count",), [(8,)])
    assert "failed: (row_count = 8). Nothing is published" in found.message


VALUES = [
    (None, None),
    (True, True),
    (3, 3),
    (2**53 + 1, "9007199254740993"),
    (1.5, 1.5),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    (Decimal("1.50"), "1.50"),
    (b"\x00\xff", "00ff"),
    (date(2024, 1, 31), "2024-01-31"),
    (datetime(2024, 1, 31, 1, tzinfo=timezone(timedelta(hours=1))), "2024-01-31 00:00:00"),
    (datetime(2024, 1, 31, 1, 0, 0, 5), "2024-01-31 01:00:00.000005"),
    ([1, None], "[1, None]"),
    ("x" * 200, "x" * 200),
    ("x" * 201, "x" * 199 + "…"),
]


@pytest.mark.parametrize("value, expected", VALUES, ids=[repr(each)[:20] for each, _ in VALUES])
def test_values_are_kept_as_json_has_them(value: object, expected: object) -> None:
    assert scalar(value) == expected
    assert json.loads(json.dumps(scalar(value))) == expected


def test_one_part_holds_all_audits_of_rows_and_totals_and_one_each_key() -> None:
    asked = audits(
        "unique_values (columns := (id))",
        "not_null (columns := (id))",
        "z_score (column := amount, threshold := 3)",
        "number_of_rows",
        "unique_combination_of_columns (columns := (id), condition := id > 1)",
        "unique_values (columns := (shop))",
        "above (column := id)",
    )
    found = counting(asked)
    assert found.parts == ((1, 3, 6), (0, 4), (5,), (2,))
    assert found.counts([(3, [2]), (0, [1, 0, 9]), (2, [5]), (1, [4, 3])]) == (4, 1, 2, 0, 3, 5, 9)


def test_audits_say_what_they_read_besides() -> None:
    calls = ("not_null (columns := (id))", "unknown", "source_to_target_count (source := raw.rows)")
    reads = {
        audit.name: [str(each) for each in audit.reads] for audit in audits(*calls, kind="FULL")
    }
    assert reads == {
        "not_null": [],
        "unknown": ["raw.known"],
        "source_to_target_count": ["raw.rows"],
    }


def test_an_audit_reads_nothing_else_than_what_it_is_given() -> None:
    (audit,) = audits("unknown")
    with pytest.raises(KeyError):
        sql_of(failing_rows(audit), rows=TableName("", "rows"), tables={})


@pytest.mark.parametrize("kind, rows", [("FULL", 8), ("INCREMENTAL_UNMANAGED", 4), (KIND, 4)])
def test_a_count_takes_of_the_source_what_the_kind_reads_of_it(kind: str, rows: int) -> None:
    call = "source_to_target_count (source := raw.rows, time_column := at, condition := id < 3)"
    (audit,) = audits(call, kind=kind)
    assert failing_in_duckdb(audit) == (["target_rows", "source_rows"], [(2, rows)])


def test_an_argument_of_an_audit_runs_and_is_shown_as_it_is_written() -> None:
    written = "named_struct('userId', id).userId  >  0"
    (audit,) = audits(f"forall (criteria := ({written}, id < 9))")
    sql = sql_of(failing_rows(audit), rows=TableName("", "rows"), tables={})
    assert f"({written})" in sql
    assert "(id < 9)" in sql
    assert str(audit) == f"forall (criteria := ({written}, id < 9))"
