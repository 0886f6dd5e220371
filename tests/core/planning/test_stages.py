"""The stages of a plan follow from the plan alone, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.core.conftest import build
from tests.core.time.scheduled_models import span, spans, utc
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Behind, Plan, Workload
from vde_dagster.core.planning.plan_making import Current, Findings, make_plan
from vde_dagster.core.planning.resolution import Shown, resolve_snapshots
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, schedule_of
from vde_dagster.core.planning.stages import (
    Backfill,
    CatchUp,
    EmptyBackfill,
    MakeView,
    Promote,
    Reserve,
    Restate,
    ShowFilled,
    StoreSnapshots,
    awaited,
    filled_by,
    left_out,
    stages_of,
)
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval

ALWAYS = (Interval(EPOCH, END_OF_TIME),)
DAILY = (
    "MODEL (name {0}, kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_size 2));\n"
    "SELECT a, ts FROM {1} WHERE ts BETWEEN @start_dt AND @end_dt"
)
TEXTS = {
    "m.a": DAILY.format("m.a", "raw.t"),
    "m.v": "MODEL (name m.v, kind VIEW); SELECT a, ts FROM m.a",
    "m.b": DAILY.format("m.b", "m.v").replace(", batch_size 2", ""),
    "m.f": "MODEL (name m.f, kind FULL); SELECT a FROM m.b",
}
A, V, B, F = (ModelName.parse(name) for name in TEXTS)
WEEK = "2024-01-01 2024-01-06"


def planned(
    graph: Graph,
    work: Mapping[ModelName, Workload],
    *,
    shown: Graph | None = None,
    hidden: frozenset[ModelName] = frozenset(),
    **options: Any,
) -> Plan:
    """A plan for dev, at revision 3 where it shows something already."""
    nothing = Shown(snapshots={}, graph=build_graph([]))
    before = nothing
    if shown is not None:
        found = resolve_snapshots(shown, nothing, {})
        before = Shown(snapshots={n: e.snapshot for n, e in found.items()}, graph=shown)
    return make_plan(
        plan_id="p",
        environment="dev",
        now=utc("2024-01-06"),
        graph=graph,
        shown=before,
        current=Current(revision=3, snapshots=before.snapshots) if shown else Current(),
        resolved=resolve_snapshots(graph, before, {}),
        complete_to={node.name: utc("2024-01-06") for node in graph},
        findings=Findings(work=work, stored=frozenset(before.snapshots)),
        options=PlanOptions(**options),
        hidden=hidden,
    )


def missing(**ranges: str) -> dict[ModelName, Workload]:
    return {ModelName("m", name): Workload(missing=spans(text)) for name, text in ranges.items()}


def test_a_first_plan_stores_fills_parents_first_and_promotes() -> None:
    graph = build(TEXTS)
    work = {**missing(a=WEEK, b=WEEK, f=WEEK), V: Workload(missing=ALWAYS)}
    plan = planned(graph, work)
    versions = {name: each.version for name, each in plan.snapshots.items()}
    assert stages_of(plan) == (
        Reserve(environment="dev", base_revision=0),
        StoreSnapshots(environment="dev", models=tuple(node.name for node in graph)),
        Backfill(
            model=A,
            version=versions[A],
            intervals=spans(WEEK),
            batches=(
                span("2024-01-01 2024-01-03"),
                span("2024-01-03 2024-01-05"),
                span("2024-01-05 2024-01-06"),
            ),
        ),
        MakeView(model=V, version=versions[V]),
        Backfill(model=B, version=versions[B], intervals=spans(WEEK), batches=spans(WEEK)),
        Backfill(model=F, version=versions[F], intervals=spans(WEEK), batches=spans(WEEK)),
        Promote(environment="dev", views=(A, V, B, F), removed=()),
    )


def test_an_empty_plan_has_no_stages() -> None:
    graph = build(TEXTS)
    assert stages_of(planned(graph, {}, shown=graph)) == ()


def test_intervals_that_became_due_are_filled_and_shown_without_a_promotion() -> None:
    graph = build(TEXTS)
    stages = stages_of(planned(graph, missing(b=WEEK), shown=graph))
    assert stages[0] == Reserve(environment="dev", base_revision=3)
    assert stages[1] == StoreSnapshots(environment="dev", models=())
    assert [type(each) for each in stages[2:]] == [Backfill, ShowFilled]
    assert stages[-1] == ShowFilled(environment="dev", models=(B,))


def test_what_is_restated_is_marked_at_once_before_anything_is_filled() -> None:
    graph = build(TEXTS)
    second, third = spans("2024-01-02 2024-01-03"), spans("2024-01-03 2024-01-04")
    work = {A: Workload(restated=second), B: Workload(missing=third, restated=second)}
    stages = stages_of(planned(graph, work, shown=graph, restate=("m.a",)))
    assert stages[2] == Restate(ranges=((A, second), (B, second)))
    assert [each.intervals for each in stages if isinstance(each, Backfill)] == [
        second,
        spans("2024-01-02 2024-01-04"),  # what touches is one range
    ]


def test_an_empty_backfill_records_tables_and_makes_views_and_seeds() -> None:
    graph = build(TEXTS)
    work = {**missing(a=WEEK, f=WEEK), V: Workload(missing=ALWAYS)}
    plan = planned(graph, work, empty_backfill=True)
    assert [type(each) for each in stages_of(plan)[2:-1]] == [
        EmptyBackfill,
        MakeView,
        EmptyBackfill,
    ]


def test_a_promotion_names_the_views_that_move_and_those_that_go() -> None:
    edited = {name: text for name, text in TEXTS.items() if name != "m.f"}
    edited["m.b"] = edited["m.b"].replace("SELECT a,", "SELECT a + 1 AS a,")
    plan = planned(build(edited), {}, shown=build(TEXTS))
    assert stages_of(plan)[-1] == Promote(environment="dev", views=(B,), removed=(F,))


def test_work_awaits_what_is_filled_upstream_and_a_promotion_what_it_moves() -> None:
    edited = {**TEXTS, "m.b": TEXTS["m.b"].replace("SELECT a,", "SELECT a + 1 AS a,")}
    plan = planned(build(edited), missing(a=WEEK, b=WEEK, f=WEEK), shown=build(TEXTS))
    filled = filled_by(plan)
    assert filled == {A, B, F}
    found = {each: awaited(plan, each, filled) for each in stages_of(plan)[2:]}
    assert list(found.values()) == [frozenset(), {A}, {B}, {B, F}]
    shows = ShowFilled(environment="dev", models=(A,))
    assert awaited(plan, shows, filled) == {A, B, F}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(lambda plan: schedule_of(plan, ONE_AT_A_TIME), id="the schedule"),
        pytest.param(lambda plan: left_out(plan, [ModelName("m", "c0")]), id="what is left out"),
    ],
)
def test_what_a_plan_fills_is_made_as_often_for_many_models_as_for_few(
    monkeypatch: pytest.MonkeyPatch, asked: Callable[[Plan], object]
) -> None:
    """It takes as long as the plan has models, so asking again for each one would be quadratic."""
    counts = []
    for models in (2, 20):
        plan = chain(models)
        with monkeypatch.context() as patch:
            asks = count_backfills(patch)
            asked(plan)
        counts.append(len(asks))
    assert counts[0] == counts[1] > 0


def chain(models: int) -> Plan:
    """A plan that fills so many models, of which each reads the one before."""
    texts = {
        f"m.c{at}": DAILY.format(f"m.c{at}", f"m.c{at - 1}" if at else "raw.t")
        for at in range(models)
    }
    return planned(build(texts), missing(**{f"c{at}": WEEK for at in range(models)}))


def count_backfills(patch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans whose backfills were asked for, each as often as they were."""
    made: property = vars(Plan)["backfills"]
    asks: list[Plan] = []

    def counted(plan: Plan) -> object:
        asks.append(plan)
        return made.__get__(plan)

    patch.setattr(Plan, "backfills", property(counted))
    return asks


