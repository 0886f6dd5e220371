# ruff: noqa: E501 - rows of tables stay on one line
"""Names whose case is data (fields of structs, keys of maps), and those whose case is not.

Spark finds columns, tables and fields whatever their case, but a field is written into JSON, XML or
the struct's type as it stands in the query, also where a column lends its name
(`CreateStruct.apply` of Spark takes the last part of the column's name as it is written).
"""

from __future__ import annotations

from tests.core.planning.changes.pairs_same import Pair

OTHER: list[Pair] = [
    ("fields named by a text", "SELECT NAMED_STRUCT('userId', a) AS s FROM raw.t", "SELECT NAMED_STRUCT('userid', a) AS s FROM raw.t"),
    ("fields named by AS", "SELECT STRUCT(a AS userId) AS s FROM raw.t", "SELECT STRUCT(a AS userid) AS s FROM raw.t"),
    ("fields named by a column", "SELECT STRUCT(userId) AS s FROM (SELECT a AS userId FROM raw.t) AS q", "SELECT STRUCT(userid) AS s FROM (SELECT a AS userId FROM raw.t) AS q"),
    ("fields named by a column with its table", "SELECT STRUCT(t.A) AS s FROM raw.t", "SELECT STRUCT(t.a) AS s FROM raw.t"),
    ("fields named by a column in parentheses", "SELECT STRUCT((A)) AS s FROM raw.t", "SELECT STRUCT((a)) AS s FROM raw.t"),
    ("fields named by an alias of the same SELECT", "SELECT a AS k, STRUCT(K) AS s FROM raw.t", "SELECT a AS k, STRUCT(k) AS s FROM raw.t"),
    ("fields named by a field", "SELECT STRUCT(q.s.X) AS k FROM (SELECT STRUCT(a AS x) AS s FROM raw.t) AS q", "SELECT STRUCT(q.s.x) AS k FROM (SELECT STRUCT(a AS x) AS s FROM raw.t) AS q"),
    ("fields named by the variable of a lambda", "SELECT TRANSFORM(e, V -> STRUCT(V)) AS k FROM raw.t", "SELECT TRANSFORM(e, v -> STRUCT(v)) AS k FROM raw.t"),
    ("fields of a row in parentheses", "SELECT TO_JSON((A, b)) AS k FROM raw.t", "SELECT TO_JSON((a, b)) AS k FROM raw.t"),
    ("fields of arrays side by side", "SELECT ARRAYS_ZIP(E, e) AS k FROM raw.t", "SELECT ARRAYS_ZIP(e, e) AS k FROM raw.t"),
    ("fields of a type", "SELECT CAST(STRUCT(a) AS STRUCT<userId: INT>) AS s FROM raw.t", "SELECT CAST(STRUCT(a) AS STRUCT<userid: INT>) AS s FROM raw.t"),
    ("fields of a type inside of others", "SELECT CAST(NULL AS MAP<STRING, ARRAY<STRUCT<userId: INT> > >) AS s FROM raw.t", "SELECT CAST(NULL AS MAP<STRING, ARRAY<STRUCT<userid: INT> > >) AS s FROM raw.t"),
    ("fields of a schema", "SELECT FROM_JSON(b, 'userId INT') AS s FROM raw.t", "SELECT FROM_JSON(b, 'userid INT') AS s FROM raw.t"),
    ("keys of JSON", "SELECT TO_JSON(STRUCT(A)) AS k FROM raw.t", "SELECT TO_JSON(STRUCT(a)) AS k FROM raw.t"),
    ("keys of a map", "SELECT MAP('K', a) AS k FROM raw.t", "SELECT MAP('k', a) AS k FROM raw.t"),
    ("a key of a map behind a point", "SELECT q.m.K AS k FROM (SELECT MAP('K', a) AS m FROM raw.t) AS q", "SELECT q.m.k AS k FROM (SELECT MAP('K', a) AS m FROM raw.t) AS q"),
    ("all columns of a sub-query as fields", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT a AS userId FROM raw.t)", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT a AS userid FROM raw.t)"),
    ("all columns of a sub-query that does not rename them", "WITH q AS (SELECT A FROM raw.t) SELECT TO_JSON(STRUCT(*)) AS k FROM q", "WITH q AS (SELECT a FROM raw.t) SELECT TO_JSON(STRUCT(*)) AS k FROM q"),
    ("all columns of a sub-query that passes them on", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT * FROM (SELECT DISTINCT a AS userId FROM raw.t))", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT * FROM (SELECT DISTINCT a AS userid FROM raw.t))"),
    ("all columns of an alias", "SELECT TO_JSON(STRUCT(q.*)) AS k FROM (SELECT a AS userId FROM raw.t UNION ALL SELECT a FROM raw.u) AS q", "SELECT TO_JSON(STRUCT(q.*)) AS k FROM (SELECT a AS userid FROM raw.t UNION ALL SELECT a FROM raw.u) AS q"),
    ("two columns that exchange the case of their names", "SELECT TO_JSON(STRUCT(q.*)) AS k, TO_JSON(STRUCT(r.*)) AS l FROM (SELECT a AS K FROM raw.t) AS q CROSS JOIN (SELECT c AS k FROM raw.u) AS r", "SELECT TO_JSON(STRUCT(q.*)) AS k, TO_JSON(STRUCT(r.*)) AS l FROM (SELECT a AS k FROM raw.t) AS q CROSS JOIN (SELECT c AS K FROM raw.u) AS r"),
    ("all columns of listed values", "SELECT TO_JSON(STRUCT(*)) AS k FROM VALUES (1) AS q(userId)", "SELECT TO_JSON(STRUCT(*)) AS k FROM VALUES (1) AS q(userid)"),
    ("all columns that an alias lists", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT a FROM raw.t) AS q(userId)", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT a FROM raw.t) AS q(userid)"),
    ("all columns that a common table expression lists", "WITH q(userId) AS (SELECT a FROM raw.t) SELECT TO_JSON(STRUCT(*)) AS k FROM q", "WITH q(userid) AS (SELECT a FROM raw.t) SELECT TO_JSON(STRUCT(*)) AS k FROM q"),
    ("all columns with one that is unfolded", "SELECT TO_JSON(STRUCT(*)) AS k FROM raw.t LATERAL VIEW EXPLODE(e) l AS userId", "SELECT TO_JSON(STRUCT(*)) AS k FROM raw.t LATERAL VIEW EXPLODE(e) l AS userid"),
    ("columns of a pivot", "SELECT * FROM (SELECT a, b FROM raw.t) PIVOT (SUM(a) FOR b IN ('p' AS userId))", "SELECT * FROM (SELECT a, b FROM raw.t) PIVOT (SUM(a) FOR b IN ('p' AS userid))"),
    ("names that UNPIVOT makes values of", "SELECT * FROM (SELECT a, c FROM raw.t) UNPIVOT (v FOR n IN (a AS Jan, c))", "SELECT * FROM (SELECT a, c FROM raw.t) UNPIVOT (v FOR n IN (a AS jan, c))"),
    ("columns that UNPIVOT makes values of", "SELECT * FROM (SELECT a, c FROM raw.t) UNPIVOT (v FOR n IN (A, c))", "SELECT * FROM (SELECT a, c FROM raw.t) UNPIVOT (v FOR n IN (a, c))"),
]  # fmt: skip
"""Texts that differ in the case of a name that is data."""

