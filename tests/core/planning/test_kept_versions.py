"""A version that is kept against its definition is known as that, and never taken for another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.core.conftest import build
from tests.core.planning.resolved_world import World
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.resolution import Resolved, resolve_snapshots

A, B = ModelName("m", "a"), ModelName("m", "b")
BELOW = "MODEL (name m.b, kind FULL);\nSELECT a FROM m.a"


def texts(query: str, downstream: str = BELOW, header: str = "") -> dict[str, str]:
    return {"m.a": f"MODEL (name m.a, kind FULL{header});\n{query}", "m.b": downstream}


FIRST = texts("SELECT a FROM raw.t WHERE a > 1")
SECOND = texts("SELECT a FROM raw.t WHERE a > 2")
FORWARD = Rules(forward_only=True)
HARMLESS = Rules(decisions={A: Category.NON_BREAKING})


@pytest.fixture
def world() -> World:
    found = World()
    found.apply(FIRST)
    return found


def category(resolved: Mapping[ModelName, Resolved], name: ModelName) -> Category | None:
    return resolved[name].difference.category


def test_a_forward_only_change_keeps_the_version_which_drifts_with_all_downstream(
    world: World,
) -> None:
    before = world.shown.snapshots
    after = world.apply(SECOND, FORWARD)
    assert {name: after[name].snapshot.version for name in (A, B)} == {
        name: before[name].version for name in (A, B)
    }
    assert after[A].snapshot.drifted
    assert after[B].snapshot.drifted


def test_going_back_behind_a_forward_only_change_is_one_too(world: World) -> None:
    world.apply(SECOND, FORWARD)
    back = world.apply(FIRST)
    assert category(back, A) is Category.FORWARD_ONLY
    assert not back[A].difference.rebuild
    assert category(back, B) is Category.INDIRECT_NON_BREAKING


def test_an_earlier_definition_with_other_metadata_has_a_table_of_its_own(world: World) -> None:
    old = world.shown.snapshots[A]
    world.apply(SECOND, FORWARD)
    rebuilds = world.apply(texts("SELECT a FROM raw.t WHERE a > 1", header=", owner 'me'"))
    assert rebuilds[A].snapshot.fingerprint.data == old.fingerprint.data
    assert rebuilds[A].difference.rebuild
    assert rebuilds[A].snapshot.version != old.version
    assert category(rebuilds, B) is Category.INDIRECT_BREAKING


@pytest.mark.parametrize(
    "edit",
    [
        texts("SELECT a FROM raw.t WHERE a > 2", header=", stamp 'again'"),
        texts("SELECT a, b FROM raw.t WHERE a > 2"),
    ],
)
def test_what_drifted_reaches_its_readers_when_it_is_computed_again(
    world: World, edit: Mapping[str, str]
) -> None:
    world.apply(SECOND, FORWARD)
    rebuilds = world.apply(edit)
    assert category(rebuilds, A) is Category.BREAKING
    assert category(rebuilds, B) is Category.INDIRECT_BREAKING


def test_what_did_not_drift_keeps_its_readers(world: World) -> None:
    world.apply(SECOND)
    rebuilds = world.apply(texts("SELECT a, b FROM raw.t WHERE a > 2"))
    assert category(rebuilds, A) is Category.NON_BREAKING
    assert category(rebuilds, B) is Category.INDIRECT_NON_BREAKING


def test_readers_that_a_person_kept_drift(world: World) -> None:
    kept = world.apply(SECOND, HARMLESS)
    assert not kept[A].snapshot.drifted
    assert kept[B].snapshot.drifted
    more = texts(
        "SELECT a FROM raw.t WHERE a > 2",
        downstream=f"{BELOW} -- note\n".replace("a F", "a, 1 AS n F"),
    )
    assert category(world.apply(more), B) is Category.BREAKING


def test_what_another_environment_took_forward_only_is_that_everywhere(world: World) -> None:
    world.environments["dev"] = world.shown
    world.apply(SECOND, FORWARD, environment="dev")
    shown = world.shown.snapshots[A]
    found = world.apply(SECOND)
    assert found[A].snapshot.version == shown.version
    assert category(found, A) is Category.FORWARD_ONLY
    assert category(found, B) is Category.INDIRECT_NON_BREAKING


def test_what_one_environment_computed_again_is_not_kept_by_another(world: World) -> None:
    world.environments["dev"] = world.shown
    rebuilds = world.apply(SECOND, environment="dev")
    found = world.apply(SECOND, FORWARD)
    assert found[A].snapshot == rebuilds[A].snapshot
    assert category(found, A) is Category.BREAKING


def test_a_decision_holds_for_the_edit_that_it_was_made_about(world: World) -> None:
    world.apply(SECOND, HARMLESS)
    world.environments["same"] = world.shown
    third = texts("SELECT a FROM raw.t WHERE a > 3")
    world.apply(third, environment="other")
    found = world.apply(SECOND, environment="other")
    assert category(found, A) is Category.BREAKING
    assert category(found, B) is Category.INDIRECT_BREAKING


def test_metadata_alone_leaves_a_drifted_version_drifted(world: World) -> None:
    world.apply(SECOND, FORWARD)
    owned = world.apply(texts("SELECT a FROM raw.t WHERE a > 2", header=", owner 'me'"))
    assert category(owned, A) is Category.METADATA
    assert owned[A].snapshot.drifted


@pytest.mark.parametrize("below", ["VIEW", "FULL"])
def test_r1_a_view_that_nobody_edited_follows_a_table_that_is_given_back(below: str) -> None:
    top = "MODEL (name m.v, kind VIEW);\nSELECT a FROM m.a"
    project = {**texts("SELECT a FROM raw.t", BELOW.replace("FULL", below)), "m.v": top}
    world = World()
    world.apply(project)
    before = world.shown.snapshots
    after = resolve_snapshots(build(project), world.shown, world.stored, released={A})
    moved = {name for name, each in after.items() if each.snapshot.version != before[name].version}
    assert moved == {A, ModelName("m", "v"), *([B] if below == "VIEW" else [])}
