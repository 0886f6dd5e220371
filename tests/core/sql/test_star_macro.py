"""@STAR and @UNION against the columns that a person would have written."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from tests.core.tables import rows
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery, QueryInvalid, canonicalize
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.star_macro import expand_star_macros
from vde_dagster.project.macros.language import MacroScope, read_statements
from vde_dagster.project.problems import Problems


def columns(**types: str) -> list[Column]:
    return [Column(name=name, type=kind) for name, kind in types.items()]


SCHEMAS = {
    ModelName("raw", "t"): columns(a="int", b="string", c="double"),
    ModelName("raw", "u"): columns(c="int", a="bigint", d="date"),
    ModelName("raw", "order"): columns(order="int", group="int"),
    ModelName("default", "plain"): columns(p="int", q="int"),
    ModelName("raw", "words"): columns(a="int", current_date="string"),
    ModelName("raw", "unknown"): [],
}


def parsed(text: str, dialect: str = "spark") -> exp.Query:
    problems = Problems()
    found = read_statements(
        text,
        dialect=dialect,
        place=Place(path=Path("models/m.sql")),
        scope=MacroScope(variables={}, functions={}),
        problems=problems,
    )
    assert problems.found == []
    assert found is not None
    (query,) = found.expressions
    assert isinstance(query, exp.Query)
    return query


def canonical(query: exp.Query) -> CanonicalQuery:
    return canonicalize(query, schemas=SCHEMAS)


@pytest.mark.parametrize(
    "text,expected",
    rows("""
SELECT @STAR(raw.t) FROM raw.t | SELECT a, b, c FROM raw.t
SELECT @STAR(t) FROM raw.t | SELECT a, b, c FROM raw.t
SELECT @STAR(raw.t) FROM raw.t AS x | SELECT a, b, c FROM raw.t AS x
SELECT @STAR(x) FROM raw.t AS x | SELECT a, b, c FROM raw.t AS x
SELECT @STAR(raw.t, x) FROM raw.t AS x | SELECT a, b, c FROM raw.t AS x
SELECT @STAR(raw.t, y) FROM raw.t AS x JOIN raw.t AS y ON x.a = y.a
  | SELECT y.a, y.b, y.c FROM raw.t AS x JOIN raw.t AS y ON x.a = y.a
SELECT @STAR(raw.t, x) FROM (SELECT a, b, c FROM raw.t) AS x
  | SELECT a, b, c FROM (SELECT a, b, c FROM raw.t) AS x
SELECT @STAR(raw.t, except := [b]) FROM raw.t | SELECT a, c FROM raw.t
SELECT @STAR(raw.t, except := [A, 'b']) FROM raw.t | SELECT c FROM raw.t
SELECT @STAR(raw.t, exclude := (a, b)) FROM raw.t | SELECT c FROM raw.t
SELECT @STAR(raw.t, prefix := 'p_', suffix := '_s') FROM raw.t
  | SELECT a AS p_a_s, b AS p_b_s, c AS p_c_s FROM raw.t
SELECT 1 AS x, @STAR(raw.t), @STAR(raw.u, except := [a, c]) FROM raw.t, raw.u
  | SELECT 1 AS x, t.a, t.b, t.c, u.d FROM raw.t, raw.u
SELECT @STAR(raw.order) FROM raw.order | SELECT `order`, `group` FROM raw.order
SELECT @STAR(plain) FROM plain | SELECT p, q FROM plain
WITH w AS (SELECT a AS x, b FROM raw.t) SELECT @STAR(w) FROM w
  | WITH w AS (SELECT a AS x, b FROM raw.t) SELECT x, b FROM w
WITH w AS (SELECT @STAR(raw.t, prefix := 'p_') FROM raw.t) SELECT @STAR(w) FROM w
  | WITH w AS (SELECT a AS p_a, b AS p_b, c AS p_c FROM raw.t) SELECT p_a, p_b, p_c FROM w
WITH w (x, y) AS (SELECT a, b FROM raw.t) SELECT @STAR(w) FROM w
  | WITH w (x, y) AS (SELECT a, b FROM raw.t) SELECT x, y FROM w
SELECT @STAR(q, except := [c]) FROM (SELECT * FROM raw.t) AS q
  | SELECT a, b FROM (SELECT * FROM raw.t) AS q
SELECT @STAR(q) FROM (SELECT t.* EXCEPT (b), 1 AS z FROM raw.t) AS q
  | SELECT a, c, z FROM (SELECT t.a, t.c, 1 AS z FROM raw.t) AS q
SELECT @STAR(q) FROM (SELECT * FROM raw.t JOIN raw.u USING (a, c)) AS q
  | SELECT a, b, c, d FROM (SELECT * FROM raw.t JOIN raw.u USING (a, c)) AS q
SELECT current_date AS d FROM (SELECT @STAR(raw.words) FROM raw.words) AS q
  | SELECT q.current_date AS d FROM (SELECT a, current_date FROM raw.words) AS q
SELECT @STAR(q) FROM (SELECT a FROM raw.t UNION SELECT d FROM raw.u) AS q
  | SELECT a FROM (SELECT a FROM raw.t UNION SELECT d FROM raw.u) AS q