SAME: list[Pair] = [
    ("the case of a table in a struct", "SELECT STRUCT(t.a) AS s FROM raw.t", "SELECT STRUCT(T.a) AS s FROM raw.t"),
    ("the case of a column that a field has another name for", "SELECT STRUCT(a AS userId) AS s FROM raw.t", "SELECT STRUCT(A AS userId) AS s FROM raw.t"),
    ("the case of a field that is read", "SELECT q.s.x AS k FROM (SELECT STRUCT(a AS x) AS s FROM raw.t) AS q", "SELECT q.s.X AS k FROM (SELECT STRUCT(a AS x) AS s FROM raw.t) AS q"),
    ("the case of columns that are compared together", "SELECT a FROM raw.t WHERE (a, b) IN (SELECT a, b FROM raw.u)", "SELECT a FROM raw.t WHERE (A, b) IN (SELECT a, B FROM raw.u)"),
    ("the case of columns in sets of groups", "SELECT a, b FROM raw.t GROUP BY GROUPING SETS ((a), (a, b))", "SELECT a, b FROM raw.t GROUP BY GROUPING SETS ((A), (a, B))"),
    ("the case of an alias inside that no field is called after", "SELECT q.userId AS k FROM (SELECT a AS userId FROM raw.t) AS q", "SELECT q.userid AS k FROM (SELECT a AS userid FROM raw.t) AS q"),
    ("the case of tables and conditions below all columns as fields", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT a AS userId FROM raw.t WHERE c > 1) AS q", "SELECT TO_JSON(STRUCT(*)) AS K FROM (SELECT A AS userId FROM raw.T WHERE C > 1) AS Q"),
    ("the case of a table whose columns are counted", "SELECT COUNT(t.*) AS n FROM raw.t", "SELECT COUNT(T.*) AS n FROM raw.t"),
    ("the case of a common table expression and its alias", "WITH q AS (SELECT DISTINCT a FROM raw.t) SELECT r.a FROM q AS r", "WITH Q AS (SELECT DISTINCT a FROM raw.t) SELECT R.a FROM Q AS R"),
]  # fmt: skip
"""Texts that differ in the case of names only that are none."""


