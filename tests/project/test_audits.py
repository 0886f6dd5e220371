# ruff: noqa: E501 - rows of tables stay on one line
"""A project's own audits: where they may be, what is reported of them, what a snapshot keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

import pytest
from sqlglot import exp

from tests.core.audits.audit_cases import CHECKED, TIMES
from tests.core.written_project import problems_of
from tests.project.repositories import write
from vde_dagster.core.audits.binding import audits_of
from vde_dagster.core.audits.values import Check, EachRow, FailingRows, Total, Unique
from vde_dagster.core.errors import Problem
from vde_dagster.core.model.fingerprint import metadata_parts
from vde_dagster.core.model.model import Model
from vde_dagster.project.formatting.models import format_model
from vde_dagster.project.loading import load_project
from vde_dagster.project.model_files import read_model

SOURCES = "- name: raw.rows\n  columns: {id: int, shop: string, at: timestamp}\n- name: raw.known\n  columns: {id: int}\n"
QUERY = "SELECT * FROM raw.rows"
DELETES = "sequence_by at, delete_when shop = 'gone'"
ABOVE = (
    "AUDIT (name above, defaults (bound := 5));\nSELECT * FROM @this_model WHERE @column > @bound"
)


def written(folder: Path, files: Mapping[str, str]) -> Path:
    return write(folder, {"vde.yaml": "name: audited\n", "external_models.yaml": SOURCES, **files})


def model_text(audits: str, behind: str = "", query: str = QUERY, more: str = "") -> str:
    return f"MODEL (name m.x, kind FULL,{more}\naudits ({audits})\n);\n{query}{behind}"


def loaded(folder: Path, audits: str, behind: str = "", **files: str) -> Model:
    paths = {f"audits/{key}.sql": text for key, text in files.items()}
    written(folder, {"models/m/x.sql": model_text(audits, behind), **paths})
    return load_project(folder).graph[CHECKED].model


def reported(folder: Path, audits: str, behind: str = "", **files: str) -> tuple[Problem, ...]:
    return problems_of(lambda: loaded(folder, audits, behind, **files))


def spark(model: Model) -> list[str]:
    return [each.query.sql("spark") for each in model.own_audits]


def test_an_audit_has_its_arguments_and_defaults_in_its_query(tmp_path: Path) -> None:
    model = loaded(tmp_path, "above (column := id), above (column := id + 1, bound := 7)", a=ABOVE)
    assert spark(model) == [
        "SELECT * FROM this_model WHERE id > 5",
        "SELECT * FROM this_model WHERE (id + 1) > 7",
    ]
    assert [each.call for each in model.own_audits] == list(model.audits)


def test_an_audit_may_stand_behind_the_query_of_its_model(tmp_path: Path) -> None:
    behind = f";\n\n-- what is above\n{ABOVE};\naudit (name odd); SELECT id FROM @this_model WHERE id % 2 = 1;"
    model = loaded(tmp_path, "above (column := id), odd", behind)
    assert spark(model) == [
        "SELECT * FROM this_model WHERE id > 5",
        "SELECT id FROM this_model WHERE id % 2 = 1",
    ]


def test_a_query_of_another_dialect_is_written_for_spark(tmp_path: Path) -> None:
    text = "AUDIT (name ill, dialect duckdb);\nSELECT * FROM @this_model WHERE regexp_matches(@column, 'x') AND id::TEXT = '1'"
    model = loaded(tmp_path, "ill (column := shop)", a=text)
    graph = load_project(tmp_path).graph
    (audit,) = audits_of(graph, CHECKED, TIMES)
    assert isinstance(audit.check, EachRow)
    assert audit.check.fails.sql("spark") == "(`shop` RLIKE 'x' AND CAST(`id` AS STRING) = '1')"
    assert model.audits[0].name == "ill"


@pytest.mark.parametrize(
    "query,plain",
    [
        ("SELECT * FROM @this_model WHERE id > 1", True),
        ("SELECT t.id, 1 AS one FROM @this_model AS t WHERE t.id > 1 OR shop = 'x'", True),
        ("SELECT * FROM @this_model", True),
        ("SELECT DISTINCT * FROM @this_model WHERE id > 1", False),
        ("SELECT * FROM @this_model WHERE id > 1 LIMIT 1", False),
        ("SELECT id FROM @this_model GROUP BY id HAVING COUNT(*) > 1", False),
        ("SELECT COUNT(*) AS n FROM @this_model WHERE id > 1", False),
        ("SELECT * FROM @this_model WHERE id IN (SELECT id FROM raw.known)", False),
        ("SELECT EXPLODE(ARRAY(id)) AS e FROM @this_model WHERE id > 1", False),
        ("SELECT a.* FROM @this_model AS a JOIN @this_model AS b ON a.id = b.id", False),
        ("SELECT * FROM @this_model UNION ALL SELECT * FROM @this_model", False),
        ("WITH c AS (SELECT * FROM @this_model) SELECT * FROM c WHERE id > 1", False),
    ],
)
def test_only_a_condition_on_each_row_joins_the_common_pass(
    tmp_path: Path, query: str, plain: bool
) -> None:
    text = model_text("own", more=" depends_on (raw.known),")
    written(tmp_path, {"models/m/x.sql": text, "audits/a.sql": f"AUDIT (name own); {query}"})
    (audit,) = audits_of(load_project(tmp_path).graph, CHECKED, TIMES)
    assert isinstance(audit.check, EachRow if plain else FailingRows)


@pytest.mark.parametrize(
    "call,declared,expected",
    [
        ("above (column := id)", "", True),
        ("above (column := id, blocking := false)", "", False),
        ("above_non_blocking (column := id)", "", False),
        ("above (column := id)", ", blocking false", False),
        ("above (column := id, blocking := true)", ", blocking false", True),
        ("not_null (columns := id)", "", True),
        ("not_null (columns := id, blocking := false)", "", False),
        ("not_null_non_blocking (columns := id)", "", False),
    ],
)
def test_an_audit_blocks_unless_its_name_or_an_argument_says_otherwise(
    tmp_path: Path, call: str, declared: str, expected: bool
) -> None:
    loaded(tmp_path, call, a=ABOVE.replace(");", f"{declared});", 1).replace("5),", "5),"))
    (audit,) = audits_of(load_project(tmp_path).graph, CHECKED, TIMES)
    assert audit.blocking is expected


WRONG = [
    ("nott_null (columns := (id))", "the audit nott_null is neither built in nor declared in audits/", "Did you mean not_null?"),
    ("abov (column := id)", "the audit abov is neither", "Did you mean above?"),
    ("not_null", "the audit not_null needs the argument 'columns'", "not_null (columns := ...)"),
    ("not_null (column := id)", "the audit not_null has no argument 'column'", "Did you mean columns?"),
    ("accepted_values (column := id, is_in := (1, NULL))", "it contains NULL, which no value equals", "is_in := ..."),
    ("accepted_range (column := id)", "needs a bound, min_v or max_v", "min_v := ..."),
    ("number_of_rows (threshold := 'x')", "a whole number, 0 or more; 'x' is not", "threshold := ..."),
    ("number_of_rows (threshold := -1)", "-1 is not", "threshold"),
    ("not_null_proportion (column := id, threshold := 1.5)", "a number from 0 to 1; 1.5 is not", "threshold"),
    ("not_empty_string (column := 'shop')", "'shop' does not name a column", "one row"),
    ("not_null (columns := (id), condition := max(id) > 1)", "MAX(id) needs other rows", "your own audit"),
    ("not_null (columns := (id), condition := id IN (SELECT 1))", "needs other rows", "your own audit"),
    ("accepted_range (column := id, min_v := @begin_ds)", "@begin_ds is not a time macro", "min_v"),
    ("match_like_pattern_list (column := shop, patterns := (1))", "1 is not", "patterns"),
    ("not_null (columns := (id), blocking := 1)", "true or false; 1 is not", "blocking"),
    ("not_null_non_blocking (columns := (id), blocking := true)", "is non-blocking by its name", "Write not_null"),
    ("not_null (columns := (idd))", "names the column idd, which m.x lacks", "Did you mean id?"),
    ("not_null (columns := (id), condition := shopp = 'a')", "names the column shopp", "Did you mean shop?"),
    ("source_to_target_count (source := raw.row)", "counts raw.row, which m.x does not read", "Did you mean raw.rows?"),
    ("not_null (columns := (id), condition := id ISNULL)", "Spark SQL does not have ISNULL", "IS NULL"),
    ("forall (criteria := (id > 0, (shop ISNULL)))", "Spark SQL does not have ISNULL", "IS NULL"),
    ("not_null (columns := (id), condition := id IN (1, 2,))", "a comma after the last", "Remove it"),
    ("not_null (columns := (id), condition := [id, 1][0] = id)", "lists in brackets", "array(...)"),
    ("above", "the audit above (audits/a.sql:1) needs the argument 'column'", "give it a default"),
    ("above (column := id, limit_v := 1)", "the audit above has no argument 'limit_v'", "Known: bound, column."),
]  # fmt: skip


@pytest.mark.parametrize("call,words,advice", WRONG, ids=[each[0] for each in WRONG])
def test_a_wrong_call_is_reported_at_its_line_with_advice(
    tmp_path: Path, call: str, words: str, advice: str
) -> None:
    (problem,) = reported(tmp_path, f"number_of_rows,\n  {call}", a=ABOVE)
    assert (str(problem.place), words in problem.message) == ("models/m/x.sql:3", True), problem
    assert advice in problem.advice


@pytest.mark.parametrize(
    "call",
    [
        "not_null (columns := (id, shop))",
        "not_null (columns := [id, shop])",
        "not_null (columns := (id, shop,))",
        "not_null (columns := [id,])",
        "forall (criteria := [id > 0, (shop IS NULL)])",
        "forall (criteria := (id > 0))",
        "accepted_values (column := id, is_in := [1, 2, 3])",
        "not_null (columns := (id), condition := (id > 0) AND (shop IS NULL))",
        "not_null (columns := (id), condition := ARRAY(id, 1)[0] = 1)",
    ],
)
def test_lists_of_arguments_are_ours(tmp_path: Path, call: str) -> None:
    loaded(tmp_path, call)


def test_all_wrong_calls_are_reported_at_once(tmp_path: Path) -> None:
    calls = "nope,\nnot_null (column := id),\nabove (column := id, x := 1),\nabove"
    assert [each.place.line for each in reported(tmp_path, calls, a=ABOVE)] == [2, 3, 4, 5]


FILES = [
    ("SELECT 1", "audits/a.sql:1", "the file has no AUDIT block that can be read", "AUDIT (name ...)"),
    ("SELECT 1;\nAUDIT (name a); SELECT 1", "audits/a.sql:1", "the file has text before the first AUDIT block", "Start the file with"),
    ("AUDIT (name a);\n", "audits/a.sql:1", "the audit has no query", "Write a SELECT"),
    ("\nAUDIT (dialect spark);\nSELECT 1", "audits/a.sql:2", "the audit has no name", "AUDIT (name positive)"),
    ("AUDIT (name not_null);\nSELECT 1", "audits/a.sql:1", "the audit's name not_null is built in", "another name"),
    ("AUDIT (name a_non_blocking);\nSELECT 1", "audits/a.sql:1", "ends with _non_blocking", "Drop the suffix"),
    ("AUDIT (name 'a b');\nSELECT 1", "audits/a.sql:1", "is not a valid audit name", "letters"),
    ("AUDIT (name a,\nstandalone true);\nSELECT 1", "audits/a.sql:2", "an audit has no option 'standalone'", "Known: name"),
    ("AUDIT (name a,\ndialect sparkk);\nSELECT 1", "audits/a.sql:2", "unknown dialect 'sparkk'", "Use one of spark"),
    ("AUDIT (name a,\nblocking maybe);\nSELECT 1", "audits/a.sql:2", "neither true nor false", "true or false"),
    ("AUDIT (name a); SELECT 1;\nAUDIT (name a); SELECT 2", "audits/a.sql:2", "the audit a is declared twice", "Rename one"),
    ("AUDIT (name a, defaults (\nblocking := false)); SELECT 1", "audits/a.sql:2", "cannot have a default", "blocking false"),
    ("AUDIT (name a);\nSELECT 'x", "audits/a.sql:1", "the file has no AUDIT block that can be read", "spark, the project's dialect"),
    ("AUDIT (name a", "audits/a.sql:1", "the parenthesis of AUDIT is never closed", "Close it"),
]  # fmt: skip


@pytest.mark.parametrize("text,place,words,advice", FILES, ids=[each[2] for each in FILES])
def test_what_is_wrong_with_a_file_is_reported_once_though_no_model_calls_it(
    tmp_path: Path, text: str, place: str, words: str, advice: str
) -> None:
    (problem,) = reported(tmp_path, "number_of_rows", a=text)
    assert (str(problem.place), words in problem.message) == (place, True), problem
    assert advice in problem.advice


QUERIES = [
    ("SELECT * FROM @this_model WHERE (", "audits/a.sql:3", "does not parse"),
    ("SELECT * FROM @this_model WHERE id ISNULL", "audits/a.sql:3", "ISNULL"),
    ("SELECT 1; SELECT 2", "audits/a.sql:1", "has 2 statements"),
    ("DROP TABLE raw.rows", "audits/a.sql:1", "has 1 statements"),
    ("SELECT @STAR(raw.rows) FROM @this_model", "audits/a.sql:1", "uses @STAR"),
    ("SELECT @NOPE(id) FROM @this_model", "audits/a.sql:3", "unknown macro @nope"),
    ("SELECT * FROM @this_model WHERE x = $$a", "audits/a.sql:1", "does not parse"),
    ("SELECT * FROM m.other", "models/m/x.sql:2", "reads m.other, which the model does not read"),
]


@pytest.mark.parametrize("query,place,words", QUERIES, ids=[each[0] for each in QUERIES])
def test_what_is_wrong_with_a_query_is_reported_once_at_its_line(
    tmp_path: Path, query: str, place: str, words: str
) -> None:
    dialect = "postgres" if "$$" in query else "spark"
    problems = reported(tmp_path, "own", a=f"AUDIT (name own, dialect {dialect});\n\n{query}")
    assert [str(each.place) for each in problems] == [place] * len(problems)
    assert {words in each.message for each in problems} == {True}, problems
    assert len(problems) == 1


def test_a_name_is_declared_in_one_place(tmp_path: Path) -> None:
    (problem,) = reported(tmp_path, "above (column := id)", f";\n{ABOVE}", a=ABOVE)
    assert str(problem.place) == "models/m/x.sql:5"
    assert "declared in audits/a.sql:1" in problem.message


def test_an_audit_behind_a_query_that_is_not_called_is_warned_of(tmp_path: Path) -> None:
    (warning,) = loaded(tmp_path, "number_of_rows", f";\n{ABOVE}").warnings
    assert (warning.place.line, "above is declared" in warning.message) == (5, True)


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
def test_audits_of_what_stores_no_rows_are_warned_of(tmp_path: Path, kind: str) -> None:
    text = model_text("number_of_rows").replace("FULL", kind)
    (warning,) = load_project(written(tmp_path, {"models/m/x.sql": text})).warnings
    assert f"{kind} stores no rows" in warning.message


MACRO = "from vde_dagster import macro\n\n@macro()\ndef doubled(x):\n    return f'2 * {x}'\n"


def test_a_snapshot_keeps_the_audits_macros_and_variables_that_it_calls(tmp_path: Path) -> None:
    files = {
        "vde.yaml": "name: audited\nvariables: {most: 7, other: 1}\n",
        "models/m/x.sql": model_text("own"),
        "audits/a.sql": "AUDIT (name own); SELECT * FROM @this_model WHERE @VAR('most') < @DOUBLED(id)",
        "macros/a.py": MACRO,
        "macros/other.py": MACRO.replace("doubled", "tripled"),
        "audits/other.sql": "AUDIT (name other); SELECT 1 AS x",
    }
    written(tmp_path, files)
    model = load_project(tmp_path).graph[CHECKED].model
    assert set(model.source.attachments) == {"audits/a.sql", "macros/a.py"}
    assert "other" not in model.source.defaults["variables"]
    (tmp_path / "audits/a.sql").write_text("AUDIT (name own); SELECT 2 AS changed")
    assert spark(read_model(model.source)) == ["SELECT * FROM this_model WHERE 7 < (2 * id)"]


def test_the_text_of_an_audit_is_part_of_the_metadata_and_its_layout_is_not(tmp_path: Path) -> None:
    def parts(audit: str, call: str = "own") -> tuple[str, ...]:
        return metadata_parts(loaded(tmp_path, call, a=audit), None)

    first = parts("AUDIT (name own); SELECT * FROM @this_model WHERE id > 1")
    assert parts("AUDIT(name own);\n-- why\nselect *\nfrom @THIS_MODEL where ID>1;") == first
    assert parts("AUDIT (name own); SELECT * FROM @this_model WHERE id > 2") != first
    assert (
        parts("AUDIT (name own, blocking false); SELECT * FROM @this_model WHERE id > 1") != first
    )


def test_python_models_call_audits_of_the_project(tmp_path: Path) -> None:
    code = (
        "from vde_dagster import model\n\n"
        "@model('m.x', columns={'id': 'int'}, depends_on=['raw.rows'],\n"
        "    audits=['number_of_rows', ('above', {'column': 'id'})])\n"
        "def x(context):\n    return context.table('raw.rows')\n"
    )
    written(tmp_path, {"models/m/x.py": code, "audits/a.sql": ABOVE})
    model = load_project(tmp_path).graph[CHECKED].model
    assert spark(model) == ["SELECT * FROM this_model WHERE id > 5"]
    assert set(model.source.attachments) == {"audits/a.sql"}
    written(tmp_path, {"models/m/x.py": code.replace("above", "abve")})
    assert str(problems_of(lambda: load_project(tmp_path))[0].place) == "models/m/x.py:4"


def python_text(audits: object) -> str:
    columns = "{'id': 'int', 'shop': 'string', 'price': 'string', 'cost': 'int'}"
    return (
        f"from vde_dagster import model\n\n@model('m.x', columns={columns},\n"
        f"    audits={audits!r})\ndef x(context):\n    ...\n"
    )


@pytest.mark.parametrize(
    "audit,arguments,same",
    [
        ("accepted_values", {"column": "shop", "is_in": ["price"]}, "column := shop, is_in := ('price')"),
        ("accepted_values", {"column": "shop", "is_in": ["price", "it's"]}, "column := shop, is_in := ('price', 'it''s')"),
        ("accepted_values", {"column": "shop", "is_in": "price"}, "column := shop, is_in := 'price'"),
        ("accepted_values", {"column": "cost", "is_in": [1, 2]}, "column := cost, is_in := (1, 2)"),
        ("accepted_values", {"column": "shop", "is_in": [{"sql": "price"}]}, "column := shop, is_in := (price)"),
        ("not_accepted_values", {"column": "lower(shop)", "is_in": ["price || shop", ""]}, "column := lower(shop), is_in := ('price || shop', '')"),
        ("match_like_pattern_list", {"column": "shop", "patterns": ["price"]}, "column := shop, patterns := ('price')"),
        ("accepted_range", {"column": "shop", "min_v": "2024-01-31"}, "column := shop, min_v := '2024-01-31'"),
        ("accepted_range", {"column": "cost", "min_v": {"sql": "id + 1"}, "max_v": 9}, "column := cost, min_v := id + 1, max_v := 9"),
        ("accepted_range", {"column": "cost", "min_v": 1, "condition": "id > 1"}, "column := cost, min_v := 1, condition := id > 1"),
        ("sequential_values", {"column": "id", "interval": "INTERVAL 1 DAY"}, "column := id, interval := INTERVAL 1 DAY"),
        ("number_of_rows", {"threshold": "1", "blocking": False}, "threshold := 1, blocking := false"),
        ("not_null", {"columns": ["id", "upper(shop)"]}, "columns := (id, upper(shop))"),
        ("not_null", {"columns": ["id", {"sql": "upper(shop)"}]}, "columns := (id, upper(shop))"),
        ("forall", {"criteria": ["id > 1", "shop <> 'price'"]}, "criteria := (id > 1, shop <> 'price')"),
        ("above", {"column": "id", "bound": "price list"}, "column := id, bound := 'price list'"),
        ("above", {"column": "id", "bound": "black and white"}, "column := id, bound := 'black and white'"),
        ("above", {"column": "id", "bound": {"sql": "cost"}}, "column := id, bound := cost"),
        ("above", {"column": "shop", "bound": {"sql": "'price'"}}, "column := shop, bound := 'price'"),
        ("above", {"column": "id", "bound": ["a", "b"]}, "column := id, bound := ('a', 'b')"),
    ],
)  # fmt: skip
def test_a_text_of_a_python_model_is_what_its_audit_in_sql_says(
    tmp_path: Path, audit: str, arguments: Mapping[str, object], same: str
) -> None:
    sql = model_text(
        f"{audit} ({same})", query="SELECT id, shop, shop AS price, id AS cost FROM raw.rows"
    )
    written(tmp_path / "sql", {"models/m/x.sql": sql, "audits/a.sql": ABOVE})
    python = python_text([(audit, arguments)])
    written(tmp_path / "python", {"models/m/x.py": python, "audits/a.sql": ABOVE})
    first, second = (load_project(tmp_path / each).graph for each in ("sql", "python"))
    checks = [
        [(each.name, check_text(each.check)) for each in audits_of(graph, CHECKED, TIMES)]
        for graph in (first, second)
    ]
    assert checks[0] == checks[1]


def check_text(check: Check) -> str:
    """A check as SQL, without how its author spaced it and put parentheses."""
    trees: list[exp.Expr]
    match check:
        case EachRow(fails=fails) | Total(fails=fails):
            trees = [fails]
        case Unique(key=key):
            trees = list(key)
        case FailingRows(query=query):
            trees = [query]
        case _:
            assert_never(check)
    return " ".join("; ".join(each.sql("spark") for each in trees).lower().split()).translate(
        {ord("("): None, ord(")"): None}
    )


@pytest.mark.parametrize(
    "audit,arguments,words",
    [
        ("above", {"column": "id", "bound": "cost"}, """Write {"sql": 'cost'} for the SQL, or {"sql": "'cost'"} for the text."""),
        ("above", {"column": "id", "bound": "COST + 1"}, "'COST + 1' is a text in Python"),
        ("above", {"column": "id", "bound": "current_date()"}, "would be an expression in SQL"),
        ("above", {"column": "id", "bound": "@start_ds"}, "would be an expression in SQL"),
        ("above", {"column": "id", "bound": ["a", "cost"]}, "'cost' is a text in Python"),
        ("above", {"column": "id", "bound": {"sql": "cost +"}}, "'cost +' is not a SQL expression"),
        ("accepted_range", {"column": "id", "min_v": "cost"}, "'cost' is a text in Python"),
        ("accepted_values", {"column": "shop", "is_in": ["a", "'b'"]}, """"'b'" is a text"""),
        ("not_accepted_values", {"column": "shop", "is_in": '"b"'}, "is a text in Python"),
        ("match_regex_pattern_list", {"column": "shop", "patterns": ["'^a$'"]}, "is a text"),
    ],
)  # fmt: skip
def test_a_text_that_may_be_sql_is_refused(
    tmp_path: Path, audit: str, arguments: Mapping[str, object], words: str
) -> None:
    text = python_text([(audit, arguments)])
    (problem,) = problems_of(
        lambda: load_project(written(tmp_path, {"models/m/x.py": text, "audits/a.sql": ABOVE}))
    )
    assert words in str(problem)
    assert problem.place.line == 4


def test_seeds_call_audits_of_the_project(tmp_path: Path) -> None:
    text = "MODEL (name m.x, kind SEED (path '../../seeds/x.csv'), columns (id int), audits (above (column := id)))"
    written(tmp_path, {"models/m/x.sql": text, "seeds/x.csv": "id\n1\n", "audits/a.sql": ABOVE})
    model = load_project(tmp_path).graph[CHECKED].model
    assert spark(model) == ["SELECT * FROM this_model WHERE id > 5"]


def test_an_audit_that_reads_a_view_reads_the_tables_upstream_of_it(tmp_path: Path) -> None:
    text = model_text("own", more=" depends_on (m.seen),")
    audit = (
        "AUDIT (name own); SELECT * FROM @this_model WHERE NOT id IN (SELECT seen.id FROM m.seen)"
    )
    view = "MODEL (name m.seen, kind VIEW);\nSELECT id FROM raw.known WHERE id > 3"
    written(tmp_path, {"models/m/x.sql": text, "models/m/seen.sql": view, "audits/a.sql": audit})
    graph = load_project(tmp_path).graph
    (audit_value,) = audits_of(graph, CHECKED, TIMES)
    assert [str(each) for each in audit_value.reads] == ["raw.known"]


def test_a_count_against_a_source_needs_to_know_its_time(tmp_path: Path) -> None:
    text = (
        "MODEL (name m.x, kind INCREMENTAL_BY_TIME_RANGE (time_column at), start '2024-01-01',\n"
        "audits (source_to_target_count (source := raw.rows))\n);\n"
        "SELECT * FROM raw.rows WHERE at BETWEEN @start_dt AND @end_dt"
    )
    (problem,) = problems_of(lambda: load_project(written(tmp_path, {"models/m/x.sql": text})))
    assert (problem.place.line, "time_column := ..." in problem.advice) == (2, True)


@pytest.mark.parametrize(
    "audit,order",
    [
        ("source_to_target_count (source := raw.rows, time_column := at", "sequence_by at"),
        ("no_missing_events (source := raw.rows, event_id := id, time_column := at", DELETES),
        (
            "no_missing_events (source := raw.rows, event_id := id, time_column := at",
            "sequence_by at",
        ),
    ],
)
def test_an_order_of_changes_is_compared_with_no_source(
    tmp_path: Path, audit: str, order: str
) -> None:
    text = (
        f"MODEL (name m.x, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, {order}),\n"
        f"audits ({audit}))\n);\nSELECT * FROM raw.rows"
    )
    (problem,) = problems_of(lambda: load_project(written(tmp_path, {"models/m/x.sql": text})))
    assert "raw.rows, but m.x does not show all its changes" in problem.message
    assert (problem.place.line, "`vde_not_stale`" in problem.advice) == (2, True)


def test_formatting_leaves_audits_as_they_are_written() -> None:
    audit = "AUDIT (name odd );\nselect   id from @this_model WHERE @column % 2 = 1;"
    text = f"MODEL (name m.x, kind FULL, audits (odd (column := id)));\nselect id\n\n\nfrom  raw.rows;\n{audit}\n"
    formatted = format_model(text, path=Path("models/m/x.sql"), dialect="spark")
    assert formatted.endswith(f";\n\n{audit}\n")
    assert format_model(formatted, path=Path("models/m/x.sql"), dialect="spark") == formatted
    assert "select id from raw.rows;" in formatted


DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "audits.md"


def test_the_examples_of_the_documentation_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    first, audit, call, beside = blocks
    columns = "columns: {day: date, shop: string, revenue: double, ordered_at: timestamp}"
    staged = f"- name: staging.orders\n  {columns}\n- name: staging.days\n  {columns}\n"
    interval = "SELECT * FROM staging.orders WHERE ordered_at BETWEEN @start_dt AND @end_dt"
    files = {
        "external_models.yaml": staged,
        "audits/above.sql": audit,
        "models/mart/first.sql": f"{first}{interval}".replace("mart.revenue", "mart.first"),
        "models/mart/call.sql": f"{call}SELECT * FROM staging.days".replace(".revenue", ".call"),
        "models/mart/beside.sql": beside.replace("mart.revenue", "mart.beside"),
    }
    models = {each.name.name: each.model for each in load_project(written(tmp_path, files)).graph}
    assert len(models["first"].audits) == 5
    assert spark(models["call"]) == ["SELECT * FROM this_model WHERE revenue > 1000000"]
    assert len(models["beside"].own_audits) == 1