SELECT a FROM raw.t WHERE EXISTS (SELECT @STAR(raw.u) FROM raw.u WHERE u.a = t.a)
  | SELECT a FROM raw.t WHERE EXISTS (SELECT c, a, d FROM raw.u WHERE u.a = t.a)
@UNION('all', raw.t, raw.u)
  | SELECT a, c FROM raw.t UNION ALL SELECT CAST(a AS int) AS a, CAST(c AS double) AS c FROM raw.u
@UNION('distinct', raw.u, raw.t)
  | SELECT c, a FROM raw.u UNION SELECT CAST(c AS int) AS c, CAST(a AS bigint) AS a FROM raw.t
@UNION(raw.t) | SELECT a, b, c FROM raw.t
WITH w AS (SELECT 1 AS b, a FROM raw.t) @UNION(raw.t, w)
  | WITH w AS (SELECT 1 AS b, a FROM raw.t) SELECT a, b FROM raw.t UNION ALL SELECT a, CAST(b AS
    string) AS b FROM w
SELECT a FROM (@UNION(raw.t, raw.u)) AS q WHERE c > 1
  | SELECT a FROM (SELECT a, c FROM raw.t UNION ALL SELECT CAST(a AS int) AS a, CAST(c AS double)
    AS c FROM raw.u) AS q WHERE c > 1
"""),
)
def test_the_columns_are_those_that_a_person_would_have_written(text: str, expected: str) -> None:
    found = canonical(parsed(text))
    wanted = sqlglot.parse_one(expected, read="spark")
    assert isinstance(wanted, exp.Query)
    for cast in wanted.find_all(exp.TryCast):  # how sqlglot reads every CAST of Spark
        cast.replace(exp.Cast(**cast.args))
    by_hand = canonical(wanted)
    assert canonical_form(found.expression) == canonical_form(by_hand.expression)
    assert [column.name for column in found.columns] == [each.name for each in by_hand.columns]
    assert [column.type for column in found.columns] == [each.type for each in by_hand.columns]


@pytest.mark.parametrize(
    "text,message",
    [
        ("SELECT @STAR(raw.u) FROM raw.t", "raw.u is not read by this SELECT, which reads: t"),
        ("SELECT @STAR(x) FROM raw.t", "x is not read by this SELECT"),
        ("SELECT @STAR(raw.t, y) FROM raw.t AS x", "y is not read by this SELECT, which reads: x"),
        ("SELECT @STAR(raw.t) FROM raw.t x JOIN raw.t y", "by its alias: x, y"),
        ("SELECT @STAR(raw.t, except := [z]) FROM raw.t", "leaves out 'z', which raw.t does not"),
        ("SELECT @STAR(raw.t, except := [a, b, c]) FROM raw.t", "every column of raw.t"),
        ("SELECT @STAR(raw.unknown) FROM raw.unknown", "the columns of raw.unknown are unknown"),
        ("SELECT @STAR(e) FROM raw.t, LATERAL EXPLODE(ARRAY(1)) AS e", "are unknown"),
        ("SELECT a FROM raw.t GROUP BY @STAR(raw.t)", "columns of a SELECT"),
        ("SELECT f(@STAR(raw.t)) AS x FROM raw.t", "columns of a SELECT"),
        ("@UNION(raw.t, plain)", "no column that all of raw.t, plain have"),
        ("@UNION(raw.t, raw.nobody)", "the columns of raw.nobody are unknown"),
    ],
)
def test_what_is_not_there_is_reported(text: str, message: str) -> None:
    with pytest.raises(QueryInvalid, match=re.escape(message)):
        canonical(parsed(text))


def test_a_query_without_stars_is_returned_as_it_is() -> None:
    query = parsed("SELECT a FROM raw.t")
    assert expand_star_macros(query, schemas=SCHEMAS) is query


def test_the_query_as_written_stays_as_it_was() -> None:
    query = parsed("SELECT @STAR(raw.t) FROM raw.t")
    before = repr(query)
    expand_star_macros(query, schemas=SCHEMAS)
    assert repr(query) == before


def test_a_union_has_the_rows_of_its_relations_by_name() -> None:
    expanded = expand_star_macros(parsed("@UNION(raw.t, raw.u)"), schemas=SCHEMAS)
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA raw")
        connection.execute("CREATE TABLE raw.t AS SELECT 1::int AS a, 'x' AS b, 2.5::double AS c")
        connection.execute(
            "CREATE TABLE raw.u AS SELECT 4::int AS c, 3::bigint AS a, DATE '2024-01-01' AS d"
        )
        rows = connection.execute(expanded.sql("duckdb")).fetchall()
    assert sorted(rows) == [(1, 2.5), (3, 4.0)]


def test_comments_next_to_a_star_are_not_lost_and_describe_no_column() -> None:
    query = parsed("SELECT @STAR(raw.t), -- everything\n a AS z -- the last\nFROM raw.t")
    comments = [each.strip() for node in query.walk() for each in node.comments or []]
    assert sorted(comments) == ["everything", "the last"]
    described = {each.name: each.description for each in canonical(query).columns}
    assert described == {"a": "", "b": "", "c": "", "z": "the last"}