def _after(statement: str) -> str:
    return f"MODEL (kind FULL);\n{statement};\nSELECT a FROM raw.t"


MERGED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key a, when_matched (WHEN MATCHED THEN UPDATE SET target.b = TO_JSON(STRUCT(source.a AS %s))))"
KEYED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key (TO_JSON(STRUCT(a AS %s))))"
OTHER_STATEMENTS: list[Pair] = [
    ("a value of a setting", _after("SET spark.x.y = Abc"), _after("SET spark.x.y = abc")),
    ("a doubled quote in a statement", _after("INSERT INTO ops.log SELECT 'it''s'"), _after("INSERT INTO ops.log SELECT 'it' 's'")),
    ("columns without names in a statement", _after("INSERT INTO ops.log SELECT TO_JSON(STRUCT(*)) FROM (SELECT LEN(b) FROM raw.t)"), _after("INSERT INTO ops.log SELECT TO_JSON(STRUCT(*)) FROM (SELECT LENGTH(b) FROM raw.t)")),
    ("a column without a name of a temporary view", _after("CREATE TEMPORARY VIEW v AS SELECT LEN(b) FROM raw.t"), _after("CREATE TEMPORARY VIEW v AS SELECT LENGTH(b) FROM raw.t")),
    ("fields in a statement", _after("INSERT INTO ops.log SELECT STRUCT(1 AS userId)"), _after("INSERT INTO ops.log SELECT STRUCT(1 AS userid)")),
    ("fields named by a column in a statement", _after("INSERT INTO ops.log SELECT STRUCT(A) FROM raw.t"), _after("INSERT INTO ops.log SELECT STRUCT(a) FROM raw.t")),
    ("all columns as fields in a statement", _after("INSERT INTO ops.log SELECT STRUCT(*) FROM (SELECT a AS userId FROM raw.t)"), _after("INSERT INTO ops.log SELECT STRUCT(*) FROM (SELECT a AS userid FROM raw.t)")),
    ("fields in a clause of a merge", f"MODEL (kind {MERGED % 'userId'});\nSELECT a, b FROM raw.t", f"MODEL (kind {MERGED % 'userid'});\nSELECT a, b FROM raw.t"),
    ("fields in a key", f"MODEL (kind {KEYED % 'userId'});\nSELECT a, b FROM raw.t", f"MODEL (kind {KEYED % 'userid'});\nSELECT a, b FROM raw.t"),
    ("columns of a temporary view", _after("CREATE TEMPORARY VIEW v AS SELECT a AS userId FROM raw.t"), _after("CREATE TEMPORARY VIEW v AS SELECT a AS userid FROM raw.t")),
]  # fmt: skip
SAME_STATEMENTS: list[Pair] = [
    ("the case of names in a statement", _after("INSERT INTO ops.log SELECT a AS k FROM raw.t"), _after("insert into OPS.log select A as K from RAW.t")),
]  # fmt: skip
