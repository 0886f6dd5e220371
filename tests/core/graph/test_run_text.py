# ruff: noqa: E501 - texts stay on one line
"""Rule R13: a model in Spark's dialect runs its author's text, with replacements at their places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.core.graph.rendered import EMBEDDED, STORED, S, by_time, full, render, run
from tests.core.graph.rendered import E as LAST
from vde_dagster.core.names import ModelName, TableName, physical_table
from vde_dagster.core.sql.places import with_relations

V = "`p`.`s_1`"
"""The table of m.s, which has the columns i and k."""
KNOWN = f"(SELECT `i`, `k` FROM {V})"


def at_version(name: ModelName) -> TableName | None:
    return TableName("p", "s_1") if name == ModelName("m", "s") else None


def text(query: str, *others: str) -> str:
    """What runs of a FULL model in Spark's dialect."""
    return render(STORED, *others, full(query), target=at_version).text


AS_WRITTEN = [
    # odd spacing, comments, hints and the case of keywords
    ("select  i\n ,\tk\nfrom raw.t as t", None),
    ("SELECT i /* the key */, k -- its name\nFROM raw.t AS t", None),
    ("SELECT /*+ REPARTITION(3) */ i FROM raw.t AS t", None),
    ("SELECT /*+ BROADCAST(s) */ s.i FROM m.s", f"SELECT /*+ BROADCAST(s) */ s.i FROM {V} AS `s`"),
    ("SELECT /*+ REPARTITION(3, m.s.i), BROADCAST(m.s) */ s.i FROM m.s AS s", f"SELECT /*+ REPARTITION(3, m.s.i), BROADCAST(m.s) */ s.i FROM {V} AS s"),
    # texts, also such as a shell or a macro would fill in
    ("SELECT '${x}' AS a, 'm.s' AS b, '@start_ds' AS c, \"it's\" AS d", None),
    ("SELECT i FROM raw.t AS t WHERE k = r'\\d' -- m.s @end_ds\nOR i = 1", None),
    # what sqlglot's printer would change or leave out
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i DESC) AS x FROM raw.t AS t", None),
    ("SELECT listagg(k) AS x FROM raw.t AS t", None),
    ("SELECT named_struct('userId', i).userId AS x FROM raw.t AS t", None),
    ("SELECT to_char(i, '999') AS x FROM raw.t AS t", None),
    ("SELECT i FROM raw.t AS t WHERE k <=> 'a' AND NOT k RLIKE 'b' AND i >>> 1 = 1", None),
    # names of tables
    ("SELECT i FROM m.s", f"SELECT i FROM {V} AS `s`"),
    ("SELECT i FROM m.s s", f"SELECT i FROM {V} s"),
    ("SELECT s.i FROM m . s -- all\nWHERE TRUE", f"SELECT s.i FROM {V} AS `s` -- all\nWHERE TRUE"),
    ("SELECT a.i FROM m.s a JOIN m.s ON a.i = s.i", f"SELECT a.i FROM {V} a JOIN {V} AS `s` ON a.i = s.i"),
    ("SELECT s.i FROM (m.s)", f"SELECT s.i FROM ({V} AS `s`)"),
    ("SELECT m.s.i, lake.m.s.k FROM m.s", f"SELECT s.i, s.k FROM {V} AS `s`"),
    ("SELECT `m`.`s`.`i` FROM `m`.`s`", f"SELECT `s`.`i` FROM {V} AS `s`"),
    ("SELECT i FROM m.s ORDER BY m.s.k", f"SELECT i FROM {V} AS `s` ORDER BY s.k"),
    # parameters of lambdas are no tables, whatever their case
    ("SELECT TRANSFORM(k, M -> m.s.i) AS x, s.i FROM m.s", f"SELECT TRANSFORM(k, M -> m.s.i) AS x, s.i FROM {V} AS `s`"),
    ("SELECT TRANSFORM(k, S -> s.i) AS x, m.s.i FROM m.s", f"SELECT TRANSFORM(k, S -> s.i) AS x, s.i FROM {V} AS `s`"),
    # a word that is a function as long as there is no such column
    ("SELECT current_date AS d, s.i FROM m.s", f"SELECT current_date AS d, s.i FROM {KNOWN} AS `s`"),
    ("SELECT user AS d, s.i FROM m.s", f"SELECT user AS d, s.i FROM {KNOWN} AS `s`"),
    ("SELECT current_date() AS d, s.i FROM m.s", f"SELECT current_date() AS d, s.i FROM {V} AS `s`"),
    # a sample is taken of the table, and its name stands behind it
    ("SELECT i FROM m.s TABLESAMPLE (10 PERCENT) REPEATABLE (3) WHERE i > 1", f"SELECT i FROM {V} TABLESAMPLE (10 PERCENT) REPEATABLE (3) AS `s` WHERE i > 1"),
    ("SELECT t.i FROM m.s TABLESAMPLE (5 ROWS) AS t", f"SELECT t.i FROM {V} TABLESAMPLE (5 ROWS) AS t"),
    # a common table expression hides a table; a table with a schema is none of them
    ("WITH s AS (SELECT i FROM m.s WHERE i > 2) SELECT s.i FROM s", f"WITH s AS (SELECT i FROM {V} AS `s` WHERE i > 2) SELECT s.i FROM s"),
    ("WITH s AS (SELECT 1 AS i) SELECT o.i FROM s JOIN m.s AS o ON o.i = s.i", f"WITH s AS (SELECT 1 AS i) SELECT o.i FROM s JOIN {V} AS o ON o.i = s.i"),
    # columns with the names of their tables say which they are
    ("SELECT s.i, x.e FROM m.s LATERAL VIEW explode(array(1, 2)) x AS e", f"SELECT s.i, x.e FROM {V} AS `s` LATERAL VIEW explode(array(1, 2)) x AS e"),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", AS_WRITTEN)
