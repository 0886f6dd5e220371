# ruff: noqa: E501 - a query stays on one line
"""Which queries have the same rows of an hour alone and with other hours, and why others do not.

Each one is run on DuckDB, too: those of the first table are the same, and for each of the second
there is data for which an hour differs.
"""

from __future__ import annotations

import random

import duckdb
import pytest

from tests.core.sql.reads.alone_cases import database, difference, fill, reason, rows, understood
from vde_dagster.core.time.intervals import IntervalUnit

HOUR = IntervalUnit.HOUR
IN_X, IN_Y = ("x.ts BETWEEN @start_dt AND @end_dt", "y.ts BETWEEN @start_dt AND @end_dt")
BOTH = f"{IN_X} AND {IN_Y}"
IN_E = "e.ts BETWEEN @start_dt AND @end_dt"
X, Y = (f"(SELECT {a}.ts, {a}.landed, {a}.k, {a}.n FROM s.{t} AS {a} WHERE {b}) AS {a}" for a, t, b in (("x", "a", IN_X), ("y", "b", IN_Y)))  # fmt: skip

SAME = {
    "equal times": f"SELECT x.ts, y.n FROM s.a AS x JOIN s.b AS y ON x.ts = y.ts WHERE {BOTH}",
    "equal times in WHERE": f"SELECT x.ts, y.n FROM s.a AS x, s.b AS y WHERE x.k = y.k AND x.ts = y.ts AND {BOTH}",
    "USING": f"SELECT ts, y.n FROM s.a AS x JOIN s.b AS y USING (ts) WHERE {BOTH}",
    "an optional row of the same time": f"SELECT x.ts, y.n FROM {X} LEFT JOIN {Y} ON x.ts = y.ts AND x.k = y.k",
    "what was true in the hour": f"SELECT x.ts, y.n FROM {X} LEFT JOIN {Y} ON y.k = x.k AND y.ts = DATE_TRUNC('HOUR', x.ts)",
    "both of one hour": f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON DATE_TRUNC('HOUR', x.ts) = DATE_TRUNC('HOUR', y.ts)",
    "of a finer unit": f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON DATE_TRUNC('MINUTE', x.ts) = DATE_TRUNC('MINUTE', y.ts)",
    "since the hour began": f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts BETWEEN DATE_TRUNC('HOUR', x.ts) AND x.ts",
    "within the hour": f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts >= DATE_TRUNC('HOUR', x.ts) AND y.ts < DATE_TRUNC('HOUR', x.ts) + INTERVAL 1 HOUR",
    "the last hours, of which enough are read": f"SELECT x.ts, y.n FROM {X} JOIN s.b AS y ON y.k = x.k AND y.ts BETWEEN x.ts - INTERVAL 2 HOURS AND x.ts AND y.ts >= @start_dt - INTERVAL 2 HOURS AND y.ts <= @end_dt",
    "a day that is read whole": f"SELECT x.ts, y.n FROM {X} JOIN s.b AS y ON y.day = CAST(x.ts AS DATE) AND y.day BETWEEN @start_date AND @end_date",
    "a table without times": f"SELECT x.ts, y.n FROM {X} LEFT JOIN s.b AS y ON x.k = y.k",
    "the first of a table without times": f"SELECT x.ts, y.n FROM {X} JOIN (SELECT k, n FROM s.b ORDER BY k, n LIMIT 1) AS y ON x.k = y.k",
    "three, each tied to the one before": f"SELECT x.ts, z.n FROM {X} JOIN {Y} ON x.ts = y.ts LEFT JOIN (SELECT ts, n FROM s.c WHERE ts BETWEEN @start_dt AND @end_dt) AS z ON z.ts = DATE_TRUNC('HOUR', y.ts)",
    "the row that RIGHT JOIN keeps": f"SELECT y.ts, x.n FROM {X} RIGHT JOIN {Y} ON x.ts = y.ts",
    "whichever time FULL JOIN has": f"SELECT COALESCE(x.ts, y.ts) AS ts, x.n, y.n AS m FROM {X} FULL JOIN {Y} ON x.ts = y.ts",
    "whatever is joined without macros": f"SELECT x.ts, y.n, z.n AS m FROM s.a AS x FULL JOIN s.b AS y ON x.k = y.k RIGHT JOIN s.c AS z ON z.k = y.k WHERE {IN_X}",
    "rows with a partner": f"SELECT x.ts, x.n FROM {X} LEFT SEMI JOIN {Y} ON x.ts = y.ts",
    "rows without one": f"SELECT x.ts, x.n FROM {X} LEFT ANTI JOIN {Y} ON x.ts = y.ts",
    "EXISTS": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND EXISTS (SELECT 1 FROM s.b AS e WHERE e.ts = x.ts AND {IN_E})",
    "NOT EXISTS": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND NOT EXISTS (SELECT 1 FROM s.b AS e WHERE e.ts = x.ts AND {IN_E})",
    "IN": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND x.ts IN (SELECT e.ts FROM s.b AS e WHERE {IN_E})",
    "the largest of the hour": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND x.n >= (SELECT MAX(e.n) FROM s.b AS e WHERE DATE_TRUNC('HOUR', e.ts) = DATE_TRUNC('HOUR', x.ts) AND {IN_E})",
    "a sub-query as a column": f"SELECT x.ts, (SELECT MAX(e.n) FROM s.b AS e WHERE e.ts = x.ts AND {IN_E}) AS m FROM s.a AS x WHERE {IN_X}",
    "groups by time": f"SELECT x.ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY x.ts",
    "groups by the hour": f"SELECT DATE_TRUNC('HOUR', x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY 1, x.k",
    "the last time of each hour": f"SELECT MAX(x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY DATE_TRUNC('HOUR', x.ts)",
    "groups by all that is no aggregate": f"SELECT DATE_TRUNC('HOUR', x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY ALL",
    "groups that are bounded around them": "SELECT q.ts, q.n FROM (SELECT x.ts, SUM(x.n) AS n FROM s.a AS x GROUP BY x.ts) AS q WHERE q.ts BETWEEN @start_dt AND @end_dt",
    "a running sum over all there is": "SELECT q.ts, q.n FROM (SELECT x.ts, SUM(x.n) OVER (ORDER BY x.ts) AS n FROM s.a AS x) AS q WHERE q.ts >= @start_dt",
    "by the day and an hour before": "SELECT x.ts, x.n FROM s.a AS x WHERE CAST(x.ts AS DATE) BETWEEN @start_ds AND @end_ds AND x.ts >= @start_dt - INTERVAL 1 HOUR",
    "groups of joined rows": f"SELECT x.ts, SUM(y.n) AS n FROM {X} JOIN {Y} ON x.ts = y.ts GROUP BY x.ts",
    "groups by the other side of a join": f"SELECT MAX(x.ts) AS ts, SUM(y.n) AS n FROM {X} JOIN {Y} ON x.ts = y.ts GROUP BY y.ts",
    "DISTINCT with the time": f"SELECT DISTINCT x.ts, y.n FROM {X} JOIN {Y} ON x.ts = y.ts",
    "a window by the hour": f"SELECT x.ts, SUM(x.n) OVER (PARTITION BY DATE_TRUNC('HOUR', x.ts), x.k) AS n FROM s.a AS x WHERE {IN_X}",
    "QUALIFY by the time": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} QUALIFY COUNT(*) OVER (PARTITION BY x.ts) = 1",
    "a union": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} UNION SELECT y.ts, y.n FROM s.b AS y WHERE {IN_Y}",
    "rows of one, without those of another": f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} EXCEPT SELECT y.ts, y.n FROM s.b AS y WHERE {IN_Y}",
    "a common table beside itself": f"WITH w AS (SELECT ts, k, n FROM s.a AS x WHERE {IN_X}) SELECT x.ts, y.n FROM w AS x JOIN w AS y ON x.ts = y.ts",
}
OTHERS = {
    "a join by key": (f"SELECT x.ts, y.n FROM s.a AS x JOIN s.b AS y ON x.k = y.k WHERE {BOTH}", "the join with s.b does not say that both rows are of one hour (`x.k = y.k`)"),
    "a look-up by key": (f"SELECT x.ts, y.n FROM {X} LEFT JOIN {Y} ON x.k = y.k", "the join with y does not say that both rows are of one hour (`x.k = y.k`)"),
    "no condition": (f"SELECT x.ts, y.n FROM {X} CROSS JOIN {Y}", "the join with y does not say that both rows are of one hour"),
    "equal times or keys": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON x.ts = y.ts OR x.k = y.k", "the join with y"),
    "earlier rows": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts <= x.ts", "the join with y"),
    "another time": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts = x.landed", "the join with y"),
    "the hour after": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts = x.ts + INTERVAL 1 HOUR", "`y.ts BETWEEN @start_dt AND @end_dt` need not be true for all rows of one hour"),
    "up to the next hour": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts >= DATE_TRUNC('HOUR', x.ts) AND y.ts <= DATE_TRUNC('HOUR', x.ts) + INTERVAL 1 HOUR", "`y.ts BETWEEN"),
    "of one day": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON DATE_TRUNC('DAY', x.ts) = DATE_TRUNC('DAY', y.ts)", "`y.ts BETWEEN"),
    "the last hours, of which too few are read": (f"SELECT x.ts, y.n FROM {X} JOIN {Y} ON y.ts BETWEEN x.ts - INTERVAL 2 HOURS AND x.ts", "`y.ts BETWEEN"),
    "a partner that need not be there": ("SELECT x.ts, x.n FROM s.a AS x LEFT JOIN s.b AS y ON y.ts = x.ts AND y.ts = x.landed WHERE x.landed BETWEEN @start_dt AND @end_dt", "`x.landed BETWEEN @start_dt AND @end_dt`"),
    "groups by a partner that need not be there": (f"SELECT MAX(x.ts) AS ts, COUNT(*) AS c FROM {X} LEFT JOIN s.b AS y ON x.ts = y.ts GROUP BY y.ts", "GROUP BY y.ts brings rows of several hours together"),
    "the side that FULL JOIN need not have": (f"SELECT COALESCE(x.ts, y.ts) AS ts, x.n, y.n AS m FROM {X} FULL JOIN {Y} ON x.k = y.k", "the join with y"),
    "rows without a partner by key": (f"SELECT x.ts, x.n FROM {X} LEFT ANTI JOIN {Y} ON x.k = y.k", "the join with y"),
    "EXISTS by key": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND EXISTS (SELECT 1 FROM s.b AS e WHERE e.k = x.k AND {IN_E})", "`e.ts BETWEEN @start_dt AND @end_dt`"),
    "EXISTS in what is bounded": (f"SELECT x.ts, x.n FROM {X} WHERE EXISTS (SELECT 1 FROM (SELECT ts, k FROM s.b AS e WHERE {IN_E}) AS e WHERE e.k = x.k)", "the sub-query over e does not say that its rows are of the same hour as the outer row"),
    "IN by key": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND x.k IN (SELECT e.k FROM s.b AS e WHERE {IN_E})", "`e.ts BETWEEN"),
    "NOT IN, which NULL makes unknown": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND x.ts NOT IN (SELECT e.landed FROM s.b AS e WHERE {IN_E})", "`e.ts BETWEEN"),
    "the largest of all": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} AND x.n >= (SELECT MAX(e.n) FROM s.b AS e WHERE {IN_E})", "`e.ts BETWEEN"),
    "groups by key": (f"SELECT MAX(x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY x.k", "GROUP BY x.k brings rows of several hours together"),
    "groups with a sum of all": (f"SELECT MAX(x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY ROLLUP (x.ts)", "GROUP BY"),
    "one group": (f"SELECT MAX(x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X}", "MAX(x.ts) is not a function of one time column"),
    "groups by the day": (f"SELECT MAX(x.ts) AS ts, SUM(x.n) AS n FROM s.a AS x WHERE {IN_X} GROUP BY CAST(x.ts AS DATE)", "GROUP BY CAST(x.ts AS DATE) brings"),
    "a running sum": (f"SELECT x.ts, SUM(x.n) OVER (ORDER BY x.ts) AS n FROM s.a AS x WHERE {IN_X}", "`SUM(x.n) OVER (ORDER BY x.ts)` looks at rows of several hours"),
    "a window with a name": (f"SELECT x.ts, SUM(x.n) OVER w AS n FROM s.a AS x WHERE {IN_X} WINDOW w AS (ORDER BY x.ts)", "looks at rows of several hours"),
    "LIMIT inside": (f"SELECT q.ts, q.n FROM (SELECT x.ts, x.n, x.k FROM s.a AS x WHERE {IN_X} ORDER BY x.ts, x.n, x.k LIMIT 3) AS q", "LIMIT chooses among rows of several hours"),
    "more than the start": ("SELECT x.ts, x.n FROM s.a AS x WHERE x.ts > @start_dt AND x.ts <= @end_dt", "`x.ts > @start_dt"),
    "a window by key": (f"SELECT x.ts, COUNT(*) OVER (PARTITION BY x.k) AS n FROM s.a AS x WHERE {IN_X}", "looks at rows of several hours"),
    "a row of the day": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} QUALIFY COUNT(*) OVER (PARTITION BY CAST(x.ts AS DATE)) = 1", "looks at rows of several hours"),
    "LIMIT": (f"SELECT x.ts, x.n, x.k FROM s.a AS x WHERE {IN_X} ORDER BY x.ts, x.n, x.k LIMIT 2", "LIMIT chooses among rows of several hours"),
    "the start as a value": (f"SELECT x.ts, @start_dt AS n FROM s.a AS x WHERE {IN_X}", "`@start_dt AS n` follows from the whole range that is evaluated"),
    "only the last hour": ("SELECT x.ts, x.n FROM s.a AS x WHERE x.ts >= @end_dt - INTERVAL 1 HOUR AND x.ts <= @end_dt", "`x.ts >= @end_dt - INTERVAL '1' HOUR` need not be true"),
    "by another time": ("SELECT x.ts, x.n FROM s.a AS x WHERE x.landed BETWEEN @start_dt AND @end_dt", "`x.landed BETWEEN @start_dt AND @end_dt` need not be true"),
    "there and back": ("SELECT q.ts - INTERVAL 1 HOUR AS ts, q.n FROM (SELECT x.ts + INTERVAL 1 HOUR AS ts, x.n FROM s.a AS x WHERE x.ts + INTERVAL 1 HOUR BETWEEN @start_dt AND @end_dt) AS q", "need not be true"),
    "one side of a union": (f"SELECT x.ts, x.n FROM s.a AS x WHERE {IN_X} UNION ALL SELECT y.ts, y.n FROM s.b AS y WHERE y.landed BETWEEN @start_dt AND @end_dt", "`y.landed BETWEEN"),
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return database()


