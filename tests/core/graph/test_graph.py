from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from tests.core.conftest import build, read
from tests.core.counted_graphs import counted, diamonds
from tests.core.tables import rows
from tests.core.written_project import problems_of
from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.graph.graph import build_graph, sources
from vde_dagster.core.names import ModelName


def reported(texts: Mapping[str, str]) -> tuple[Problem, ...]:
    problems = problems_of(lambda: build(texts))
    assert all(each.advice for each in problems)
    return problems


def problems(texts: Mapping[str, str]) -> list[str]:
    return [each.message for each in reported(texts)]


def test_parents_come_before_their_children_in_an_order_of_their_own() -> None:
    texts = {
        "m.a": "SELECT a FROM m.c",
        "m.b": "SELECT a FROM raw.t",
        "m.c": "SELECT t.a FROM m.b AS t JOIN raw.u AS u ON t.a = u.a",
    }
    graph = build(texts)
    order = [str(node.name) for node in graph]
    for node in graph:
        assert all(
            order.index(str(each)) < order.index(str(node.name)) for each in node.model.parents
        )
    assert order == [str(node.name) for node in build(dict(reversed(texts.items())))]
    assert sources(graph) == (ModelName("raw", "t"), ModelName("raw", "u"))


def test_columns_have_names_types_and_comments() -> None:
    graph = build(
        {
            "m.a": "MODEL (name m.a, columns (b varchar(3)));\n"
            "SELECT a, -- the key\n b, SUM(c) AS s FROM raw.t GROUP BY a, b",
            "m.b": "SELECT * FROM m.a",
        }
    )
    found = [(each.name, each.type) for each in graph[ModelName("m", "b")].columns]
    assert found == [("a", "int"), ("b", "varchar(3)"), ("s", "double")]
    assert graph[ModelName("m", "a")].columns[0].description == "the key"


@pytest.mark.parametrize("members", [["m.a", "m.b"], ["m.a", "m.b", "m.c", "m.d"]])
def test_a_cycle_is_reported_once_with_its_path(members: list[str]) -> None:
    after = [*members[1:], members[0]]
    texts = {one: f"SELECT a FROM {other}" for one, other in zip(members, after, strict=True)}
    (found,) = problems({**texts, "m.z": f"SELECT a FROM {members[0]}"})
    way = found.split(": ")[1].split(" reads ")
    assert way[0] == way[-1]
    assert sorted(way[1:]) == members
    assert all(texts[one].endswith(other) for one, other in itertools.pairwise(way))


def test_a_model_that_reads_itself_is_reported_as_such() -> None:
    texts = {"m.a": "SELECT a FROM m.a", "m.b": "SELECT a FROM m.a"}
    (found,) = reported(texts)
    assert found.message.startswith("m.a reads itself, which only a SQL model with stateful")
    assert "circle" not in found.message
    assert "upstream models" in found.advice


def test_two_cycles_are_both_reported() -> None:
    texts = {
        "m.a": "SELECT a FROM m.b",
        "m.b": "SELECT a FROM m.a",
        "m.c": "SELECT a FROM m.d",
        "m.d": "SELECT a FROM m.c",
    }
    assert len(problems(texts)) == 2


def test_what_follows_from_a_problem_upstream_is_not_reported_again() -> None:
    texts = {
        "m.a": "SELECT nope FROM raw.t",
        "m.b": "SELECT nope FROM m.a",
        "m.c": "SELECT nope, zip FROM m.b",
        "m.d": "SELECT zap FROM raw.u",
        "m.e": "SELECT a FROM raw.nothing",
        "m.f": "SELECT a FROM m.e",
    }
    found = problems(texts)
    assert len(found) == 4
    assert "m.a" in found[0]
    assert "nope" in found[0]
    assert "'zip'" in found[1]  # m.b has no such column, whatever m.a has
    assert "m.d" in found[2]
    assert "raw.nothing" in found[3]


def test_three_models_of_one_name_are_two_problems() -> None:
    text = "MODEL (name m.x); SELECT 1 AS a"
    models = [read(name, text) for name in ("m.one", "m.two", "m.three")]
    assert [
        "m.x is taken by" in each.message for each in problems_of(lambda: build_graph(models))
    ] == [True, True]


def test_a_missing_parent_comes_with_the_closest_name() -> None:
    with pytest.raises(ProjectInvalid, match=r"Did you mean m\.orders\?"):
        build({"m.orders": "SELECT a FROM raw.t", "m.x": "SELECT a FROM m.order"})


