"""A power cut after every call of every port that writes, for each kind; one more run converges.

What is durable after such a call stays so until the next one, so cuts before it, or after a call
that only reads, would show nothing more. The short form cuts at each method for one kind, and for
the others where rows are written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.memory_world import WRITING, Fuse, MemoryWorld, PowerCut, build, graph_of, made_once
from tests.depth import is_full, places
from vde_dagster.core.errors import EvaluationFailed, OutcomeUnknown
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.names import ModelName

Rows = list[tuple[object, ...]]


@made_once
def one_day_held(kind: str) -> MemoryWorld:
    """A day is loaded; another one has landed."""
    graph = graph_of({kind: model(kind)})
    world = MemoryWorld.landed((1, 10), (2, 20), (3, 5), until=24)
    world.build(graph)
    world.land((25, 7), (26, 9), until=48)
    return world


def seen(world: MemoryWorld, kind: str) -> Rows:
    return world.rows(f"kept.{kind}")


def recorded(world: MemoryWorld, kind: str) -> list[tuple[object, ...]]:
    """What the ledger says, apart from the unit of work and the Iceberg snapshot."""
    return [(each.interval, each.rows, each.digest, each.status) for each in entries(world, kind)]


def entries(world: MemoryWorld, kind: str) -> tuple[LedgerEntry, ...]:
    key = world.bound().key(ModelName("kept", kind))
    return world.services().state.ledger([key])[key]


def branches(world: MemoryWorld) -> set[str]:
    return {work for table in world.catalog.tables.values() for work in table.branches}


WRITING_ROWS: Final = frozenset(["stage", "record_staged", "publish", "finalize"])
"""The calls whose work depends on the kind."""


def chosen(kind: str) -> frozenset[str]:
    """The methods at which a process that evaluates a kind dies or sleeps.

    In the short form these are all of them for one kind, and for the others those that do something
    else for each kind.
    """
    return WRITING if is_full() or kind == "unmanaged" else WRITING_ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_that_dies_after_any_call_is_completed_by_the_next_run(kind: str) -> None:
    graph = graph_of({kind: model(kind)})
    start, fuse = one_day_held(kind), Fuse()
    undisturbed = start.copied()
    before = seen(undisturbed, kind)
    build(undisturbed.services(fuse), graph)
    after = seen(undisturbed, kind)
    assert before != after
    for call in places(fuse.names, chosen(kind)):
        name = fuse.names[call - 1]
        world = start.copied()
        with pytest.raises(PowerCut):
            build(world.services(Fuse(cut_at=call, after=True)), graph)
        assert seen(world, kind) in (before, after), f"readers see half of it after {name} ({call})"
        world.reboot()
        world.build(graph)
        assert seen(world, kind) == after, f"it died after {name} ({call})"
        assert recorded(world, kind) == recorded(undisturbed, kind), (
            f"it died after {name} ({call})"
        )


@dataclass(frozen=True)
class Losing:
    """A port whose answer to one method is lost, with or without its effect."""

    port: object
    method: str
    done: bool

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.port, name)
        if name != self.method:
            return found

        def lose(*args: Any, **kwargs: Any) -> NoReturn:
            if self.done:
                found(*args, **kwargs)
            raise OutcomeUnknown(f"the answer to {name} was lost")

        return lose


@pytest.mark.full
@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize(
    "port, method",
    [
        ("state", "record_intent"),
        ("state", "record_staged"),
        ("catalog", "publish"),
        ("state", "finalize"),
    ],
)
def test_a_lost_answer_never_appends_an_interval_twice(port: str, method: str, done: bool) -> None:
    graph = graph_of({"unmanaged": model("unmanaged")})
    world = one_day_held("unmanaged")
    services = world.services()
    lost: dict[str, Any] = {port: Losing(getattr(services, port), method, done)}
    with pytest.raises(OutcomeUnknown):
        build(replace(services, **lost), graph)
    world.build(graph)
    assert seen(world, "unmanaged") == world.rows("raw.events")
    assert [each.rows.rows for each in entries(world, "unmanaged")] == [3, 2]
    world.land((49, 1), until=72)
    world.build(graph)
    assert seen(world, "unmanaged") == world.rows("raw.events")
    assert branches(world) == set()


@dataclass(frozen=True)
class Failing:
    """An engine that fails when all rows are in the branch, as on a disk that is full by then."""

    engine: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def stage(self, staging: Staging) -> NoReturn:
        self.engine.stage(staging)
        raise EvaluationFailed("a disk is full")


@pytest.mark.full
@pytest.mark.parametrize(
    "port, method", [("catalog", "drop_branch"), ("state", "abandon")], ids=["branch", "state"]
)
@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
def test_a_failure_is_told_although_it_cannot_be_cleaned_up_and_the_next_run_does_that(
    port: str, method: str, done: bool
) -> None:
    graph = graph_of({"unmanaged": model("unmanaged")})
    world = one_day_held("unmanaged")
    before, services = seen(world, "unmanaged"), world.services()
    lost: dict[str, Any] = {port: Losing(getattr(services, port), method, done)}
    with pytest.raises(EvaluationFailed, match="a disk is full"):
        build(replace(services, engine=Failing(services.engine), **lost), graph)
    assert seen(world, "unmanaged") == before
    world.build(graph)
    assert seen(world, "unmanaged") == world.rows("raw.events")
    assert branches(world) == set()
