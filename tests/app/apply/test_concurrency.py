"""A plan whose models are evaluated at once has the result of one that evaluates them in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

import pytest
from sqlalchemy.exc import OperationalError

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of, instead, made_once, plan, raising
from tests.app.shop_world import SALES, SHOWN, TRIPLE
from tests.core.planning.test_stages import count_backfills
from vde_dagster.app.apply.applying import Report, apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.listed import ListedMark, ListedSession
from vde_dagster.core.model.snapshot import DecidedBy, VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.stages import work_stages

FAILS: Final = "CAST('x' AS BIGINT)"
FOUR: Final = Concurrency(models=4)


def full(name: str, reads: str = "raw.events", amount: str = "SUM(amount)", more: str = "") -> str:
    return f"MODEL (name mart.{name}, kind FULL{more});\nSELECT {amount} AS amount FROM {reads}"


# Two layers of four, and one model that reads the lower layer through a view.
WIDE: Final = graph_of(
    {
        **{f"a{n}": full(f"a{n}", amount=f"SUM(amount) * {n}") for n in range(4)},
        **{f"b{n}": full(f"b{n}", f"mart.a{n}", f"amount + {n}") for n in range(4)},
        "sums": "MODEL (name mart.sums, kind VIEW);\nSELECT "
        "a.amount + b.amount AS amount FROM mart.b1 AS a CROSS JOIN mart.b2 AS b",
        "last": full("last", "mart.sums", "amount * 10"),
    }
)


@made_once
def landed() -> MemoryWorld:
    return MemoryWorld.landed((1, 10), (2.5, 20), until=24)


def at_once(
    services: Services,
    graph: Graph,
    concurrency: Concurrency = FOUR,
    report: Report = lambda _: None,
) -> tuple[Evaluated, ...]:
    return apply_plan(services, plan(services, graph), report, concurrency=concurrency)


def rows(world: MemoryWorld) -> dict[str, list[tuple[object, ...]]]:
    names = [*(f"{layer}{n}" for layer in "ab" for n in range(4)), "sums", "last"]
    return {name: world.rows(f"mart.{name}") for name in names}


@pytest.mark.full
def test_the_result_is_that_of_evaluating_one_model_after_the_other() -> None:
    world, other = landed(), landed()
    other.build(WIDE)
    reported: list[Evaluated] = []
    done = at_once(world.services(), WIDE, report=reported.append)
    assert rows(world) == rows(other)
    assert world.rows("mart.last") == [((30 + 1 + 60 + 2) * 10,)]
    assert tuple(reported) == done
    order = [each.key.model.name for each in done]
    planned = plan(landed().services(), WIDE)
    assert sorted(order) == sorted(stage.model.name for stage in work_stages(planned))
    assert all(order.index(f"a{n}") < order.index(f"b{n}") for n in range(4))
    assert max(order.index("b1"), order.index("b2")) < order.index("sums") < order.index("last")
    assert world.plan(WIDE).is_empty
    assert not any(world.state.lease_holder(f"environment:{each}") for each in ("prod", "dev"))


@pytest.mark.parametrize("models", [1, 2])
def test_to_fail_fast_is_to_begin_nothing_after_the_first_failure(models: int) -> None:
    graph = graph_of(
        {
            "a": full("a", amount=FAILS, more=", concurrency 1"),
            "b": full("b", "mart.a", "amount"),
            "c": full("c"),
            "d": full("d", "mart.c", "amount"),
        }
    )
    world = landed()
    with pytest.raises(EvaluationFailed) as caught:
        at_once(world.services(), graph, Concurrency(models=models, fail_fast=True))
    assert str(caught.value).splitlines()[1:] == [
        "Not filled, because they wait for failed models: mart.b.",
        "Not started, because nothing starts after a failure: mart.c, mart.d.",
        "No view of prod was moved. Filled intervals stay.",
    ]
    assert len(world.plan(graph).backfills) == 4


def adopters(world: MemoryWorld) -> set[ModelName]:
    snapshots = world.bound().snapshots
    return {name for name, each in snapshots.items() if each.decided_by is DecidedBy.DATA}


@pytest.mark.full
def test_models_adopt_their_tables_at_once_and_none_of_it_is_lost() -> None:
    """Each adoption makes another plan of the one before (rule R6)."""
    children = {f"t{n}": TRIPLE.replace("mart.triple", f"mart.t{n}") for n in range(8)}
    texts = {"sales": SALES, "shown": SHOWN, **children}
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(texts))
    same = {**texts, "sales": SALES.replace("GROUP BY", "AND amount < 100 GROUP BY")}
    services = world.services()
    made = world.plan(graph_of(same))
    apply_plan(services, made, lambda _: None, concurrency=FOUR)
    assert adopters(world) == {ModelName("mart", name) for name in children}
    assert world.plan(graph_of(same)).is_empty


class Listing:
    """Tables of late data that keep the ids of sessions, as they are added at once."""

    names = (TableName("vde", "sessions"), TableName("vde", "marks"))

    def __init__(self) -> None:
        self.added: list[list[str]] = []

    def create(self) -> None:
        """They are there."""

    def add_sessions(self, sessions: Sequence[ListedSession]) -> None:
        self.added.append([each.session_id for each in sessions])

    def set_marks(
        self, keys: Collection[VersionKey], read: Callable[[], Sequence[ListedMark]]
    ) -> None:
        """Marks are not looked at."""


@pytest.mark.parametrize("models", [1, 4])
def test_sessions_of_a_plan_are_listed_once_when_it_ends(models: int) -> None:
    world, listing = landed(), Listing()
    services = replace(world.services(), late_tables=listing)
    at_once(services, graph_of(PROJECT), Concurrency(models=models))
    (sessions,) = listing.added
    assert len(set(sessions)) == len(sessions) >= 1
    assert not world.state.unlisted(limit=1)


def test_a_state_that_fails_at_the_end_hides_no_error_of_a_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = landed()
    error = OperationalError("SELECT", None, OSError("the server closed the connection"))
    services = instead(world.services(), "state", unlisted=raising(error))
    services = replace(services, late_tables=Listing())
    with pytest.raises(EvaluationFailed, match=r"mart\.a"):
        at_once(services, graph_of({"a": full("a", amount=FAILS), "b": full("b")}))
    assert "could not be brought up to date yet" in caplog.text
    assert "the server closed the connection" in caplog.text


def test_what_a_plan_fills_is_made_as_often_where_many_models_wait_as_where_few_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    for models in (2, 12):
        waiting = {f"b{n}": full(f"b{n}", "mart.a", "amount") for n in range(models)}
        world, graph = landed(), graph_of({"a": full("a", amount=FAILS), **waiting})
        made = world.plan(graph)
        with monkeypatch.context() as patch:
            asks = count_backfills(patch)
            with pytest.raises(EvaluationFailed, match=rf"mart\.b{models - 1}"):
                world.apply(made)
        counts.append(len(asks))
    assert counts[0] == counts[1]
