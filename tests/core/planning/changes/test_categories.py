"""What a change means for its model and all downstream (seed 000, *Change Categorization*).

The cases are in tables, in files next to this one. What they expect follows from the seed and from
what SQL means: whether there are rows for which a model's result is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.core.planning.changes import cases_columns, cases_models, cases_rows, cases_rules
from tests.core.planning.changes.case import Case, graph_of
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Change, DecidedBy, Difference
from vde_dagster.core.planning.changes.reason_values import sentences

CASES = [
    *cases_columns.CASES,
    *cases_rows.CASES,
    *cases_models.CASES,
    *cases_rules.CASES,
]
KEEPING = (Category.INDIRECT_NON_BREAKING, Category.METADATA, Category.FORWARD_ONLY)


def columns_of(name: ModelName, *graphs: Graph) -> frozenset[str]:
    """Every column that a model has in one of the graphs."""
    nodes = (graph[name] for graph in graphs if name in graph)
    return frozenset(column.name.lower() for node in nodes for column in node.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A case, its graphs, and what was found."""

    case: Case
    before: Graph
    after: Graph
    found: Mapping[ModelName, Difference]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def compared(request: pytest.FixtureRequest) -> Compared:
    """Each case is compared once, for all that is asked about it."""
    case: Case = request.param
    before, after = graph_of(case.before), graph_of(case.after)
    found = compare_graphs(before, after, case.rules)
    return Compared(case=case, before=before, after=after, found=found)


def test_each_model_is_judged_by_what_happens_to_its_rows_and_columns(compared: Compared) -> None:
    before, after, found = compared.before, compared.after, compared.found
    wrong = {
        str(name): unlike
        for name, expected in (
            (ModelName.parse(key), each) for key, each in compared.case.expected.items()
        )
        if (unlike := expected.unlike(found[name], columns_of(name, before, after)))
    }
    assert wrong == {}


def test_every_model_has_one_whole_answer(compared: Compared) -> None:
    case, before, after, found = compared.case, compared.before, compared.after, compared.found
    assert set(found) == {*before.nodes, *after.nodes}
    assert {ModelName.parse(name) for name in case.expected} <= set(found)
    for name, each in found.items():
        assert each.name == name
        uncategorized = each.change in (Change.ADDED, Change.REMOVED, Change.NONE)
        assert (each.category is None) == uncategorized
        assert all(sentences(each.reasons))
        assert bool(each.reasons) or each.change is Change.NONE, f"{name} has no reason"
        assert not (each.rebuild and each.category in KEEPING)
        assert set(each.columns_changed) <= columns_of(name, before, after)
        assert len(set(each.columns_changed)) == len(each.columns_changed)
        if not case.rules.decisions:
            assert each.decided_by is DecidedBy.AUTOMATIC


def test_no_two_cases_say_the_same() -> None:
    names = Counter(case.name for case in CASES)
    edits = Counter(repr((case.before, case.after, case.rules)) for case in CASES)
    assert {name for name, times in names.items() if times > 1} == set()
    assert {text for text, times in edits.items() if times > 1} == set()
