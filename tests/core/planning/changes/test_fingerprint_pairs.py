# ruff: noqa: E501 - rows of tables stay on one line
"""Pairs of models, and which of the four parts of their fingerprints differ.

docs/inside/architecture.md, *Identity*: refactoring that cannot change the result never changes the data hash; comments
belong to the metadata hash. Seed 000, *Fingerprinting*, names the four parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from tests.core.conftest import RAW
from tests.core.planning.changes import (
    pairs_harmless,
    pairs_names,
    pairs_other,
    pairs_precedence,
    pairs_same,
    pairs_spark,
)
from tests.core.planning.changes.case import Project, Source, Text, Written, graph_of, python, seed
from tests.core.planning.changes.pairs_same import Pair
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName

SAME: Final = [
    *pairs_same.PAIRS,
    *pairs_names.SAME,
    *pairs_names.SAME_STATEMENTS,
    *pairs_precedence.SAME,
    *pairs_spark.SAME,
]
OTHER: Final = [
    *pairs_other.PAIRS,
    *pairs_names.OTHER,
    *pairs_names.OTHER_STATEMENTS,
    *pairs_precedence.OTHER,
    *pairs_spark.OTHER,
]
OWN: Final = ("data", "metadata")
PARTS: Final = (*OWN, "parent_data", "parent_metadata")


def node(name: str, project: Project) -> Node:
    return graph_of(project)[ModelName.parse(name)]


def differing(one: Node, other: Node) -> set[str]:
    """The parts that differ; of parents only where both read the same ones."""
    parts = PARTS if one.model.parents == other.model.parents else OWN
    left, right = one.fingerprint, other.fingerprint
    return {each for each in parts if getattr(left, each) != getattr(right, each)}


def differing_texts(one: Written, other: Written, name: str = "m.x") -> set[str]:
    return differing(node(name, {name: one}), node(name, {name: other}))


def ids(pairs: list[Pair]) -> list[str]:
    return [sentence for sentence, _, _ in pairs]


@pytest.mark.parametrize("sentence,one,other", SAME, ids=ids(SAME))
def test_what_means_the_same_has_the_same_fingerprint(sentence: str, one: str, other: str) -> None:
    assert differing_texts(one, other) == set(), sentence


@pytest.mark.parametrize("sentence,one,other", OTHER, ids=ids(OTHER))
def test_what_means_something_else_has_another_data_hash(
    sentence: str, one: str, other: str
) -> None:
    assert differing_texts(one, other) == {"data"}, sentence


HARMLESS: Final = [(sentence, one, other) for sentence, one, other, _ in pairs_harmless.EDITS]
NEAR: Final = [(sentence, one, near) for sentence, one, other, near in pairs_harmless.EDITS] + [
    (sentence, other, near) for sentence, one, other, near in pairs_harmless.EDITS
]


@pytest.mark.parametrize("sentence,one,other", HARMLESS, ids=ids(HARMLESS))
def test_a_harmless_edit_is_recognised(sentence: str, one: str, other: str) -> None:
    assert differing_texts(one, other) == set(), sentence


@pytest.mark.parametrize("sentence,one,other", NEAR, ids=ids(NEAR))
def test_what_only_looks_like_a_harmless_edit_is_none(sentence: str, one: str, other: str) -> None:
    assert differing_texts(one, other) == {"data"}, sentence


SEEDS: list[tuple[str, str, str, set[str]]] = [
    ("lines in another order", "a,b\n1,p\n2,q\n", "a,b\n2,q\n1,p\n", set()),
    ("a line twice, in another order", "a,b\n1,p\n2,q\n1,p\n", "a,b\n1,p\n1,p\n2,q\n", set()),
    ("quotes that say nothing", "a,b\n1,p\n", 'a,b\n1,"p"\n', set()),
    ("lines of another system", "a,b\n1,p\n2,q\n", "a,b\r\n1,p\r\n2,q\r\n", set()),
    ("a line once and twice", "a,b\n1,p\n2,q\n", "a,b\n1,p\n2,q\n2,q\n", {"data"}),
    ("cells that are exchanged", "a,b\n1,p\n2,q\n", "a,b\n1,q\n2,p\n", {"data"}),
    ("a header that is exchanged", "a,b\n1,p\n2,q\n", "b,a\n1,p\n2,q\n", {"data"}),
    ("a blank", "a,b\n1,p\n", "a,b\n1, p\n", {"data"}),
    ("a comma in a cell and between two", 'a,b\n1,"p,q"\n', 'a,b\n"1,p",q\n', {"data"}),
    ("a line and the header", "a,b\na,b\n1,p\n", "a,b\n1,p\n", {"data"}),
]


@pytest.mark.parametrize("sentence,one,other,parts", SEEDS, ids=[each for each, *_ in SEEDS])
def test_a_seed_is_its_rows_in_no_order(
    sentence: str, one: str, other: str, parts: set[str]
) -> None:
    assert differing_texts(seed(one), seed(other)) == parts, sentence


COMMENTS: list[Pair] = [
    ("in front", "SELECT a FROM raw.t", "-- all of them\nSELECT a FROM raw.t"),
    ("at the end", "SELECT a FROM raw.t", "SELECT a FROM raw.t -- all of them"),
    ("beside a column", "SELECT a, b FROM raw.t", "SELECT a, -- the key\n b FROM raw.t"),
    ("within a condition", "SELECT a FROM raw.t WHERE a > 1", "SELECT a FROM raw.t WHERE a /* the key */ > 1"),
    ("within a sub-query", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u)", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u /* known */)"),
    ("within a common table expression", "WITH s AS (SELECT DISTINCT a FROM raw.t) SELECT a FROM s", "WITH s AS (SELECT DISTINCT a FROM raw.t /* once */) SELECT a FROM s"),
    ("with other words", "SELECT a FROM raw.t -- all", "SELECT a FROM raw.t -- some"),
    ("that looks like a condition", "SELECT a FROM raw.t", "SELECT a FROM raw.t -- WHERE a > 1"),
]  # fmt: skip


@pytest.mark.parametrize("sentence,one,other", COMMENTS, ids=ids(COMMENTS))
def test_a_comment_is_metadata(sentence: str, one: str, other: str) -> None:
    assert differing_texts(one, other) == {"metadata"}, sentence


FULL = "MODEL (kind FULL);\n"
CHAIN: Mapping[str, Written] = {
    "m.w": FULL + "SELECT a, b, c FROM raw.t WHERE a > 1",
    "m.x": FULL + "SELECT a, b FROM m.w",
    "m.y": FULL + "SELECT a FROM m.x",
    "m.s": FULL + "SELECT * FROM m.x",
}
ABOVE: list[tuple[str, str, str, str, set[str]]] = [
    ("other rows of a parent", "m.x", FULL + "SELECT a, b FROM m.w WHERE a > 2", "m.y", {"parent_data"}),
    ("other rows of a parent's parent", "m.w", FULL + "SELECT a, b, c FROM raw.t WHERE a > 2", "m.y", {"parent_data"}),
    ("a parent's query in other lines", "m.x", FULL + "select A,\n  B from m.w as w", "m.y", set()),
    ("a parent's query in other words", "m.w", FULL + "WITH s AS (SELECT a, b, c FROM raw.t) SELECT s.* FROM s WHERE NOT (NOT (s.a > 1))".replace("NOT (NOT (s.a > 1))", "(s.a > 1)"), "m.y", set()),
    ("a comment of a parent", "m.x", FULL + "SELECT a, b FROM m.w -- all", "m.y", {"parent_metadata"}),
    ("a comment of a parent's parent", "m.w", FULL + "SELECT a, b, c FROM raw.t WHERE a > 1 -- some", "m.y", {"parent_metadata"}),
    ("another owner of a parent", "m.x", "MODEL (kind FULL, owner me); SELECT a, b FROM m.w", "m.y", {"parent_metadata"}),
    ("another layout of a parent", "m.x", "MODEL (kind FULL, partitioned_by a); SELECT a, b FROM m.w", "m.y", {"parent_data"}),
    ("another kind of a parent", "m.x", "MODEL (kind VIEW); SELECT a, b FROM m.w", "m.y", {"parent_data"}),
    ("one more column of a parent", "m.x", FULL + "SELECT a, b, c FROM m.w", "m.y", {"parent_data"}),
    ("one more column of a parent of which all are read", "m.x", FULL + "SELECT a, b, c FROM m.w", "m.s", {"data", "parent_data"}),
    ("columns of a parent in another order, of which all are read", "m.x", FULL + "SELECT b, a FROM m.w", "m.s", {"data", "parent_data"}),
    ("another name of a parent's column that is not read", "m.x", FULL + "SELECT a, b AS k FROM m.w", "m.y", {"parent_data"}),
    ("a child's query", "m.y", FULL + "SELECT a FROM m.x WHERE a > 2", "m.x", set()),
    ("a child's comment", "m.y", FULL + "SELECT a FROM m.x -- all", "m.x", set()),
    ("its own comment", "m.y", FULL + "SELECT a FROM m.x -- all", "m.y", {"metadata"}),
    ("its own owner and rows", "m.y", "MODEL (kind FULL, owner me); SELECT a FROM m.x WHERE a > 2", "m.y", {"data", "metadata"}),
    ("a file without a block is a VIEW", "m.y", "MODEL (kind full, cron '@daily');\n\nSELECT a FROM m.x", "m.y", set()),
]  # fmt: skip


@pytest.mark.parametrize(
    "sentence,edited,text,seen,parts", ABOVE, ids=[sentence for sentence, *_ in ABOVE]
)
def test_what_is_upstream_shows_in_the_parts_of_parents(
    sentence: str, edited: str, text: str, seen: str, parts: set[str]
) -> None:
    found = differing(node(seen, CHAIN), node(seen, {**CHAIN, edited: text}))
    assert found == parts, sentence


INPUTS: list[tuple[str, Written, Written, set[str]]] = [
    ("one more row of a seed", seed("a\n1\n"), seed("a\n1\n2\n"), {"parent_data"}),
    ("another header of a seed", seed("a,b\n1,p\n"), seed("a,k\n1,p\n"), {"parent_data"}),
    ("another declared type of a seed", seed("a\n1\n", "a int"), seed("a\n1\n", "a bigint"), {"parent_data"}),
    ("a described column of a seed", seed("a\n1\n", "a int"), seed("a\n1\n", "a int COMMENT 'the key'"), {"parent_metadata"}),
    ("one more column of a source", Source(columns={"a": "int"}), Source(columns={"a": "int", "b": "string"}), {"parent_data"}),
    ("the case of a source's columns", Source(columns={"a": "int"}), Source(columns={"A": "int"}), set()),
    ("another type of a source's column", Source(columns={"a": "int", "b": "int"}), Source(columns={"a": "int", "b": "string"}), {"parent_data"}),
    ("an embedded query with other rows", "MODEL (kind EMBEDDED); SELECT a FROM raw.t", "MODEL (kind EMBEDDED); SELECT a FROM raw.t WHERE a > 1", {"parent_data"}),
    ("an embedded query in other lines", "MODEL (kind EMBEDDED); SELECT a FROM raw.t", "MODEL (kind EMBEDDED);\nselect A\nfrom raw.t", set()),
]  # fmt: skip


@pytest.mark.parametrize(
    "query, parts",
    [
        ("SELECT TO_JSON(STRUCT(*)) AS j FROM m.x", {"data"}),
        ("SELECT TO_JSON(STRUCT(t.*)) AS j FROM m.x AS t", {"data"}),
        ("SELECT TO_JSON(STRUCT(1 AS i, t.*)) AS j FROM m.x AS t", {"data"}),
        ("SELECT TO_JSON(STRUCT(t.*)) AS j FROM (SELECT * FROM m.x) AS t", {"data"}),
        ("SELECT TO_JSON(STRUCT(t.*)) AS j FROM (SELECT A FROM m.x) AS t", set()),
        ("SELECT TO_JSON(STRUCT(a)) AS j FROM m.x", set()),
        ("SELECT COUNT(*) AS n, MAX(a) AS a FROM m.x", set()),
        ("SELECT * FROM m.x", set()),
    ],
)
def test_the_case_of_a_sources_columns_counts_where_it_is_data(query: str, parts: set[str]) -> None:
    sources = [Source(columns={"a": "int"}), Source(columns={"A": "int"})]
    found = [node("m.y", {"m.x": each, "m.y": query}) for each in sources]
    assert differing(*found) == parts


@pytest.mark.parametrize(
    "sentence,one,other,parts", INPUTS, ids=[sentence for sentence, *_ in INPUTS]
)
def test_what_is_no_table_of_its_own_shows_downstream(
    sentence: str, one: Written, other: Written, parts: set[str]
) -> None:
    downstream = "SELECT a FROM m.x"
    found = [node("m.y", {"m.x": each, "m.y": downstream}) for each in (one, other)]
    assert differing(*found) == parts, sentence


MACROS = """from sqlglot import exp
from vde_dagster import macro


