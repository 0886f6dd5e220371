"""A state that is pruned again and again answers as one in which nothing was ever compacted.

Random histories are recorded twice: in the state under test, and in one in memory that is never
pruned. What may differ is what docs/how-to/clean-up.md says is forgotten, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from tests.depth import is_full
from tests.state.builders import (
    KEY,
    MINUTE,
    RAW,
    SALES,
    change,
    day,
    intent,
    mark,
    publication,
    session,
)
from tests.state.conftest import Store
from tests.state.test_acceptance_contract import RESULTS, SAID
from tests.state.test_listing_contract import STATELESS
from tests.worlds.clock import ManualClock
from tests.worlds.state import memory_state
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, MURMUR3_128, RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerDigests,
    LedgerOperation,
    Trace,
    loaded_dsha,
)
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, UnitOfWork, UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, State, environment_resource, version_resource
from vde_dagster.state import schema
from vde_dagster.state.database import now
from vde_dagster.state.sql_state import SqlState

KEYS = (KEY, VersionKey(SALES, "b" * 32))
DAYS = 6
HISTORY = timedelta(days=7)
LATELY = timedelta(days=5)
STEPS = 40
SEEDS = range(25 if is_full() else 3)


@dataclass
class Histories:
    """One history in two states, of which one is pruned."""

    pruned: State
    whole: State
    chance: random.Random
    known: dict[tuple[VersionKey, int], str] = field(default_factory=dict)
    """The algorithm of each interval that is loaded."""
    refused: dict[VersionKey, tuple[str, Publication]] = field(default_factory=dict)
    branches: list[str] = field(default_factory=list)
    last: dict[VersionKey, str] = field(default_factory=dict)
    """The unit of work of each version that was done last."""
    count: int = 0
    ago: timedelta = timedelta(days=100)
    """How long ago the history has come to: databases have clocks of their own."""

    def both(self, act: Callable[[State], object]) -> None:
        """Do something in both states, which has to give the same."""
        assert act(self.pruned) == act(self.whole)

    def next(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def step(self) -> None:
        acts = (self.load, self.load, self.load_late, self.refuse, self.accept, self.fail)
        more = (self.outdate, self.show_late_data, self.age, self.prune, self.end_again)
        self.chance.choice((*acts, *more))()
        self.both(lambda state: _recorded_ago(state, self.ago))

    def change(self, key: VersionKey, *, algorithm: str) -> LedgerChange:
        """A day that is computed, recorded as empty, or gets more rows."""
        number = self.chance.randrange(DAYS)
        rows = RowSum(rows=self.chance.randrange(9), sum=self.chance.getrandbits(128))
        found = change(number, rows=rows)
        if self.known.get((key, number)) == algorithm and self.chance.random() < 0.3:
            return replace(found, operation=LedgerOperation.ADD)
        self.known[key, number] = algorithm
        if self.chance.random() < 0.1:
            return replace(found, rows=RowSum(), status=EntryStatus.EMPTY, reason="not here")
        seconds = self.chance.randrange(8) / 4
        trace = Trace(key=f"k{self.count}", inputs={RAW: f"t{number}"}, seconds=seconds)
        return replace(found, trace=self.chance.choice((trace, None)))

    def publication(self, key: VersionKey, **more: object) -> Publication:
        algorithm = self.chance.choice((DEFAULT_ALGORITHM, DEFAULT_ALGORITHM, MURMUR3_128))
        found = publication(self.change(key, algorithm=algorithm))
        snapshot = self.chance.getrandbits(60)
        changed = replace(found, iceberg_snapshot_id=snapshot, algorithm=algorithm)
        return replace(changed, **more)  # type: ignore[arg-type]

    def load(self) -> None:
        key = self.chance.choice(KEYS)
        drifted = self.chance.random() < 0.1
        self.done(replace(intent(self.next(), key=key), drifted=drifted), self.publication(key))

    def load_late(self) -> None:
        key = self.chance.choice(KEYS)
        late = intent(self.next(), key=key, late=replace(session(), question=STATELESS))
        self.done(late, self.late_publication(key))

    def late_publication(self, key: VersionKey) -> Publication:
        """What a session publishes: it moves the mark, and may leave something."""
        time, why = day(self.chance.randrange(DAYS)), PendingReason.BEYOND_THRESHOLD
        left = Pending(interval=time, sources=(RAW,), reason=why)
        pending = self.chance.choice(((), (left,)))
        return self.publication(key, marks=(mark(self.count),), pending=pending)

    def done(self, what: Intent, published: Publication) -> None:
        """A unit of work, whose answer was lost at its end."""

        def act(state: State) -> object:
            def run(lease: Lease) -> object:
                state.record_intent(what, lease=lease)
                state.record_staged(what.work_id, published, lease=lease)
                entries = state.finalize(what.work_id, lease=lease)
                assert state.finalize(what.work_id, lease=lease) == entries
                return entries

            return _leased(state, version_resource(what.key), run)

        self.both(act)
        self.last[what.key] = what.work_id

    def refuse(self) -> None:
        """A unit of work, or a session, whose rows audits refuse."""
        key, is_late = self.chance.choice(KEYS), self.chance.random() < 0.5
        late = replace(session(), question=STATELESS) if is_late else None
        what = intent(self.next(), key=key, late=late)
        known = dict(self.known)
        published = self.late_publication(key) if is_late else self.publication(key)
        self.known = known  # nothing of it is loaded
        if published.changes[0].operation is LedgerOperation.ADD:
            return

        def act(state: State) -> object:
            def run(lease: Lease) -> None:
                state.record_intent(what, lease=lease)
                state.record_audits(what.work_id, RESULTS, lease=lease)
                state.abandon(what.work_id, reason="bad", lease=lease, refused=published)

            return _leased(state, version_resource(key), run)

        self.both(act)
        self.refused[key] = (what.work_id, published)
        self.branches.append(what.work_id)

    def accept(self) -> None:
        """A person accepts what was refused last."""
        key = self.chance.choice(KEYS)
        if key not in self.refused:
            return
        refused, published = self.refused.pop(key)
        asked = self.whole.question(refused)
        late = None if asked is None else replace(session(), question=asked)
        said = replace(SAID, work_id=refused)
        what = replace(intent(self.next(), key=key, late=late), accepted=said)

        def act(state: State) -> object:
            assert state.question(refused) == asked, "it is compared with what is pending now"

            def run(lease: Lease) -> object:
                state.record_accepted(what, RESULTS, published, lease=lease)
                return state.finalize(what.work_id, lease=lease)

            return _leased(state, version_resource(key), run)

        self.both(act)
        for each in published.changes:
            self.known[key, (each.interval.start - day(0).start).days] = published.algorithm
        self.last[key] = what.work_id

    def fail(self) -> None:
        what = intent(self.next(), key=self.chance.choice(KEYS))

        def act(state: State) -> object:
            def run(lease: Lease) -> None:
                state.record_intent(what, lease=lease)
                state.abandon(what.work_id, reason="broken", lease=lease)

            return _leased(state, version_resource(what.key), run)

        self.both(act)

    def outdate(self) -> None:
        key, number = self.chance.choice(KEYS), self.chance.randrange(DAYS)
        rebuilt = self.chance.choice(((), (key,)))

        def act(state: State) -> object:
            def run(lease: Lease) -> None:
                times = {key: [day(number)]}
                state.outdate(times, reason="asked for", lease=lease, rebuilt=rebuilt)

            return _leased(state, environment_resource("prod"), run)

        self.both(act)

    def show_late_data(self) -> None:
        """The catalog's tables show all sessions that have ended."""
        self.both(lambda state: state.record_listed([e.number for e in state.unlisted(limit=99)]))

    def age(self) -> None:
        by = timedelta(days=self.chance.randrange(1, 10), hours=self.chance.randrange(24))
        self.ago = max(self.ago - by, LATELY + 2 * HISTORY)

    def prune(self) -> None:
        """The janitor has not removed the branches of what audits refused."""
        self.pruned.prune(self.ago + HISTORY, branches=self.branches)
        self.compare()

    def end_again(self) -> None:
        """A process that was frozen records what is recorded."""
        key = self.chance.choice(KEYS)
        if (work_id := self.last.get(key)) is None:
            return

        def act(state: State) -> object:
            resource = version_resource(key)
            return _leased(state, resource, lambda lease: state.finalize(work_id, lease=lease))

        self.both(act)

    def compare(self) -> None:
        """Both states answer alike."""
        self.both(answers)
        self.both(late_answers)
        for key in KEYS:
            self.compare_work(key)
            self.compare_sessions(key)

    def compare_work(self, key: VersionKey) -> None:
        """All that is told of the work that the ledger names is there, but what it published."""
        named = {each.work_id for each in self.whole.ledger([key]).get(key, ())}
        kept, every = self.pruned.works(named), self.whole.works(named)
        assert kept.keys() == every.keys() == named
        for work_id, work in kept.items():
            assert _said(work) == _said(every[work_id])
            if work.publication != every[work_id].publication:
                assert work.publication is None
                assert work.state is UnitOfWorkState.DONE
                assert work.intent.session is None
                assert work.intent.accepted is None
                assert work_id != self.last[key]

    def compare_sessions(self, key: VersionKey) -> None:
        """Sessions that are kept are whole, but for what old ones were decided from."""
        every = {each.intent.work_id: each for each in self.whole.sessions(key, limit=999)}
        kept = self.pruned.sessions(key, limit=999)
        assert [each.intent.work_id for each in kept][:1] == [*every][:1]
        last = [e.intent.work_id for e in kept if e.state is UnitOfWorkState.DONE][:1]
        for work in kept:
            work_id = work.intent.work_id
            assert _whole(work) == _whole(every[work_id])
            if (asked := self.pruned.question(work_id)) != self.whole.question(work_id):
                assert asked is None
                assert work.state is UnitOfWorkState.DONE
                assert [work_id] != last


