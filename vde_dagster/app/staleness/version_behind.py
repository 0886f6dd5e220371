"""Whether one version that comes back is stale, and which of its rows would be lost.

It reads the state and the catalog's metadata; of the latter only about inputs that have changed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, assert_never, overload

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inputs.input_look import InputLook, input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import StaleLooks, entries_since
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop, reloading
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.ledger.staleness import LastLook, Stale, read_by_a_unit
from vde_dagster.core.ledger.traces import why_together
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.workload import Holdings
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import Interval, common, merge, subtract
from vde_dagster.ports.catalog import TableState
from vde_dagster.ports.state import Environment, State

FORBIDDEN: Final = "it sets disable_restatement, so it is never computed again"
UNCOVERED: Final = "the source no longer has all rows of that time"
_HISTORY: Final = "a history keeps the states observed at the time, which cannot be observed again"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries of versions; those of one are read once, when they are asked for."""

    state: State
    _read: dict[VersionKey, tuple[LedgerEntry, ...]] = field(default_factory=dict)
    _looks: dict[VersionKey, LastLook | None] = field(default_factory=dict)

    def of(self, key: VersionKey) -> tuple[LedgerEntry, ...]:
        """The entries of a version, sorted by interval."""
        if key not in self._read:
            self._read[key] = self.state.ledger([key]).get(key, ())
        return self._read[key]

    def last_look(
        self, key: VersionKey, others: Iterable[ModelSnapshot]
    ) -> dict[VersionKey, LastLook]:
        """The last look at a version, by its key; none if there was none.

        ``others`` are those that will be asked for, too: the first time they are read together.
        """
        if key not in self._looks:
            unknown = {key, *(each.key for each in others)} - self._looks.keys()
            self._looks.update(dict.fromkeys(unknown) | dict(self.state.last_looks(unknown)))
        look = self._looks[key]
        return {} if look is None else {key: look}