def test_everything_but_the_names_of_tables_stays_to_the_letter(
    query: str, expected: str | None
) -> None:
    assert text(query) == (expected or query)


HOMONYMS = [
    # tables of one name are distinguished by their schemas, where the author does so
    ("SELECT raw.t.i, m.t.k FROM raw.t JOIN m.t ON raw.t.i = m.t.i", "SELECT `raw.t`.i, `m.t`.k FROM raw.t AS `raw.t` JOIN `p`.`t` AS `m.t` ON `raw.t`.i = `m.t`.i"),
    # the innermost table of a name is meant by the name alone
    (
        "SELECT t.i, (SELECT COUNT(*) FROM m.t WHERE t.i = raw.t.i AND t.k = 'a') AS n FROM raw.t",
        "SELECT `raw.t`.i, (SELECT COUNT(*) FROM `p`.`t` AS `t` WHERE t.i = `raw.t`.i AND t.k = 'a') AS n FROM raw.t AS `raw.t`",
    ),
    (
        "SELECT T.i FROM raw.t WHERE EXISTS (SELECT 1 FROM m.t WHERE m.t.i = 2 AND raw.t.i = 3)",
        "SELECT `raw.t`.i FROM raw.t AS `raw.t` WHERE EXISTS (SELECT 1 FROM `p`.`t` AS `m.t` WHERE `m.t`.i = 2 AND `raw.t`.i = 3)",
    ),
    ("SELECT u.i FROM raw.u WHERE EXISTS (SELECT 1 FROM m.t AS u WHERE u.i = raw.u.i)", "SELECT `raw.u`.i FROM raw.u AS `raw.u` WHERE EXISTS (SELECT 1 FROM `p`.`t` AS u WHERE u.i = `raw.u`.i)"),
    # without a name in full the scopes distinguish them
    ("SELECT t.i FROM raw.t WHERE EXISTS (SELECT 1 FROM m.t WHERE t.i = 2)", "SELECT t.i FROM raw.t AS `t` WHERE EXISTS (SELECT 1 FROM `p`.`t` AS `t` WHERE t.i = 2)"),
    ("SELECT m.t.i FROM m.t WHERE m.t.i IN (SELECT m.t.i FROM m.t)", "SELECT t.i FROM `p`.`t` AS `t` WHERE t.i IN (SELECT t.i FROM `p`.`t` AS `t`)"),
]  # fmt: skip


