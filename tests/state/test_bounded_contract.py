"""Versions that are bounded: the contract of the state, on every adapter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.state.builders import SALES, START, promote, remove, shown, snapshot
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Bounded, DecidedBy, ModelSnapshot
from vde_dagster.ports.state import State

WHOLE = snapshot(version="a" * 32)
SINCE = START + timedelta(microseconds=1)
BOUNDED = replace(WHOLE, version="b" * 32, bounded=Bounded(since=SINCE, instead_of=WHOLE.version))
PREVIEW = replace(
    WHOLE,
    version="c" * 32,
    drifted=True,
    bounded=Bounded(since=SINCE, instead_of="d" * 32, is_preview=True),
)


@pytest.mark.full
@pytest.mark.parametrize("bounded", [BOUNDED, PREVIEW])
def test_an_environment_shows_what_is_bounded_and_it_is_stored_as_it_is_elsewhere(
    state: State, bounded: ModelSnapshot
) -> None:
    assert promote(state, "dev", bounded).snapshots == {SALES: bounded}
    stored = list(state.snapshots([(SALES, bounded.fingerprint)]).values())
    assert stored == [bounded.unbounded]
    assert state.owners([bounded.key, bounded.unbounded.key]) == {bounded.key: "dev"}
    promote(state, "dev", bounded.unbounded)
    found = shown(state, "dev"), shown(state, "dev", revision=1)
    assert [each.snapshots[SALES] for each in found] == [bounded.unbounded, bounded]
    assert state.owners([bounded.unbounded.key]) == {bounded.unbounded.key: "dev"}


@pytest.mark.full
def test_a_preview_holds_no_rows_of_other_definitions(state: State) -> None:
    promote(state, "dev", PREVIEW)
    assert state.drifted([PREVIEW.key]) == frozenset()
    adopted = replace(PREVIEW, decided_by=DecidedBy.DATA)
    promote(state, "dev", adopted)
    assert state.adopted([PREVIEW.key]) == frozenset()


@pytest.mark.parametrize("bounded", [BOUNDED, PREVIEW])
def test_production_never_shows_what_is_bounded(state: State, bounded: ModelSnapshot) -> None:
    promote(state, "prod", WHOLE)
    with pytest.raises(Refused, match=r"prod cannot show a bounded version.*shop\.sales"):
        promote(state, "prod", bounded)
    found = shown(state, "prod")
    assert (found.revision, found.snapshots) == (1, {SALES: WHOLE})


def test_a_bounded_version_is_referred_to_with_the_one_in_whose_place_it_is(state: State) -> None:
    promote(state, "dev", PREVIEW)
    (found,) = state.references().revisions
    assert found.versions == {PREVIEW.key, PREVIEW.unbounded.key}


def test_who_removes_an_environment_passes_its_bounded_versions_on(state: State) -> None:
    promote(state, "dev", BOUNDED)
    promote(state, "other", BOUNDED)
    assert state.owners([BOUNDED.key]) == {BOUNDED.key: "dev"}
    remove(state, "dev")
    assert state.owners([BOUNDED.key]) == {BOUNDED.key: "other"}