def test_a_model_is_no_guess_for_what_it_reads_itself() -> None:
    with pytest.raises(ProjectInvalid, match=r"bronze\.orders, which is neither") as caught:
        build({"silver.orders": "SELECT a FROM bronze.orders"})
    (problem,) = caught.value.problems
    assert problem.advice.startswith("Declare it")


@pytest.mark.parametrize(
    "text,words",
    rows("""
SELECT a, a FROM raw.t | several columns named a
SELECT t.*, u.a FROM raw.t AS t, raw.u AS u | several columns named a
SELECT a FROM raw.t AS t, raw.u AS u | column 'a' is ambiguous
SELECT a FROM raw.t AS t, raw.u AS t | lias
SELECT @STAR(t) FROM raw.t AS t, raw.u AS t | lias
MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column nope)); SELECT * FROM raw.u WHERE ts > @start_dt
  | time column
"""),
)
def test_a_query_that_does_not_fit_is_refused(text: str, words: str) -> None:
    (found,) = problems({"m.x": text})
    assert words in found


# A query, and for each problem its line, what is wrong and what there is.
MISFITS = {
    "MODEL (name m.x);\n\nSELECT\n  zz,\n  UPPER(bb) AS q,\n  t.dai\nFROM raw.t": """
4 | the inputs have no column 'zz' | raw.t has a, b, c, ts, day, e.
5 | the inputs have no column 'bb' | Did you mean b? raw.t has a, b, c, ts, day, e.
6 | there is no column 'dai' in raw.t | Did you mean day? raw.t has a, b, c, ts, day, e.
""",
    "SELECT\n a FROM raw.t AS x\n JOIN raw.u AS y ON x.b = y.b": """
2 | the column 'a' is ambiguous: each of raw.t AS x, raw.u AS y has it | Say `x.a` or `y.a`.
""",
    "SELECT\n x.a\nFROM raw.t AS t": """
2 | `x.a` refers to 'x', which this query does not read | Known here: t.
""",
    "WITH r AS (\n SELECT a, zz FROM raw.t)\nSELECT zz,\n r.b FROM r": """
2 | the inputs have no column 'zz' | raw.t has a, b, c, ts, day, e.
4 | there is no column 'b' in r | r has a, zz.
""",
    "SELECT a FROM raw.t AS t WHERE EXISTS (\n SELECT 1 FROM raw.u\n WHERE u.a = zz)": """
3 | the inputs have no column 'zz'
  | raw.u has a, b, c, ts, day, e; raw.t has a, b, c, ts, day, e.
""",
    "SELECT a FROM raw.t\nUNION ALL\nSELECT zz FROM raw.t": """
3 | the inputs have no column 'zz' | raw.t has a, b, c, ts, day, e.
""",
    "SELECT a FROM raw.t\nJOIN raw.u USING (a,\n zz)": """
3 | Cannot automatically join: zz | A column of USING must be in both tables; otherwise write ON.
""",
    "SELECT b,\n a, c AS b FROM raw.t": """
2 | the query returns several columns named b
  | Keep only one of them, or give each its own name with AS.
""",
}


@pytest.mark.parametrize("text,expected", MISFITS.items())
def test_each_column_that_does_not_fit_is_reported_at_its_line_with_what_there_is(
    text: str, expected: str
) -> None:
    found = reported({"m.x": text})
    assert [(str(each.place.line), each.message, each.advice) for each in found] == [
        (line, f"m.x: {message}", advice) for line, message, advice in rows(expected)
    ]


A, AB, ABC = "SELECT a FROM raw.t", "SELECT a, b FROM raw.t", "SELECT a, b, c FROM raw.t"