IN_FULL_INSIDE = [
    # the name alone might be that of a column of the table inside, whose fields follow
    ("SELECT raw.t.i FROM raw.t WHERE EXISTS (SELECT 1 FROM m.s WHERE raw.t.i = 7)", f"SELECT `raw.t`.i FROM raw.t AS `raw.t` WHERE EXISTS (SELECT 1 FROM {V} AS `s` WHERE `raw.t`.i = 7)"),
    ("SELECT t.i, q.x FROM raw.t, LATERAL (SELECT raw.t.i + s.i AS x FROM m.s) AS q", f"SELECT `raw.t`.i, q.x FROM raw.t AS `raw.t`, LATERAL (SELECT `raw.t`.i + s.i AS x FROM {V} AS `s`) AS q"),
    # where each is next to its own table it is clear
    ("SELECT raw.t.i FROM raw.t WHERE raw.t.i IN (SELECT m.s.i FROM m.s)", f"SELECT t.i FROM raw.t AS `t` WHERE t.i IN (SELECT s.i FROM {V} AS `s`)"),
    ("SELECT raw.t.i FROM raw.t JOIN (SELECT m.s.i FROM m.s) AS q ON raw.t.i = q.i", f"SELECT t.i FROM raw.t AS `t` JOIN (SELECT s.i FROM {V} AS `s`) AS q ON t.i = q.i"),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", IN_FULL_INSIDE)
def test_a_name_in_full_keeps_its_schema_in_a_query_inside(query: str, expected: str) -> None:
    assert text(query) == expected


def test_a_field_of_a_column_inside_is_no_column_of_the_table_around() -> None:
    inner = "MODEL (name m.n, kind FULL);\nSELECT named_struct('i', 1) AS t FROM raw.u"
    query = (
        "SELECT raw.t.i FROM raw.t WHERE EXISTS (SELECT 1 FROM m.n WHERE raw.t.i = 7 AND t.i = 1)"
    )
    assert render(inner, full(query)).text == (
        "SELECT `raw.t`.i FROM raw.t AS `raw.t` "
        "WHERE EXISTS (SELECT 1 FROM m.n AS `n` WHERE `raw.t`.i = 7 AND t.i = 1)"
    )


@pytest.mark.parametrize("query,expected", HOMONYMS)
def test_tables_of_one_name_stay_apart(query: str, expected: str) -> None:
    other = "MODEL (name m.t, kind FULL);\nSELECT i, k FROM raw.t"
    found = render(
        other, full(query), target=lambda name: TableName("p", "t") if name.schema == "m" else None
    )
    assert found.text == expected


# -- the names of columns

NAMED = [
    ("SELECT i, k AS kk FROM raw.t AS t", None),
    ("SELECT i FROM raw.t AS t UNION ALL SELECT i + 1 FROM raw.t AS t", None),
    ("SELECT I FROM raw.t AS t", ["i"]),
    ("SELECT k AS Name, i FROM raw.t AS t", ["name", "i"]),
    ("SELECT i AS `a b` FROM raw.t AS t", None),
    ("SELECT i AS `A``b` FROM raw.t AS t", ["a`b"]),
]


@pytest.mark.parametrize("query,names", NAMED)
def test_columns_get_the_names_of_the_table_around_the_query(
    query: str, names: list[str] | None
) -> None:
    if names is None:
        assert text(query) == query
        return
    quoted = ", ".join("`" + each.replace("`", "``") + "`" for each in names)
    assert text(query) == f"SELECT * FROM (\n{query}\n) AS _rows({quoted})"


def test_a_comment_at_the_end_takes_nothing_with_it() -> None:
    query = "SELECT MAX(I) AS Top FROM raw.t AS t"
    around = f"SELECT * FROM (\n{query}\n) AS _rows(`top`)"
    assert text(f"-- more\n{query} -- the highest") == around
    assert run(around) == [(8,)]
    embedded = render(EMBEDDED + " -- all", full("SELECT MAX(i) AS n FROM m.e -- n")).text
    assert run(embedded) == [(8,)]


def test_rows_of_an_interval_are_chosen_around_the_query() -> None:
    query = "SELECT TS as ts, i FROM raw.t AS t WHERE ts BETWEEN @START_dt AND -- a day\n@end_dt"
    inner = query.replace("@START_dt", S).replace("@end_dt", LAST)
    found = render(by_time(query))
    assert found.text.startswith(
        f"SELECT _rows.`ts` AS `ts`, _rows.`i` AS `i` FROM (\n{inner}\n) AS _rows WHERE "
    )
    assert [row[-1] for row in run(found.query)] == [2, 3, 4]


def test_a_macro_in_a_text_or_comment_is_none() -> None:
    query = "SELECT '@start_ds' AS a, @start_ds AS b /* @end_ds */ FROM raw.t AS t"
    assert text(query) == query.replace(" @start_ds AS b", " '2024-01-01' AS b")


# -- the columns that a table has

SHOULD_BE_KNOWN = [
    ("SELECT * FROM m.s", f"SELECT * FROM {KNOWN} AS `s`"),
    ("SELECT COUNT(s.*) AS n FROM m.s", f"SELECT COUNT(s.*) AS n FROM {KNOWN} AS `s`"),
    ("SELECT COUNT(m.s.*) AS n FROM m.s", f"SELECT COUNT(s.*) AS n FROM {KNOWN} AS `s`"),
    ("SELECT a.x FROM m.s AS a(x, y)", f"SELECT a.x FROM {KNOWN} AS a(x, y)"),
    ("SELECT * FROM m.s AS a", f"SELECT * FROM {KNOWN} AS a"),
    ("SELECT * FROM m.s TABLESAMPLE (5 ROWS)", f"SELECT * FROM (SELECT `i`, `k` FROM {V} TABLESAMPLE (5 ROWS)) AS `s`"),
    ("SELECT * FROM m.s TABLESAMPLE (5 ROWS) a", f"SELECT * FROM (SELECT `i`, `k` FROM {V} TABLESAMPLE (5 ROWS)) a"),
    ("SELECT i FROM (SELECT * FROM m.s) AS q", f"SELECT i FROM (SELECT * FROM {KNOWN} AS `s`) AS q"),
    ("WITH c AS (SELECT * FROM m.s) SELECT i FROM c", f"WITH c AS (SELECT * FROM {KNOWN} AS `s`) SELECT i FROM c"),
    ("SELECT i, e FROM m.s LATERAL VIEW explode(array(1, 2)) x AS e", f"SELECT i, e FROM {KNOWN} AS `s` LATERAL VIEW explode(array(1, 2)) x AS e"),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", SHOULD_BE_KNOWN)
def test_a_table_is_read_with_the_columns_that_are_known_of_it(query: str, expected: str) -> None:
    assert text(query) == expected


COULD_BE_FIELDS = [
    "SELECT o.i FROM raw.t AS o WHERE EXISTS (SELECT 1 FROM m.s AS s WHERE s.i = o.i)",
    "SELECT o.i, (SELECT MAX(s.k) FROM m.s AS s WHERE s.i = o.i) AS x FROM raw.t AS o",
    "SELECT o.i FROM raw.t AS o, LATERAL (SELECT s.i FROM m.s AS s WHERE s.i = o.i) AS q",
]


@pytest.mark.parametrize("query", COULD_BE_FIELDS)
def test_a_later_column_does_not_take_the_name_of_a_table_around(query: str) -> None:
    """If m.s gained a column ``o`` with a field ``i``, Spark would take that for ``o.i``."""
    assert f"{KNOWN} AS s" in text(query)


NOT_NEEDED = [
    "SELECT i FROM raw.t AS t WHERE EXISTS (SELECT 1 FROM m.s AS s WHERE s.i = 1)",
    "SELECT COUNT(*) AS n FROM m.s AS s",
    "SELECT i FROM m.s AS s WHERE k = 'a'",
    "SELECT s.i, t.i AS j FROM m.s AS s JOIN raw.t AS t ON s.i = t.i",
]


@pytest.mark.parametrize("query", NOT_NEEDED)
def test_a_table_is_read_as_it_is_where_more_columns_change_nothing(query: str) -> None:
    assert text(query) == query.replace("m.s", V)


GAINED = [
    "SELECT * FROM m.s",
    "SELECT DISTINCT s.* FROM m.s WHERE i > 1",
    "SELECT i, COUNT(*) AS n FROM (SELECT DISTINCT * FROM m.s) AS q GROUP BY i",
    # v is the other table's
    "SELECT s.k, v FROM m.s JOIN (SELECT 1 AS j, 3.5 AS v) AS o ON s.i = j",
    "SELECT s.k, v FROM m.s, (SELECT 1 AS j, 3.5 AS v) AS o WHERE s.i = o.j",
    "SELECT s.k, w FROM m.s NATURAL JOIN (SELECT 1 AS i, 3.5 AS v, 7 AS w) AS o",
    # v is a column of what is around
    "SELECT o.j, (SELECT MAX(v + s.i) FROM m.s) AS x FROM (SELECT 1 AS j, 30 AS v) AS o",
    "SELECT o.j FROM (SELECT 1 AS j, 2.5 AS v) AS o WHERE EXISTS (SELECT 1 FROM m.s WHERE v < 1)",
    "SELECT o.j FROM (SELECT 1 AS j, 9 AS v) AS o WHERE v IN (SELECT i FROM m.s WHERE v = 9)",
    # every column that is not named makes a group
    "SELECT * FROM (SELECT * FROM m.s) PIVOT (COUNT(i) FOR k IN ('a' AS a, 'b' AS b))",
]


@pytest.mark.parametrize("query", GAINED)
def test_a_column_that_a_table_has_later_changes_nothing(query: str) -> None:
    """raw.u stands for the version of m.s that got a third column, v."""
    graph = (STORED.replace("raw.t", "raw.u"), full(query))
    names = render(*graph, inline_views=False).query.named_selects
    two_columns = query.replace("m.s", "(SELECT i, k FROM raw.u) AS s")
    found = render(
        *graph, target=lambda name: TableName("raw", "u") if name.schema == "m" else None
    )
    assert run(found.query) == run(two_columns)
    assert found.query.named_selects == names


# -- what else stands in the text


def test_models_without_a_table_stand_in_parentheses_as_they_are_written() -> None:
    view = "MODEL (name m.v, kind VIEW);\nWITH c AS (SELECT i  FROM m.e) -- their keys\nSELECT i FROM c"
    found = render(EMBEDDED, view, full("SELECT COUNT( i ) AS n FROM m.v")).text
    assert found == (
        "SELECT COUNT( i ) AS n FROM (\n"
        "WITH c AS (SELECT i  FROM (\nSELECT i, k FROM raw.t AS `t` WHERE i > 2\n) AS `e`) -- their keys\n"
        "SELECT i FROM c\n) AS `v`"
    )
    assert run(found) == [(6,)]


def test_what_looks_like_the_place_of_a_star_in_a_text_is_none() -> None:
    query = "SELECT @STAR(raw.u), '@star_0' AS a, '@star_7' AS b -- @star_5\nFROM raw.u"
    columns = "u.`i`, u.`k`, u.`v`"
    expected = f"{query.replace('@STAR(raw.u)', columns)} AS `u`"
    assert render(full(query)).text == expected


CASED = "(SELECT `Id`, `userAgent` FROM {})"
AS_IN_THE_CATALOG = [
    ("SELECT to_json(struct(*)) AS j FROM raw.cased", f"SELECT to_json(struct(*)) AS j FROM {CASED} AS `cased`"),
    ("SELECT to_json(struct(c.*)) AS j FROM raw.cased c", f"SELECT to_json(struct(c.*)) AS j FROM {CASED} c"),
    ("SELECT to_json(struct(*)) AS j FROM raw.cased TABLESAMPLE (5 ROWS)", "SELECT to_json(struct(*)) AS j FROM (SELECT `Id`, `userAgent` FROM {} TABLESAMPLE (5 ROWS)) AS `cased`"),
    ("SELECT to_json(struct(x.*)) AS j FROM (SELECT @STAR(raw.cased) FROM raw.cased AS c) AS x", f"SELECT to_json(struct(x.*)) AS j FROM (SELECT c.`Id`, c.`userAgent` FROM {CASED} AS c) AS x"),
    (
        "SELECT to_json(struct(x.*)) AS j FROM (SELECT @STAR(raw.cased, prefix := 'my_', except := [ID]) FROM raw.cased AS c) AS x",
        f"SELECT to_json(struct(x.*)) AS j FROM (SELECT c.`userAgent` AS `my_userAgent` FROM {CASED} AS c) AS x",
    ),
]  # fmt: skip


@pytest.mark.parametrize("written, runs", AS_IN_THE_CATALOG)
def test_what_stands_in_place_of_a_name_has_the_case_of_the_declared_columns(
    written: str, runs: str
) -> None:
    assert render(full(written)).text == runs.format("raw.cased")


def test_a_union_has_the_names_and_the_fields_of_its_first_table() -> None:
    query = "SELECT to_json(struct(x.*)) AS j FROM (@UNION('all', raw.cased, raw.also)) AS x"
    found = render(full(query)).text
    assert "CAST(also.`ID` AS INT) AS `Id`" in found
    assert "CAST(also.`USERAGENT` AS STRUCT<osName: STRING>) AS `userAgent`" in found


def test_temporary_views_of_pre_statements_keep_their_names() -> None:
    made = "CREATE OR REPLACE TEMPORARY VIEW tmp AS SELECT s.i FROM m.s"
    used = "INSERT INTO raw.u SELECT Tmp.i, Tmp.i FROM Tmp"
    found = render(STORED, full(f"{made};\n{used};\nSELECT 1 AS x"), target=at_version)
    assert found.texts_before == (f"{made.replace('m.s', V)} AS `s`", used)


def test_the_table_that_a_statement_writes_keeps_its_name() -> None:
    statement = "INSERT INTO raw.u\nSELECT i, u.k FROM raw.u"
    found = render(
        full(f"SELECT 1 AS x;\n{statement}"), target=lambda name: TableName("p", name.name)
    )
    assert found.texts_after == ("INSERT INTO raw.u\nSELECT i, u.k FROM `p`.`u` AS `u`",)


def test_a_name_in_a_hint_is_no_table_of_a_catalog() -> None:
    query = "SELECT /*+ BROADCAST(m.s) */ s.i FROM m.s AS s"
    assert with_relations(query, "lake", {}) == query.replace("FROM m.s", "FROM `lake`.m.s")


def test_the_example_in_the_documents_is_what_runs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "models.md").read_text()
    written, runs = re.findall(
        r"```(?:sql|text)\n(.*?)```", page.partition("### What runs")[2], re.DOTALL
    )[:2]
    orders = (
        "MODEL (name staging.orders, kind FULL);\nSELECT k AS shop, i AS amount, day FROM raw.t"
    )
    found = render(
        orders,
        written,
        name="mart.daily",
        target=lambda name: physical_table(name, "3f9c0d5e8a7b41c2906de4f85a1b72c3"),
    )
    assert found.text == runs.strip()


@pytest.mark.parametrize("columns", ["UPDATE SET *", "UPDATE SET k = s.k"])
def test_a_statement_merges_the_columns_that_are_known(columns: str) -> None:
    merge = f"MERGE INTO raw.u USING m.s ON u.i = s.i WHEN MATCHED THEN {columns}"
    found = render(STORED, full(f"{merge};\nSELECT i FROM m.s"), target=at_version)
    read = KNOWN if columns.endswith("*") else V
    assert found.texts_before == (merge.replace("m.s", f"{read} AS `s`"),)
