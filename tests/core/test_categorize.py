"""What a direct change does to readers (seed 000, *Automatic Change Categorization*)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from vde_dagster.core.categorize import categorize
from vde_dagster.core.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.snapshot import Category

Build = Callable[[Mapping[str, str]], Graph]
X = ModelName("m", "x")
FULL = "MODEL (name m.x, kind FULL{0});\n"


def verdict(graph_of: Build, old: str, new: str) -> tuple[Category, str]:
    before, after = (graph_of({"m.x": each})[X] for each in (old, new))
    assert before.fingerprint.data != after.fingerprint.data
    found = categorize(before, after)
    return found.category, " ".join(found.reasons)


@pytest.mark.parametrize(
    "old,new",
    [
        ("SELECT a FROM raw.t", "SELECT a, b FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, b, a + 1 AS c, UPPER(b) AS d FROM raw.t"),
        ("SELECT a FROM raw.t WHERE a > 1", "select a, 1 as one from raw.t where a > 1"),
        (
            "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a",
            "SELECT a, COUNT(*) AS n, a + 1 AS c FROM raw.t GROUP BY a",
        ),
        (
            "WITH c AS (SELECT a, b FROM raw.t) SELECT a FROM c",
            "WITH c AS (SELECT a, b FROM raw.t) SELECT a, b FROM c",
        ),
    ],
)
def test_an_appended_plain_column_is_not_breaking(graph_of: Build, old: str, new: str) -> None:
    category, reason = verdict(graph_of, old, new)
    assert category is Category.NON_BREAKING
    assert "adds" in reason


@pytest.mark.parametrize(
    "old,new",
    [
        # seed 000: "removing or modifying the existing one is"
        ("SELECT a, b FROM raw.t", "SELECT a FROM raw.t"),
        ("SELECT a, b FROM raw.t", "SELECT a, UPPER(b) AS b FROM raw.t"),
        ("SELECT a, b FROM raw.t", "SELECT b, a FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT b, a FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a AS z FROM raw.t"),
        # the rows are others
        ("SELECT a FROM raw.t", "SELECT a, b FROM raw.t WHERE a > 1"),
        ("SELECT a FROM raw.t", "SELECT a, b FROM raw.u"),
        (
            "SELECT t.a FROM raw.t AS t",
            "SELECT t.a, u.b FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a",
        ),
        ("SELECT a FROM raw.t", "SELECT a FROM raw.t LIMIT 3"),
        # a further column means other rows
        ("SELECT DISTINCT a FROM raw.t", "SELECT DISTINCT a, b FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT DISTINCT a, b FROM raw.t"),
        (
            "SELECT a FROM raw.t UNION SELECT a FROM raw.u",
            "SELECT a, b FROM raw.t UNION SELECT a, b FROM raw.u",
        ),
        (
            "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u",
            "SELECT a, b FROM raw.t UNION ALL SELECT a, b FROM raw.u",
        ),
        ("SELECT 1 AS one FROM raw.t", "SELECT 1 AS one, COUNT(*) AS n FROM raw.t"),
        ("SELECT 1 AS one FROM raw.t", "SELECT 1 AS one, try_sum(a) AS n FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, EXPLODE(e) AS x FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, explode_outer(e) AS x FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, POSEXPLODE(e) AS x FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, INLINE(e) AS x FROM raw.t"),
        ("SELECT a FROM raw.t", "SELECT a, x FROM raw.t LATERAL VIEW EXPLODE(e) l AS x"),
        (
            "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY ALL",
            "SELECT a, COUNT(*) AS n, b FROM raw.t GROUP BY ALL",
        ),
        ("SELECT a FROM raw.t ORDER BY ALL LIMIT 1", "SELECT a, b FROM raw.t ORDER BY ALL LIMIT 1"),
        (
            "SELECT a FROM raw.t ORDER BY b LIMIT 1",
            "SELECT a, -c AS b FROM raw.t ORDER BY b LIMIT 1",
        ),
        # a sub-query may return several rows, and then fail
        ("SELECT a FROM raw.t", "SELECT a, (SELECT MAX(b) FROM raw.u) AS m FROM raw.t"),
        # not the query alone
        ("SELECT a FROM raw.t", FULL.format("") + "SELECT a, b FROM raw.t"),
        (
            FULL.format(", columns (a int)") + "SELECT a FROM raw.t",
            FULL.format(", columns (a bigint)") + "SELECT a, b FROM raw.t",
        ),
    ],
)
def test_everything_else_is_breaking_and_says_why(graph_of: Build, old: str, new: str) -> None:
    category, reason = verdict(graph_of, old, new)
    assert category is Category.BREAKING
    assert reason


def test_a_removed_column_is_named(graph_of: Build) -> None:
    assert "`b`" in verdict(graph_of, "SELECT a, b FROM raw.t", "SELECT a FROM raw.t")[1]