def differs(connection: duckdb.DuckDBPyConnection, text: str, tries: int) -> bool:
    """Whether there is data for which an hour has other rows alone than with other hours."""
    query, chance = understood(text), random.Random(1)
    for size in (3, 8, 14) * tries:
        fill(connection, rows(chance, HOUR, size))
        if difference(connection, query, HOUR):
            return True
    return False


@pytest.mark.parametrize("case", SAME)
def test_rows_that_are_the_same_alone_and_with_other_hours_are_called_so(
    connection: duckdb.DuckDBPyConnection, case: str
) -> None:
    assert reason(understood(SAME[case]), HOUR) == ""
    assert not differs(connection, SAME[case], tries=1)


@pytest.mark.parametrize("case", OTHERS)
def test_rows_that_differ_with_other_hours_are_reported_with_the_clause_that_makes_it_so(
    connection: duckdb.DuckDBPyConnection, case: str
) -> None:
    text, why = OTHERS[case]
    assert why in reason(understood(text), HOUR)
    assert differs(connection, text, tries=60)


MONTHLY = "SELECT DATE_TRUNC('MONTH', x.ts) AS ts, x.n FROM s.a AS x WHERE {}"


@pytest.mark.parametrize(
    "where,unit,same",
    [
        (IN_X, IntervalUnit.MONTH, True),
        ("DATE_TRUNC('MONTH', x.ts) BETWEEN @start_dt AND @end_dt", IntervalUnit.MONTH, False),
        ("x.ts >= DATE_TRUNC('MONTH', @start_dt)", IntervalUnit.DAY, True),
        (IN_X, IntervalUnit.DAY, False),
        (IN_X, IntervalUnit.HOUR, False),
    ],
)
def test_months_are_whole_in_months_alone(where: str, unit: IntervalUnit, same: bool) -> None:
    assert (reason(understood(MONTHLY.format(where)), unit) == "") is same


def test_a_common_table_of_the_same_name_inside_of_another_is_not_taken_for_it() -> None:
    query = understood(
        f"WITH x AS (SELECT ts, n FROM s.a AS x WHERE {IN_X} ORDER BY n, ts LIMIT 3), "
        "y AS (SELECT ts, n FROM x) "
        f"SELECT q.ts, q.n FROM (WITH x AS (SELECT ts, n FROM s.a AS x WHERE {IN_X}) "
        "SELECT y.ts, y.n FROM y) AS q"
    )
    assert reason(query, HOUR) == "LIMIT chooses among rows of several hours"