def test_a_session_awaits_what_its_model_depends_on_and_is_filled() -> None:
    text = DAILY.format("m.s", "raw.t").replace(
        "(name m.s,", "(name m.s, late_data (mode stateless, sources (raw.t)), depends_on (m.f),"
    )
    graph, name = build({**TEXTS, "m.s": text}), ModelName("m", "s")
    plan = planned(graph, missing(f=WEEK, s=WEEK), shown=graph)
    behind = Behind(intervals=spans(WEEK), session=True)
    returning = replace(
        plan,
        changes=tuple(replace(e, behind=behind) if e.name == name else e for e in plan.changes),
    )
    (session,) = (each for each in stages_of(returning) if isinstance(each, CatchUp))
    assert awaited(returning, session, filled_by(returning)) == {F}


def test_metadata_moves_no_view_and_is_promoted() -> None:
    edited = {**TEXTS, "m.b": TEXTS["m.b"].replace("(name m.b,", "(name m.b, owner 'x',")}
    graph, shown = build(edited), build(TEXTS)
    assert compare_graphs(shown, graph)[B].category is not None
    stages = stages_of(planned(graph, {}, shown=shown))
    assert [type(each) for each in stages] == [Reserve, StoreSnapshots, Promote]
    assert stages[-1] == Promote(environment="dev", views=(), removed=())


@pytest.mark.parametrize("is_new", [True, False])
def test_hidden_models_have_no_view(is_new: bool) -> None:
    graph = build(TEXTS)
    plan = planned(graph, {}, shown=None if is_new else graph, hidden=frozenset({A, V}))
    closing = stages_of(plan)[-1]
    assert isinstance(closing, Promote)
    assert (closing.views, closing.removed) == (((B, F), ()) if is_new else ((), (A, V)))


def test_stages_follow_from_the_plan_alone() -> None:
    graph = build(TEXTS)
    plan = planned(graph, missing(a=WEEK, b=WEEK))
    assert stages_of(plan) == stages_of(plan)
