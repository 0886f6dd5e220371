"""Conditions that are decided at load time, against DuckDB."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.project.macros.builtin import NotConstant, is_true

CONDITIONS = [
    "TRUE",
    "NULL",
    "NOT TRUE",
    "NOT NULL",
    "TRUE AND NULL",
    "FALSE AND NULL",
    "TRUE OR NULL",
    "FALSE OR NULL",
    "1 = 1",
    "1 < 2",
    "-1 >= -2",
    "'a' = 'a'",
    "'a' = 'A'",
    "NULL = NULL",
    "NULL IS NULL",
    "1 IS NOT NULL",
    "TRUE IS TRUE",
    "NULL IS TRUE",
    "NULL IS NOT FALSE",
    "1 IN (1, 2)",
    "3 IN (1, 2)",
    "3 NOT IN (1, NULL)",
    "1 IN (1, NULL)",
    "NULL IN (1)",
    "2 BETWEEN 1 AND 3",
    "0 BETWEEN 1 AND 3",
    "2 BETWEEN NULL AND 1",
    "2 NOT BETWEEN 1 AND NULL",
    "1 + 2 * 3 = 7",
    "(1 + 2) * 3 = 9",
    "7 - 10 < 0",
    "1 + NULL IS NULL",
    "'a' || 'b' = 'ab'",
    "('a' || NULL) IS NULL",
    "1 IS NOT DISTINCT FROM NULL",
    "NULL IS NOT DISTINCT FROM NULL",
    "NOT (1 = 2 OR 2 = 3)",
    "1e2 = 100",
]


def by_duckdb(condition: str) -> bool:
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT coalesce(({condition})::boolean, false)").fetchone()
    assert found is not None
    return bool(found[0])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_constant_condition_is_decided_as_by_a_database(condition: str) -> None:
    parsed = sqlglot.parse_one(condition, read="duckdb")
    assert is_true(parsed) == by_duckdb(condition)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["AND", "OR"]), inner)
    return st.one_of(pair.map(lambda each: f"({' '.join(each)})"), inner.map("(NOT {})".format))


@pytest.mark.full
@given(st.recursive(st.sampled_from(["TRUE", "FALSE", "NULL"]), combined, max_leaves=8))
def test_the_logic_has_three_values(condition: str) -> None:
    assert is_true(sqlglot.parse_one(condition, read="duckdb")) == by_duckdb(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "a = 1",
        "1",
        "'a'",
        "1 = 'a'",
        "TRUE = 1",
        "f(1)",
        "1 + 'a' = 2",
        "1 AND TRUE",
        "a IS NULL",
        "1 IN (SELECT 1)",
        "1 || 2 = '12'",
        "-'a' = 1",
        "NOT 1",
        "1 / 0 = 1",
        "1 IS 1",
    ],
)
def test_what_is_not_constant_or_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(NotConstant):
        is_true(sqlglot.parse_one(condition, read="duckdb"))
