"""Formatted files declare the same models, and look the same however they looked before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from vde_dagster.core.columns import Column
from vde_dagster.core.model.fingerprint import data_parts, metadata_parts
from vde_dagster.core.model.model import Model, ModelSource, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery, canonicalize
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.formatting.models import format_model
from vde_dagster.project.model_files import read_model
from vde_dagster.project.settings import texts_of

PATH = Path("models/mart/m.sql")
VARIABLES: Mapping[str, object] = {"number": 3, "columns": ["a", "b"], "name": "t", "yes": True}
MACROS = {
    "macros/m.py": (
        "from vde_dagster.project.macros.files import macro\n"
        "@macro()\ndef twice(x):\n    return f'{x.sql()} * 2'\n"
    )
}
COLUMNS = [
    Column(name="a", type="int"),
    Column(name="b", type="string"),
    Column(name="ts", type="timestamp"),
    Column(name="e", type="array<int>"),
]
SCHEMAS = {ModelName("raw", each): COLUMNS for each in ("t", "u")}

HEADER = "MODEL (name mart.m, kind FULL);\n"
TIMED = "MODEL (name mart.m, kind INCREMENTAL_BY_TIME_RANGE (time_column ts));\n"


def model(text: str, dialect: str = "spark") -> Model:
    """The model of a file's text."""
    defaults = texts_of(Defaults(dialect=dialect), VARIABLES)
    return read_model(ModelSource(path=PATH, text=text, defaults=defaults, attachments=MACROS))


def parts(text: str, dialect: str = "spark") -> tuple[tuple[str, ...], ...]:
    """What a model's fingerprint is made of."""
    found = model(text, dialect)
    canonical: CanonicalQuery | None = None
    statements: list[str] = []
    if isinstance(found.body, Query):
        query = found.body
        canonical = canonicalize(query.expression, schemas=SCHEMAS)
        statements = [repr(each) for each in (*query.before, *query.after)]
    return data_parts(found, canonical), metadata_parts(found, canonical), tuple(statements)


def formatted(text: str, dialect: str = "spark") -> str:
    return format_model(text, path=PATH, dialect=dialect)


