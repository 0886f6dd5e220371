"""A plan applied as a Dagster run: its steps, its errors, and what it reports of each model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import dagster as dg
import pytest

from tests.app.memory_world import MemoryWorld, graph_of, plan
from tests.orchestration.served import at_home, cheaper
from vde_dagster.app.apply.applying import apply_plan, walking
from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import EvaluationFailed, VdeError
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.orchestration.assets.metadata import DATA_VERSION, PROVENANCE
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.jobs import plan_events
from vde_dagster.orchestration.jobs.plan_events import PlanEvents
from vde_dagster.orchestration.jobs.runs import run_plan
from vde_dagster.orchestration.reporting.checks import AuditWatch
from vde_dagster.project.configuration import Configuration

FAILS: Final = "CAST('x' AS BIGINT)"


def full(name: str, reads: str = "raw.events", amount: str = "SUM(amount)") -> str:
    return f"MODEL (name mart.{name}, kind FULL);\nSELECT {amount} AS amount FROM {reads}"


def models(**texts: str) -> Graph:
    return graph_of(texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all projects here: their Dagster home has the runs of all of them."""
    return tmp_path_factory.mktemp("in_memory")


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> VdeProject:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    found = Configuration(folder=folder, name="in_memory")
    if not found.home.exists():
        cheaper(dagster_home(found))
    return VdeProject(found)


@pytest.fixture
def world(project: VdeProject) -> MemoryWorld:
    """What the project is over: a day with two events."""
    made = MemoryWorld()
    made.land((1, 10), (2.5, 20), until=24)
    vars(project)["services"] = made.services()
    return made


def names(done: tuple[Evaluated, ...] | list[Evaluated]) -> list[str]:
    return [each.key.model.name for each in done]


def steps(project: VdeProject) -> Iterator[tuple[str, str]]:
    """What became of each step of the last run that was run."""
    with at_home(project) as instance:
        (run,) = instance.get_runs(limit=1)
        for entry in instance.all_logs(run.run_id):
            event = entry.dagster_event
            if event is not None and (event.is_step_success or event.is_step_failure):
                yield str(event.step_key), event.event_type_value


# Dagster, which knows nothing of what is not filled, could run the last one before `below_b`.
UNEVEN = models(
    a=full("a"),
    b=full("b"),
    below_b=full("below_b", "mart.b", "amount + 1"),
    inlined="MODEL (name mart.inlined, kind EMBEDDED);\nSELECT amount + 2 AS amount FROM mart.a",
    last=full("last", "mart.inlined", "amount"),
)


BROKEN = models(
    bad=full("bad", amount=FAILS),
    downstream=full("below", "mart.bad", "amount"),
    last=full("last", "mart.below", "amount"),
    good=full("good"),
    worse=full("worse", amount=f"SUM({FAILS})"),
)


FAILED = ["models/bad.sql:2: mart.bad", "models/worse.sql:2: mart.worse"]


@pytest.mark.full
@pytest.mark.parametrize("at_once", [0, 1, 3], ids=["without Dagster", "one by one", "at once"])
def test_what_does_not_wait_for_a_failure_is_done_and_all_are_reported(
    project: VdeProject, world: MemoryWorld, at_once: int
) -> None:
    reported: list[Evaluated] = []

    def apply(asked: Plan) -> None:
        if at_once:
            models = Concurrency(models=at_once)
            run_plan(project, asked, reported.append, concurrency=models)
        else:
            apply_plan(world.services(), asked, reported.append)

    with pytest.raises(EvaluationFailed) as caught:
        apply(plan(world.services(), BROKEN))
    if at_once:
        assert sorted(steps(project)) == [
            ("mart__bad", "STEP_FAILURE"),
            ("mart__good", "STEP_SUCCESS"),
            ("mart__worse", "STEP_FAILURE"),
        ]
    lines = str(caught.value).splitlines()
    assert [line.partition("@")[0] for line in lines[:2]] == FAILED
    assert lines[2:] == [
        "Not filled, because they wait for failed models: mart.below, mart.last.",
        "No view of prod was moved. Filled intervals stay.",
    ]
    assert names(reported) == ["good"]
    assert world.state.environment("prod") is None
    left = plan(world.services(), BROKEN)
    assert {each.name.name for each in left.backfills} == {"bad", "below", "last", "worse"}


class NotOurs(Exception):
    """What nobody expects."""


@pytest.mark.full
@pytest.mark.parametrize("raised", [KeyboardInterrupt(), NotOurs(), VdeError("not shown")])
def test_what_is_raised_while_a_result_is_shown_ends_the_plan_as_it_is(
    project: VdeProject, world: MemoryWorld, raised: BaseException
) -> None:

    def report(done: Evaluated) -> None:
        raise raised

    with pytest.raises(type(raised)):
        run_plan(project, plan(world.services(), models(a=full("a"))), report)
    assert world.state.environment("prod") is None
    assert not world.state.lease_holder("environment:prod")
    assert plan(world.services(), models(a=full("a"))).backfills == (), "filled intervals stay"