def answers(state: State) -> Mapping[str, object]:
    """What the state says of all ledgers and of the work that they are made by."""
    ledger, sums, digests = state.ledger(KEYS), state.sums(KEYS), state.digests(KEYS)
    for key, entries in ledger.items():
        assert sums[key].dsha == loaded_dsha(entries)
        assert sums[key].last == entries[-1]
        assert digests[key] == LedgerDigests(
            digests=tuple(each.digest for each in entries), last=entries[-1]
        )
        time = Interval(day(1).start + timedelta(hours=7), day(3).start + timedelta(hours=1))
        within = [e for e in entries if e.interval.start < time.end and e.interval.end > time.start]
        assert state.entries_within(key, (time,)) == tuple(within)
        computed = [each for each in entries if each.status is EntryStatus.COMPUTED]
        assert state.newest_computed(key, limit=2) == tuple(computed[-2:])
    named = state.named_snapshots()
    return {
        "ledger": ledger,
        "sums": sums,
        "holdings": state.holdings(KEYS),
        "heads": state.heads(KEYS),
        "drifted": state.drifted(KEYS),
        "accepted": {key: list(map(_whole, each)) for key, each in state.accepted(KEYS).items()},
        "failed": {key: _whole(each) for key, each in state.failed(KEYS).items()},
        "named": (
            named.heads,
            sorted(map(repr, named.entries)),
            sorted(map(repr, named.works)),
            sorted(map(repr, named.marks)),
        ),
        "loaded": state.loaded(KEYS),
    }


