"""Versions that are bounded: the contract of the state, on every adapter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.state.builders import MINUTE, SALES, START, snapshot
from tests.state.conftest import Store
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Bounded, DecidedBy, ModelSnapshot
from vde_dagster.ports.state import Environment, State

WHOLE = snapshot(version="a" * 32)
SINCE = START + timedelta(microseconds=1)
BOUNDED = replace(WHOLE, version="b" * 32, bounded=Bounded(since=SINCE, instead_of=WHOLE.version))
PREVIEW = replace(
    WHOLE,
    version="c" * 32,
    drifted=True,
    bounded=Bounded(since=SINCE, instead_of="d" * 32, is_preview=True),
)


def promote(state: State, name: str, revision: int, *snapshots: ModelSnapshot) -> Environment:
    state.store_snapshots(snapshots, environment=name, shows=[each.key for each in snapshots])
    lease = state.acquire_lease(f"environment:{name}", holder="me", ttl=MINUTE)
    plan_id = f"{name} {revision}"
    state.begin_promotion(
        name, expected_revision=revision, plan_id=plan_id, snapshots=snapshots, lease=lease
    )
    return state.finish_promotion(name, plan_id=plan_id)


@pytest.mark.full
@pytest.mark.parametrize("bounded", [BOUNDED, PREVIEW])
def test_an_environment_shows_what_is_bounded_and_it_is_stored_as_it_is_elsewhere(
    store: Store, bounded: ModelSnapshot
) -> None:
    state = store.state
    assert promote(state, "dev", 0, bounded).snapshots == {SALES: bounded}
    stored = list(state.snapshots([(SALES, bounded.fingerprint)]).values())
    assert stored == [bounded.unbounded]
    assert state.owners([bounded.key, bounded.unbounded.key]) == {bounded.key: "dev"}
    promote(state, "dev", 1, bounded.unbounded)
    shown = state.environment("dev"), state.environment("dev", revision=1)
    assert [each.snapshots[SALES] for each in shown if each] == [bounded.unbounded, bounded]
    assert state.owners([bounded.unbounded.key]) == {bounded.unbounded.key: "dev"}


@pytest.mark.full
def test_a_preview_holds_no_rows_of_other_definitions(store: Store) -> None:
    promote(store.state, "dev", 0, PREVIEW)
    assert store.state.drifted([PREVIEW.key]) == frozenset()
    adopted = replace(PREVIEW, decided_by=DecidedBy.DATA)
    promote(store.state, "dev", 1, adopted)
    assert store.state.adopted([PREVIEW.key]) == frozenset()


@pytest.mark.parametrize("bounded", [BOUNDED, PREVIEW])
def test_production_never_shows_what_is_bounded(store: Store, bounded: ModelSnapshot) -> None:
    promote(store.state, "prod", 0, WHOLE)
    with pytest.raises(Refused, match=r"prod never shows a version that is bounded.*shop\.sales"):
        promote(store.state, "prod", 1, bounded)
    found = store.state.environment("prod")
    assert found is not None
    assert (found.revision, found.snapshots) == (1, {SALES: WHOLE})


def test_a_bounded_version_is_referred_to_with_the_one_in_whose_place_it_is(store: Store) -> None:
    promote(store.state, "dev", 0, PREVIEW)
    (found,) = store.state.references().revisions
    assert found.versions == {PREVIEW.key, PREVIEW.unbounded.key}


def test_who_removes_an_environment_passes_its_bounded_versions_on(store: Store) -> None:
    state = store.state
    promote(state, "dev", 0, BOUNDED)
    promote(state, "other", 0, BOUNDED)
    assert state.owners([BOUNDED.key]) == {BOUNDED.key: "dev"}
    lease = state.acquire_lease("environment:dev", holder="me", ttl=MINUTE)
    state.begin_removal("dev", expected_revision=1, plan_id="gone", lease=lease)
    state.finish_promotion("dev", plan_id="gone")
    assert state.owners([BOUNDED.key]) == {BOUNDED.key: "other"}