@pytest.mark.parametrize(
    "text,expected",
    [
        ("SELECT a, b FROM raw.t\nUNION ALL\nSELECT a FROM raw.t", [("UNION", 2, 1, 3)]),
        ("SELECT a FROM raw.t\nEXCEPT\n(SELECT * FROM raw.t)", [("EXCEPT", 1, 6, 3)]),
        ("SELECT a FROM raw.t\nINTERSECT\nSELECT a, a AS x FROM raw.t", [("INTERSECT", 1, 2, 3)]),
        (f"{A}\nUNION {AB}\nUNION {A}\nUNION {ABC}", [("UNION", 1, 2, 2), ("UNION", 1, 3, 4)]),
        (
            f"WITH r AS ({A}\nUNION {AB})\nSELECT a FROM r WHERE a IN ({A}\nUNION {AB})",
            [("UNION", 1, 2, 2), ("UNION", 1, 2, 4)],
        ),
        ("SELECT a FROM raw.t\nUNION ALL SELECT 1, 2", [("UNION", 1, 2, 2)]),
        ("SELECT a, b FROM raw.t UNION ALL SELECT a, b FROM raw.u", []),
        ("SELECT * FROM raw.t UNION ALL SELECT raw.u.* FROM raw.u", []),
        ("SELECT 1 AS k, 2 AS v UNION ALL SELECT EXPLODE(MAP(1, 2))", []),
        ("SELECT 1 AS k, 2 AS v UNION ALL SELECT POSEXPLODE(e) AS (k, v) FROM raw.t", []),
        ("SELECT 1 AS k, 2 AS v UNION ALL SELECT JSON_TUPLE(b, 'k', 'v') FROM raw.t", []),
        ("SELECT 1 AS k, 2 AS v UNION ALL VALUES (1, 2)", []),
    ],
)
def test_both_sides_of_a_set_operation_have_the_same_number_of_columns(
    text: str, expected: list[tuple[str, int, int, int]]
) -> None:
    if not expected:
        assert ModelName("m", "x") in build({"m.x": text})
        return
    found = reported({"m.x": text})
    assert [(each.message, each.place.line) for each in found] == [
        (f"m.x: the sides of {word} have {left} and {right} columns", line)
        for word, left, right, line in expected
    ]


@pytest.mark.parametrize(
    "texts,words,line",
    [
        ({"m.x": "SELECT t.a FROM raw.t AS t\nJOIN\n m.zz AS z ON t.a = z.a"}, "m.zz, which", 3),
        ({"m.x": "SELECT a FROM raw.t\nWHERE a IN\n(SELECT a\nFROM m.zz)"}, "m.zz, which", 4),
        ({"m.x": "WITH zz AS (SELECT a FROM\nm.zz)\nSELECT a FROM zz"}, "m.zz, which", 2),
        ({"m.x": "SELECT a\nFROM\nother.m.y"}, "from another catalog", 3),
        ({"m.x": "SELECT a\nFROM m.x"}, "reads itself", 2),
        ({"m.x": "SELECT a\n\nFROM m.y", "m.y": "SELECT a\n\nFROM m.x"}, "in a cycle", 3),
        ({"m.x": "MODEL (depends_on m.zz);\nSELECT a FROM raw.t"}, "m.zz, which", 1),
    ],
)
def test_a_read_that_cannot_be_is_reported_at_its_line(
    texts: Mapping[str, str], words: str, line: int
) -> None:
    (found,) = reported(texts)
    assert words in found.message
    assert found.place.line == line


def test_a_read_of_a_disabled_model_is_reported_at_its_line() -> None:
    reader = read("m.x", "SELECT a\nFROM\nm.off")
    with pytest.raises(ProjectInvalid, match="which is disabled") as caught:
        build_graph([reader], disabled={ModelName("m", "off")})
    assert [each.place.line for each in caught.value.problems] == [3]


def test_a_long_list_of_columns_is_cut_short() -> None:
    wide = ", ".join(f"1 AS x{index:03}" for index in range(100))
    (found,) = reported({"m.a": f"SELECT {wide}", "m.b": "SELECT other FROM m.a"})
    assert found.advice.endswith("x029 and 70 more.")


def test_everything_that_keeps_a_query_from_its_kind_is_reported_at_once() -> None:
    kind = "SCD_TYPE_2_BY_COLUMN (unique_key nope, columns (b, dai), valid_from_name ts)"
    found = reported({"m.x": f"MODEL (kind {kind}); SELECT * FROM raw.t"})
    returned = "The query returns a, b, c, ts, day, e."
    assert [(each.message, each.advice) for each in found] == [
        (
            "m.x: the query returns 'ts', which SCD_TYPE_2_BY_COLUMN adds itself",
            "Rename that column, or set valid_from_name.",
        ),
        ("m.x: the unique_key column 'nope' is not among its columns", returned),
        (
            "m.x: the compared column 'dai' is not among its columns",
            f"Did you mean day? {returned}",
        ),
    ]


def test_a_very_deep_query_is_refused_and_no_crash() -> None:
    (found,) = problems({"m.x": "SELECT " + " = ".join(["TRUE"] * 5000) + " AS a"})
    assert "nested too deeply" in found


def test_a_long_chain_of_operators_is_no_deep_query() -> None:
    assert ModelName("m", "x") in build({"m.x": f"SELECT {' + '.join(['1'] * 1000)} AS a"})


