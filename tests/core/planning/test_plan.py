from __future__ import annotations

from collections.abc import Mapping

from tests.core.conftest import build
from tests.core.planning.resolved_world import World
from vde_dagster.core.model.snapshot import Category, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_making import Current, Findings, make_plan
from vde_dagster.core.planning.resolution import resolve_snapshots
from vde_dagster.core.time.intervals import EPOCH

Snapshots = dict[ModelName, ModelSnapshot]


class Applied(World):
    """One environment, and how its last plan changed its models."""

    changes: dict[str, Change]

    def shows(self, texts: Mapping[str, str]) -> dict[str, ModelSnapshot]:
        resolved = self.apply(texts)
        self.changes = {str(name): each.difference.change for name, each in resolved.items()}
        return {str(name): each.snapshot for name, each in resolved.items()}


FULL = "MODEL (name {0}, kind FULL);\n"
TEXTS = {
    "m.a": FULL.format("m.a") + "SELECT a, b FROM raw.t WHERE a > 1",
    "m.v": "MODEL (name m.v, kind VIEW); SELECT a FROM m.a",
    "m.c": FULL.format("m.c") + "SELECT a FROM m.v",
    "m.d": FULL.format("m.d") + "SELECT a FROM m.c",
    "m.z": FULL.format("m.z") + "SELECT a FROM raw.u",
}
FILTER = {**TEXTS, "m.a": TEXTS["m.a"].replace("> 1", "> 2")}
COLUMN = {**TEXTS, "m.a": TEXTS["m.a"].replace("a, b", "a, b, c")}


def test_in_a_new_environment_everything_is_added_at_its_own_version() -> None:
    world = Applied()
    snapshots = world.shows(TEXTS)
    assert set(world.changes.values()) == {Change.ADDED}
    assert all(each.category is None for each in snapshots.values())
    assert snapshots["m.a"].version == snapshots["m.a"].fingerprint.data_version
    assert len({each.version for each in snapshots.values()}) == len(snapshots)


def test_an_unchanged_project_changes_nothing() -> None:
    world = Applied()
    before = world.shows(TEXTS)
    assert world.shows({name: f"\n{text}\n" for name, text in TEXTS.items()}) == before
    assert set(world.changes.values()) == {Change.NONE}


def test_a_breaking_change_gives_every_descendant_a_new_version() -> None:
    world = Applied()
    before, after = world.shows(TEXTS), world.shows(FILTER)
    assert {name: after[name].category for name in TEXTS} == {
        "m.a": Category.BREAKING,
        "m.v": Category.INDIRECT_BREAKING,
        "m.c": Category.INDIRECT_BREAKING,
        "m.d": Category.INDIRECT_BREAKING,
        "m.z": None,
    }
    assert {name for name in after if after[name].version != before[name].version} == {
        "m.a",
        "m.v",
        "m.c",
        "m.d",
    }
    assert world.changes["m.c"] is Change.INDIRECT
    assert "m.v" in after["m.c"].reasons[0]


def test_r1_a_non_breaking_change_keeps_downstream_tables_and_remakes_the_view() -> None:
    world = Applied()
    before, after = world.shows(TEXTS), world.shows(COLUMN)
    assert after["m.a"].category is Category.NON_BREAKING
    assert {after[name].category for name in ("m.v", "m.c", "m.d")} == {
        Category.INDIRECT_NON_BREAKING
    }
    kept = {name for name in after if after[name].version == before[name].version}
    assert kept == {"m.c", "m.d", "m.z", "raw.t", "raw.u"}  # the view reads another table now


def test_metadata_keeps_every_version() -> None:
    world = Applied()
    before = world.shows(TEXTS)
    after = world.shows({**TEXTS, "m.a": TEXTS["m.a"].replace("FULL", "FULL, owner 'x'")})
    assert {name: world.changes[name] for name in ("m.a", "m.d", "m.z")} == {
        "m.a": Change.METADATA,
        "m.d": Change.METADATA,
        "m.z": Change.NONE,
    }
    assert {n: s.version for n, s in after.items()} == {n: s.version for n, s in before.items()}
    assert after["m.a"].fingerprint != before["m.a"].fingerprint


def test_a_revert_gets_the_snapshots_and_versions_that_were_stored() -> None:
    world = Applied()
    before = world.shows(TEXTS)
    world.shows(FILTER)
    assert world.shows(TEXTS) == before
    assert world.changes["m.a"] is Change.DIRECT


def test_a_stored_snapshot_is_used_with_the_version_that_it_kept() -> None:
    world = Applied()
    first, kept = world.shows(TEXTS), world.shows(COLUMN)
    world.shows(FILTER)
    assert world.shows(COLUMN) == kept
    assert kept["m.c"].version == first["m.c"].version != kept["m.c"].fingerprint.data_version


def test_an_appended_column_does_not_hide_a_breaking_change_upstream() -> None:
    world = Applied()
    before = world.shows(TEXTS)
    both = {**FILTER, "m.c": TEXTS["m.c"].replace("a FROM", "a, 1 AS one FROM")}
    after = world.shows(both)
    assert after["m.c"].category is Category.BREAKING
    assert any("m.v" in reason for reason in after["m.c"].reasons)
    assert after["m.d"].version != before["m.d"].version
    assert after["m.d"].category is Category.INDIRECT_BREAKING


def _plan(world: Applied, texts: Mapping[str, str], current: Snapshots) -> Plan:
    graph = build(texts)
    return make_plan(
        plan_id="p",
        environment="prod",
        now=EPOCH,
        graph=graph,
        shown=world.shown,
        current=Current(revision=3, snapshots=current),
        resolved=resolve_snapshots(graph, world.shown, world.stored),
        complete_to={node.name: EPOCH for node in graph},
        findings=Findings(),
    )


def test_a_plan_lists_parents_first_and_removed_models_last() -> None:
    world = Applied()
    before = world.shows(TEXTS)
    fewer = {name: text for name, text in TEXTS.items() if name not in ("m.d", "m.z")}
    plan = _plan(world, fewer, dict(world.shown.snapshots))
    assert [(str(each.name), each.change) for each in plan.changes[-2:]] == [
        ("m.d", Change.REMOVED),
        ("m.z", Change.REMOVED),
    ]
    assert plan.changes[-1].previous_version == before["m.z"].version
    assert plan.changes[-1].version is None
    assert plan.promotes
    assert not plan.is_empty


def test_a_plan_of_what_is_shown_is_empty() -> None:
    world = Applied()
    world.shows(TEXTS)
    assert _plan(world, TEXTS, dict(world.shown.snapshots)).is_empty
    assert _plan(world, TEXTS, {}).promotes  # a new environment shows nothing yet


def test_going_back_says_what_that_changes_and_not_what_once_was_stored() -> None:
    world = Applied()
    world.shows(TEXTS)
    world.shows(FILTER)
    plan = _plan(world, TEXTS, dict(world.shown.snapshots))
    changed = {str(each.name): each for each in plan.changes if each.change is Change.DIRECT}
    assert changed
    assert all(each.category is Category.BREAKING for each in changed.values())
    assert not any("new model" in sentences(each.reasons) for each in changed.values())
