# ruff: noqa: E501 - rows of tables stay on one line
"""Eight rows, and the audits that are asked of them: what fails is worked out by hand.

The same table is asked of DuckDB, one audit after the other, and of Spark, all in one query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb
import sqlglot

from vde_dagster.core.audits.binding import audits_of
from vde_dagster.core.audits.queries import failing_rows, sql_of
from vde_dagster.core.audits.values import Audit
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

SOURCE, KNOWN, CHECKED = ModelName("raw", "rows"), ModelName("raw", "known"), ModelName("m", "x")
COLUMNS = {
    "id": "int", "shop": "string", "qty": "int", "amount": "double", "price": "decimal(8,2)",
    "code": "string", "email": "string", "url": "string", "uuid": "string", "day": "date",
    "at": "timestamp", "seq": "int", "low": "int", "high": "int", "grp": "string",
    "odd": "double",
}  # fmt: skip
GOOD = "123e4567-e89b-12d3-a456-426614174000"
ROWS = f"""
SELECT id, shop, qty, CAST(amount AS DOUBLE) AS amount, CAST(price AS DECIMAL(8, 2)) AS price, code, email,
  url, uuid, CAST(day AS DATE) AS day, CAST(at AS TIMESTAMP) AS at, seq, low, high, grp,
  CAST(odd AS DOUBLE) AS odd
