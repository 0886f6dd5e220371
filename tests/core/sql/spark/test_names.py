# ruff: noqa: E501 - texts stay on one line
"""What names with dots, stars and table functions mean in Spark."""

from __future__ import annotations

from functools import partial

import pytest
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery, QueryInvalid, canonicalize
from vde_dagster.core.sql.meaning.parts import Meaning
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import project_names


def table(**types: str) -> list[Column]:
    return [Column(name=name, type=kind) for name, kind in types.items()]


SCHEMAS = {
    ModelName("raw", "s"): table(a="int", i="int"),
    ModelName("raw", "t"): table(i="int", s="struct<a:int,t:struct<z:int>>", arr="array<int>", m="map<string,int>"),
    ModelName("raw", "u"): table(i="int", v="int"),
    ModelName("other", "u"): table(i="int", w="int"),
}  # fmt: skip


def canonical(text: str) -> CanonicalQuery:
    query = read_spark(text)
    assert isinstance(query, exp.Query)
    return canonicalize(project_names(query, "lake"), schemas=SCHEMAS)


def meaning(text: str) -> Meaning:
    return canonical(text).meaning


def names(text: str) -> list[str]:
    return [each.name for each in canonical(text).columns]


INSIDE = "SELECT raw.s.a AS z FROM raw.s WHERE EXISTS (SELECT 1 FROM raw.t WHERE {} = 77)"
TWO = "SELECT u.v FROM raw.u WHERE EXISTS (SELECT 1 FROM other.u WHERE other.u.i = {})"
OTHER_ROWS = [
    # raw.t has a column s with a field a, which is nearer than the table s around
    (INSIDE.format("raw.s.a"), INSIDE.format("s.a")),
    (TWO.format("raw.u.i"), TWO.format("other.u.i")),
    (TWO.format("raw.u.i"), TWO.format("u.i")),
    ("WITH DT AS (SELECT 8 AS i) SELECT i FROM dt", "WITH DT AS (SELECT 9 AS i) SELECT i FROM dt"),
]
SAME_ROWS = [
    (INSIDE.format("s.a"), INSIDE.format("t.s.a")),
    (INSIDE.format("s.a"), INSIDE.format("raw.t.s.a")),
    (INSIDE.format("raw.s.a"), INSIDE.format("lake.raw.s.a")),
    (TWO.format("other.u.i"), TWO.format("u.i")),
    (TWO.format("raw.u.i"), "SELECT x.v FROM raw.u AS x WHERE EXISTS (SELECT 1 FROM other.u AS y WHERE y.i = x.i)"),
    ("SELECT TRANSFORM(arr, E -> e + 1) AS x FROM raw.t", "SELECT TRANSFORM(arr, e -> e + 1) AS x FROM raw.t"),
    ("SELECT s.t.z FROM raw.t", "SELECT t.s.t.z FROM raw.t"),
    ("SELECT s.t.z FROM raw.t", "SELECT raw.t.s.t.z FROM raw.t"),
    ("SELECT s.* FROM raw.t", "SELECT s.a AS a, s.t AS t FROM raw.t"),
    ("SELECT i, raw.t.s.* EXCEPT (t) FROM raw.t", "SELECT i, s.a AS a FROM raw.t"),
    ("SELECT s.t.* FROM raw.t", "SELECT s.t.z AS z FROM raw.t"),
    ("WITH Abc AS (SELECT i FROM raw.t) SELECT ABC.i FROM aBC", "WITH abc AS (SELECT i FROM raw.t) SELECT abc.i FROM abc"),
]  # fmt: skip


@pytest.mark.parametrize("one,other", OTHER_ROWS)
def test_names_that_mean_other_columns_make_another_query(one: str, other: str) -> None:
    assert meaning(one).digest != meaning(other).digest


@pytest.mark.parametrize("one,other", SAME_ROWS)
def test_names_that_mean_the_same_columns_make_the_same_query(one: str, other: str) -> None:
    assert meaning(one).digest == meaning(other).digest


