"""A person's decision about a category: what it does, when it goes on, when it is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.core.planning.resolved_world import World
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.decisions import DecisionsRefused

FULL = "MODEL (name {0}, kind FULL);\n"
TEXTS = {
    "m.a": FULL.format("m.a") + "SELECT a, b FROM raw.t WHERE a > 1",
    "m.b": FULL.format("m.b") + "SELECT a FROM m.a",
    "m.z": FULL.format("m.z") + "SELECT a FROM raw.u",
}
EDITED = {**TEXTS, "m.a": TEXTS["m.a"].replace("> 1", "> 2")}
A, B = ModelName("m", "a"), ModelName("m", "b")


def rules(**decisions: Category) -> Rules:
    return Rules(decisions={ModelName("m", name): each for name, each in decisions.items()})


@pytest.fixture
def world() -> World:
    found = World()
    found.apply(TEXTS)
    return found


def test_a_persons_choice_wins_and_is_recorded(world: World) -> None:
    automatic = world.plan(EDITED)
    assert automatic[A].difference.category is Category.BREAKING
    assert automatic[B].difference.category is Category.INDIRECT_BREAKING
    decided = world.plan(EDITED, rules(a=Category.NON_BREAKING))
    snapshot = decided[A].snapshot
    assert (snapshot.category, snapshot.decided_by) == (Category.NON_BREAKING, DecidedBy.PERSON)
    assert decided[B].difference.category is Category.INDIRECT_NON_BREAKING
    assert decided[B].snapshot.version == world.shown.snapshots[B].version
    assert decided[B].snapshot.decided_by is DecidedBy.AUTOMATIC


def test_what_a_person_decided_goes_on_in_every_later_plan(world: World) -> None:
    world.store(world.plan(EDITED, rules(a=Category.NON_BREAKING)))
    later = world.plan(EDITED)
    assert later[A].difference.category is Category.NON_BREAKING
    assert later[A].difference.decided_by is DecidedBy.PERSON
    assert later[B].difference.category is Category.INDIRECT_NON_BREAKING
    assert later[B].snapshot.version == world.shown.snapshots[B].version


def test_the_next_edit_of_the_model_is_decided_again(world: World) -> None:
    world.apply(EDITED, rules(a=Category.NON_BREAKING))
    more = {**EDITED, "m.a": TEXTS["m.a"].replace("> 1", "> 3")}
    assert world.plan(more)[A].difference.category is Category.BREAKING
    assert world.plan(more)[A].difference.decided_by is DecidedBy.AUTOMATIC


def test_deciding_again_what_is_decided_is_no_error(world: World) -> None:
    world.store(world.plan(EDITED, rules(a=Category.NON_BREAKING)))
    again = world.plan(EDITED, rules(a=Category.NON_BREAKING))
    assert again == world.plan(EDITED)


@pytest.mark.parametrize("first", [None, Category.FORWARD_ONLY])
def test_a_stored_snapshot_is_not_decided_otherwise(world: World, first: Category | None) -> None:
    world.store(world.plan(EDITED, rules(**({"a": first} if first else {}))))
    with pytest.raises(DecisionsRefused, match=r"m\.a .*already stored.*decided .*`stamp`"):
        world.plan(EDITED, rules(a=Category.NON_BREAKING))


NEW = {**EDITED, "m.n": FULL.format("m.n") + "SELECT a FROM raw.u"}
OWNED = {**TEXTS, "m.a": TEXTS["m.a"].replace("kind", "owner me, kind")}


@pytest.mark.parametrize(
    "texts,name,reported",
    [
        (EDITED, "b", "m.b cannot be decided: only models upstream changed"),
        (EDITED, "z", "m.z cannot be decided: it did not change"),
        (NEW, "n", "m.n cannot be decided: it is new"),
        (OWNED, "a", "m.a cannot be decided: only metadata changed"),
        (EDITED, "y", "m.y cannot be decided: the project has no such model"),
    ],
)
def test_what_was_not_edited_is_not_decided(
    world: World, texts: Mapping[str, str], name: str, reported: str
) -> None:
    with pytest.raises(DecisionsRefused) as refused:
        world.plan(texts, rules(**{name: Category.BREAKING}))
    assert reported in str(refused.value)


def test_all_that_cannot_be_decided_is_reported_at_once(world: World) -> None:
    with pytest.raises(DecisionsRefused) as refused:
        world.plan(EDITED, rules(b=Category.BREAKING, aa=Category.BREAKING))
    assert [line.split()[0] for line in str(refused.value).splitlines()] == ["m.aa", "m.b"]
    assert "Did you mean m.a?" in str(refused.value)
