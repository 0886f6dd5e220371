"""What audits find, asked of DuckDB: the table of cases, and how calls become checks."""

from __future__ import annotations

import pytest

from tests.core.audit_cases import ROW_CASES, TOTAL_CASES, every_audit, failing_in_duckdb, ids


@pytest.mark.parametrize("call, expected", ROW_CASES, ids=[each[0] for each in ROW_CASES])
def test_rows_fail_as_the_definition_says(call: str, expected: set[int]) -> None:
    assert ids(*failing_in_duckdb(every_audit()[call])) == sorted(expected)


@pytest.mark.parametrize("call, fails, figures", TOTAL_CASES, ids=[each[0] for each in TOTAL_CASES])
def test_totals_fail_as_the_definition_says(
    call: str, fails: bool, figures: dict[str, object]
) -> None:
    columns, rows = failing_in_duckdb(every_audit()[call])
    assert [dict(zip(columns, row, strict=True)) for row in rows] == ([figures] if fails else [])
