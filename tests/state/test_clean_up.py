"""What refers to versions, and forgetting them, in every adapter of the state (rule R12)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.counting import calls_of
from tests.state.builders import (
    KEY,
    MINUTE,
    SALES,
    START,
    intent,
    many,
    mark,
    promote,
    publication,
    record,
    remove,
    shown,
    snapshot,
)
from tests.worlds.clock import ManualClock
from tests.worlds.state import memory_state
from vde_dagster.core.clean_up.references import ReadingView, Times
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.staleness import LastLook, SeenInput
from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.ports.clean_up import BeingDropped
from vde_dagster.ports.state import (
    Lease,
    LeaseLost,
    State,
    environment_resource,
    version_resource,
)
from vde_dagster.state import clean_up
from vde_dagster.state.sql_state import SqlState

NOW = timedelta(0)
AT_ONCE = Times(history=NOW, grace=NOW)
WEEK = Times()
PAUSED = ("dev", "later")
OLD, NEW = snapshot(), snapshot(text="SELECT 2")


def lease_on(state: State, resource: str) -> Lease:
    return state.acquire_lease(resource, holder="me", ttl=MINUTE)


def load(state: State, key: VersionKey, work_id: str = "w1") -> None:
    record(state, work_id, key=key, marks=(mark(),))


def dropped(state: State, key: VersionKey, *views: ReadingView, times: Times = AT_ONCE) -> bool:
    lease = lease_on(state, version_resource(key))
    try:
        return state.begin_drop(key, views, times, lease=lease, uuid="u", location="here")
    finally:
        state.release_lease(lease)


def replaced(state: State) -> None:
    """Production showed one version, and shows another one now."""
    promote(state, "prod", OLD)
    load(state, OLD.key)
    promote(state, "prod", NEW)


def test_a_state_has_an_id_of_its_own_that_stays(tmp_path: Path) -> None:
    one, other = (SqlState.open(f"sqlite:///{tmp_path}/{name}.db") for name in ("one", "other"))
    again = SqlState.open(f"sqlite:///{tmp_path}/one.db")
    assert one.identity() == again.identity() != other.identity()
    for each in (one, other, again):
        each.close()


@pytest.mark.full
def test_every_reference_is_known(state: State) -> None:
    replaced(state)
    state.store_snapshots([snapshot(text="3")], environment="dev", shows=[OLD.key])
    held = lease_on(state, version_resource(NEW.key))
    state.record_intent(intent("w2", key=NEW.key), lease=held)
    lease_on(state, environment_resource("dev"))
    found = state.references()
    assert found.known == {OLD.key, NEW.key, snapshot(text="3").key}
    first, second = found.revisions
    assert (first.revision, first.versions) == (Revision("prod", 1), frozenset({OLD.key}))
    assert first.until is not None
    assert (second.versions, second.until) == (frozenset({NEW.key}), None)
    assert [(each.environment, each.key) for each in found.planned] == [("dev", OLD.key)]
    assert [(each.environment, each.key) for each in found.open_work] == [("prod", NEW.key)]
    assert (found.busy, found.written) == (frozenset({"dev"}), frozenset({NEW.key}))
    assert found.used.keys() == {"prod", "dev"}


@pytest.mark.full
def test_a_promotion_that_is_not_finished_still_shows_what_was_before(state: State) -> None:
    promote(state, "prod", OLD)
    state.store_snapshots([NEW], environment="prod")
    lease = lease_on(state, environment_resource("prod"))
    state.begin_promotion("prod", expected_revision=1, plan_id="p", snapshots=[NEW], lease=lease)
    assert [each.until for each in state.references().revisions] == [None, None]


def test_r12_two_passes_forget_what_nothing_refers_to_and_nothing_else(state: State) -> None:
    replaced(state)
    load(state, NEW.key, "w2")
    kept = state.references()
    assert state.record_sweep([], WEEK).marked == ()
    assert state.record_sweep([], AT_ONCE).marked == (OLD.key,)
    assert state.record_sweep([], AT_ONCE).due == (OLD.key,)
    assert dropped(state, OLD.key)
    (stone,) = state.drops()
    assert (stone.key, stone.uuid, stone.location) == (OLD.key, "u", "here")
    assert state.references().known == kept.known - {OLD.key}
    assert state.ledger([OLD.key]) == {}
    assert state.holdings([OLD.key]) == {}
    assert state.marks(OLD.key) == {}
    assert state.work("w1") is None
    assert state.owners([OLD.key]) == {}
    assert state.snapshots([(OLD.name, OLD.fingerprint)]) == {}
    assert state.ledger([NEW.key]).keys() == {NEW.key}
    assert state.work("w2") is not None
    state.finish_drop(OLD.key)
    state.finish_drop(OLD.key)
    assert state.drops() == ()
    assert state.record_sweep([], AT_ONCE).marked == ()


@pytest.mark.full
def test_until_a_drop_is_finished_nothing_can_refer_to_the_version(state: State) -> None:
    replaced(state)
    state.record_sweep([], AT_ONCE)
    assert dropped(state, OLD.key)
    with pytest.raises(BeingDropped):
        state.store_snapshots([OLD], environment="prod")
    with pytest.raises(BeingDropped):
        state.store_snapshots([], environment="prod", shows=[OLD.key])
    with pytest.raises(BeingDropped):
        state.record_intent(intent("w9", key=OLD.key), lease=lease_on(state, "any"))
    with pytest.raises(Conflict):
        promote(state, "prod", OLD)
    state.finish_drop(OLD.key)
    promote(state, "prod", OLD)
    assert shown(state, "prod").snapshots == {SALES: OLD}


@pytest.mark.full
def test_a_drop_that_is_finished_again_takes_no_lease_of_who_makes_the_version_again(
    state: State,
) -> None:
    """A janitor that slept over its own drop, which others finished, ends it once more."""
    replaced(state)
    state.record_sweep([], AT_ONCE)
    assert dropped(state, OLD.key)
    state.finish_drop(OLD.key)
    lease = lease_on(state, version_resource(OLD.key))
    state.finish_drop(OLD.key)
    state.record_intent(intent("w9", key=OLD.key), lease=lease)


@pytest.mark.parametrize("how", ["store", "plan", "promote", "work", "accept", "view"])
def test_r12_what_is_referred_to_after_the_tombstone_is_not_dropped(state: State, how: str) -> None:
    replaced(state)
    state.record_sweep([], AT_ONCE)
    views: list[ReadingView] = []
    times = AT_ONCE
    if how == "store":
        state.store_snapshots([OLD], environment="dev")
    elif how == "plan":
        times = WEEK
        state.store_snapshots([], environment="dev", shows=[OLD.key])
    elif how == "promote":
        promote(state, "dev", OLD)
    elif how == "work":
        state.record_intent(intent("w3", key=OLD.key), lease=lease_on(state, "any"))
    elif how == "accept":
        accepted = intent("w3", key=OLD.key)
        state.record_accepted(accepted, (), publication(), lease=lease_on(state, "any"))
    else:
        views = [ReadingView(name=TableName("a", "view"), reads=frozenset({OLD.key}))]
    assert not dropped(state, OLD.key, *views, times=times)
    assert state.holdings([OLD.key])
    assert OLD.key not in state.references().tombstones or how == "view"


def test_r12_what_a_physical_view_reads_stays_while_an_environment_shows_that_view(
    state: State,
) -> None:
    over = snapshot(ModelName("shop", "over"))
    replaced(state)
    state.record_sweep([], AT_ONCE)
    promote(state, "dev", over)
    view = ReadingView(name=over.key.table, reads=frozenset({OLD.key}), key=over.key)
    outer = VersionKey(ModelName("shop", "outer"), "e" * 32)
    unknown = ReadingView(name=outer.table, reads=frozenset({NEW.key}), key=outer)
    assert not dropped(state, OLD.key, view, unknown)
    remove(state, "dev")
    state.record_sweep([view], AT_ONCE)
    assert dropped(state, OLD.key, view, unknown)


@pytest.mark.full
def test_the_cost_of_a_drop_does_not_grow_with_what_else_is_there() -> None:
    """A breaking edit at the top of a project leaves thousands of versions to be dropped."""

    def cost(others: int) -> int:
        state = memory_state(ManualClock())
        replaced(state)
        models = many(others)
        promote(state, "dev", *models)
        state.store_snapshots([], environment="later", shows=[each.key for each in models])
        unused = [VersionKey(each.name, "9" * 32) for each in models]
        for key in unused:
            load(state, key, f"w{key.model}")
        state.record_sweep([], AT_ONCE)
        return calls_of(lambda: dropped(state, OLD.key))

    cost(1)
    assert cost(60) < 1.5 * cost(1)


@pytest.mark.full
def test_a_drop_under_a_lease_that_was_lost_changes_nothing(state: State) -> None:
    replaced(state)
    state.record_sweep([], AT_ONCE)
    lost = lease_on(state, version_resource(OLD.key))
    lease_on(state, version_resource(OLD.key))
    with pytest.raises(LeaseLost):
        state.begin_drop(OLD.key, [], AT_ONCE, lease=lost)
    assert state.holdings([OLD.key])


def test_r3_what_is_recorded_after_the_newest_work_was_dropped_counts_as_later(
    state: State,
) -> None:
    replaced(state)
    state.record_sweep([], AT_ONCE)
    number = state.named_snapshots().number
    assert dropped(state, OLD.key)
    load(state, NEW.key, "w2")
    assert [each.work_id for each in state.named_since(number).works] == ["w2"]


@pytest.mark.full
def test_no_look_remembers_a_version_that_was_dropped(state: State) -> None:
    """A version that is made again counts its changes from one."""
    reader = VersionKey(ModelName("shop", "reader"), "e" * 32)
    replaced(state)
    for key, of in ((reader, OLD.key), (NEW.key, NEW.key)):
        seen = SeenInput(table=of.version, number=1)
        state.record_looks({key: LastLook(definition="d", number=1, inputs={SALES: seen})})
    state.record_sweep([], AT_ONCE)
    assert dropped(state, OLD.key)
    assert state.last_looks([reader, NEW.key]).keys() == {NEW.key}


@pytest.mark.full
def test_a_revision_that_left_the_history_says_so_and_what_drifted_is_still_known(
    state: State,
) -> None:
    kept = replace(NEW, version=OLD.version, drifted=True)
    promote(state, "prod", OLD)
    promote(state, "prod", kept)
    promote(state, "prod", kept)
    promote(state, "prod", OLD)
    assert state.drifted([OLD.key]) == {OLD.key}
    revisions = tuple(Revision("prod", number) for number in (1, 2, 3))
    assert state.record_sweep([], AT_ONCE).forgotten == revisions
    assert state.drifted([OLD.key]) == {OLD.key}
    past = [shown(state, "prod", revision=number) for number in (1, 2, 3, 4)]
    assert [each.is_forgotten for each in past] == [True, True, True, False]
    assert [len(each.snapshots) for each in past] == [1, 1, 0, 1]
    assert state.record_sweep([], AT_ONCE).forgotten == ()


@pytest.mark.full
def test_the_cost_of_forgetting_a_revision_grows_with_its_models_and_no_faster() -> None:
    """Each was compared with each: a minute for thirty revisions of a large project."""

    def steps(models: int) -> int:
        state = memory_state(ManualClock())
        for _ in range(4):
            promote(state, "prod", *many(models))
        with steps_of(state) as counted:
            assert len(state.record_sweep([], AT_ONCE).forgotten) == 3
        return sum(counted)

    assert steps(200) < 8 * steps(50), "four times as much is to be done"


@contextmanager
def steps_of(state: SqlState) -> Iterator[list[int]]:
    """The instructions that SQLite runs for a state in memory."""
    with state._database.engine.connect() as opened:
        connection = opened.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    counted: list[int] = []
    connection.set_progress_handler(lambda: counted.append(100), 100)
    yield counted
    connection.set_progress_handler(None, 0)


@pytest.mark.full
def test_a_snapshot_that_is_shown_with_another_version_stays_when_its_own_is_dropped(
    state: State,
) -> None:
    promote(state, "prod", NEW)
    state.store_snapshots([OLD], environment="dev")
    load(state, OLD.key)
    promote(state, "prod", replace(OLD, version=NEW.version))
    state.record_sweep([], AT_ONCE)
    assert dropped(state, OLD.key)
    state.finish_drop(OLD.key)
    assert state.snapshots([(OLD.name, OLD.fingerprint)])
    assert state.record_sweep([], AT_ONCE).marked == ()


def test_r9_a_removed_environment_shows_and_owns_nothing(state: State) -> None:
    promote(state, "dev", OLD, snapshot(ModelName("shop", "own")))
    promote(state, "later", OLD)
    promote(state, "prod", NEW)
    state.pause(
        [Pause(environment=n, model=SALES, paused_at=START, author="", reason="") for n in PAUSED]
    )
    remove(state, "dev")
    assert [bool(state.pauses(name)) for name in PAUSED] == [False, True]
    assert state.environment("dev") is None
    assert state.environments() == ("later", "prod")
    own = snapshot(ModelName("shop", "own")).key
    assert state.owners([OLD.key, NEW.key, own]) == {OLD.key: "later", NEW.key: "prod"}
    removed = shown(state, "dev", revision=2)
    assert (removed.is_removed, removed.snapshots) == (True, {})


@pytest.mark.full
def test_the_cost_of_a_removal_does_not_grow_with_what_other_environments_show() -> None:
    """Each of them showed a hundred models before; these were read one environment at a time."""

    def cost(others: int) -> int:
        state = memory_state(ManualClock())
        for name in ("dev", *(f"other{number}" for number in range(others))):
            promote(state, name, *many(100))
        return calls_of(lambda: remove(state, "dev"))

    cost(1)
    assert cost(9) < 2 * cost(1)


def test_a_removed_environment_is_made_again_as_a_new_one_with_later_revisions(
    state: State,
) -> None:
    promote(state, "dev", OLD)
    remove(state, "dev")
    state.store_snapshots([OLD], environment="dev")
    lease = lease_on(state, environment_resource("dev"))
    with pytest.raises(Conflict, match="at revision 0"):
        state.begin_promotion("dev", expected_revision=2, plan_id="p", snapshots=[OLD], lease=lease)
    begun = state.begin_promotion(
        "dev", expected_revision=0, plan_id="p", snapshots=[OLD], lease=lease
    )
    assert (begun.revision, begun.is_removed) == (3, False)


def test_r9_a_removal_that_is_finished_again_takes_nothing_from_what_was_made_since(
    state: State,
) -> None:
    """A process that slept over its own removal, which others finished, ends it once more."""
    ours = VersionKey(SALES, "9" * 32)
    promote(state, "dev", OLD)
    remove(state, "dev")
    state.store_snapshots([NEW], environment="dev", shows=[ours])
    state.pause([Pause(environment="dev", model=SALES, paused_at=START, author="", reason="")])
    state.finish_promotion("dev", plan_id="removal")
    assert state.owners([NEW.key]) == {NEW.key: "dev"}
    assert [each.key for each in state.references().planned] == [ours]
    assert state.pauses("dev")


def test_a_removal_of_another_revision_is_a_conflict(state: State) -> None:
    promote(state, "dev", OLD)
    lease = lease_on(state, environment_resource("dev"))
    with pytest.raises(Conflict):
        state.begin_removal("dev", expected_revision=0, plan_id="removal", lease=lease)
    assert state.environment("dev") is not None


@pytest.mark.full
def test_closed_work_that_nothing_needs_is_deleted(state: State) -> None:
    promote(state, "prod", OLD)
    for number in range(4):
        load(state, OLD.key, f"w{number}")
    lease = lease_on(state, version_resource(OLD.key))
    for work_id in ("a0", "a1", "a2"):
        state.record_intent(intent(work_id, key=OLD.key), lease=lease)
        state.abandon(work_id, reason="no", lease=lease)
    state.record_intent(intent("open", key=OLD.key), lease=lease)
    assert state.prune(timedelta(days=1)) == 0
    assert state.closed_before(["w0", "a1", "open"], NOW) == {"w0", "a1"}
    (moved,) = state.mark_moves(OLD.key)
    assert moved.session_id == "w0", "the others found the mark there"
    assert state.prune(NOW, branches=["a0"]) == 3
    left = {each: state.work(each) is not None for each in ("w0", "w1", "w2", "w3")}
    assert left == {"w0": True, "w1": False, "w2": False, "w3": True}
    assert {each for each in ("a0", "a1", "a2", "open") if state.work(each)} == {"a0", "a2", "open"}
    assert state.prune(NOW, branches=["a0"]) == 0
    assert state.heads([OLD.key])


@pytest.mark.full
def test_others_write_while_old_work_is_looked_for(
    sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All units of work and all entries are read for that, which takes long after years."""
    state = SqlState.open(sql_url)
    other = SqlState.open(sql_url, lock_timeout=timedelta(seconds=1))
    find = clean_up.old_work

    def found(connection: Connection, until: int) -> set[str]:
        work_ids = find(connection, until)
        promote(other, "prod", OLD)
        load(other, OLD.key, "w9")
        return work_ids

    for number in range(3):
        load(state, OLD.key, f"w{number}")
    monkeypatch.setattr(clean_up, "old_work", found)
    state.prune(NOW)
    assert {each for each in ("w0", "w1", "w2", "w9") if state.work(each)} == {"w0", "w2", "w9"}
    for each in (state, other):
        each.close()