QUERIES = [
    "select current_date as d, current_date() as f, user as u from raw.t order by current_date",
    "with q as (select a as current_user from raw.t) select current_user as u from q",
    "select a, b from raw.t",
    "select   a ,b\n\n\nfrom raw.t where a>1 and b='x' or not a is null",
    "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a HAVING COUNT(*) > 1 ORDER BY n DESC LIMIT 3",
    "WITH x AS (SELECT a FROM raw.t), y AS (SELECT 1 AS a) SELECT x.a FROM x JOIN y ON x.a=y.a",
    "SELECT t.a, u.b FROM raw.t AS t LEFT JOIN raw.u u USING (a), LATERAL EXPLODE(t.e) AS z",
    "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u EXCEPT SELECT 1 AS a",
    "SELECT (SELECT MAX(a) FROM raw.u) AS m, a IN (SELECT a FROM raw.u) AS i FROM raw.t",
    "SELECT CASE WHEN a > 1 THEN 'x' WHEN a IS NULL THEN 'y' ELSE b END AS c FROM raw.t",
    "SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY a DESC) AS r FROM raw.t QUALIFY r = 1",
    "SELECT transform(e, x -> x + 1) AS e, cast(a AS decimal(10,2)) AS d, b::int AS i FROM raw.t",
    "SELECT a + INTERVAL 1 DAY AS x, DATE '2024-01-01' AS d, b LIKE 'x\\'%' AS l FROM raw.t",
    "SELECT nvl(a, 0) AS x, substr(b, 1, 2) AS y, date_trunc('month', ts) AS z FROM raw.t",
    "SELECT a FROM raw.t TABLESAMPLE (10 PERCENT)",
    "SELECT date'2024-01-01' AS d, TIMESTAMP '2024-01-01 10:00:00' AS x, a FROM raw.t",
    "SELECT * FROM raw.t PIVOT (SUM(a) FOR b IN ('x', 'y'))",
    "SELECT /*+ BROADCAST(u) */ t.a FROM raw.t t JOIN raw.u u ON t.a = u.a",
    "SELECT a AS `a b`, b AS `order` FROM raw.t",
    "-- about the query\nSELECT a, -- the a\n  b -- the b\nFROM raw.t -- where it is from",
    "/* one */ /* two */ SELECT /* three */ a /* four */, /* five */ b FROM /* six */ raw.t",
    "SELECT a -- first\n , b -- second\n , ts FROM raw.t -- done\n",
    "SELECT a\n-- own line\nFROM raw.t\nWHERE\n -- before\n a > 1 -- behind\n  AND b = 'x' -- last",
    "WITH x AS ( -- the x\n  SELECT a -- inner\n  FROM raw.t\n)\n-- outer\nSELECT a FROM x",
    "SELECT a, -- it's -- twice\n b FROM raw.t -- with */ in it",
    "SELECT CASE -- a case\n WHEN a > 1 -- big\n THEN 1 ELSE 2 END AS c FROM raw.t",
    "SELECT f(a, -- one\n b -- two\n) AS g FROM raw.t",
    "SELECT a FROM raw.t; -- behind the end\n-- below the end",
    "SELECT a FROM raw.t -- before the end\n;",
    "SET x = 1; SELECT a FROM raw.t; DROP TABLE IF EXISTS q; -- gone\nDELETE FROM q WHERE a = 1",
    "SET x = 1;\n-- the query\nSELECT a FROM raw.t;\n-- afterwards\nOPTIMIZE q -- quickly",
    "@DEF(k, x -> x + 1);\nSELECT @k(a) AS x, @{name}.b, @VAR('number') AS n FROM raw.@{name}",
    "SELECT @EACH(@columns, c ->\n   max(@{c}) -- each\n as m_@{c}), a AS z FROM raw.t GROUP BY a",
    "SELECT a, @IF(@yes, b, /* no */ ts) AS c -- chosen\n FROM raw.t WHERE @IF(@number = 3, a > 1)",
    "SELECT @STAR(raw.t, except := [e],\n prefix := 'p_') -- all\n FROM raw.t",
    "@UNION('all', raw.t, raw.u) -- both\n",
    "WITH x AS (@UNION(raw.t, raw.u)) SELECT a FROM x JOIN @UNION(raw.t, raw.u) AS y USING (a)",
    "SELECT @twice(a) AS x, @twice(x := b) || 'z' AS y FROM raw.t WHERE a IN @VAR('ids', 1)",
    "@IF(@yes, SET x = 1); SELECT DATE_TRUNC(@VAR('unit', 'month'), ts) AS m FROM raw.t",
    "SELECT '@IF(' AS a, '-- no comment' AS b, \"/* nor this */\" AS c FROM raw.t",
    "SELECT " + "".join(f"a + {n} AS a{n}, -- number {n}\n" for n in range(30)) + "b FROM raw.t",
]
SIGNS = ("--", "/*", "@", "QUALIFY")
PLAIN = [each for each in QUERIES if not any(sign in each for sign in SIGNS)]
TEXTS = [
    *(HEADER + each for each in QUERIES),
    TIMED + "SELECT a, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt -- filter",
    TIMED + "SELECT ts, @start_ds AS d FROM raw.t WHERE ts < @END_TS AND ts >= @start_ts",
    "SELECT a FROM raw.t -- no header",
    "-- head\n/* more */ MODEL (name mart.m) -- behind\n; -- and here\nSELECT a FROM raw.t",
    "model(NAME mart.m,KIND view,OWNER 'me',-- who\nTAGS (x,y),grain a);select a from raw.t",
    "MODEL (\n name mart.m, -- its name\n -- how\n kind FULL\n -- the end\n);\nSELECT a FROM raw.t",
    (
        "MODEL (name mart.m, kind FULL, columns (a int, b decimal(10,2), m map<string, int>, -- m\n"
        "s struct<x: int, y: array<string>>), description 'two\n lines, -- no'); SELECT a,"
        " 1.5 AS b, map('x', 1) AS m, named_struct('x', 1, 'y', array('z')) AS s FROM raw.t"
    ),
    (
        "MODEL (name mart.m, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key (a, b), when_matched (\n"
        " WHEN MATCHED AND source.a > 1\n   THEN UPDATE SET target.b = source.b,\n target.a ="
        " source.a)), start '2024-01-01', tags [x, y]); SELECT a, b FROM raw.t"
    ),
    (
        "MODEL (name mart.m, kind FULL, audits (not_null (columns := (a, b)), unique_values"
        " (columns := (a))), physical_properties (x = 'y', 'write.format' = 'orc'),"
        " grains ((a, b), a), depends_on (raw.u, raw.t), signals (s (p := 1), q (p := 'x')),"
        " partitioned_by (days(ts), bucket(8, a))); SELECT a, b, ts FROM raw.t"
    ),
    "MODEL (name mart.m, kind /* a */ FULL -- b\n); SELECT a FROM -- c\n@UNION(raw.t, raw.u)",
    HEADER + "SELECT f(INTERVAL a DAY, (b)) AS x, (a IN (1)) AS y FROM -- z\n@UNION(raw.t, raw.u);",
    "MODEL (name mart.m, dialect duckdb, kind FULL); SELECT a, list_value(1, 2) AS l FROM raw.t",
    "MODEL (name mart.m, kind FULL, owner id #, stamp two   words); SELECT a FROM raw.t",
]


