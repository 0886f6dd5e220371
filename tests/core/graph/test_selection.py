"""Which models selectors mean, and the graph that is planned for them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.conftest import build
from tests.core.written_project import problems_of
from tests.depth import is_full
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.mixed import mixed_graph
from vde_dagster.core.graph.selection import SelectionRefused, select
from vde_dagster.core.names import ModelName


def full(name: str, query: str, tags: str = "") -> str:
    return f"MODEL (name {name}, kind FULL{f', tags ({tags})' if tags else ''});\n{query}"


TEXTS = {
    "stg.orders": full("stg.orders", "SELECT a, b FROM raw.t", "nightly"),
    "stg.people": full("stg.people", "SELECT a, c FROM raw.u"),
    "mart.revenue": full("mart.revenue", "SELECT a, b FROM stg.orders", "money, Nightly2"),
    "mart.best": full(
        "mart.best", "SELECT r.a FROM mart.revenue AS r JOIN stg.people AS p ON r.a = p.a"
    ),
    "other.alone": full("other.alone", "SELECT a FROM raw.u", "money"),
}
EVERY = {*TEXTS, "raw.t", "raw.u"}


def chosen(graphs: Iterable[Graph], *selectors: str) -> set[str]:
    return {str(each) for each in select(list(graphs), selectors, catalog="lake")}


@pytest.mark.parametrize(
    "selectors,expected",
    [
        (["mart.revenue"], {"mart.revenue"}),
        (["MART.Revenue"], {"mart.revenue"}),
        (["lake.mart.revenue"], {"mart.revenue"}),
        (["`mart`.`revenue`"], {"mart.revenue"}),
        (["+mart.revenue"], {"mart.revenue", "stg.orders", "raw.t"}),
        (["mart.revenue+"], {"mart.revenue", "mart.best"}),
        (["+mart.revenue+"], {"mart.revenue", "mart.best", "stg.orders", "raw.t"}),
        (["+mart.best"], {"mart.best", "mart.revenue", "stg.orders", "stg.people"}
         | {"raw.t", "raw.u"}),
        (["raw.u+"], {"raw.u", "stg.people", "mart.best", "other.alone"}),
        (["mart.*"], {"mart.revenue", "mart.best"}),
        (["*.revenue"], {"mart.revenue"}),
        (["*"], EVERY),
        (["stg.*+"], {"stg.orders", "stg.people", "mart.revenue", "mart.best"}),
        (["tag:money"], {"mart.revenue", "other.alone"}),
        (["tag:nightly"], {"stg.orders"}),
        (["tag:nightly+"], {"stg.orders", "mart.revenue", "mart.best"}),
        (["+tag:money"], {"mart.revenue", "stg.orders", "raw.t", "other.alone", "raw.u"}),
        (["tag:?ightly*"], {"stg.orders", "mart.revenue"}),
        (["path:models/mart/*"], {"mart.revenue", "mart.best"}),
        (["+path:models/mart/revenue.sql"], {"mart.revenue", "stg.orders", "raw.t"}),
        (["mart.best", "tag:nightly"], {"mart.best", "stg.orders"}),
        (["mart.best", "+mart.best"], {"mart.best", "mart.revenue", "stg.orders", "stg.people"}
         | {"raw.t", "raw.u"}),
        ([], set()),
    ],
)  # fmt: skip
def test_a_selector_means_these_models(selectors: list[str], expected: set[str]) -> None:
    assert chosen([build(TEXTS)], *selectors) == expected


@pytest.mark.parametrize(
    "selector,text",
    [
        ("mart.revenu", "there is no model mart.revenu. Did you mean mart.revenue?"),
        ("revenue", "there is no model default.revenue. Did you mean mart.revenue?"),
        ("mart.zzzzzzzz", "there is no model mart.zzzzzzzz. Models: mart.best, "),
        ("lake.mart.revenu", "there is no model mart.revenu. Did you mean"),
        ("tag:nightl", "no model has the tag 'nightl'. Did you mean nightly?"),
        ("tag:zzzzzzz", "no model has the tag 'zzzzzzz'. Tags: "),
        (
            "path:models/mart/revenu.sql",
            "no model file matches 'models/mart/revenu.sql'. Did you",
        ),
        ("zzz.*", "no model name matches 'zzz.*'"),
        ("", "'' selects no models: write a name"),
        ("tag:", "'tag:' selects no models"),
        ("git:main", "'git:main' selects no models"),
        ("mart revenue", "'mart revenue' selects no models"),
    ],
)
def test_a_selector_without_models_is_refused_with_what_could_be_meant(
    selector: str, text: str
) -> None:
    with pytest.raises(SelectionRefused) as refused:
        chosen([build(TEXTS)], "mart.best", selector)
    assert text in str(refused.value)


def test_all_wrong_selectors_are_reported_at_once() -> None:
    with pytest.raises(SelectionRefused) as refused:
        chosen([build(TEXTS)], "mart.revenu", "tag:nope", "git:x")
    assert len(str(refused.value).splitlines()) == 3


def test_a_project_without_tags_says_only_that_there_is_none() -> None:
    with pytest.raises(SelectionRefused) as refused:
        chosen([build({"m.a": full("m.a", "SELECT a FROM raw.t")})], "tag:x")
    assert str(refused.value) == "no model has the tag 'x'."


def test_models_of_either_graph_are_selected_and_the_first_ones_tags_count() -> None:
    fewer = {name: text for name, text in TEXTS.items() if name != "mart.best"}
    tagged = {**fewer, "stg.people": full("stg.people", "SELECT a FROM raw.u", "now")}
    files, shown = build(tagged), build(TEXTS)
    assert chosen([files, shown], "mart.best") == {"mart.best"}
    assert chosen([files, shown], "mart.revenue+") == {"mart.revenue", "mart.best"}
    assert chosen([files, shown], "tag:now") == {"stg.people"}
    with pytest.raises(SelectionRefused):
        chosen([shown, files], "tag:now")


LAYERS = [[f"l{layer}.m{number}" for number in range(4)] for layer in range(4)]


@settings(max_examples=100 if is_full() else 12)
@given(st.data())
def test_the_graph_around_a_model_is_what_walking_its_reads_finds(data: st.DataObject) -> None:

    reads: dict[str, list[str]] = {}
    for layer, names in enumerate(LAYERS):
        for name in names:
            near = LAYERS[layer - 1] if layer else ["raw.t"]
            reads[name] = data.draw(st.lists(st.sampled_from(near), max_size=2, unique=True))
    graph = build({name: full(name, _reading(parents)) for name, parents in reads.items()})
    seed = data.draw(st.sampled_from(sorted(reads)))

    def upward(name: str) -> set[str]:
        return {name}.union(*(upward(each) for each in reads.get(name, [])))

    upstream = upward(seed)
    downstream = {name for name in reads if seed in upward(name)}
    assert chosen([graph], f"+{seed}") == upstream
    assert chosen([graph], f"{seed}+") == downstream
    assert chosen([graph], f"+{seed}+") == upstream | downstream


def _reading(parents: list[str]) -> str:
    return " UNION ALL ".join(f"SELECT a FROM {each}" for each in parents) or "SELECT 1 AS a"


# The graph of a selection
FILTERED = {**TEXTS, "stg.orders": TEXTS["stg.orders"] + " WHERE a > 1"}
WIDER = {
    **TEXTS,
    "stg.orders": full("stg.orders", "SELECT a, b, c FROM raw.t"),
    "mart.revenue": full("mart.revenue", "SELECT a, c FROM stg.orders"),
}


def mixed(files: Graph, shown: Graph, *selected: str) -> tuple[Graph, set[str]]:
    names = {ModelName.parse(each) for each in selected}
    found = mixed_graph(files, shown, names, environment="dev")
    return found.graph, {str(each) for each in found.left_out}


def test_a_selection_of_every_change_is_the_project() -> None:
    files, shown = build(FILTERED), build(TEXTS)
    assert mixed(files, shown, "stg.orders") == (files, set())
    assert mixed(files, files) == (files, set())


def test_what_is_not_selected_stays_as_it_is_shown() -> None:
    edited = {**FILTERED, "other.alone": TEXTS["other.alone"] + " WHERE a = 2"}
    graph, left_out = mixed(build(edited), build(TEXTS), "other.alone")
    assert left_out == {"stg.orders"}
    only = build({**TEXTS, "other.alone": edited["other.alone"]})
    assert {n.name: n.fingerprint for n in graph} == {n.name: n.fingerprint for n in only}


def test_what_reads_a_selected_model_is_modified_by_it_although_it_is_not_selected() -> None:
    edited = {**FILTERED, "mart.revenue": TEXTS["mart.revenue"] + " WHERE b = 'x'"}
    graph, left_out = mixed(build(edited), build(TEXTS), "stg.orders")
    assert left_out == {"mart.revenue"}
    expected = build({**TEXTS, "stg.orders": FILTERED["stg.orders"]})
    for name in ("mart.revenue", "mart.best"):
        node = graph[ModelName.parse(name)]
        assert node.fingerprint == expected[node.name].fingerprint
        assert node.fingerprint != build(TEXTS)[node.name].fingerprint


def test_a_new_model_that_is_not_selected_is_absent_and_a_removed_one_stays() -> None:
    fewer = {name: text for name, text in TEXTS.items() if name != "other.alone"}
    new = {**fewer, "mart.new": full("mart.new", "SELECT a FROM stg.people")}
    graph, left_out = mixed(build(new), build(TEXTS), "mart.best")
    assert left_out == {"mart.new", "other.alone"}
    assert ModelName("mart", "new") not in graph
    assert ModelName("other", "alone") in graph
    graph, left_out = mixed(build(new), build(TEXTS), "other.alone")
    assert left_out == {"mart.new"}
    assert ModelName("other", "alone") not in graph


def test_a_selected_model_that_reads_a_column_of_the_files_only_says_what_to_select() -> None:
    (problem,) = problems_of(lambda: mixed(build(WIDER), build(TEXTS), "mart.revenue"))
    assert str(problem.place.path) == "models/mart/revenue.sql"
    assert "mart.revenue" in problem.message
    assert "'c'" in problem.message
    assert "stay as dev shows them (stg.orders)" in problem.advice
    assert mixed(build(WIDER), build(TEXTS), "mart.revenue", "stg.orders")[1] == set()


def test_a_selected_model_that_reads_a_new_one_says_to_select_it() -> None:
    new = {
        **TEXTS,
        "stg.new": full("stg.new", "SELECT a FROM raw.t"),
        "mart.best": full("mart.best", "SELECT a FROM stg.new"),
    }
    with pytest.raises(ProjectInvalid, match=r"mart\.best reads stg\.new, which is new") as refused:
        mixed(build(new), build(TEXTS), "mart.best")
    (problem,) = refused.value.problems
    assert "--select-model +mart.best" in problem.advice


def test_a_model_may_not_be_removed_from_under_one_that_stays() -> None:
    fewer = {name: text for name, text in TEXTS.items() if name not in ("stg.people", "mart.best")}
    with pytest.raises(
        ProjectInvalid, match=r"mart\.best, which is not selected .* reads stg\.people, which is"
    ):
        mixed(build(fewer), build(TEXTS), "stg.people")
    assert mixed(build(fewer), build(TEXTS), "stg.people", "mart.best")[1] == set()
