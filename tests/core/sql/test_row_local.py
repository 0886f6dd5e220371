"""Which queries may load new rows alone (rule R7)."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.row_local import why_not_row_local

T = ModelName("raw", "t")


def why(sql: str) -> str | None:
    parsed = sqlglot.parse_one(sql, read="spark")
    assert isinstance(parsed, exp.Query)
    return why_not_row_local(parsed, T)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM raw.t",
        "SELECT a, UPPER(b) AS b, CASE WHEN a > 1 THEN 1 END AS c FROM raw.t WHERE a > 1",
        "SELECT a FROM RAW.T AS x WHERE ts BETWEEN @start_dt AND @end_dt",
        "SELECT a, x FROM raw.t LATERAL VIEW EXPLODE(e) l AS x",
        "SELECT my_function(a) AS a FROM raw.t",
    ],
)
def test_row_by_row_queries_are_row_local(sql: str) -> None:
    assert why(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM raw.t",
        "SELECT a FROM raw.t GROUP BY a",
        "SELECT a FROM raw.t GROUP BY ALL",
        "SELECT DISTINCT a FROM raw.t",
        "SELECT ROW_NUMBER() OVER (ORDER BY a) AS n FROM raw.t",
        "SELECT a FROM raw.t QUALIFY ROW_NUMBER() OVER (ORDER BY a) = 1",
        "SELECT a FROM raw.t LIMIT 3",
        "SELECT a FROM raw.t OFFSET 3",
        "SELECT a FROM raw.t TABLESAMPLE (10 PERCENT)",
        "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.t",
        "SELECT t.a FROM raw.t AS t, raw.u AS u",
        "SELECT t.a FROM raw.t AS t JOIN raw.t AS u ON t.a = u.a",
        "SELECT a FROM (SELECT a FROM raw.t) AS x",
        "WITH c AS (SELECT a FROM raw.t) SELECT a FROM c",
        "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.t)",
        "SELECT a FROM raw.t WHERE EXISTS (SELECT 1 FROM m.x)",
        "SELECT a, (SELECT MAX(a) FROM raw.t) AS m FROM raw.t",
        "SELECT a FROM raw.u",
        "SELECT 1 AS a",
        "SELECT * FROM raw.t PIVOT (SUM(a) FOR b IN ('x'))",
    ],
)
def test_other_queries_are_not(sql: str) -> None:
    assert why(sql)


AGGREGATES = """
    any any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or collect_list collect_set
    count
    count_if every first first_value kurtosis last last_value max mean median min mode skewness some
    std stddev stddev_pop stddev_samp sum try_avg try_sum var_pop var_samp variance
    approx_count_distinct hll_sketch_agg histogram_numeric
"""


@pytest.mark.parametrize("name", AGGREGATES.split())
def test_every_aggregate_of_spark_is_one_here(name: str) -> None:
    assert why(f"SELECT {name}(a) AS x FROM raw.t") == "an aggregate"