@pytest.mark.full
@pytest.mark.parametrize("text", TEXTS)
def test_a_formatted_model_has_the_same_fingerprint_parts_and_layout(text: str) -> None:
    once = formatted(text)
    assert parts(once) == parts(text)
    assert formatted(once) == once


@pytest.mark.parametrize("text", TEXTS)
def test_no_comment_is_lost_and_only_white_space_between_words_changes(text: str) -> None:
    def comments_and_words(written: str) -> tuple[list[str], list[str]]:
        tokens = Dialect.get_or_raise("spark").tokenize(written)
        block = any(token.text.upper() == "MODEL" for token in tokens[:1])
        ends = [at for at, token in enumerate(tokens) if token.text == ";"]
        comments = sorted(each.strip() for token in tokens for each in token.comments)
        return comments, [token.text for token in tokens[ends[0] if block else 0 :]]

    assert comments_and_words(formatted(text)) == comments_and_words(text)


DIALECTS = ("spark", "duckdb", "postgres", "bigquery", "snowflake", "trino", "mysql", "tsql")
COMMON = [
    "SELECT a, -- one\n b FROM raw.t WHERE a > 1 AND ts BETWEEN @start_ts AND @end_ts",
    "WITH x AS (SELECT a FROM raw.t) SELECT x.a, @VAR('number') AS n FROM x GROUP BY x.a",
    "SELECT COALESCE(a, 0) AS c, CAST(b AS INT) AS d, @{name}.ts FROM raw.t /* t */ ORDER BY a",
]


@pytest.mark.full
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("query", COMMON)
def test_models_of_every_dialect_keep_their_parts(dialect: str, query: str) -> None:
    text = HEADER + query
    once = formatted(text, dialect)
    assert once != text
    found, again = model(text, dialect).body, model(once, dialect).body
    assert isinstance(found, Query)
    assert isinstance(again, Query)
    assert again.expression == found.expression
    assert [node.comments for node in again.expression.walk() if node.comments] == [
        node.comments for node in found.expression.walk() if node.comments
    ]
    assert formatted(once, dialect) == once


@pytest.mark.full
@given(st.sampled_from(PLAIN), st.randoms(use_true_random=False))
def test_the_layout_before_does_not_count(query: str, source: random.Random) -> None:
    tokens = Dialect.get_or_raise("spark").tokenize(query)
    spaced = "".join(
        query[token.start : token.end + 1] + source.choice((" ", "\n", "  \n\t "))
        for token in tokens
    )
    assert formatted(HEADER + spaced) == formatted(HEADER + query)


