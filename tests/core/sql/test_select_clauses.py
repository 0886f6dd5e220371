"""What the reader of a query's clauses finds, and that it skips nothing."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from vde_dagster.core.sql.select_clauses import (
    SelectClauses,
    clauses_of,
    is_only_around,
    is_union_all,
    item_of,
    limits_of,
    others_of,
    sorting_of,
)


def select(sql: str, dialect: str = "spark") -> SelectClauses:
    parsed = sqlglot.parse_one(sql, read=dialect)
    assert isinstance(parsed, exp.Select)
    return clauses_of(parsed)


def operation(sql: str, dialect: str = "spark") -> exp.SetOperation:
    parsed = sqlglot.parse_one(sql, read=dialect)
    assert isinstance(parsed, exp.SetOperation)
    return parsed


def texts(nodes: object) -> list[str]:
    assert isinstance(nodes, list | tuple)
    return [each.sql("spark") for each in nodes]


def test_a_select_has_each_of_its_clauses() -> None:
    found = select(
        "WITH c AS (SELECT 1 AS one) SELECT /*+ BROADCAST(c) */ DISTINCT a, SUM(b) AS b FROM t "
        "LATERAL VIEW EXPLODE(e) l AS x WHERE a > 1 GROUP BY a HAVING SUM(b) > 2 "
        "QUALIFY ROW_NUMBER() OVER w = 1 WINDOW w AS (ORDER BY a) ORDER BY a LIMIT 3 OFFSET 4"
    )
    assert texts(found.projections) == ["a", "SUM(b) AS b"]
    assert [each.alias for each in found.from_.items] == ["t"]
    assert [each.alias for each in found.from_.laterals] == ["l"]
    conditions = [found.where, found.having, found.qualify]
    assert texts(conditions) == ["a > 1", "SUM(b) > 2", "ROW_NUMBER() OVER w = 1"]
    assert found.group is not None
    assert texts(found.group.keys) == ["a"]
    assert [each.name for each in found.windows] == ["w"]
    assert found.distinct is not None
    assert texts(sorting_of(found.node)) == ["ORDER BY a"]
    assert texts(limits_of(found.node)) == ["LIMIT 3", "OFFSET 4"]
    assert found.others == frozenset()


def test_a_select_has_nothing_that_is_not_written() -> None:
    found = select("SELECT 1 AS one")
    assert found.given == {"expressions"}
    assert (found.from_.first, found.where, found.group) == (None,) * 3
    assert sorting_of(found.node) == limits_of(found.node) == []


READ = frozenset(
    {"with_", "expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group"}
    | {"having", "qualify", "windows", "distribute", "sort", "cluster", "order", "limit", "offset"}
)


@pytest.mark.parametrize("name", sorted(exp.Select.arg_types.keys() - READ))
def test_a_clause_that_is_not_read_is_among_the_others(name: str) -> None:
    node = exp.select("a").from_("t")
    node.set(name, exp.to_identifier("x"))
    assert clauses_of(node).others == {name}


@pytest.mark.parametrize(
    "sql, dialect, other",
    [
        ("SELECT AS STRUCT a FROM t", "bigquery", "kind"),
        ("SELECT a FROM t FOR UPDATE", "postgres", "locks"),
        ("SELECT a FROM t SETTINGS max_threads = 1", "clickhouse", "settings"),
    ],
)
def test_a_clause_of_another_dialect_is_among_the_others(
    sql: str, dialect: str, other: str
) -> None:
    assert other in select(sql, dialect).others


@pytest.mark.parametrize(
    "sql, words, is_by_condition",
    [
        ("a JOIN b ON a.k = b.k", ("", "", ""), True),
        ("a, b", ("", "CROSS", ""), True),
        ("a LEFT SEMI JOIN b ON a.k = b.k", ("LEFT", "SEMI", ""), True),
        ("a FULL OUTER JOIN b ON a.k = b.k", ("FULL", "OUTER", ""), True),
        ("a NATURAL JOIN b", ("", "", "NATURAL"), False),
        ("a JOIN b USING (k)", ("", "", ""), False),
    ],
)
def test_a_join_says_how_it_joins(
    sql: str, words: tuple[str, str, str], *, is_by_condition: bool
) -> None:
    (join,) = select(f"SELECT * FROM {sql}").from_.joins
    assert (join.node.side, join.node.kind, join.node.method) == words
    assert join.item.alias == "b"
    assert join.is_by_condition is is_by_condition


def test_using_names_columns() -> None:
    (join,) = select("SELECT * FROM a JOIN b USING (K, l)").from_.joins
    assert join.using == ("K", "l")
    assert join.on is None


def test_sources_are_those_inside_of_parentheses_in_the_order_of_the_text() -> None:
    found = select(
        "SELECT * FROM (a JOIN b ON a.k = b.k) LEFT JOIN (SELECT 1 AS k) AS q ON q.k = a.k, c "
        "LATERAL VIEW EXPLODE(e) l AS x"
    ).from_
    assert [each.alias_or_name for each in found.sources()] == ["a", "b", "q", "c", "l"]
    assert found.first is not None
    assert found.first.grouped is not None
    assert found.first.grouped.alias == "a"


@pytest.mark.parametrize(
    "item, others",
    [
        ("s.t AS x", set()),
        ("t TABLESAMPLE (10 PERCENT)", {"sample"}),
        ("t VERSION AS OF 1", {"version"}),
        ("(SELECT 1 AS a) AS q", set()),
        ("(SELECT 1 AS a) AS q TABLESAMPLE (10 PERCENT)", {"sample"}),
        ("(SELECT a, b FROM t) PIVOT (SUM(b) FOR a IN (1, 2))", {"pivots"}),
    ],
)
def test_an_item_says_what_else_it_has(item: str, others: set[str]) -> None:
    first = select(f"SELECT * FROM {item}").from_.first
    assert first is not None
    assert first.others == others


@pytest.mark.parametrize(
    "keys, is_plain, is_all",
    [
        ("a, b", True, False),
        ("ALL", True, True),
        ("ROLLUP (a, b)", False, False),
        ("a, CUBE (b)", False, False),
        ("a GROUPING SETS ((a), ())", False, False),
        ("a WITH ROLLUP", False, False),
    ],
)
def test_grouping_is_plain_where_each_key_has_one_value(
    keys: str, *, is_plain: bool, is_all: bool
) -> None:
    group = select(f"SELECT COUNT(*) AS n FROM t GROUP BY {keys}").group
    assert group is not None
    assert (group.is_plain, group.is_all) == (is_plain, is_all)


@pytest.mark.parametrize(
    "sql, dialect, union_all, others",
    [
        ("SELECT 1 AS a UNION ALL SELECT 2", "spark", True, set()),
        ("SELECT 1 AS a UNION SELECT 2 ORDER BY a", "spark", False, set()),
        ("SELECT 1 AS a EXCEPT ALL SELECT 2", "spark", False, set()),
        ("SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS a", "duckdb", True, {"by_name"}),
        (
            "SELECT 1 AS a FULL UNION ALL BY NAME SELECT 2 AS a",
            "bigquery",
            True,
            {"by_name", "side"},
        ),
    ],
)
def test_a_set_operation_says_which_rows_it_takes(
    sql: str, dialect: str, others: set[str], *, union_all: bool
) -> None:
    found = operation(sql, dialect)
    assert is_union_all(found) == union_all
    assert others_of(found) == others


def test_parentheses_may_have_clauses_of_their_own() -> None:
    plain = select("SELECT * FROM (SELECT 1 AS a) AS q").from_.first
    limited = sqlglot.parse_one("(SELECT 1 AS a) LIMIT 1", read="spark")
    assert plain is not None
    assert isinstance(plain.node, exp.Subquery)
    assert isinstance(limited, exp.Subquery)
    assert is_only_around(plain.node)
    assert not is_only_around(limited)
    assert item_of(limited).others == {"limit"}
