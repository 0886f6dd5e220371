"""The contract of ``ports.state.State``, on every adapter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.state.builders import (
    COLUMNS,
    KEY,
    MINUTE,
    ORDERS,
    OTHER,
    RAW,
    ROWS,
    SALES,
    change,
    day,
    intent,
    load,
    mark,
    promote,
    publication,
    publish,
    session,
    shown,
    snapshot,
    stage,
)
from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.dsha import RowSum, dsha
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerEntry,
    LedgerMismatch,
    LedgerOperation,
)
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWorkState
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP
from vde_dagster.ports.state import Lease, LeaseLost, State, version_resource
from vde_dagster.state.database import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.state.conftest import Store

CANCELS = ModelName("raw", "cancels")


def stored(state: State, asked: ModelSnapshot) -> list[ModelSnapshot]:
    """The snapshot of a definition."""
    return [*state.snapshots([(asked.name, asked.fingerprint)]).values()]


# Snapshots and owners
def test_a_stored_snapshot_comes_back_as_it_was(state: State) -> None:
    one, two = snapshot(), snapshot(ORDERS, decided_by=DecidedBy.PERSON)
    state.store_snapshots([one, two], environment="dev")
    unknown = snapshot(text="SELECT 2")
    asked = [(each.name, each.fingerprint) for each in (one, two, unknown)]
    assert state.snapshots(asked) == {
        (one.name, one.fingerprint.digest): one,
        (two.name, two.fingerprint.digest): two,
    }


def test_what_a_person_decided_first_stays_decided(state: State) -> None:
    decided = replace(
        snapshot(), category=Category.NON_BREAKING, decided_by=DecidedBy.PERSON, reasons=("I say",)
    )
    again = replace(decided, category=Category.BREAKING, decided_by=DecidedBy.AUTOMATIC)
    promote(state, "dev", decided)
    state.store_snapshots([again], environment="prod")
    assert shown(state, "dev").snapshots == {SALES: decided}
    assert stored(state, again) == [decided]


def test_a_stored_snapshot_is_never_changed_and_its_version_keeps_its_owner(state: State) -> None:
    first, second = snapshot(version="a" * 32), snapshot(version="b" * 32)
    state.store_snapshots([first], environment="dev")
    state.store_snapshots([second, second], environment="other")
    assert stored(state, first) == [first]
    assert state.owners([first.key, second.key]) == {first.key: "dev"}


def kept_against_its_definition(old: ModelSnapshot) -> ModelSnapshot:
    return replace(snapshot(text="-- kept", version=old.version), drifted=True)


def test_a_version_has_not_drifted_by_what_is_only_stored(state: State) -> None:
    old, new = snapshot(), snapshot(ORDERS)
    kept = kept_against_its_definition(old)
    state.store_snapshots([old, new, kept], environment="prod")
    assert state.drifted([old.key, new.key]) == frozenset()
    assert stored(state, kept) == [kept]


@pytest.mark.parametrize(
    "environment,drifts", [("prod", True), ("owner", True), ("other", False)], ids=str
)
def test_a_version_has_drifted_once_who_may_write_it_was_promoted_to_that(
    state: State, environment: str, drifts: bool
) -> None:
    old, new = snapshot(), snapshot(ORDERS)
    state.store_snapshots([old, new], environment="owner")
    promote(state, environment, kept_against_its_definition(old), new)
    assert state.drifted([old.key, new.key]) == ({old.key} if drifts else frozenset())
    promote(state, environment, old, new)
    assert state.drifted([old.key, new.key]) == ({old.key} if drifts else frozenset())


def test_a_version_has_drifted_once_rows_of_another_definition_were_staged(
    state: State, lease: Lease
) -> None:
    load(state, lease, "w1")
    state.record_intent(replace(intent("w2"), drifted=True), lease=lease)
    assert state.drifted([KEY]) == frozenset()
    state.record_staged("w2", publication(), lease=lease)
    assert state.drifted([KEY]) == {KEY}
    state.finalize("w2", lease=lease)
    assert state.drifted([KEY]) == {KEY}


def test_rows_of_another_definition_that_were_given_up_are_no_drift(
    state: State, lease: Lease
) -> None:
    stage(state, lease, replace(intent("w1"), drifted=True), publication())
    state.abandon("w1", reason="its table moved", lease=lease)
    assert state.drifted([KEY]) == frozenset()


def test_a_kept_version_keeps_its_owner_and_a_new_one_gets_its_creator(state: State) -> None:
    old, new = snapshot(), snapshot(ORDERS)
    kept = snapshot(text="-- kept", version=old.version)
    state.store_snapshots([old], environment="prod")
    state.store_snapshots([kept, new], environment="dev")
    assert state.owners([old.key, new.key]) == {old.key: "prod", new.key: "dev"}


def test_what_its_owner_does_not_show_is_owned_by_who_shows_it(state: State) -> None:
    old, new = snapshot(), snapshot(ORDERS)
    state.store_snapshots([old, new], environment="dev")
    promote(state, "dev", old)
    promote(state, "qa", old)
    assert state.owners([old.key, new.key]) == {old.key: "dev", new.key: "dev"}
    promote(state, "dev", new)  # it goes on, and qa stays
    assert state.owners([old.key, new.key]) == {old.key: "qa", new.key: "dev"}
    promote(state, "qa", new)
    promote(state, "ann", old)  # it comes when nobody shows it any more
    assert state.owners([old.key, new.key]) == {old.key: "ann", new.key: "dev"}
    promote(state, "prod", old)
    promote(state, "prod", new)  # production goes on likewise
    assert state.owners([old.key, new.key]) == {old.key: "ann", new.key: "prod"}


@pytest.mark.parametrize("at_work", ["environment", "version"])
def test_what_its_owner_may_be_about_to_show_stays_its_own(state: State, at_work: str) -> None:
    old = snapshot()
    state.store_snapshots([old], environment="dev")
    resource = "environment:dev" if at_work == "environment" else version_resource(old.key)
    state.acquire_lease(resource, holder="a plan of dev", ttl=MINUTE)
    promote(state, "qa", old)
    assert state.owners([old.key]) == {old.key: "dev"}


def test_only_what_nobody_shows_fills_or_writes_is_released(state: State, lease: Lease) -> None:
    """Of what an environment owns; what others own stays theirs."""
    names = ("shown", "filled", "begun", "refused", "given_up", "written", "unfilled", "theirs")
    made = {each: snapshot(ModelName("shop", each)) for each in names}
    mine = [each for name, each in made.items() if name != "theirs"]
    state.store_snapshots(mine, environment="prod")
    state.store_snapshots([made["theirs"]], environment="dev")
    promote(state, "ann", made["shown"])
    publish(state, lease, intent("filled", key=made["filled"].key), publication())
    for name in ("begun", "refused", "given_up"):
        state.record_intent(intent(name, key=made[name].key), lease=lease)
    state.abandon("given_up", reason="cut", lease=lease)
    state.abandon("refused", reason="an audit failed", lease=lease, refused=publication())
    state.acquire_lease(version_resource(made["written"].key), holder="x", ttl=MINUTE)
    own = state.acquire_lease("environment:prod", holder="me", ttl=MINUTE)
    state.release_unfilled("prod", lease=own)
    owned = state.owners(each.key for each in made.values())
    kept = {name for name, each in made.items() if each.key in owned}
    assert kept == {"shown", "filled", "begun", "written", "theirs"}
    state.release_lease(own)
    with pytest.raises(LeaseLost):
        state.release_unfilled("prod", lease=own)


def test_r9_who_writes_a_version_that_was_released_meanwhile_owns_it(
    state: State, lease: Lease
) -> None:
    """A step of a run has stored its plan, and then another process released what nobody writes."""
    key = snapshot().key
    state.store_snapshots([snapshot()], environment="prod")
    own = state.acquire_lease("environment:prod", holder="me", ttl=MINUTE)
    state.release_unfilled("prod", lease=own)
    assert state.owners([key]) == {}
    stage(state, lease, intent("w", key=key), publication())
    assert state.owners([key]) == {key: intent("w", key=key).environment}
    state.release_unfilled("prod", lease=own)
    state.finalize("w", lease=lease)
    assert state.owners([key]) == {key: intent("w", key=key).environment}


def test_nothing_asked_is_nothing_found(state: State) -> None:
    state.store_snapshots([], environment="dev")
    assert (state.snapshots([]), state.owners([]), state.ledger([])) == ({}, {}, {})


@pytest.mark.full
def test_thousands_of_snapshots_are_stored_and_found(state: State) -> None:
    many = [snapshot(ModelName("shop", f"m{number}")) for number in range(1500)]
    state.store_snapshots(many, environment="dev")
    assert len(state.snapshots((each.name, each.fingerprint) for each in many)) == 1500
    assert len(state.owners(each.key for each in many)) == 1500
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    begun = state.begin_promotion(
        "dev", expected_revision=0, plan_id="p", snapshots=many, lease=lease
    )
    assert len(begun.snapshots) == 1500


def test_versions_are_found_whatever_characters_they_have(state: State) -> None:
    versions = ("a'b", 'a"b', "a\\b", "a%b%(pairs)s", "a:b", "ä", "[0]", "?")
    shown = [
        replace(snapshot(text=f"SELECT {number}"), version=version)
        for number, version in enumerate(versions)
    ]
    state.store_snapshots(shown, environment="dev")
    keys = [each.key for each in shown]
    assert state.owners(keys) == dict.fromkeys(keys, "dev")
    assert state.owners(keys[:1]) == {keys[0]: "dev"}
    found = state.snapshots((each.name, each.fingerprint) for each in shown)
    assert sorted(each.version for each in found.values()) == sorted(versions)


# Environments
def test_an_environment_that_nothing_was_promoted_to_is_none(state: State) -> None:
    assert state.environment("dev") is None
    assert list(state.environments()) == []


def test_a_promotion_is_begun_then_finished(state: State) -> None:
    one, two = snapshot(), snapshot(ORDERS)
    state.store_snapshots([one, two], environment="dev")
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    begun = state.begin_promotion(
        "dev", expected_revision=0, plan_id="p1", snapshots=[one, two], lease=lease
    )
    assert (begun.name, begun.revision, begun.plan_id, begun.promoting) == ("dev", 1, "p1", True)
    assert begun.snapshots == {SALES: one, ORDERS: two}
    assert begun.promoted_at.utcoffset() == timedelta(0)
    assert state.environment("dev") == begun
    finished = state.finish_promotion("dev", plan_id="p1")
    assert not finished.promoting
    assert state.environment("dev") == finished
    assert list(state.environments()) == ["dev"]


def test_finishing_a_promotion_again_changes_nothing_even_after_a_later_one(state: State) -> None:
    promote(state, "dev", snapshot(), plan_id="p1")
    assert state.finish_promotion("dev", plan_id="p1") == state.environment("dev")
    promote(state, "dev", snapshot(text="SELECT 2"), plan_id="p2")
    assert state.finish_promotion("dev", plan_id="p1") == state.environment("dev")
    found = shown(state, "dev")
    assert (found.revision, found.plan_id) == (2, "p2")


def test_the_revision_of_an_environment_is_that_of_what_it_shows(state: State) -> None:
    def revisions() -> tuple[int, int]:
        found = state.environment("dev")
        return state.revision("dev"), 0 if found is None else found.revision

    assert revisions() == (0, 0)
    promote(state, "dev", snapshot())
    promote(state, "other", snapshot())
    assert revisions() == (1, 1)
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    state.begin_removal("dev", expected_revision=1, plan_id="gone", lease=lease)
    assert revisions() == (2, 2)
    state.finish_promotion("dev", plan_id="gone")
    assert revisions() == (0, 0)


def test_an_environment_may_show_nothing(state: State) -> None:
    promote(state, "dev")
    assert shown(state, "dev").snapshots == {}


@pytest.mark.parametrize("expected", [0, 2])
def test_a_promotion_from_another_revision_is_a_conflict(state: State, expected: int) -> None:
    promote(state, "dev", snapshot())
    before = state.environment("dev")
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    with pytest.raises(Conflict, match=f"at revision 1, not {expected}"):
        state.begin_promotion(
            "dev", expected_revision=expected, plan_id="p2", snapshots=[], lease=lease
        )
    assert state.environment("dev") == before


def test_a_promotion_of_what_is_not_stored_or_twice_is_refused(state: State) -> None:
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    for wrong, text in (
        ([snapshot()], "not stored"),
        ([snapshot(), snapshot(text="SELECT 2")], "given twice"),
    ):
        with pytest.raises(Refused, match=text):
            state.begin_promotion(
                "dev", expected_revision=0, plan_id="p", snapshots=wrong, lease=lease
            )
    assert state.environment("dev") is None


def test_a_promotion_that_was_never_begun_cannot_be_finished(state: State) -> None:
    with pytest.raises(Refused, match="nothing to finish"):
        state.finish_promotion("dev", plan_id="p1")


def test_a_promotion_that_was_overtaken_cannot_be_finished(state: State) -> None:
    lease = state.acquire_lease("dev", holder="me", ttl=MINUTE)
    for revision, plan_id in enumerate(("p1", "p2")):
        state.begin_promotion(
            "dev", expected_revision=revision, plan_id=plan_id, snapshots=[], lease=lease
        )
    with pytest.raises(Conflict, match="overtaken by plan p2"):
        state.finish_promotion("dev", plan_id="p1")
    assert shown(state, "dev").promoting


def test_an_environment_shows_a_snapshot_with_a_version_of_its_own(state: State) -> None:
    one = snapshot()
    adopted = replace(one, version="e" * 32, decided_by=DecidedBy.DATA)
    drifted = replace(one, version="f" * 32, drifted=True)
    for name, each in (("dev", one), ("prod", adopted), ("dev", drifted)):
        promote(state, name, each)
    assert shown(state, "prod").snapshots == {SALES: adopted}
    assert shown(state, "dev").snapshots == {SALES: drifted}
    assert shown(state, "dev", revision=1).snapshots == {SALES: one}
    assert stored(state, one) == [one]
    assert state.owners([one.key, adopted.key]) == {one.key: "dev", adopted.key: "prod"}


def test_versions_are_found_by_their_definition(state: State) -> None:
    one, other = snapshot(), snapshot(ORDERS)
    data = one.fingerprint
    owned = replace(one, fingerprint=replace(data, metadata="9" * 32), version="d" * 32)
    moved = replace(one, fingerprint=replace(data, parent_data="9" * 32), version="e" * 32)
    drifted = replace(
        one, fingerprint=replace(data, metadata="8" * 32), version="f" * 32, drifted=True
    )
    state.store_snapshots([one, owned, moved, drifted, other], environment="dev")
    asked = [(each.name, each.fingerprint) for each in (one, snapshot(text="-- unknown"))]
    by_itself = VersionKey(SALES, data.data_version)
    assert state.versions(asked) == {by_itself: tuple(sorted([one.key, owned.key]))}
    assert state.versions([]) == {}


def test_r9_production_owns_what_it_shows_once_its_promotion_is_finished(state: State) -> None:
    one = snapshot()
    promote(state, "dev", one)
    lease = state.acquire_lease("prod", holder="me", ttl=MINUTE)
    state.begin_promotion("prod", expected_revision=0, plan_id="p2", snapshots=[one], lease=lease)
    assert state.owners([one.key]) == {one.key: "dev"}
    state.finish_promotion("prod", plan_id="p2")
    assert state.owners([one.key]) == {one.key: "prod"}
    promote(state, "other", one)
    assert state.owners([one.key]) == {one.key: "prod"}


def test_what_production_shows_no_more_belongs_to_who_stores_it_next(state: State) -> None:
    one, two = snapshot(), snapshot(text="SELECT 2")
    promote(state, "dev", snapshot(ORDERS))
    promote(state, "prod", one)
    promote(state, "prod", two)
    assert state.owners([one.key, two.key]) == {two.key: "prod"}
    state.store_snapshots([one], environment="dev")
    keys = [one.key, snapshot(ORDERS).key]
    assert state.owners(keys) == dict.fromkeys(keys, "dev")


def test_an_earlier_revision_is_returned_as_it_was(state: State) -> None:
    one, two = snapshot(), snapshot(text="SELECT 2")
    promote(state, "dev", one)
    first = state.environment("dev")
    promote(state, "dev", two)
    assert state.environment("dev", revision=1) == first
    assert state.environment("dev", revision=2) == state.environment("dev")
    assert state.environment("dev", revision=3) is None
    assert state.environment("other", revision=1) is None


# Leases
def test_a_held_lease_is_a_conflict_that_names_holder_and_end(state: State, lease: Lease) -> None:
    with pytest.raises(
        Conflict, match=r"is held by me \(.*, process \d+ on .*\) until \d{4}-\d\d-\d\d.* UTC"
    ):
        state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)
    assert state.acquire_lease("another", holder="you", ttl=MINUTE).epoch == 1


def test_a_holder_takes_its_own_lease_again_with_a_higher_epoch(state: State, lease: Lease) -> None:
    again = state.acquire_lease(lease.resource, holder="me", ttl=MINUTE)
    assert (lease.epoch, again.epoch) == (1, 2)
    with pytest.raises(LeaseLost):
        state.renew_lease(lease, ttl=MINUTE)


def test_an_expired_lease_is_taken_over_with_a_higher_epoch_and_cannot_be_given_back(
    store: Store, lease: Lease
) -> None:
    store.pass_time(2 * MINUTE)
    taken = store.state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)
    assert taken == Lease(resource=lease.resource, holder="you", epoch=2)
    store.state.release_lease(lease)
    store.state.renew_lease(taken, ttl=MINUTE)  # it is still there


def test_the_holder_of_a_lease_is_named_until_it_expires_or_is_given_back(
    store: Store, lease: Lease
) -> None:
    assert store.state.lease_holder(lease.resource).startswith("me (")
    assert store.state.lease_holder("another") == ""
    store.pass_time(2 * MINUTE)
    assert store.state.lease_holder(lease.resource) == ""
    taken = store.state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)
    assert store.state.lease_holder(lease.resource).startswith("you (")
    store.state.release_lease(taken)
    assert store.state.lease_holder(lease.resource) == ""


def test_an_expired_lease_that_nobody_took_still_counts(store: Store, lease: Lease) -> None:
    store.pass_time(2 * MINUTE)
    store.state.record_intent(intent(), lease=lease)
    store.state.renew_lease(lease, ttl=MINUTE)
    with pytest.raises(Conflict):
        store.state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)


def test_a_renewed_lease_lasts_from_now(store: Store, lease: Lease) -> None:
    store.pass_time(0.9 * MINUTE)
    store.state.renew_lease(lease, ttl=MINUTE)
    store.pass_time(0.9 * MINUTE)
    with pytest.raises(Conflict):
        store.state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)


def test_a_released_lease_is_free_and_its_epoch_is_never_given_again(
    state: State, lease: Lease
) -> None:
    state.release_lease(lease)
    state.release_lease(lease)
    with pytest.raises(LeaseLost):
        state.renew_lease(lease, ttl=MINUTE)
    assert state.acquire_lease(lease.resource, holder="you", ttl=MINUTE).epoch == 2


def test_a_lease_that_nobody_ever_took_is_lost(state: State) -> None:
    with pytest.raises(LeaseLost):
        state.renew_lease(Lease(resource="r", holder="me", epoch=1), ttl=MINUTE)


def test_a_lease_needs_a_holder(state: State) -> None:
    with pytest.raises(ValueError, match="holder"):
        state.acquire_lease("r", holder="", ttl=MINUTE)


WRITES: dict[str, Callable[[State, Lease], object]] = {
    "renew_lease": lambda state, lease: state.renew_lease(lease, ttl=MINUTE),
    "record_intent": lambda state, lease: state.record_intent(intent("w2"), lease=lease),
    "record_staged": lambda state, lease: state.record_staged(
        "w1", publication(change(5)), lease=lease
    ),
    "finalize": lambda state, lease: state.finalize("w1", lease=lease),
    "abandon": lambda state, lease: state.abandon("w1", reason="gone", lease=lease),
    "begin_promotion": lambda state, lease: state.begin_promotion(
        "dev", expected_revision=0, plan_id="p", snapshots=[], lease=lease
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_r5_after_a_take_over_every_write_of_the_old_holder_is_lost(
    store: Store, lease: Lease, write: Callable[[State, Lease], object]
) -> None:
    state = store.state
    stage(state, lease, intent(), publication())
    store.pass_time(2 * MINUTE)
    state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)
    before = (state.work("w1"), state.work("w2"), state.ledger([KEY]), state.environment("dev"))
    with pytest.raises(LeaseLost, match="you holds it"):
        write(state, lease)
    after = (state.work("w1"), state.work("w2"), state.ledger([KEY]), state.environment("dev"))
    assert after == before


# Work and the ledger
def test_a_unit_of_work_goes_from_intent_to_staged_to_done(state: State, lease: Lease) -> None:
    state.record_intent(intent(late=session()), lease=lease)
    recorded = state.work("w1")
    assert recorded is not None
    assert recorded.intent == intent(late=session())
    assert (recorded.state, recorded.publication) == (UnitOfWorkState.INTENT, None)
    assert list(state.open_work(KEY)) == [recorded]

    state.record_staged("w1", publication(moves=mark(2)), lease=lease)
    staged = state.work("w1")
    assert staged is not None
    assert (staged.state, staged.publication) == (
        UnitOfWorkState.STAGED,
        publication(moves=mark(2)),
    )
    assert list(state.open_work(KEY)) == [staged]
    assert (state.ledger([KEY]), state.marks(KEY)) == ({}, {})

    loaded = state.finalize("w1", lease=lease)
    assert loaded == (
        LedgerEntry(
            interval=day(0),
            rows=ROWS,
            columns=COLUMNS,
            digest=dsha(ROWS, COLUMNS),
            work_id="w1",
            iceberg_snapshot_id=2**62,
        ),
    )
    assert state.ledger([KEY, VersionKey(ORDERS, "b")]) == {KEY: loaded}
    assert state.marks(KEY) == {RAW: mark(2)}
    done = state.work("w1")
    assert done is not None
    assert done.state is UnitOfWorkState.DONE
    assert done.finished_at is not None
    assert done.finished_at.utcoffset() == done.started_at.utcoffset() == timedelta(0)
    assert done.started_at <= done.finished_at
    assert list(state.open_work(KEY)) == []


def test_r5_recording_again_returns_the_entries_and_changes_nothing(
    state: State, lease: Lease
) -> None:
    load(state, lease, "w1", change(0))
    load(state, lease, "w2", change(0, operation=LedgerOperation.ADD), change(1))
    before = (state.ledger([KEY])[KEY], state.work("w1"), state.work("w2"))
    assert state.finalize("w2", lease=lease) == before[0]
    assert state.finalize("w1", lease=lease) == before[0][:1]
    assert (state.ledger([KEY])[KEY], state.work("w1"), state.work("w2")) == before


def test_recording_again_does_not_move_a_later_mark_back(state: State, lease: Lease) -> None:
    for number in (1, 2):
        publish(state, lease, intent(f"w{number}"), publication(moves=mark(number)))
    state.finalize("w1", lease=lease)
    assert state.marks(KEY) == {RAW: mark(2)}


def test_marks_are_kept_by_source(state: State, lease: Lease) -> None:
    for number, source in enumerate((RAW, CANCELS)):
        publish(state, lease, intent(f"w{number}"), publication(moves=mark(1, source)))
    assert set(state.marks(KEY)) == {RAW, CANCELS}


@pytest.mark.parametrize(
    "operation",
    [LedgerOperation.REPLACE, LedgerOperation.REPLACE_ALL, LedgerOperation.ADD],
)
def test_r8_rows_that_were_read_as_of_no_mark_take_the_marks_with_them(
    state: State, lease: Lease, operation: LedgerOperation
) -> None:
    publish(state, lease, intent("w1"), publication(moves=mark(1)))
    publish(state, lease, intent("w2"), publication(moves=mark(1, CANCELS)))
    load(state, lease, "w3", change(0, operation=operation))
    assert state.marks(KEY) == {}
    publish(state, lease, intent("w4"), publication(moves=mark(2)))
    assert state.marks(KEY) == {RAW: mark(2)}


def test_r8_rows_that_were_read_as_of_a_mark_leave_it(state: State, lease: Lease) -> None:
    publish(state, lease, intent("w1"), publication(moves=mark(1)))
    publish(state, lease, intent("w2"), publication(moves=mark(1, CANCELS)))
    as_of = replace(intent("w3"), inputs={RAW: mark(1).iceberg_snapshot_id})
    publish(state, lease, as_of, publication(change(0)))
    assert state.marks(KEY) == {RAW: mark(1)}


def test_added_rows_add_up_with_what_is_loaded_when_they_are_recorded(
    state: State, lease: Lease
) -> None:
    stage(state, lease, intent("w2"), publication(change(0, operation=LedgerOperation.ADD)))
    load(state, lease, "w1", change(0, rows=RowSum.of_halves(1, 5, 7)))
    (loaded,) = state.finalize("w2", lease=lease)
    assert loaded.rows == RowSum.of_halves(4, 4, 2**63 + 7)
    assert (loaded.work_id, loaded.digest) == ("w2", dsha(loaded.rows, COLUMNS))


def test_rows_added_to_an_interval_that_is_not_loaded_change_nothing(
    state: State, lease: Lease
) -> None:
    load(state, lease, "w1", change(0))
    before = state.ledger([KEY])
    wrong = publication(change(2), change(1, operation=LedgerOperation.ADD), moves=mark(9))
    stage(state, lease, intent("w2"), wrong)
    with pytest.raises(LedgerMismatch, match="not loaded"):
        state.finalize("w2", lease=lease)
    work = state.work("w2")
    assert work is not None
    assert work.state is UnitOfWorkState.STAGED
    assert (state.ledger([KEY]), state.marks(KEY)) == (before, {})


def test_a_stated_digest_is_kept_and_a_view_has_no_iceberg_snapshot(
    state: State, lease: Lease
) -> None:
    given = LedgerChange(
        operation=LedgerOperation.REPLACE_ALL, interval=day(0), rows=RowSum(), digest="d" * 64
    )
    view = Publication(iceberg_snapshot_id=None, changes=(given,), columns=())
    (loaded,) = publish(state, lease, intent(), view)
    assert (loaded.digest, loaded.iceberg_snapshot_id, loaded.columns) == ("d" * 64, None, ())
    assert state.ledger([KEY])[KEY] == (loaded,)


def test_ledgers_of_a_thousand_versions_are_read_together(state: State, lease: Lease) -> None:
    keys = [VersionKey(SALES, f"{number:032x}") for number in range(1000)]
    publish(state, lease, intent("w1", key=keys[999]), publication())
    assert set(state.ledger(keys)) == {keys[999]}


def test_the_same_intent_again_is_no_error_and_another_one_is_refused(
    state: State, lease: Lease
) -> None:
    state.record_intent(intent(), lease=lease)
    recorded = state.work("w1")
    state.record_intent(intent(), lease=lease)
    with pytest.raises(Refused, match="another intent"):
        state.record_intent(intent(late=session()), lease=lease)
    assert state.work("w1") == recorded


def test_work_that_is_staged_again_publishes_what_was_staged_last(
    state: State, lease: Lease
) -> None:
    stage(state, lease, intent(), publication(change(0)))
    state.record_staged("w1", publication(change(1)), lease=lease)
    assert [entry.interval for entry in state.finalize("w1", lease=lease)] == [day(1)]


def test_done_work_is_neither_staged_again_nor_abandoned(state: State, lease: Lease) -> None:
    load(state, lease, "w1", change(0))
    before = state.work("w1")
    state.record_staged("w1", publication(change(0)), lease=lease)
    with pytest.raises(Refused, match="is done"):
        state.record_staged("w1", publication(change(1)), lease=lease)
    with pytest.raises(Refused, match="is done"):
        state.abandon("w1", reason="late", lease=lease)
    assert state.work("w1") == before


def test_abandoned_work_is_closed_for_good(state: State, lease: Lease) -> None:
    stage(state, lease, intent(), publication())
    state.abandon("w1", reason="an audit failed", lease=lease)
    abandoned = state.work("w1")
    assert abandoned is not None
    assert abandoned.state is UnitOfWorkState.ABANDONED
    assert abandoned.finished_at is not None
    state.abandon("w1", reason="again", lease=lease)
    assert state.work("w1") == abandoned
    assert list(state.open_work(KEY)) == []
    with pytest.raises(Refused, match="is abandoned"):
        state.record_staged("w1", publication(), lease=lease)
    with pytest.raises(Refused, match="is abandoned"):
        state.finalize("w1", lease=lease)
    assert state.ledger([KEY]) == {}


def test_work_that_is_not_staged_is_not_recorded(state: State, lease: Lease) -> None:
    state.record_intent(intent(), lease=lease)
    with pytest.raises(Refused, match="not staged"):
        state.finalize("w1", lease=lease)


def test_unknown_work_is_none_and_cannot_be_written(state: State, lease: Lease) -> None:
    assert state.work("w9") is None
    writes: list[Callable[[], object]] = [
        lambda: state.record_staged("w9", publication(), lease=lease),
        lambda: state.finalize("w9", lease=lease),
        lambda: state.abandon("w9", reason="", lease=lease),
    ]
    for write in writes:
        with pytest.raises(Refused, match="no unit of work w9"):
            write()


def test_units_of_work_are_found_by_their_ids(state: State, lease: Lease) -> None:
    many = [f"w{number}" for number in range(CHUNK + 2)]
    for work_id in (many[0], many[-2], "x"):
        state.record_intent(intent(work_id), lease=lease)
    load(state, lease, many[-1])
    found = state.works([*many, many[0]])
    assert found.keys() == {many[0], many[-2], many[-1]}
    assert all(found[each] == state.work(each) for each in found)
    assert found[many[-1]].state is UnitOfWorkState.DONE
    assert state.works([]) == {}


def test_open_work_is_oldest_first_and_of_one_version(state: State, lease: Lease) -> None:
    for work_id in ("w2", "w1", "w3"):
        state.record_intent(intent(work_id), lease=lease)
    state.record_intent(intent("x", key=VersionKey(SALES, "b" * 32)), lease=lease)
    assert [work.intent.work_id for work in state.open_work(KEY)] == ["w2", "w1", "w3"]


def test_versions_with_open_work_are_unfinished(state: State, lease: Lease) -> None:
    state.record_intent(intent("w1"), lease=lease)
    state.record_intent(intent("w2", key=OTHER), lease=lease)
    assert state.unfinished([KEY, OTHER]) == {KEY, OTHER}
    assert state.unfinished([OTHER, VersionKey(ORDERS, "c")]) == {OTHER}
    state.abandon("w1", reason="", lease=lease)
    assert state.unfinished([KEY, OTHER]) == {OTHER}
    assert state.unfinished([]) == frozenset()


def test_sessions_are_the_catch_ups_newest_first_up_to_a_limit(state: State, lease: Lease) -> None:
    for work_id in ("s1", "plain", "s2", "s3"):
        late = None if work_id == "plain" else session()
        state.record_intent(intent(work_id, late=late), lease=lease)
    assert [each.intent.work_id for each in state.sessions(KEY, limit=2)] == ["s3", "s2"]
    assert [each.intent.work_id for each in state.sessions(KEY, limit=9)] == ["s3", "s2", "s1"]
    assert list(state.sessions(VersionKey(ORDERS, "b"), limit=9)) == []


AUDITS = (
    AuditResult(name="not_null", failing=0, message="passed"),
    AuditResult(
        name="z_score",
        arguments=(("column", "amount"), ("threshold", "3")),
        blocking=False,
        failing=3,
        columns=("id", "note", "flag", "amount"),
        sample=((1, "ünï'\"\n", True, 1.5), (2**53, None, False, -0.0)),
        message="3 rows fail",
    ),
)


def test_what_audits_found_is_kept_whole_and_newest_first(state: State, lease: Lease) -> None:
    for work_id in ("w1", "plain", "w2"):
        state.record_intent(intent(work_id), lease=lease)
        if work_id != "plain":
            state.record_audits(work_id, AUDITS, lease=lease)
    state.abandon("w1", reason="bad rows", lease=lease)
    found = state.audited(KEY, limit=9)
    assert [each.intent.work_id for each in found] == ["w2", "w1"]
    assert [each.audits for each in found] == [AUDITS, AUDITS]
    assert (found[1].state, found[1].reason) == (UnitOfWorkState.ABANDONED, "bad rows")
    assert [each.intent.work_id for each in state.audited(KEY, limit=1)] == ["w2"]
    assert list(state.audited(VersionKey(ORDERS, "b"), limit=9)) == []


def test_nothing_is_kept_of_audits_under_a_lease_that_was_lost(state: State, lease: Lease) -> None:
    state.record_intent(intent(), lease=lease)
    state.release_lease(lease)
    with pytest.raises(LeaseLost):
        state.record_audits("w1", AUDITS, lease=lease)
    assert list(state.audited(KEY, limit=9)) == []


def test_times_before_1970_and_to_the_microsecond_are_kept(state: State, lease: Lease) -> None:
    instant = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    interval = Interval(instant, instant + timedelta(microseconds=1))
    given = LedgerChange(operation=LedgerOperation.REPLACE, interval=interval, rows=ROWS)
    load(state, lease, "w1", given)
    assert [entry.interval for entry in state.ledger([KEY])[KEY]] == [interval]


def test_numbers_of_swaps_rise_by_as_much_as_a_swap_may_use(state: State, lease: Lease) -> None:
    other = state.acquire_lease("environment:dev", holder="you", ttl=MINUTE)
    found = [state.next_view_number(each) for each in (lease, other, lease)]
    assert all(b - a >= NUMBERS_OF_A_SWAP for a, b in pairwise(found))
    assert 0 < found[-1] < 2**31, "a view's version has 31 bits"
    assert [each.resource for each in state.leases()] == [other.resource, lease.resource]


def test_who_lost_a_lease_gets_no_number_of_a_swap(store: Store, lease: Lease) -> None:
    before = store.state.next_view_number(lease)
    store.pass_time(2 * MINUTE)
    taken = store.state.acquire_lease(lease.resource, holder="you", ttl=MINUTE)
    with pytest.raises(LeaseLost):
        store.state.next_view_number(lease)
    assert store.state.next_view_number(taken) > before


def test_a_number_of_a_swap_is_given_without_a_lease_and_above_another_number(
    state: State, lease: Lease
) -> None:
    first = state.next_view_number()
    far = first + 1_000_000
    above = state.next_view_number(lease, above=far)
    assert above > far
    assert state.next_view_number(above=first) >= above + NUMBERS_OF_A_SWAP


def test_a_state_that_begins_again_gives_higher_numbers_of_swaps(
    store: Store, lease: Lease
) -> None:
    first = store.state.next_view_number(lease)
    assert first >= (lease_time(store) - datetime(2020, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


def lease_time(store: Store) -> datetime:
    """The database's time, a little earlier."""
    (held,) = store.state.leases()
    return held.expires_at - MINUTE