FROM VALUES
  (1, 'a', 1, 10, 1.00, 'AB-1', 'x@y.org', 'https://a.org', '{GOOD}', '2024-01-01', '2024-01-01 00:00:00', 1, 0, 10, 'g', '1'),
  (2, 'b', 2, 11, 2.00, 'AB-2', 'x.y+z@mail.example.com', 'http://a.org:80/p?q=1#f', '{GOOD.upper()}', '2024-01-02', '2024-01-01 01:00:00', 2, 10, 20, 'g', '2'),
  (3, NULL, NULL, 12, NULL, NULL, NULL, NULL, NULL, '2024-01-03', '2024-01-01 02:00:00', NULL, NULL, 5, 'n', NULL),
  (4, '', 4, 10, 2.00, 'cd%', 'not mail', 'ftp://h', '{GOOD.replace("-", "")}', '2024-01-04', '2024-01-01 03:00:00', 4, 4, NULL, 'n', 'NaN'),
  (5, 'a', 5, 11, 99.50, 'x\\ny', 'a@b', 'a.org', '{GOOD}0', '2024-01-05', '2024-01-01 04:00:00', 4, 1, 3, 'm', '3'),
  (6, 'ü€', 6, 12, 0.00, 'AB_6', 'a@b.c\\n', 'HTTPS://A.ORG/x', '{{{GOOD}}}', '2024-01-06', '2024-01-01 05:00:00', 5, 2, 2, 'm', 'Infinity'),
  (7, 'b', 2, 11, -1.00, 'ab-7', 'é@b.org', 'https://a b', '{GOOD}', '2024-01-08', '2024-01-01 06:00:00', 7, 0, 100, 'k', '-Infinity'),
  (8, NULL, NULL, 1000, 5.00, 'a\\\\b', 'O\\'Neil@x.ie', 'https:///x', '{GOOD}\\n', '2024-01-09', '2024-01-01 07:00:00', 8, 50, 60, 'k', 'NaN')
AS t(id, shop, qty, amount, price, code, email, url, uuid, day, at, seq, low, high, grp, odd)
"""
KNOWN_ROWS = "SELECT id FROM VALUES (1), (2), (3), (4), (5), (6) AS t(id)"
ALL = {1, 2, 3, 4, 5, 6, 7, 8}
NONE: set[int] = set()

ROW_CASES = [
    ("no_missing_events (source := raw.rows, event_id := id, time_column := at)", NONE),
    ("no_missing_events (source := raw.rows, event_id := id, time_column := at, condition := id > 2)", {1, 2}),
    ("no_missing_events (source := raw.rows, event_id := id, time_column := at, condition := id > 2, source_condition := id <> 1)", {2}),
    ("no_missing_events (source := raw.rows, event_id := id, source_event_id := id * 10, time_column := at)", {10, 20, 30, 40}),
    ("no_missing_events (source := raw.rows, event_id := id, source_event_id := qty, time_column := at)", NONE),
    ("not_null (columns := (shop))", {3, 8}),
    ("not_null (columns := shop)", {3, 8}),
    ("not_null (columns := (price, id))", {3}),
    ("not_null (columns := (shop, qty, price))", {3, 8}),
    ("not_null (columns := (shop), condition := id > 3)", {8}),
    ("not_null (columns := (shop), condition := id > 3 OR id = 3)", {3, 8}),
    ("accepted_values (column := shop, is_in := ('a', 'b'))", {4, 6}),
    ("accepted_values (column := qty, is_in := (1, 2, 4, 5, 6))", NONE),
    ("accepted_values (column := upper(shop), is_in := ('A'), condition := shop <> '')", {2, 6, 7}),
    ("not_accepted_values (column := shop, is_in := ('a', 'x'))", {1, 5}),
    ("accepted_range (column := price, min_v := 0)", {7}),
    ("accepted_range (column := price, min_v := 0, inclusive := false)", {6, 7}),
    ("accepted_range (column := price, max_v := 5)", {5}),
    ("accepted_range (column := price, min_v := 0, max_v := 5, inclusive := false)", {5, 6, 7, 8}),
    ("accepted_range (column := qty, max_v := seq)", {5, 6}),
    ("accepted_range (column := at, min_v := @start_dt, max_v := @end_dt)", {5, 6, 7, 8}),
    ("accepted_range (column := odd, min_v := 0)", {4, 7, 8}),
    ("accepted_range (column := odd, max_v := 2)", {4, 5, 6, 8}),
    ("accepted_range (column := odd, min_v := CAST(NULL AS DOUBLE))", {4, 8}),
    ("accepted_range (column := CAST(odd AS FLOAT), min_v := 0, condition := id < 5)", {4}),
    ("accepted_range (column := if(id = 1, 'NaN', 'x'), min_v := 'A')", NONE),
    ("accepted_values (column := odd, is_in := (1, 2, 3))", {4, 6, 7, 8}),
    ("not_accepted_values (column := odd, is_in := (1, CAST('NaN' AS DOUBLE)))", {1, 4, 8}),
    ("not_null (columns := (odd))", {3}),
    ("forall (criteria := (qty < 6, id <> 2))", {2, 6}),
    ("forall (criteria := (low < high))", {6}),
    ("not_empty_string (column := shop)", {4}),
    ("string_length_equal (column := shop, v := 1)", {4, 6}),
    ("string_length_between (column := shop, min_v := 1, max_v := 1)", {4, 6}),
    ("string_length_between (column := shop, min_v := 1)", {4}),
    ("string_length_between (column := shop, max_v := 2, inclusive := false)", {6}),
    ("match_regex_pattern_list (column := code, patterns := ('^[A-Z]{2}-[0-9]$'))", {4, 5, 6, 7, 8}),
    ("match_regex_pattern_list (column := code, patterns := ('^[A-Z]{2}-', 'b'))", {4, 5, 6}),
    ("match_regex_pattern_list (column := code, patterns := ('\\\\d$', '[^0-9]$'))", NONE),
    ("not_match_regex_pattern_list (column := code, patterns := ('b', 'zz'))", {7, 8}),
    ("match_like_pattern_list (column := code, patterns := ('AB-_', '%y'))", {4, 6, 7, 8}),
    ("not_match_like_pattern_list (column := code, patterns := ('AB\\\\_%'))", {6}),
    ("not_match_like_pattern_list (column := code, patterns := ('AB_%'))", {1, 2, 6}),
    ("not_match_like_pattern_list (column := code, patterns := ('cd\\\\%', 'a\\\\\\\\b'))", {4, 8}),
    ("valid_email (column := email)", {4, 5, 6, 7}),
    ("valid_url (column := url)", {5, 7, 8}),
    ("valid_uuid (column := uuid)", {4, 5, 6, 8}),
    ("unique_values (columns := (id))", NONE),
    ("unique_values (columns := (shop))", {1, 2, 3, 5, 7, 8}),
    ("unique_values (columns := (shop), condition := shop IS NOT NULL)", {1, 2, 5, 7}),
    ("unique_values (columns := (shop), condition := id < 5)", NONE),
    ("unique_values (columns := (id, qty))", {2, 3, 7, 8}),
    ("unique_values (columns := (seq, price), condition := id < 8)", {2, 4, 5}),
    ("unique_values (columns := (odd))", {4, 8}),
    ("unique_combination_of_columns (columns := (shop, qty))", {2, 3, 7, 8}),
    ("unique_combination_of_columns (columns := (shop, qty), condition := shop = 'b')", {2, 7}),
    ("unique_combination_of_columns (columns := (shop, id))", NONE),
    ("z_score (column := amount, threshold := 2)", {8}),
    ("z_score (column := amount, threshold := 3)", NONE),
    ("z_score (column := amount, threshold := 0, condition := id IN (1, 4))", NONE),
    ("z_score (column := odd, threshold := 0.5)", {1, 4, 5, 6, 7, 8}),
    ("z_score (column := odd, threshold := 9)", {4, 6, 7, 8}),
    ("z_score (column := odd, threshold := 9, condition := id = 4)", {4}),
    ("z_score (column := odd, threshold := 0, condition := id IN (1, 3))", NONE),
    ("sequential_values (column := seq)", {4, 5, 7}),
    ("sequential_values (column := odd, condition := id < 6)", {4}),
    ("sequential_values (column := odd, condition := id IN (4, 7))", {4, 7}),
    ("sequential_values (column := odd, condition := id = 6)", {6}),
    ("sequential_values (column := seq, interval := 2)", {2, 4, 5, 6, 8}),
    ("sequential_values (column := seq, condition := id < 3 OR id = 7)", {7}),
    ("sequential_values (column := day, interval := INTERVAL '1' DAY)", {7}),
    ("sequential_values (column := at, interval := INTERVAL '1' HOUR)", NONE),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := high, partition_by := (grp))", {3, 4, 6, 7, 8}),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := high)", ALL),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := high, condition := grp = 'g')", NONE),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := high, condition := id IN (2, 6, 8))", {6}),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := odd, condition := id = 4)", {4}),
    ("mutually_exclusive_ranges (lower_bound_column := odd, upper_bound_column := high, condition := id = 8)", {8}),
    ("mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := odd, condition := id = 6)", NONE),
    ("above (column := qty)", {6}),
    ("above (column := qty, bound := 3)", {4, 5, 6}),
    ("above (column := seq + 1, bound := 7)", {7, 8}),
    ("repeated (keys := (shop, qty))", {2, 7}),
    ("repeated (keys := (price))", {2, 4}),
    ("unknown", {7, 8}),
    ("after_the_end", {5, 6, 7, 8}),
]  # fmt: skip
"""Calls, and the rows that fail by SQL's semantics as docs/reference/audits.md says."""

OWN = {
    "audits/own.sql": """
-- what is above a bound
AUDIT (name above, defaults (bound := 5));
SELECT id, @column AS found FROM @this_model AS t WHERE @column > @bound AND t.id > 0;

AUDIT (name unknown, blocking false);
WITH strange AS (SELECT id FROM @this_model EXCEPT SELECT id FROM raw.known)
SELECT x.* FROM @this_model AS x JOIN strange ON x.id = strange.id;
""",
    "audits/more/keys.sql": """
AUDIT (name repeated, dialect duckdb);
WITH strange AS (
  SELECT concat_ws('|', @EACH(@keys, k -> k::TEXT)) AS key FROM @this_model
  WHERE shop IS NOT NULL GROUP BY 1 HAVING count(*) > 1
)
SELECT id FROM @this_model JOIN strange ON concat_ws('|', @EACH(@keys, k -> k::TEXT)) = strange.key
""",
    "audits/times.sql": "AUDIT (name after_the_end); SELECT * FROM @this_model WHERE at > @end_dt",
}
NO_ROWS = "condition := id > 100"
TOTAL_CASES = [
    ("number_of_rows", False, {}),
    ("number_of_rows (threshold := 7)", False, {}),
    ("number_of_rows (threshold := 8)", True, {"row_count": 8}),
    (f"number_of_rows ({NO_ROWS})", True, {"row_count": 0}),
    ("at_least_one (column := shop)", False, {}),
    ("at_least_one (column := shop, condition := id IN (3, 8))", True, {"row_count": 2, "value_count": 0}),
    (f"at_least_one (column := shop, {NO_ROWS})", False, {}),
    ("not_constant (column := shop)", False, {}),
    ("not_constant (column := shop, condition := shop = 'a')", True, {"row_count": 2, "least": "a", "greatest": "a"}),
    ("not_constant (column := shop, condition := id = 3)", True, {"row_count": 1, "least": None, "greatest": None}),
    (f"not_constant (column := shop, {NO_ROWS})", False, {}),
    ("not_null_proportion (column := shop, threshold := 0.75)", False, {}),
    ("not_null_proportion (column := shop, threshold := 0.76)", True, {"row_count": 8, "value_count": 6}),
    (f"not_null_proportion (column := shop, threshold := 1, {NO_ROWS})", False, {}),
    ("mean_in_range (column := id, min_v := 4.5, max_v := 4.5)", False, {}),
    ("mean_in_range (column := id, min_v := 4.5, inclusive := false)", True, {"mean": 4.5, "not_finite": 0}),
    ("mean_in_range (column := id, max_v := 4)", True, {"mean": 4.5, "not_finite": 0}),
    ("mean_in_range (column := price, min_v := -1, condition := id IN (6, 7))", False, {}),
    (f"mean_in_range (column := id, min_v := 1, {NO_ROWS})", False, {}),
    ("stddev_in_range (column := id, min_v := 2.4, max_v := 2.5)", False, {}),
    ("stddev_in_range (column := id, max_v := 1, condition := id IN (1, 3, 5))", True, {"deviation": 2.0, "not_finite": 0}),
    ("stddev_in_range (column := id, max_v := 1, condition := id = 1)", False, {}),
    ("mean_in_range (column := odd, min_v := 0, condition := id < 5)", True, {"mean": 1.5, "not_finite": 1}),
    ("mean_in_range (column := odd, min_v := 0, condition := id IN (2, 6))", True, {"mean": 2.0, "not_finite": 1}),
    ("mean_in_range (column := odd, max_v := 0, condition := id = 7)", True, {"mean": None, "not_finite": 1}),
    ("mean_in_range (column := odd, min_v := 2, condition := id IN (1, 2, 3, 5))", False, {}),
    ("mean_in_range (column := 1e308 + id - id, min_v := 0)", True, {"mean": float("inf"), "not_finite": 0}),
    ("stddev_in_range (column := odd, min_v := 0, condition := id IN (1, 5, 8))", True, {"deviation": 1.4142135623730951, "not_finite": 1}),
    ("stddev_in_range (column := odd, min_v := 1, condition := id IN (1, 2, 3, 5))", False, {}),
    ("at_least_one (column := odd, condition := id IN (3, 4))", False, {}),
    ("not_constant (column := odd, condition := id IN (1, 4))", False, {}),
    ("not_null_proportion (column := odd, threshold := 1, condition := id > 3)", False, {}),
    ("source_to_target_count (source := raw.rows, time_column := at)", True, {"target_rows": 8, "source_rows": 4}),
    ("source_to_target_count (source := raw.rows, time_column := at, condition := id < 5)", False, {}),
    ("source_to_target_count (source := raw.rows, time_column := at, condition := id < 6, tolerance := 0.25)", False, {}),
    ("source_to_target_count (source := raw.rows, time_column := at, condition := id < 6, tolerance := 0.24)", True, {"target_rows": 5, "source_rows": 4}),
    ("source_to_target_count (source := raw.rows, time_column := at, condition := id < 3, source_condition := id < 3)", False, {}),
    ("source_to_target_count (source := raw.rows, time_column := day)", True, {"target_rows": 8, "source_rows": 1}),
]  # fmt: skip
"""Calls, whether they fail, and the figures that are reported then. The range has four of the rows."""

TIMES = TimeRange(
    start=datetime(2024, 1, 1, tzinfo=UTC),
    end=datetime(2024, 1, 1, 4, tzinfo=UTC),
    execution_time=datetime(2024, 1, 2, tzinfo=UTC),
)
KIND = "INCREMENTAL_BY_TIME_RANGE (time_column at)"


def graph_with(
    *calls: str, kind: str = KIND, files: Mapping[str, str] = OWN, behind: str = ""
) -> Graph:
    """A model over both sources that calls audits; ``behind`` stands behind its query."""
    where = "WHERE at BETWEEN @start_dt AND @end_dt" if kind.startswith("INCREMENTAL") else ""
    listed = ",\n  ".join(calls)
    text = (
        f"MODEL (name m.x, kind {kind}, start '2024-01-01', cron '@hourly', depends_on (raw.known),"
        f"\naudits (\n  {listed}\n));\nSELECT * FROM raw.rows {where};\n{behind}"
    )
    defaults = Defaults()
    place = Place(path=Path("external_models.yaml"))
    sources = [
        external_source(name, columns, place=place, defaults=defaults)
        for name, columns in ((SOURCE, COLUMNS), (KNOWN, {"id": "int"}))
    ]
    source = ModelSource(
        path=Path("models/m/x.sql"), text=text, defaults=defaults.as_texts(), attachments=files
    )
    return build_graph(map(read_model, [source, *sources]))


def audits(*calls: str, kind: str = KIND, files: Mapping[str, str] = OWN) -> tuple[Audit, ...]:
    """Audits as a model calls them, for the range of the table."""
    return audits_of(graph_with(*calls, kind=kind, files=files), CHECKED, TIMES)


@cache
def every_audit() -> Mapping[str, Audit]:
    """The audits of both tables by their calls, of one model that calls them all."""
    calls = [str(each[0]) for each in (*ROW_CASES, *TOTAL_CASES)]
    return dict(zip(calls, audits(*calls), strict=True))


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    for name, rows in (("rows", ROWS), ("known", KNOWN_ROWS)):
        sql = sqlglot.transpile(rows, read="spark", write="duckdb")[0]
        connection.execute(f"CREATE TABLE {name} AS {sql}")
    return connection


def in_duckdb(query: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows of a query over the rows and what is known."""
    found = _duckdb().sql(query)
    return found.columns, found.fetchall()


def failing_in_duckdb(audit: Audit) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows for which an audit fails, by the one-by-one way of an engine."""
    tables = {name: TableName("", name.name) for name in (SOURCE, KNOWN)}
    sql = sql_of(failing_rows(audit), rows=TableName("", "rows"), tables=tables)
    return in_duckdb(read_spark(sql).sql("duckdb"))


def ids(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[object]:
    """The column ``id`` of rows."""
    at = list(columns).index("id")
    return sorted((row[at] for row in rows), key=str)