@macro()
def plus(column):
    return exp.Add(this=column, expression=exp.Literal.number({number}))


@macro()
def unused(column):
    return exp.Sub(this=column, expression=exp.Literal.number({other}))
"""


def with_macros(query: str, number: int, other: int = 1) -> Text:
    files = {"macros/m.py": MACROS.format(number=number, other=other)}
    return Text(text=FULL + query, files=files, variables={"limit": number, "unread": other})


EXPANDED: list[tuple[str, Written, Written, set[str]]] = [
    ("a definition and what it stands for", FULL + "@DEF(k, 1); SELECT a + @k AS v FROM raw.t", FULL + "SELECT a + 1 AS v FROM raw.t", set()),
    ("another value of a definition", FULL + "@DEF(k, 1); SELECT a + @k AS v FROM raw.t", FULL + "@DEF(k, 2); SELECT a + @k AS v FROM raw.t", {"data"}),
    ("another name of a definition", FULL + "@DEF(k, 1); SELECT a + @k AS v FROM raw.t", FULL + "@DEF(l, 1); SELECT a + @l AS v FROM raw.t", set()),
    ("a list and what it stands for", FULL + "SELECT @EACH([a, c], x -> x + 1 AS @{x}_k) FROM raw.t", FULL + "SELECT a + 1 AS a_k, c + 1 AS c_k FROM raw.t", set()),
    ("another item of a list", FULL + "SELECT @EACH([a, c], x -> x + 1 AS @{x}_k) FROM raw.t", FULL + "SELECT @EACH([a], x -> x + 1 AS @{x}_k) FROM raw.t", {"data"}),
    ("another function that is called", with_macros("SELECT @plus(a) AS v FROM raw.t", 1), with_macros("SELECT @plus(a) AS v FROM raw.t", 2), {"data"}),
    ("another function that is not called", with_macros("SELECT @plus(a) AS v FROM raw.t", 1), with_macros("SELECT @plus(a) AS v FROM raw.t", 1, 2), set()),
    ("a function where none is called", with_macros("SELECT a FROM raw.t", 1), with_macros("SELECT a FROM raw.t", 2), set()),
    ("another value of a variable", with_macros("SELECT a FROM raw.t WHERE a < @VAR('limit')", 1), with_macros("SELECT a FROM raw.t WHERE a < @VAR('limit')", 2), {"data"}),
    ("another value of a variable that is not read", with_macros("SELECT a FROM raw.t WHERE a < @limit", 1), with_macros("SELECT a FROM raw.t WHERE a < @limit", 1, 2), set()),
]  # fmt: skip


@pytest.mark.parametrize(
    "sentence,one,other,parts", EXPANDED, ids=[sentence for sentence, *_ in EXPANDED]
)
def test_macros_count_by_what_they_stand_for(
    sentence: str, one: Written, other: Written, parts: set[str]
) -> None:
    assert differing_texts(one, other) == parts, sentence


def test_a_parent_in_python_shows_downstream_by_what_it_does() -> None:
    downstream = "SELECT k FROM m.p"
    project: Project = {"m.x": "SELECT a FROM raw.t", "m.p": python("context.table('m.x')")}
    before = node("m.q", {**project, "m.q": downstream})
    for body, parts in (
        ("context.table( 'm.x' )", set()),
        ("context.table('m.x').distinct()", {"parent_data"}),
    ):
        after = node("m.q", {**project, "m.p": python(body), "m.q": downstream})
        assert differing(before, after) == parts


def test_one_more_parent_that_is_only_declared_shows_in_the_parts_of_parents() -> None:
    declared = "MODEL (kind FULL, depends_on (raw.u)); SELECT a FROM raw.t"
    one, other = node("m.x", {"m.x": "SELECT a FROM raw.t"}), node("m.x", {"m.x": declared})
    assert one.fingerprint.data == other.fingerprint.data
    assert one.fingerprint.parent_data != other.fingerprint.parent_data
    assert {"raw.t", "raw.u"} == {str(each) for each in other.model.parents}


def test_a_file_without_a_block_is_a_view() -> None:
    # tests/core/conftest.py reads texts as they are; here a text without a block is FULL.
    view, block = (
        node("m.x", {"m.x": f"MODEL ({kind}); SELECT a FROM raw.t"}) for kind in ("", "kind VIEW")
    )
    assert view.fingerprint == block.fingerprint


def test_sources_with_the_same_columns_are_not_the_same_data() -> None:
    graph = graph_of({"raw.n": Source(columns=RAW)})
    one, other = (graph[ModelName("raw", name)].fingerprint for name in ("t", "n"))
    assert one.data != other.data


def test_no_two_pairs_say_the_same() -> None:
    pairs = [*SAME, *OTHER]
    assert len({sentence for sentence, _, _ in pairs}) == len(pairs)
    assert len({frozenset((one, other)) for _, one, other in pairs}) == len(pairs)


def test_a_view_of_a_table_as_it_was_is_another_one() -> None:
    now, then = (
        node("m.x", {"m.x": f"MODEL (kind VIEW); SELECT a FROM raw.t{as_of}"})
        for as_of in ("", " VERSION AS OF 3")
    )
    assert now.fingerprint.data != then.fingerprint.data
