"""An interval of several parts is one operand, whatever it is taken from."""

from __future__ import annotations

import pytest
import sqlglot

from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.spark.reading import with_closed_sums

PARTS = "INTERVAL '3' DAYS + INTERVAL '2' HOURS"


@pytest.mark.parametrize(
    "written,kept",
    [
        ("t - INTERVAL 3 DAYS 2 HOURS", "t - INTERVAL '3' DAYS - INTERVAL '2' HOURS"),
        ("t - INTERVAL '3' DAYS '2' HOURS", "t - INTERVAL '3' DAYS - INTERVAL '2' HOURS"),
        ("t + INTERVAL 3 DAYS 2 HOURS", f"t + {PARTS}"),
        ("2 * INTERVAL 3 DAYS 2 HOURS", f"2 * ({PARTS})"),
        ("-INTERVAL 3 DAYS 2 HOURS", f"-({PARTS})"),
        ("t - (INTERVAL 3 DAYS 2 HOURS)", f"t - ({PARTS})"),
        ("t + INTERVAL 3 DAYS - u", "t + INTERVAL '3' DAYS - u"),
        ("a + b - c", "a + b - c"),
        ("a * b + c", "a * b + c"),
        ("a - (b + c)", "a - (b + c)"),
    ],
)
def test_sums_keep_their_parentheses(written: str, kept: str) -> None:
    found = with_closed_sums(sqlglot.parse_one(written, read="spark"))
    assert found.sql("spark") == kept
    again = with_closed_sums(sqlglot.parse_one(kept, read="spark"))
    assert canonical_form(again) == canonical_form(found)


def test_a_whole_query_is_looked_at() -> None:
    sql = "SELECT 1 FROM t WHERE a > b - INTERVAL 1 DAY 1 HOUR AND c < d - INTERVAL 1 DAY 1 HOUR"
    found = with_closed_sums(sqlglot.parse_one(sql, read="spark"))
    part = "- INTERVAL '1' DAY - INTERVAL '1' HOUR"
    assert found.sql("spark") == f"SELECT 1 FROM t WHERE a > b {part} AND c < d {part}"


@pytest.mark.parametrize("operator", ["+", "-"])
def test_three_parts_are_taken_one_by_one(operator: str) -> None:
    found = with_closed_sums(
        sqlglot.parse_one(f"t {operator} INTERVAL 1 MONTH 2 DAYS 3 HOURS", read="spark")
    )
    parts = ["INTERVAL '1' MONTH", "INTERVAL '2' DAYS", "INTERVAL '3' HOURS"]
    assert found.sql("spark") == f" {operator} ".join(["t", *parts])