def test_readers_see_the_two_columns_that_scd_type_2_adds() -> None:
    history = (
        "MODEL (kind SCD_TYPE_2_BY_TIME (unique_key a, updated_at_name ts, valid_to_name gone,"
        " time_data_type timestamp_ntz)); SELECT a, ts FROM raw.t"
    )
    graph = build({"m.history": history, "m.now": "SELECT * FROM m.history WHERE gone IS NULL"})
    columns = {each.name: each.type for each in graph[ModelName("m", "now")].columns}
    assert columns == {
        "a": "int",
        "ts": "timestamp",
        "valid_from": "timestamp_ntz",
        "gone": "timestamp_ntz",
    }


def test_a_description_in_the_header_wins_over_a_comment() -> None:
    text = (
        "MODEL (column_descriptions (a = 'from the header'));\n"
        "SELECT a, -- from the query\n b -- from the query\n FROM raw.t"
    )
    columns = build({"m.x": text})[ModelName("m", "x")].columns
    assert [each.description for each in columns] == ["from the header", "from the query"]


@pytest.mark.parametrize(
    "column,cron,projection,words,advice",
    rows("""
d | @daily | a > 1 AS d | which is not a time | type DATE or TIMESTAMP
d | @daily | a AS d | is a number | Say how it writes a date
(d, 'yyyyMMdd') | @hourly | DATE_FORMAT(ts, 'yyyyMMdd') AS d
  | is written as 'yyyyMMdd', which cannot tell one hour from another
  | Use a timestamp, or a coarser cron.
(d, '%Y%m') | @daily | DATE_FORMAT(ts, 'yyyyMM') AS d
  | is written as '%Y%m', which cannot tell one day from another
  | Use a timestamp, or a coarser cron.
d | @hourly | CAST(ts AS DATE) AS d | is a DATE | Use a timestamp
"""),
)
def test_a_time_column_that_cannot_distinguish_intervals_is_refused(
    column: str, cron: str, projection: str, words: str, advice: str
) -> None:
    text = (
        f"MODEL (kind INCREMENTAL_BY_TIME_RANGE (time_column {column}), cron '{cron}'); "
        f"SELECT {projection} FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
    )
    (found,) = reported({"m.x": text})
    assert words in found.message
    assert advice in found.advice


@pytest.mark.parametrize(
    "header",
    [
        "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key nope)",
        "kind SCD_TYPE_2_BY_TIME (unique_key a, updated_at_name nope)",
        "kind SCD_TYPE_2_BY_COLUMN (unique_key a, columns (b, nope))",
        "kind FULL, partitioned_by nope",
    ],
)
def test_a_column_that_a_header_names_is_looked_for_behind_a_star(header: str) -> None:
    (found,) = problems({"m.x": f"MODEL ({header}); SELECT * FROM raw.t"})
    assert "'nope' is not among its columns" in found


def test_a_view_over_an_embedded_model_with_time_macros_is_refused() -> None:
    embedded = "MODEL (kind EMBEDDED); SELECT a FROM raw.t WHERE ts > @start_dt"
    (found,) = problems({"m.e": embedded, "m.v": "SELECT a FROM m.e"})
    assert "a VIEW has no intervals" in found
    full = "MODEL (kind FULL); SELECT a FROM m.e"
    assert ModelName("m", "f") in build({"m.e": embedded, "m.f": full})


def test_upstream_has_each_model_once_however_many_ways_lead_to_it() -> None:
    depth = 8
    graph, nodes = counted(build(diamonds(depth)))
    top = [ModelName("m", f"{side}{depth}") for side in ("left", "right")]
    found = [each.name for each in graph.upstream(top)]
    assert sorted(found) == sorted({*nodes} - {ModelName("raw", "u")})
    assert nodes.looked_up == len(found) == 2 * depth + 2


def test_upstream_goes_on_only_through_what_it_is_asked_to() -> None:
    graph = build(
        {
            "m.a": "SELECT a FROM raw.t",
            "m.b": "SELECT a FROM m.a",
            "m.c": "SELECT b.a FROM m.b AS b JOIN raw.u AS u ON b.a = u.a",
        }
    )
    a, c = ModelName("m", "a"), ModelName("m", "c")
    found = graph.upstream([c], through=lambda node: node.name != ModelName("m", "b"))
    assert {str(each.name) for each in found} == {"m.c", "m.b", "raw.u"}
    assert [each.name for each in graph.upstream([a], through=lambda _: False)] == [a]
    assert list(graph.upstream([ModelName("m", "gone")])) == []