@dataclass(frozen=True, slots=True)
class EntriesWhenAsked(Sequence[LedgerEntry]):
    """The entries of a version, which are read when one is asked for: most looks ask for none."""

    ledger: Ledger
    key: VersionKey

    @overload
    def __getitem__(self, at: int) -> LedgerEntry: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[LedgerEntry]: ...

    def __getitem__(self, at: int | slice) -> LedgerEntry | Sequence[LedgerEntry]:
        return self.ledger.of(self.key)[at]

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.ledger.of(self.key))

    def __len__(self) -> int:
        return len(self.ledger.of(self.key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The models of a plan with their versions, holdings, and up to when inputs are complete.

    ``own`` is the environment as it is, None for a new one; ``shown_graph`` has the models that the
    plan compares with, and ``loaded`` their versions, too, apart from those that are not loaded.
    ``ledger`` has the entries. ``tables`` are the sources as they were looked at, by model; None
    for one that does not exist.
    """

    environment: str
    own: Environment | None
    shown_graph: Graph
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    holdings: Holdings
    loaded: Mapping[VersionKey, Holding]
    ledger: Ledger
    complete_to: Mapping[ModelName, datetime | None]
    tables: Mapping[ModelName, TableState | None] = field(default_factory=dict)

    def entries(self, name: ModelName) -> tuple[LedgerEntry, ...]:
        """The entries of a model's version."""
        key = self.snapshots[name].key
        return self.ledger.of(key) if key in self.loaded else ()

    def shown(self, name: ModelName) -> tuple[LedgerEntry, ...]:
        """The entries of the version that the environment shows now."""
        shown = self.shown_snapshots.get(name)
        return () if shown is None or shown.key not in self.loaded else self.ledger.of(shown.key)

    @property
    def shown_snapshots(self) -> Mapping[ModelName, ModelSnapshot]:
        """What the environment shows now; nothing for a new one."""
        return self.own.snapshots if self.own is not None else {}

    @property
    def staying(self) -> frozenset[ModelName]:
        """The models that an environment may write and whose versions stay the shown ones."""
        return frozenset(filter(self.stays, self.holdings.writes))

    def stays(self, name: ModelName) -> bool:
        """Whether the version of a model is the one that is shown now."""
        before = self.shown_snapshots.get(name)
        return before is not None and before.key == self.snapshots[name].key

    @property
    def before(self) -> Planned:
        """The same for what the environment shows now; empty for a new one."""
        snapshots = self.shown_snapshots
        loaded = {name: self.loaded.get(each.key, NOTHING) for name, each in snapshots.items()}
        return replace(
            self,
            graph=self.shown_graph,
            snapshots=snapshots,
            holdings=Holdings.of(self.environment, loaded, owners={}, writes=frozenset()),
            complete_to={name: self.complete_to.get(name) for name in snapshots},
        )

    @property
    def binding(self) -> Binding:
        """What the environment runs once the plan is applied."""
        return Binding(
            environment=self.environment,
            revision=self.own.revision if self.own is not None else 0,
            graph=self.graph,
            snapshots=self.snapshots,
        )

    @property
    def returning(self) -> Iterator[Node]:
        """The models whose version comes back, and that this environment may write (rule R9)."""
        shown = {each.key for each in self.shown_snapshots.values()}
        for node in self.graph:
            key = self.snapshots[node.name].key
            writes = node.name in self.holdings.writes
            if (
                node.model.kind.follows_upstream
                and writes
                and key not in shown
                and key in self.loaded
            ):
                yield node


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLook:
    """A look at one version that comes back, and what its model reads.

    ``moved`` is False if it is known that no input has other rows now.
    """

    services: Services
    planned: Planned
    inputs: InputLook
    moved: bool = True

    @property
    def node(self) -> Node:
        """The model."""
        return self.inputs.node

    @property
    def _states(self) -> InputStates:
        return self.inputs.states

    def found(self) -> Staleness | None:
        """Staleness of the version; None if it is fresh."""
        if self.node.model.stateless is not None:
            return self._late()
        stale = self._stale()
        missed = self._missed_history()
        if not stale and not missed:
            return None
        inputs = dict.fromkeys(name for each in stale for name in each.inputs)
        behind = merge([*(each.entry.interval for each in stale), *missed])
        lost, why = self._lost(stale, missed)
        return Staleness(
            intervals=subtract(behind, lost),
            reason=f"its inputs from {listed(inputs)} have changed since" if inputs else why,
            kept=lost,
            why_kept=why if lost else "",
            inputs=tuple(inputs),
        )

    def _late(self) -> Staleness | None:
        """The late rows that a session has to load, or why they are not known; None if none."""
        loaded = self.planned.holdings.recorded[self.node.name]
        return late_behind(
            self.services, self.planned.binding, self._states, self.node, merge(loaded)
        )

    def _stale(self) -> tuple[Stale, ...]:
        if not self.moved:
            return ()
        rules, entries = self.node.model.kind, self.planned.entries(self.node.name)
        found = self._without_kept(tuple(self._moved(is_sequential=rules.is_sequential)))
        inputs = tuple(dict.fromkeys(each for stale in found for each in stale.inputs))
        every = tuple(Stale(entry=each, inputs=inputs) for each in entries)
        if found and rules.restates_whole:
            return every
        if found and why_together(self.planned.graph, self.node):
            return self._without_kept(every)
        return found

    def has_moved(self) -> bool:
        """Whether any input of any entry has other rows now, at whatever time."""
        return any(True for _ in self._moved(is_sequential=False))

    def _moved(self, *, is_sequential: bool) -> Iterator[Stale]:
        """The entries whose inputs have other rows now; see `stale_entries`."""
        rules, name = self.node.model.kind, self.node.name
        loaded, complete_to = self.planned.holdings.computed[name], self.planned.complete_to[name]
        goes_on = complete_to is not None and bool(
            rules.missing(self.node.model, loaded, complete_to)
        )
        last = self.inputs.entries[-1].interval.end if self.inputs.entries else None
        return self.inputs.stale(is_sequential=is_sequential, until=None if goes_on else last)

    def _without_kept(self, stale: Sequence[Stale]) -> tuple[Stale, ...]:
        """The stale entries without those that stay as they are.

        An entry stays if a source merely lost its rows, or if its model is never computed again,
        and the shown version is no newer there.
        """
        looks, never = self.inputs, self.node.model.kind.disable_restatement
        over = [e.entry for e in stale if never or (looks.is_beyond(e) and not looks.has_more(e))]
        shown = {each.interval: self._shown_at(each.interval) for each in over}
        looked_at = [*over, *(each for found in shown.values() for each in found)]
        seen = {
            each.interval
            for each in over
            if any(self._is_later(found, each, looked_at) for found in shown[each.interval])
        }
        kept = {each.interval for each in over} - seen
        return tuple(each for each in stale if each.entry.interval not in kept)

    def _missed_history(self) -> tuple[Interval, ...]:
        """The times at which the shown version recorded history, and this one did not."""
        rules = self.node.model.kind
        if not rules.keeps_history or rules.order is not None:
            return ()
        seen = (
            each.interval for each in self.planned.shown(self.node.name) if each.rows != RowSum()
        )
        return subtract(seen, self.planned.holdings.recorded[self.node.name])

    def _lost(
        self, stale: Sequence[Stale], missed: Sequence[Interval]
    ) -> tuple[tuple[Interval, ...], str]:
        """The times that cannot be computed again, and why."""
        if self.node.model.kind.disable_restatement:
            times = merge([*(each.entry.interval for each in stale), *missed])
            return times, _HISTORY if missed and not stale else FORBIDDEN
        beyond = [each.entry.interval for each in stale if self.inputs.is_beyond(each)]
        if (beyond or missed) and self.node.model.kind.restates_whole:
            beyond = [each.entry.interval for each in stale]
        if missed:
            return merge([*beyond, *missed]), _HISTORY
        return merge(beyond), UNCOVERED

    def _shown_at(self, interval: Interval) -> Sequence[LedgerEntry]:
        """The entries with rows of the shown version for an interval."""
        shown = self.planned.shown(self.node.name)
        first = bisect_right(shown, interval.start, key=lambda each: each.interval.end)
        after = bisect_left(shown, interval.end, key=lambda each: each.interval.start)
        return [each for each in shown[first:after] if each.rows.rows]

    def _is_later(
        self, shown: LedgerEntry, entry: LedgerEntry, others: Sequence[LedgerEntry]
    ) -> bool:
        """Whether the shown version computed an interval after an entry was computed."""
        made, looked = self._states.work(entry, others), self._states.work(shown, others)
        return made is None or looked is None or looked.started_at >= made.started_at


def late_behind(
    services: Services,
    binding: Binding,
    states: InputStates,
    node: Node,
    times: tuple[Interval, ...],
) -> Staleness | None:
    """What sessions of a stateless version would add rows to, load again, or leave; None if none.

    ``times`` are those of its recorded time that count, merged. Entries are read only where rows
    are late.
    """
    match detect(services, binding, node.name):
        case NothingToLoad(reason=reason, pending=pending):
            left = common(times, merge(each.interval for each in pending))
            return Staleness(reason=reason, kept=left, why_kept=reason) if left else None
        case Stop(reason=reason):
            key = binding.key(node.name)
            owner = services.state.owners([key]).get(key, binding.environment)
            reload = reloading(node.name, owner)
            lacks = f"{reason}, so sessions cannot load its missing rows"
            what = f"{lacks}; once it is shown, {reload} reloads all of it"
            return Staleness(reason=what, kept=times, why_kept=what)
        case Load() as load:
            entries = services.state.entries_within(binding.key(node.name), times)
            late = input_look(binding.graph, states, node, entries).by_times().late_by(load)
            return _loaded_and_left(load, late, times)
        case unreachable:
            assert_never(unreachable)


def _loaded_and_left(
    load: Load, late: tuple[Interval, ...], times: tuple[Interval, ...]
) -> Staleness | None:
    """What a session adds rows to, and what of these times it leaves pending; None if nothing."""
    left = subtract(common(times, merge(each.interval for each in load.pending)), late)
    why = f"the changes there are pending: {pending_text(load.pending)}" if left else ""
    if not late:
        return Staleness(reason=why, kept=left, why_kept=why) if left else None
    return Staleness(intervals=late, reason=load.why_again, kept=left, why_kept=why, session=True)


def look_at(services: Services, planned: Planned, states: InputStates, node: Node) -> VersionLook:
    """A look at a version; the times that it reads of its sources count only if these moved."""
    since = _since(planned, states, node)
    entries: Sequence[LedgerEntry] = ()
    key = planned.snapshots[node.name].key
    if since is None and key in planned.loaded:
        entries = EntriesWhenAsked(planned.ledger, key)
    elif since:
        entries = entries_since(planned.entries(node.name), since)
    inputs = input_look(planned.graph, states, node, entries)
    look = VersionLook(services=services, planned=planned, inputs=inputs)
    if node.model.stateless is None and not look.has_moved():
        return replace(look, moved=False)
    return replace(look, inputs=inputs.by_times())


def _since(planned: Planned, states: InputStates, node: Node) -> tuple[Interval, ...] | None:
    """The times of a version that may be stale since the last look at it; None for all of them.

    A kind that builds on its own rows and reads a table without a bound is compared as a whole: a
    look leaves out what its last interval reads of that table.
    """
    if node.model.stateless is not None:
        return None
    read = read_by_a_unit(planned.graph, node) if node.model.kind.is_sequential else {}
    if any(isinstance(each, WholeTable) for each in read.values()):
        return None
    key = planned.snapshots[node.name].key
    looks = StaleLooks(
        state=planned.ledger.state,
        graph=planned.graph,
        snapshots=planned.snapshots,
        loaded=planned.loaded,
        last=planned.ledger.last_look(key, planned.snapshots.values()),
        states=states,
    )
    return looks.since(node.name)


def listed(names: Iterable[ModelName]) -> str:
    """Names for people."""
    return ", ".join(map(str, sorted(names)))
