"""Queries over undeclared sources: columns are bound if possible, and the rest still loads."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tests.core.conftest import external, read
from tests.core.tables import rows
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery, QueryInvalid, canonicalize
from vde_dagster.core.sql.canonical_form import canonical_form

OPEN, OTHER, KNOWN = (ModelName("raw", each) for each in ("u", "v", "k"))
SCHEMAS = {
    OPEN: (),
    OTHER: (),
    KNOWN: (Column(name="id", type="int"), Column(name="p", type="string")),
}


def parsed(text: str) -> exp.Query:
    query = sqlglot.parse_one(text, dialect="spark")
    assert isinstance(query, exp.Query)
    return query


def canonical(text: str) -> CanonicalQuery:
    return canonicalize(parsed(text), schemas=SCHEMAS, undeclared=True)


def build(texts: dict[str, str]) -> Graph:
    return build_graph([external("raw.u", {}), *(read(name, text) for name, text in texts.items())])


BOUND = {
    what: (text, expected)
    for what, text, expected in rows("""
the only table | SELECT a, b + 1 AS c FROM raw.u WHERE d > 1
  | SELECT u.a AS a, u.b + 1 AS c FROM raw.u AS u WHERE u.d > 1
numbers of columns | SELECT a, SUM(b) AS s FROM raw.u GROUP BY 1 ORDER BY 2
  | SELECT u.a AS a, SUM(u.b) AS s FROM raw.u AS u GROUP BY u.a ORDER BY s
what the known table does not have | SELECT p, q FROM raw.u JOIN raw.k ON u.id = k.id
  | SELECT k.p AS p, u.q AS q FROM raw.u AS u JOIN raw.k AS k ON u.id = k.id
two open tables, all written with their aliases
  | SELECT x.a, y.b FROM raw.u AS x JOIN raw.v AS y ON x.id = y.id
  | SELECT x.a AS a, y.b AS b FROM raw.u AS x JOIN raw.v AS y ON x.id = y.id
a common table of all columns | WITH c AS (SELECT * FROM raw.u) SELECT a FROM c WHERE b = 1
  | WITH c AS (SELECT * FROM raw.u AS u) SELECT c.a AS a FROM c AS c WHERE c.b = 1
all columns and one more | WITH c AS (SELECT *, 1 AS one FROM raw.u) SELECT one, a FROM c
  | WITH c AS (SELECT *, 1 AS one FROM raw.u AS u) SELECT c.one AS one, c.a AS a FROM c AS c
a sub-query that can only mean the query around it
  | SELECT a FROM raw.u WHERE EXISTS (SELECT 1 AS o FROM raw.k WHERE id = b)
  | SELECT u.a AS a FROM raw.u AS u WHERE EXISTS (SELECT 1 AS o FROM raw.k AS k WHERE k.id = u.b)
a sub-query of a known table | SELECT a FROM raw.u WHERE b IN (SELECT id FROM raw.k)
  | SELECT u.a AS a FROM raw.u AS u WHERE u.b IN (SELECT k.id AS id FROM raw.k AS k)
a lateral view | SELECT a, e FROM raw.u LATERAL VIEW EXPLODE(b) t AS e
  | SELECT u.a AS a, t.e AS e FROM raw.u AS u LATERAL VIEW EXPLODE(u.b) t AS e
a field of a struct | SELECT s.f.g AS g, u.s.h AS h FROM raw.u
  | SELECT u.s.f.g AS g, u.s.h AS h FROM raw.u AS u
a window | SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS r FROM raw.u
  | SELECT ROW_NUMBER() OVER (PARTITION BY u.a ORDER BY u.b) AS r FROM raw.u AS u
an alias that groups
  | SELECT DATE(a) AS day, SUM(b) AS s FROM raw.u GROUP BY day HAVING s > 1 ORDER BY s
  | SELECT CAST(u.a AS DATE) AS day, SUM(u.b) AS s FROM raw.u AS u GROUP BY CAST(u.a AS DATE)
    HAVING (SUM(u.b)) > 1 ORDER BY s
two aliases that group
  | SELECT DATE(a) AS day, HOUR(a) AS h, COUNT(*) AS n FROM raw.u GROUP BY day, h
  | SELECT CAST(u.a AS DATE) AS day, HOUR(u.a) AS h, COUNT(*) AS n FROM raw.u AS u GROUP BY
    CAST(u.a AS DATE), HOUR(u.a)
an alias with the name of a column that is read
  | SELECT UPPER(a) AS a, COUNT(*) AS n FROM raw.u GROUP BY a
  | SELECT UPPER(u.a) AS a, COUNT(*) AS n FROM raw.u AS u GROUP BY u.a
a column of USING | SELECT id, q FROM raw.u JOIN raw.k USING (id)
  | SELECT u.id AS id, u.q AS q FROM raw.u AS u JOIN raw.k AS k ON u.id = k.id
