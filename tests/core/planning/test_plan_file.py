"""A plan that was saved comes back as it was, or not at all."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.core.typed_values import values_of
from tests.depth import examples
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import Category, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change, DecidedBy
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.plan_file import (
    CODEC,
    FORMAT_VERSION,
    PlanFileInvalid,
    is_plan_file,
    read_plan,
    write_plan,
)
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

STORED = Path(__file__).with_name("stored")
NAME = ModelName("mart", "revenue")
SOURCE = ModelSource(
    path=Path("models/mart/revenue.sql"),
    text="MODEL (name mart.revenue, kind FULL);\nSELECT 1 AS n -- größer \u2028",
    defaults=Defaults().as_texts(),
    attachments={"macros/m.py": "x = 1\n"},
)
GRAPH = build_graph([read_model(SOURCE)])
SNAPSHOT = ModelSnapshot(
    name=NAME,
    fingerprint=GRAPH[NAME].fingerprint,
    version="a" * 32,
    category=Category.NON_BREAKING,
    reasons=("adds `n`",),
    source=SOURCE,
    decided_by=DecidedBy.PERSON,
)
PLAN = Plan(
    plan_id="p1",
    environment="dev",
    base_revision=3,
    now=datetime(2024, 1, 5, 1, 2, 3, 4, tzinfo=UTC),
    graph=GRAPH,
    snapshots={NAME: SNAPSHOT},
    changes=(
        ModelChange(
            name=NAME,
            change=Change.DIRECT,
            category=Category.NON_BREAKING,
            reasons=(Reason(kind=ReasonKind.COLUMNS_ADDED, columns=("n",)),),
            previous_version="b" * 32,
            version="a" * 32,
            missing=(Interval(EPOCH, END_OF_TIME),),
            schema_changes=(
                ColumnAdded(column="n", type="int"),
                ColumnWidened(column="m", before="int", after="bigint"),
            ),
        ),
    ),
    promotes=True,
    options=PlanOptions(
        start=datetime(2024, 1, 1, tzinfo=UTC),
        restate=("tag:nightly", "+mart.*"),
        decisions={NAME: Category.NON_BREAKING},
    ),
    stored=frozenset({NAME, ModelName("a", "b")}),
)


def saved(plan: Plan = PLAN) -> str:
    return write_plan(plan, project="shop", release="0.1.0")


def again(text: str, graph: Graph = GRAPH) -> Plan:
    return read_plan(text, name="plan.json").plan(graph)


def test_a_saved_plan_comes_back_with_its_project_and_the_text_of_its_models() -> None:
    found = read_plan(saved(), name="plan.json")
    assert (found.project, found.release) == ("shop", "0.1.0")
    assert found.snapshots == {NAME: SNAPSHOT}
    assert again(saved()) == PLAN


@settings(max_examples=examples(200), deadline=None)
@given(values_of(Plan, {Graph: GRAPH}))
def test_whatever_a_plan_holds_comes_back(plan: Plan) -> None:
    assert again(saved(plan)) == plan


def test_the_file_is_the_same_for_the_same_plan_and_can_be_read_by_people() -> None:
    text = saved()
    assert text == saved(replace(PLAN, stored=frozenset(sorted(PLAN.stored, reverse=True))))
    assert text.isascii()
    assert len(text.splitlines()) > 50
    assert '"change": "direct"' in text


# Edits
def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key and every scalar."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from leaves(each, (*path, number))


def holder(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


@pytest.mark.parametrize("edit", ["other", "removed", "added"])
def test_every_edit_is_refused(edit: str) -> None:
    document = json.loads(saved())
    paths = list(leaves(document))
    assert len(paths) > 80
    for path in paths:
        edited = copy.deepcopy(document)
        inside = holder(edited, path)
        if edit == "removed":
            del inside[path[-1]]
        elif edit == "other":
            inside[path[-1]] = "other"
        elif isinstance(inside, dict):
            inside["other"] = None
        else:
            inside.append("other")
        with pytest.raises(PlanFileInvalid):
            again(json.dumps(edited))


def test_an_edit_is_reported_as_one() -> None:
    edited = saved().replace('"p1"', '"p2"')
    with pytest.raises(PlanFileInvalid, match=r"plan\.json was edited or damaged.*Save the plan"):
        again(edited)


def test_another_layout_is_no_edit() -> None:
    document = json.loads(saved())
    assert again(json.dumps(document, indent=4, sort_keys=True)) == PLAN
    assert again(json.dumps(document, ensure_ascii=True, separators=(",", ":"))) == PLAN


def test_a_file_that_is_cut_off_is_refused_wherever_it_ends() -> None:
    text = saved()
    for end in range(0, len(text.rstrip()), 37):
        with pytest.raises(PlanFileInvalid):
            again(text[:end])
    with pytest.raises(PlanFileInvalid, match="truncated or damaged"):
        again(text[: len(text) // 2])


@pytest.mark.parametrize(
    "text,reported",
    [
        ("", "not valid JSON"),
        ("name: x\n", "not valid JSON"),
        ("SELECT 1", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ("null", "not a saved plan"),
        ("[]", "not a saved plan"),
        ('{"version": 1, "environment": "dev", "changes": []}', "cannot be applied"),
        ('{"format": "vde plan"}', "format version None"),
        (f'{{"format": "vde plan", "format_version": {FORMAT_VERSION}}}', "digest"),
    ],
)
def test_what_is_no_saved_plan_is_reported_as_what_it_is(text: str, reported: str) -> None:
    with pytest.raises(PlanFileInvalid, match=reported) as refused:
        read_plan(text, name="plan.json")
    assert "plan.json" in str(refused.value)
    assert "again" in str(refused.value)


def test_another_format_version_is_reported_with_both_and_the_release_that_wrote_it() -> None:
    reported = f"version {FORMAT_VERSION + 1}.*9.9.*version {FORMAT_VERSION}"
    newer = json.loads(saved()) | {"format_version": FORMAT_VERSION + 1, "release": "9.9"}
    with pytest.raises(PlanFileInvalid, match=reported):
        again(json.dumps(newer))


def test_a_file_of_this_format_version_is_read_for_as_long_as_there_is_the_version() -> None:
    """The stored file is written again together with another format version, and only then."""
    text = (STORED / f"plan.{FORMAT_VERSION}.json").read_text("utf-8")
    found = read_plan(text, name="plan.json")
    assert (found.project, found.release) == ("shop", "0.1.0")
    assert found.snapshots[NAME].source == SOURCE
    plan = CODEC.read(Plan, json.loads(text)["plan"], graph=GRAPH)
    assert (plan.changes, plan.options, plan.now) == (PLAN.changes, PLAN.options, PLAN.now)


def test_a_file_of_an_earlier_format_version_is_refused_with_the_release_that_reads_it() -> None:
    text = (STORED / "plan.1.json").read_text("utf-8")
    with pytest.raises(PlanFileInvalid, match=r"version 1 .*release 0\.1\.0") as refused:
        read_plan(text, name="plan.json")
    assert refused.value.advice.startswith("Apply it with the release that saved it")


def test_a_file_says_in_sentences_for_people_what_it_has_as_fields() -> None:
    content = json.loads(saved())
    (written,) = content["plan"]["changes"][0]["reasons"]
    assert (written["kind"], written["columns"]) == ("columns_added", ["n"])
    assert content["reasons"] == {"mart.revenue": ["adds `n`"]}


def test_a_file_is_known_by_its_beginning_also_where_it_is_damaged() -> None:
    assert is_plan_file(saved())
    assert is_plan_file(saved()[:100])
    assert not any(map(is_plan_file, ("", "MODEL (name a.b);", "{}", '{"format": "x"}')))


def test_models_that_are_read_otherwise_than_they_were_reviewed_are_refused() -> None:
    other = build_graph([read_model(replace(SOURCE, text=SOURCE.text.replace("1", "2")))])
    with pytest.raises(PlanFileInvalid, match=r"mart\.revenue: .*not compute what was reviewed"):
        again(saved(), other)
    with pytest.raises(PlanFileInvalid, match=r"mart\.revenue"):
        again(saved(), build_graph([]))