def test_a_file_looks_like_this() -> None:
    text = (
        "-- A file\n"
        "MODEL (name mart.m , kind INCREMENTAL_BY_TIME_RANGE  (time_column ts , -- utc\n"
        "  lookback 2), OWNER 'me',\n"
        "  -- labels\n"
        "  tags(x,y), columns(a int, ts timestamp)) ;\n"
        "@def(k,  1);\n"
        "-- the query\n"
        "select a,-- the a\n"
        "@if(@yes,\n"
        "      b) as b, ts from raw.t where ts between @start_dt and @end_dt -- bounds\n"
        "and a <> @k;"
    )
    assert formatted(text) == (
        "-- A file\n"
        "MODEL (\n"
        "    name mart.m,\n"
        "    kind INCREMENTAL_BY_TIME_RANGE (\n"
        "        time_column ts,  -- utc\n"
        "        lookback 2\n"
        "    ),\n"
        "    OWNER 'me',\n"
        "    -- labels\n"
        "    tags(x, y),\n"
        "    columns(a int, ts timestamp)\n"
        ");\n"
        "\n"
        "@def(k,  1);\n"
        "\n"
        "-- the query\n"
        "select\n"
        "    a,  -- the a\n"
        "    @if(@yes,\n"
        "      b) as b,\n"
        "    ts\n"
        "from raw.t\n"
        "where\n"
        "    ts between @start_dt and @end_dt  -- bounds\n"
        "    and a <> @k;\n"
    )


_WORDS = """
SELECT FROM raw.t WHERE a > 1 AND b , ( ) ; -- /* */ ' " ` @IF(TRUE,a) @start_ds @{name} [ ] CASE
@UNION(raw.t) MODEL ( ); kind FULL name mart.m tags (x,y) columns (a int) audits := = < array > WHEN
"""
WORDS = [*_WORDS.split(), "\n"]


@given(st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join))
def test_any_text_has_a_layout_that_stays(text: str) -> None:
    once = formatted(text)
    assert formatted(once) == once
    assert formatted(f"{HEADER}{once}") == formatted(formatted(f"{HEADER}{once}"))


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "SELECT 'a FROM raw.t",
        HEADER + "SELECT @IF(a FROM raw.t",
        "MODEL (name mart.m; SELECT a FROM raw.t",
        "MODEL (name mart.m, dialect klingon); SELECT   1 AS a",
        "",
    ],
)
def test_a_text_that_cannot_be_read_stays_as_it_is(text: str) -> None:
    assert formatted(text) == text


def test_a_python_model_stays_as_it_is() -> None:
    text = "select   a"
    assert format_model(text, path=Path("models/m.py"), dialect="spark") == text


@pytest.mark.parametrize(
    "query",
    [
        "OPTIMIZE   q ZORDER BY (a)",
        "SET x =   a   b",
        "FROM raw.t  |> SELECT a",
        "SELECT a -- first\n , b -- second\n FROM raw.t",
    ],
)
def test_a_statement_of_which_more_would_change_stays_as_it_is(
    query: str,
) -> None:
    assert query in formatted(HEADER + query)


def test_values_of_several_words_in_a_block_stay_together() -> None:
    text = "MODEL (name mart.m,start 2024-01-31 ,owner  me-2,tags(x-y,z), kind FULL)"
    laid_out = "MODEL (name mart.m, start 2024-01-31, owner me-2, tags(x-y, z), kind FULL)"
    assert formatted(f"{text};SELECT 1 AS a") == f"{laid_out};\n\nSELECT 1 AS a\n"


def test_a_seed_has_no_statements() -> None:
    text = "MODEL (name mart.m, kind SEED (path 'a.csv')); -- nothing else"
    assert formatted(text) == (
        "MODEL (name mart.m, kind SEED (path 'a.csv'));\n\n-- nothing else\n"
    )


def test_names_keep_their_case_and_signs_their_place() -> None:
    query = "SELECT current_date AS Day, - + a AS `A b`, + b AS n, Count(*) AS N FROM raw.T"
    assert query.removesuffix(" FROM raw.T") in formatted(HEADER + query)