def late_answers(state: State) -> Mapping[str, object]:
    """What the state says of late data, but when it came to know that."""
    moves = {key: state.mark_moves(key) for key in KEYS}
    return {
        "marks": [state.marks(key) for key in KEYS],
        "moves": {
            key: [(each.latest, each.previous, each.session_id) for each in found]
            for key, found in moves.items()
        },
        "pending": state.pending(KEYS),
        "unlisted": [(each.key, each.session_id) for each in state.unlisted(limit=99)],
        "their work": [
            _whole(work)
            for each in state.unlisted(limit=99)
            if each.session_id and (work := state.work(each.session_id)) is not None
        ],
    }


def _said(work: UnitOfWork) -> tuple[object, ...]:
    return work.intent, work.state, work.audits, work.reason


def _whole(work: UnitOfWork) -> tuple[object, ...]:
    return _said(work), work.publication


def _leased(state: State, resource: str, run: Callable[[Lease], object]) -> object:
    lease = state.acquire_lease(resource, holder="w", ttl=MINUTE)
    found = run(lease)
    state.release_lease(lease)
    return found


def _recorded_ago(state: State, ago: timedelta) -> None:
    """What was recorded just now was recorded that long ago."""
    assert isinstance(state, SqlState)
    columns = {schema.work: ("started_at", "finished_at")}
    lately, back = (each // timedelta(microseconds=1) for each in (LATELY, ago))
    with state._database.write() as connection:
        since = now(connection) - lately
        for table, name in ((table, name) for table, names in columns.items() for name in names):
            at = table.c[name]
            connection.execute(update(table).where(at > since).values({name: at - back}))


@pytest.mark.parametrize("seed", SEEDS)
def test_r12_what_is_compacted_changes_no_answer(store: Store, seed: int) -> None:
    whole = memory_state(ManualClock())
    histories = Histories(pruned=store.state, whole=whole, chance=random.Random(seed))
    for _ in range(STEPS):
        histories.step()
    histories.ago -= HISTORY + timedelta(hours=1)
    histories.prune()
    again = _rows(store.state)
    assert all(left <= before for left, before in zip(again, _rows(whole), strict=True))
    assert again != _rows(whole), "else the comparison would say nothing"
    histories.prune()
    assert _rows(store.state) == again


def _rows(state: State) -> list[int]:
    """How much there is of what is compacted."""
    assert isinstance(state, SqlState)
    published = select(func.count(schema.work.c.publication_json))
    tables = (schema.work, schema.questions)
    counts = (select(func.count()).select_from(each) for each in tables)
    with state._database.read() as connection:
        return [connection.execute(each).scalar_one() for each in (published, *counts)]
