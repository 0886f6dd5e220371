from __future__ import annotations

from collections.abc import Callable, Mapping

from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.snapshot import Category, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_making import Current, Findings, make_plan
from vde_dagster.core.planning.resolution import Shown, resolve_snapshots
from vde_dagster.core.time.intervals import EPOCH

Build = Callable[[Mapping[str, str]], Graph]
Snapshots = dict[ModelName, ModelSnapshot]
NOTHING = Shown(snapshots={}, graph=build_graph([]))


class World:
    """One environment, and all snapshots that its plans stored."""

    def __init__(self, graph_of: Build) -> None:
        self.graph_of = graph_of
        self.shown = NOTHING
        self.stored: dict[tuple[ModelName, str], ModelSnapshot] = {}
        self.changes: dict[str, Change] = {}

    def apply(self, texts: Mapping[str, str]) -> dict[str, ModelSnapshot]:
        graph = self.graph_of(texts)
        resolved = resolve_snapshots(graph, self.shown, self.stored)
        snapshots = {name: each.snapshot for name, each in resolved.items()}
        for name, snapshot in snapshots.items():
            self.stored.setdefault((name, snapshot.fingerprint.digest), snapshot)
        self.changes = {str(name): each.difference.change for name, each in resolved.items()}
        self.shown = Shown(snapshots=snapshots, graph=graph)
        return {str(name): snapshot for name, snapshot in snapshots.items()}


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


def test_in_a_new_environment_everything_is_added_at_its_own_version(graph_of: Build) -> None:
    world = World(graph_of)
    snapshots = world.apply(TEXTS)
    assert set(world.changes.values()) == {Change.ADDED}
    assert all(each.category is None for each in snapshots.values())
    assert snapshots["m.a"].version == snapshots["m.a"].fingerprint.data_version
    assert len({each.version for each in snapshots.values()}) == len(snapshots)


def test_an_unchanged_project_changes_nothing(graph_of: Build) -> None:
    world = World(graph_of)
    before = world.apply(TEXTS)
    assert world.apply({name: f"\n{text}\n" for name, text in TEXTS.items()}) == before
    assert set(world.changes.values()) == {Change.NONE}


def test_a_breaking_change_gives_every_descendant_a_new_version(graph_of: Build) -> None:
    world = World(graph_of)
    before, after = world.apply(TEXTS), world.apply(FILTER)
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


def test_r1_a_non_breaking_change_keeps_downstream_tables_and_remakes_the_view(
    graph_of: Build,
) -> None:
    world = World(graph_of)
    before, after = world.apply(TEXTS), world.apply(COLUMN)
    assert after["m.a"].category is Category.NON_BREAKING
    assert {after[name].category for name in ("m.v", "m.c", "m.d")} == {
        Category.INDIRECT_NON_BREAKING
    }
    kept = {name for name in after if after[name].version == before[name].version}
    assert kept == {"m.c", "m.d", "m.z", "raw.t", "raw.u"}  # the view reads another table now


def test_metadata_keeps_every_version(graph_of: Build) -> None:
    world = World(graph_of)
    before = world.apply(TEXTS)
    after = world.apply({**TEXTS, "m.a": TEXTS["m.a"].replace("FULL", "FULL, owner 'x'")})
    assert {name: world.changes[name] for name in ("m.a", "m.d", "m.z")} == {
        "m.a": Change.METADATA,
        "m.d": Change.METADATA,
        "m.z": Change.NONE,
    }
    assert {n: s.version for n, s in after.items()} == {n: s.version for n, s in before.items()}
    assert after["m.a"].fingerprint != before["m.a"].fingerprint


def test_a_revert_gets_the_snapshots_and_versions_that_were_stored(graph_of: Build) -> None:
    world = World(graph_of)
    before = world.apply(TEXTS)
    world.apply(FILTER)
    assert world.apply(TEXTS) == before
    assert world.changes["m.a"] is Change.DIRECT


def test_a_stored_snapshot_is_used_with_the_version_that_it_kept(graph_of: Build) -> None:
    world = World(graph_of)
    first, kept = world.apply(TEXTS), world.apply(COLUMN)
    world.apply(FILTER)
    assert world.apply(COLUMN) == kept
    assert kept["m.c"].version == first["m.c"].version != kept["m.c"].fingerprint.data_version


def test_an_appended_column_does_not_hide_a_breaking_change_upstream(graph_of: Build) -> None:
    world = World(graph_of)
    before = world.apply(TEXTS)
    both = {**FILTER, "m.c": TEXTS["m.c"].replace("a FROM", "a, 1 AS one FROM")}
    after = world.apply(both)
    assert after["m.c"].category is Category.BREAKING
    assert any("m.v" in reason for reason in after["m.c"].reasons)
    assert after["m.d"].version != before["m.d"].version
    assert after["m.d"].category is Category.INDIRECT_BREAKING


def _plan(world: World, texts: Mapping[str, str], current: Snapshots) -> Plan:
    graph = world.graph_of(texts)
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


def test_a_plan_lists_parents_first_and_removed_models_last(graph_of: Build) -> None:
    world = World(graph_of)
    before = world.apply(TEXTS)
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


def test_a_plan_of_what_is_shown_is_empty(graph_of: Build) -> None:
    world = World(graph_of)
    world.apply(TEXTS)
    assert _plan(world, TEXTS, dict(world.shown.snapshots)).is_empty
    assert _plan(world, TEXTS, {}).promotes  # a new environment shows nothing yet


def test_going_back_says_what_that_changes_and_not_what_once_was_stored(graph_of: Build) -> None:
    world = World(graph_of)
    world.apply(TEXTS)
    world.apply(FILTER)
    plan = _plan(world, TEXTS, dict(world.shown.snapshots))
    changed = {str(each.name): each for each in plan.changes if each.change is Change.DIRECT}
    assert changed
    assert all(each.category is Category.BREAKING for each in changed.values())
    assert not any("new model" in sentences(each.reasons) for each in changed.values())