COLUMNS = [
    ("SELECT s.* FROM raw.t", ["a", "t"]),
    ("SELECT t.s.*, i FROM raw.t", ["a", "t", "i"]),
    ("WITH c AS (SELECT s.* FROM raw.t) SELECT t.*, c.a FROM c", ["z", "a"]),
    ("WITH u AS (SELECT 1 AS a) SELECT raw.u.*, u.a FROM u JOIN raw.u", ["i", "v", "a"]),
    ("SELECT raw.u.*, other.u.* EXCEPT (i) FROM raw.u JOIN other.u ON raw.u.i = other.u.i", ["i", "v", "w"]),
    ("SELECT * FROM VALUES (1, 'a') AS t", ["col1", "col2"]),
    ("SELECT * FROM VALUES 1, 2", ["col1"]),
    ("SELECT col2 FROM (VALUES (1, 'a'))", ["col2"]),
    ("WITH c AS (VALUES (1, 2)) SELECT * FROM c", ["col1", "col2"]),
    ("SELECT x.* FROM raw.t LATERAL VIEW explode(arr) x", ["col"]),
    ("SELECT x.* FROM raw.t LATERAL VIEW explode(m) x", ["key", "value"]),
    ("SELECT i, pos, col FROM raw.t LATERAL VIEW posexplode(arr) x", ["i", "pos", "col"]),
    ("SELECT x.* FROM raw.t LATERAL VIEW posexplode_outer(m) x", ["pos", "key", "value"]),
    ("SELECT * FROM explode(map(1, 2))", ["key", "value"]),
    ("SELECT i, z FROM raw.t, LATERAL inline(array(t.s.t))", ["i", "z"]),
    ("SELECT * FROM inline(array(struct(1 AS a, 2 AS b)))", ["a", "b"]),
    ("SELECT * FROM stack(2, 1, 2, 3)", ["col0", "col1"]),
    ("SELECT x.* FROM raw.t LATERAL VIEW json_tuple('{}', 'a', 'b') x", ["c0", "c1"]),
    # named in the query, so that it is there
    ("SELECT col FROM raw.t LATERAL VIEW explode(my_function(i)) x", ["col"]),
    ("SELECT * FROM raw.u PIVOT (SUM(u.v) FOR raw.u.i IN (1 AS a, 2 AS b))", ["a", "b"]),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", COLUMNS)
def test_columns_are_called_as_spark_calls_them(query: str, expected: list[str]) -> None:
    assert names(query) == expected


TYPES = [
    ("SELECT c, c + 1 AS d FROM raw.t LATERAL VIEW explode(arr) x AS c", ["int", "int"]),
    ("SELECT c FROM raw.t LATERAL VIEW OUTER explode_outer(array(i, i)) x AS c", ["int"]),
    ("SELECT k, v FROM raw.t LATERAL VIEW explode(m) x AS k, v", ["string", "int"]),
    ("SELECT p, k, v FROM raw.t LATERAL VIEW posexplode_outer(m) x AS p, k, v", ["int", "string", "int"]),
    ("SELECT x.p, x.e FROM raw.t, LATERAL posexplode(array(s)) AS x(p, e)", ["int", "struct<a: int, t: struct<z: int>>"]),
    ("SELECT posexplode(arr) AS (p, e) FROM raw.t", ["int", "int"]),
    ("SELECT explode(arr) AS e FROM raw.t", ["int"]),
    ("SELECT COALESCE(i, v) AS x, IF(v > 1, i, v) AS y FROM raw.u", ["int", "int"]),
    ("SELECT i AS x FROM raw.u FULL JOIN other.u AS w USING (i)", ["int"]),
    ("SELECT c FROM raw.t LATERAL VIEW explode(my_function(i)) x AS c", ["unknown"]),
    ("SELECT a FROM raw.t LATERAL VIEW stack(1, i, i) x AS a, b", ["unknown"]),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", TYPES)
def test_what_a_table_function_makes_has_the_types_of_the_entries(
    query: str, expected: list[str]
) -> None:
    assert [each.type for each in canonical(query).columns] == expected


REFUSED = [
    ("WITH u AS (SELECT 1 AS a)\nSELECT\n  u.*, raw.u.v FROM u JOIN raw.u", "`u.*` means all columns of u and of raw.u", 3),
    ("SELECT\n  to_json(struct(u.*)) AS j FROM raw.u JOIN other.u", "`u.*` means all columns of raw.u and of other.u", 2),
    ("SELECT\n  i.* FROM raw.t", "the fields that `t.i.*` stands for are not known", 2),
    ("SELECT x.* FROM raw.t LATERAL VIEW explode(my_function(i)) x", "the columns that `x.*` stands for are not known", 1),
    ("WITH c AS (\n  SELECT * FROM my_function(1)\n) SELECT * FROM c", "the columns that `*` stands for are not known", None),
]  # fmt: skip


@pytest.mark.parametrize("query,message,line", REFUSED)
def test_a_star_that_means_nothing_certain_is_refused(
    query: str, message: str, line: int | None
) -> None:
    with pytest.raises(QueryInvalid) as refused:
        canonical(query)
    (finding,) = refused.value.findings
    assert finding.message == message
    assert "AS" in finding.advice
    assert line is None or finding.line == line


def test_the_advice_for_an_ambiguous_star_works() -> None:
    query = "SELECT a.*, b.w FROM raw.u AS a JOIN other.u AS b ON a.i = b.i"
    assert names(query) == ["i", "v", "w"]


@pytest.mark.parametrize("schemas", [SCHEMAS, {**SCHEMAS, ModelName("raw", "open"): []}])
def test_a_stored_query_with_such_a_star_can_be_read(
    schemas: dict[ModelName, list[Column]],
) -> None:
    query = read_spark(REFUSED[0][0])
    assert isinstance(query, exp.Query)
    named, undeclared = project_names(query, "lake"), len(schemas) > len(SCHEMAS)
    read = partial(canonicalize, named, schemas=schemas, undeclared=undeclared)
    with pytest.raises(QueryInvalid):
        read()
    (refusal,) = read(is_stored=True).refusals
    assert refusal.message == REFUSED[0][1]
