"""`lake.raw.orders`, `raw.orders` and, for the schema `default`, `orders` are one table each."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tests.core.tables import rows
from vde_dagster.core.columns import Column
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.table_names import (
    model_name_of,
    name_of_table,
    project_names,
    project_names_of_statement,
    strip_catalog,
)

ORDERS = ModelName("raw", "orders")
COLUMNS = [Column(name="id", type="bigint"), Column(name="info", type="struct<z:int>")]


def query(sql: str, dialect: str = "spark") -> exp.Query:
    found = sqlglot.parse_one(sql, read=dialect)
    assert isinstance(found, exp.Query)
    return found


@pytest.mark.parametrize(
    "written,stripped",
    rows("""
SELECT id FROM lake.raw.orders | SELECT id FROM raw.orders
SELECT id FROM `lake`.`raw`.orders AS o | SELECT id FROM `raw`.orders AS o
SELECT id FROM other.raw.orders | SELECT id FROM other.raw.orders
SELECT id FROM lake.orders | SELECT id FROM lake.orders
SELECT id FROM lake.raw.orders.snapshots | SELECT id FROM lake.raw.orders.snapshots
SELECT lake.raw.orders.id FROM lake.raw.orders | SELECT raw.orders.id FROM raw.orders
SELECT lake.x.y.z FROM raw.t AS lake | SELECT lake.x.y.z FROM raw.t AS lake
WITH a AS (SELECT 1 FROM lake.r.t) SELECT 1 FROM a WHERE x = (SELECT 1 FROM lake.b.u)
  | WITH a AS (SELECT 1 FROM r.t) SELECT 1 FROM a WHERE x = (SELECT 1 FROM b.u)
"""),
)
def test_the_own_catalog_is_left_out_and_nothing_else(written: str, stripped: str) -> None:
    given = query(written)
    assert strip_catalog(given, "lake").sql("spark") == stripped
    assert given == query(written), "the query that was given is not changed"


@pytest.mark.parametrize(
    "written,named",
    [
        ("SELECT 1 FROM orders", {"default.orders"}),
        ("SELECT 1 FROM lake.raw.orders, raw.u", {"raw.orders", "raw.u"}),
        ("WITH orders AS (SELECT 1 FROM raw.t) SELECT 1 FROM orders", {"raw.t", "None"}),
        ("WITH t AS (SELECT 1 FROM t) SELECT 1 FROM t", {"default.t", "None"}),
        ("SELECT 1 FROM a UNION ALL SELECT 1 FROM (SELECT 1 FROM b)", {"default.a", "default.b"}),
        ("SELECT 1 FROM raw.t WHERE id IN (SELECT id FROM c)", {"raw.t", "default.c"}),
        ("SELECT 1 FROM range(5)", {"None"}),
        ("SELECT 1 FROM x.raw.orders", {"x.raw.orders"}),
        ("WITH DT AS (SELECT 1 AS i) SELECT i FROM dt", {"None"}),
        (
            "WITH a AS (SELECT 1 FROM B), b AS (SELECT 1 FROM A) SELECT 1 FROM b",
            {"default.b", "None"},
        ),
        (
            "WITH a AS (SELECT 1) SELECT 1 FROM raw.t WHERE i IN (SELECT 1 FROM A)",
            {"raw.t", "None"},
        ),
    ],
)
def test_a_table_without_a_schema_is_in_default_and_a_common_table_expression_is_none(
    written: str, named: set[str]
) -> None:
    found = project_names(query(written), "lake")
    assert {str(model_name_of(each)) for each in found.find_all(exp.Table)} == named


@pytest.mark.parametrize(
    "one,other",
    [
        ("SELECT id FROM lake.raw.orders", "SELECT id FROM raw.orders"),
        ("SELECT lake.raw.orders.id FROM lake.raw.orders", "SELECT orders.id FROM raw.orders"),
        ("SELECT o.id FROM `Lake`.`raw`.`orders` o", "SELECT o.id FROM raw.orders AS o"),
    ],
)
def test_with_and_without_the_catalog_a_query_is_the_same(one: str, other: str) -> None:
    forms = {
        canonical_form(
            canonicalize(project_names(query(each), "lake"), schemas={ORDERS: COLUMNS}).expression
        )
        for each in (one, other)
    }
    assert len(forms) == 1


def test_a_quoted_name_with_a_dot_is_one_part_and_refused() -> None:
    (table,) = query('SELECT 1 FROM "raw.orders"', "duckdb").find_all(exp.Table)
    with pytest.raises(InvalidName, match="not a plain identifier"):
        name_of_table(table)
    (table,) = query('SELECT 1 FROM "lake.raw"."orders"', "duckdb").find_all(exp.Table)
    with pytest.raises(InvalidName, match="not a plain identifier"):
        name_of_table(table)


@pytest.mark.parametrize(
    "written,name",
    [
        ("orders", "default.orders"),
        ("raw.orders", "raw.orders"),
        ("Lake.Raw.Orders", "lake.raw.orders"),
    ],
)
def test_a_table_has_the_name_of_its_model(written: str, name: str) -> None:
    (table,) = query(f"SELECT 1 FROM {written}").find_all(exp.Table)
    assert str(name_of_table(table)) == name


def test_four_parts_are_no_name() -> None:
    (table,) = query("SELECT 1 FROM a.b.c.d").find_all(exp.Table)
    with pytest.raises(InvalidName, match="4 parts"):
        name_of_table(table)


@pytest.mark.parametrize(
    "written,named",
    rows("""
DELETE FROM y WHERE id = 1 | DELETE FROM default.y WHERE id = 1
DELETE FROM other.m.y | DELETE FROM other.m.y
INSERT INTO y SELECT id FROM z | INSERT INTO default.y SELECT id FROM default.z
INSERT INTO y WITH y AS (SELECT 1 AS id) SELECT id FROM y
  | WITH y AS (SELECT 1 AS id) INSERT INTO default.y SELECT id FROM y
TRUNCATE TABLE y | TRUNCATE TABLE default.y
DROP TABLE IF EXISTS lake.m.y | DROP TABLE IF EXISTS m.y
CREATE TABLE y AS SELECT id FROM z | CREATE TABLE default.y AS SELECT id FROM default.z
SET x.y = 'z' | SET x.y = 'z'
SELECT COUNT(*) FROM y | SELECT COUNT(*) FROM default.y
"""),
)
def test_statements_name_tables_as_queries_do(written: str, named: str) -> None:
    given = sqlglot.parse_one(written, read="spark")
    assert project_names_of_statement(given, "lake").sql("spark") == named
    assert given == sqlglot.parse_one(written, read="spark"), "what was given is not changed"