@pytest.mark.full
def test_models_that_are_evaluated_at_once_are_reported_by_their_steps(
    project: VdeProject, world: MemoryWorld
) -> None:
    asked = plan(world.services(), UNEVEN)
    reported: list[Evaluated] = []
    done = run_plan(project, asked, reported.append, concurrency=Concurrency(models=3))
    assert names(done) == ["a", "b", "below_b", "last"], "steps are in the order of the plan"
    assert sorted(names(reported)) == sorted(names(done)), "each is reported when it is done"
    assert {event for _, event in steps(project)} == {"STEP_SUCCESS"}
    assert [step for step, _ in steps(project)] == [
        *("mart__a", "mart__b", "mart__below_b", "mart__last", "promote")
    ]
    assert world.rows("mart.last") == [(32,)]


@pytest.mark.full
@pytest.mark.parametrize("models", [1, 3])
def test_a_step_that_is_not_begun_after_a_failure_says_so(
    project: VdeProject, world: MemoryWorld, models: int
) -> None:
    alone = full("bad", amount=FAILS).replace("kind FULL", "kind FULL, concurrency 1")
    graph = graph_of({"bad": alone, "good": full("good")})
    with pytest.raises(
        EvaluationFailed, match=r"Not started, because .* after a failure: mart\.good"
    ):
        run_plan(
            project,
            plan(world.services(), graph),
            lambda _: None,
            concurrency=Concurrency(models=models, fail_fast=True),
        )
    assert sorted(steps(project)) == [
        ("mart__bad", "STEP_FAILURE"),
        ("mart__good", "STEP_FAILURE"),
    ]
    assert world.state.environment("prod") is None


@pytest.mark.full
def test_a_model_was_computed_from_what_was_there_of_each_parent_when_it_began(
    world: MemoryWorld,
) -> None:
    """Of one that this plan reports later than that, it is what the plan reports."""
    both = "SELECT a.amount + b.amount AS amount FROM mart.a AS a CROSS JOIN mart.b AS b"
    graph = models(a=full("a"), b=full("b"), c=f"MODEL (name mart.c, kind FULL);\n{both}")
    done = apply_plan(world.services(), plan(world.services(), graph), lambda _: None)
    (last,) = [each for each in done if each.key.model.name == "c"]
    keys = {node.name: dg.AssetKey([node.name.schema, node.name.name]) for node in graph}
    events = PlanEvents(services=world.services(), keys=keys)
    a, b, c = (ModelName("mart", name) for name in "abc")
    with dg.DagsterInstance.ephemeral() as instance:

        def happens(name: ModelName, version: str) -> float:
            event = dg.AssetMaterialization(keys[name], tags={DATA_VERSION: version})
            instance.report_runless_asset_event(event)
            return time.time()

        happens(a, "before this plan")
        events._began[c] = happens(b, "before this plan")
        events._reported[a] = happens(a, "of this plan")
        for name in (a, b):
            happens(name, "of another run")
        found = events._provenance(dg.build_op_context(instance=instance), graph[c], last)
    versions = {name: found[f"{PROVENANCE[0]}mart/{name.name}"] for name in (a, b)}
    assert versions == {a: "of this plan", b: "before this plan"}


def test_a_model_began_when_its_thread_did_and_not_when_its_result_is_reported(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens while the thread that reports is busy elsewhere was not there to be read."""
    reports = threading.current_thread()
    asked = plan(world.services(), models(a=full("a"), b=full("b")))
    events = PlanEvents(services=world.services(), keys={})
    late, early = 9_000_000.0, 1_000_000.0

    def now() -> float:
        return late if threading.current_thread() is reports else early

    monkeypatch.setattr(plan_events, "time", SimpleNamespace(time=now))
    two = Concurrency(models=2)
    with walking(world.services(), asked, events.visit, concurrency=two) as walk:
        found = {unit.key.model: unit.seconds for unit in walk.rest()}
    assert found.keys() == {ModelName("mart", name) for name in "ab"}
    assert events._began == {name: early - seconds for name, seconds in found.items()}


@pytest.mark.full
@pytest.mark.parametrize(
    "at_once, first",
    [(1, ["looks at a", "a", "looks at b", "b"]), (2, ["looks at a", "looks at b", "a", "b"])],
)
def test_audits_are_looked_at_before_each_model_and_before_all_that_are_evaluated_at_once(
    project: VdeProject,
    world: MemoryWorld,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    first: list[str],
) -> None:
    happened: list[str] = []
    begin = AuditWatch.begin

    def looked(services: Services, binding: Binding, name: ModelName) -> AuditWatch:
        happened.append(f"looks at {name.name}")
        return begin(services, binding, name)

    monkeypatch.setattr(AuditWatch, "begin", looked)
    asked = plan(world.services(), models(a=full("a"), b=full("b", "mart.a", "amount")))
    run_plan(
        project,
        asked,
        lambda done: happened.append(done.key.model.name),
        concurrency=Concurrency(models=at_once),
    )
    assert happened == first