def test_nothing_is_left_of_an_environment_that_was_removed_long_ago(state: State) -> None:
    promote(state, "dev", OLD)
    remove(state, "dev")
    assert state.prune(NOW) == 0, "its history is not over"
    state.record_sweep([], AT_ONCE)
    assert state.prune(NOW) == 2
    assert state.environment("dev", revision=1) is None
    promote(state, "dev", OLD)


def test_nobody_knows_a_version_without_rows_in_the_state(state: State) -> None:
    assert state.references().known == frozenset()
    assert KEY not in state.record_sweep([], AT_ONCE).marked


@pytest.mark.parametrize("environment", ["prod", "dev", "other"])
def test_r12_of_a_promotion_and_a_drop_at_once_one_wins(sql_url: str, environment: str) -> None:
    """Never both: what is shown then is there, and what is dropped is not shown."""
    states = [SqlState.open(sql_url) for _ in range(2)]
    one, other = states
    replaced(one)
    one.record_sweep([], AT_ONCE)
    start = threading.Barrier(2)

    def shows() -> bool:
        start.wait()
        try:
            promote(one, environment, OLD)
        except Conflict:
            return False
        return True

    def drops() -> bool:
        start.wait()
        return dropped(other, OLD.key)

    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(each) for each in (shows, drops)]
        is_shown, is_dropped = (each.result() for each in outcomes)
    assert is_shown != is_dropped
    assert bool(one.holdings([OLD.key])) == is_shown
    for state in states:
        state.close()