""")
}


@pytest.mark.parametrize("text,expected", BOUND.values(), ids=BOUND)
def test_a_column_that_can_come_from_one_place_only_is_bound_to_it(
    text: str, expected: str
) -> None:
    found = canonical(text)
    assert found.is_bound
    assert parsed(found.expression.sql("spark")) == parsed(expected)
    assert [each.name for each in found.columns] == parsed(text).named_selects


@pytest.mark.parametrize("text", [text for text, _ in BOUND.values() if "SELECT *" not in text])
def test_what_is_bound_is_bound_as_if_the_source_were_declared(text: str) -> None:
    found = canonical(text)
    read = {column.name for column in found.expression.find_all(exp.Column)} - {"id", "p", "e", "s"}
    names = sorted(read | {"id"} | ({"s"} if "s.f" in text else set()))
    columns = [Column(name=name, type="string") for name in names]
    declared = {OPEN: columns, OTHER: columns, KNOWN: SCHEMAS[KNOWN]}
    reported = canonicalize(parsed(text), schemas=declared)
    assert reported.meaning.digest == found.meaning.digest
    assert [each.name for each in reported.columns] == [each.name for each in found.columns]


UNCLEAR = {
    "two open tables": "SELECT a FROM raw.u AS x JOIN raw.v AS y ON x.id = y.id",
    "an open table inside of an open one": "SELECT a FROM raw.u WHERE b IN (SELECT b FROM raw.v)",
    "inside or around": "SELECT p FROM raw.k WHERE id IN (SELECT id FROM raw.u)",
    "an alias before it in SELECT": "SELECT a AS x, x + 1 AS y FROM raw.u",
    "an alias in WHERE": "SELECT a AS x FROM raw.u WHERE x > 1",
    "an alias in QUALIFY": "SELECT a, RANK() OVER (ORDER BY b) AS r FROM raw.u QUALIFY r = 1",
    "an alias in an aggregate of HAVING": "SELECT MAX(b) AS a FROM raw.u HAVING SUM(a) > 1",
    "an alias of what is grouped": "SELECT UPPER(a) AS x, COUNT(*) AS n FROM raw.u GROUP BY a, x",
    "an alias of what a number groups": "SELECT DATE(a) AS x, MAX(b) AS m FROM raw.u GROUP BY 1, x",
    "NATURAL JOIN": "SELECT p FROM raw.u NATURAL JOIN raw.k",
    "PIVOT": "SELECT * FROM raw.u PIVOT (SUM(x) FOR y IN (1, 2))",
    "a number behind unknown columns": "SELECT *, 1 AS z FROM raw.u ORDER BY 2",
}


@pytest.mark.parametrize("text", UNCLEAR.values(), ids=UNCLEAR)
def test_a_query_in_which_a_column_may_come_from_several_places_is_not_bound(text: str) -> None:
    found = canonical(text)
    assert not found.is_bound
    assert canonical_form(found.expression) == canonical_form(canonical(text.lower()).expression)


@pytest.mark.parametrize("text", ["SELECT * FROM raw.u", "SELECT k.p, u.* FROM raw.u, raw.k"])
def test_all_columns_of_an_open_table_stay_a_star(text: str) -> None:
    found = canonical(text)
    assert (found.is_bound, found.columns) == (True, ())
    assert found.expression.find(exp.Star) is not None


@pytest.mark.parametrize(
    "text,reported",
    [
        ("SELECT k.zzz, u.a FROM raw.u JOIN raw.k ON u.id = k.id", "no column 'zzz' in raw.k"),
        ("SELECT a FROM raw.u WHERE b IN (SELECT k.y FROM raw.k)", "no column 'y' in raw.k"),
    ],
)
def test_a_column_that_a_known_table_lacks_stays_an_error(text: str, reported: str) -> None:
    with pytest.raises(QueryInvalid, match=reported):
        canonical(text)


def test_what_reads_a_model_of_unknown_columns_is_resolved_as_far_as_possible() -> None:
    graph = build(
        {
            "m.all": "SELECT * FROM raw.u",
            "m.some": "SELECT a, b AS c FROM m.all",
            "m.last": "SELECT a + 1 AS d FROM m.some",
        }
    )
    columns = {str(node.name): [each.name for each in node.columns] for node in graph}
    assert columns == {"raw.u": [], "m.all": [], "m.some": ["a", "c"], "m.last": ["d"]}


def test_columns_that_a_model_of_known_columns_lacks_stay_an_error() -> None:
    with pytest.raises(ProjectInvalid, match="no column 'b'"):
        build({"m.one": "SELECT a FROM raw.u", "m.two": "SELECT b FROM m.one"})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ts FROM raw.u WHERE ts BETWEEN @start_dt AND @end_dt",
        "SELECT * FROM raw.u WHERE ts BETWEEN @start_dt AND @end_dt",
    ],
)
@pytest.mark.parametrize("column", ["ts", "(ts, 'yyyyMMdd')"])
def test_a_time_column_of_an_unknown_type_is_taken_on_trust(query: str, column: str) -> None:
    kind = f"INCREMENTAL_BY_TIME_RANGE (time_column {column})"
    graph = build({"m.x": f"MODEL (name m.x, kind {kind});\n{query}"})
    assert ModelName("m", "x") in graph
