"""Rule R14: which intervals of versions that stay are stale.

A look at a version begins where the last one ended: only what was recorded since, on it or on its
inputs, and the entries that were stale then, is compared. So its cost depends on what changed, not
on what is loaded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.app.inputs.input_look import InputLook, input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.staleness import FreshAt, LastLook, SeenInput, Stale, Times
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import affected
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.catalog import TableState
from vde_dagster.ports.state import State

_NOTHING_SEEN: Final = SeenInput(table="", number=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleLook:
    """What a look at entries of a version found to be stale.

    ``fresh`` is when none was, as far as that is known.
    """

    inputs: InputLook
    stale: tuple[Stale, ...]
    fresh: FreshAt | None = None

    @property
    def expired(self) -> tuple[Stale, ...]:
        """Those that would lose rows, since a source lost rows or does not exist any more."""
        states = self.inputs.states
        return tuple(
            each
            for each in self.stale
            if self.inputs.is_beyond(each) or any(map(states.is_gone, each.inputs))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleLooks:
    """Looks at versions that stay as an environment shows them.

    ``loaded`` are the ledgers of these versions and of all that they read, read before anything
    else, and ``last`` are the last looks at them.
    """

    state: State
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    loaded: Mapping[VersionKey, Holding]
    last: Mapping[VersionKey, LastLook]
    states: InputStates

    def found(self, names: Iterable[ModelName]) -> Iterator[tuple[ModelName, StaleLook, LastLook]]:
        """The looks at loaded versions that are computed from others, parents first.

        With each of them comes the look to store for the next time. Versions that are as they were
        at the last look, which found nothing, are left out.
        """
        wanted = set(names)
        for node in self.graph:
            if (
                node.name in wanted
                and node.model.kind.follows_upstream
                and self._holding(node.name).recorded
            ):
                found = self._look(node)
                if found is not None:
                    yield node.name, *found

    def seen(self, name: ModelName) -> LastLook:
        """The look to store for a version as it is now, with nothing known to be stale."""
        now = self._now(self.graph[name])
        return replace(now, fresh=self._fresh(self.graph[name], now))

    def since(self, name: ModelName) -> tuple[Interval, ...] | None:
        """The times of a version that may be stale since the last look; None for all of them.

        Everything else is as fresh as it was then, also where a promotion decided that (rule R10).
        """
        node = self.graph[name]
        last = self.last.get(self.snapshots[name].key)
        if last is None or not node.model.kind.follows_upstream:
            return None
        return self._times(input_look(self.graph, self.states, node, ()), last, self._now(node))

    def is_moved(self, name: ModelName, before: StaleLooks) -> bool:
        """Whether a version has another definition than before, or reads other tables."""
        now, then = self._now(self.graph[name]), before._now(before.graph[name])
        return now.definition != then.definition or _tables(now) != _tables(then)

    def _look(self, node: Node) -> tuple[StaleLook, LastLook] | None:
        key = self.snapshots[node.name].key
        last, now = self.last.get(key), self._now(node)
        if last is not None and replace(last, stale=()) == now and not last.stale:
            return None
        inputs = input_look(self.graph, self.states, node, ())
        times = None if last is None else self._times(inputs, last, now)
        entries: Sequence[LedgerEntry]
        if times is None:
            entries = self.state.ledger([key]).get(key, ())
        else:
            entries = self.state.entries_within(key, times)
        look = _stale(replace(inputs, entries=entries))
        fresh = None if last is None else last.fresh
        look = replace(look, fresh=fresh)
        if not look.stale:
            return look, replace(now, fresh=self._fresh(node, now))
        behind = merge(each.entry.interval for each in look.stale)
        return look, replace(now, stale=behind, fresh=fresh)

    def _fresh(self, node: Node, now: LastLook) -> FreshAt | None:
        """The models that a version of changes reads, if they are still as they were looked at."""
        if node.model.kind.order is None:
            return None
        keys = {
            name: self.snapshots[name].key for name in now.inputs if not self.states.is_source(name)
        }
        heads, then = self.state.heads(keys.values()), self.state.holdings(keys.values())
        found = {
            name: head
            for name, key in keys.items()
            if (head := heads.get(key)) is not None and then.get(key) == self.loaded.get(key)
        }
        return FreshAt(number=now.number, heads=found)

    def _now(self, node: Node) -> LastLook:
        """The look to store for a version as it is now, with nothing known to be stale."""
        return LastLook(
            definition=f"{node.fingerprint.data} {node.fingerprint.parent_data}",
            number=self._holding(node.name).number,
            inputs={name: self._seen(name) for name in tables_read(self.graph, node)},
        )

    def _seen(self, name: ModelName) -> SeenInput:
        if not self.states.is_source(name):
            version = self.snapshots[name].key.version
            return SeenInput(table=version, number=self._holding(name).number)
        table = self.states.source(name)
        if table is None:
            return _NOTHING_SEEN
        number = table.iceberg_snapshot_id
        return SeenInput(table=table.identity(number), number=number)

    def _is_another(self, name: ModelName, now: SeenInput, last: SeenInput) -> bool:
        """Whether what was seen of an input belongs to another table than there is now.

        Columns of a source may change, also with the rows that were seen.
        """
        table = self.states.source(name) if self.states.is_source(name) else None
        return last.table != (now.table if table is None else table.identity(last.number))

    def _holding(self, name: ModelName) -> Holding:
        return self.loaded.get(self.snapshots[name].key, NOTHING)

    def _times(self, look: InputLook, last: LastLook, now: LastLook) -> tuple[Interval, ...] | None:
        """The times of a version that may be stale since the last look; None for all of them."""
        name = look.node.name
        if last.definition != now.definition or last.inputs.keys() != now.inputs.keys():
            return None
        moved = [each for each in now.inputs if now.inputs[each] != last.inputs[each]]
        if any(self._is_another(each, now.inputs[each], last.inputs[each]) for each in moved):
            return None
        key = self.snapshots[name].key
        times = [*last.stale]
        if now.number != last.number:
            times += [each.interval for each in self.state.changed_since(key, last.number)]
        for each in moved:
            found = self._reading(look, each, last.inputs[each])
            if found is None:
                return None
            times += found
        return merge(times)

    def _reading(
        self, look: InputLook, name: ModelName, last: SeenInput
    ) -> tuple[Interval, ...] | None:
        """The times of a version that read changed rows of an input; None for all of them."""
        if self.states.is_source(name):
            look = look.by_times()
            changed = self._source_changes(look, name, last)
        else:
            changed = self._changes(name, last)
        if changed is None:
            return None
        loaded = self._holding(look.node.name).recorded
        within, model = Interval(loaded[0].start, loaded[-1].end), look.node.model
        return affected(
            *(look.reads, name, changed),
            unit=model.unit,
            within=within,
            at_once=not model.kind.is_by_interval,
        )

    def _changes(self, name: ModelName, last: SeenInput) -> Times:
        """The times of a model's version that were recorded since; None if some were removed."""
        number = last.number or 0
        if self._holding(name).removed > number:
            return None
        key = self.snapshots[name].key
        return merge(each.interval for each in self.state.changed_since(key, number))

    def _source_changes(self, look: InputLook, name: ModelName, last: SeenInput) -> Times:
        """The times of a source's rows that changed since; None if they may be any."""
        if name not in look.bounds or last.number is None:
            return None
        return self.states.changed_since(name, last.number, column=look.bounds[name].column)


def stale_looks(
    services: Services,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    loaded: Mapping[VersionKey, Holding],
    tables: Mapping[ModelName, TableState | None] | None = None,
    *,
    last: Mapping[VersionKey, LastLook] | None = None,
) -> StaleLooks:
    """Looks at these versions, from where the last ones ended.

    ``tables`` are known sources, and ``last`` the last looks, if they were read already.
    """
    if last is None:
        last = services.state.last_looks(each.key for each in snapshots.values())
    return StaleLooks(
        state=services.state,
        graph=graph,
        snapshots=snapshots,
        loaded=loaded,
        last=last,
        states=InputStates(
            services=services, graph=graph, snapshots=snapshots, tables={**(tables or {})}
        ),
    )


def look_within(states: InputStates, name: ModelName, times: Sequence[Interval]) -> StaleLook:
    """A look at a version's entries at these merged times, from where the last look ended."""
    state, graph, snapshots = states.services.state, states.graph, states.snapshots
    node = graph[name]
    keys = {each: snapshots[each].key for each in _versions_read(states, node)}
    looks = StaleLooks(
        state=state,
        graph=graph,
        snapshots=snapshots,
        loaded=state.holdings(keys.values()),
        last=state.last_looks([snapshots[name].key]),
        states=states,
    )
    since = looks.since(name)
    entries = state.entries_within(snapshots[name].key, times)
    look = look_at(graph, states, name, entries_since(entries, since))
    last = looks.last.get(snapshots[name].key)
    fresh = None if last is None else last.fresh
    return replace(look, inputs=replace(look.inputs, entries=entries), fresh=fresh)


def look_at(
    graph: Graph, states: InputStates, name: ModelName, entries: Sequence[LedgerEntry]
) -> StaleLook:
    """A look at entries that a version has, or would have."""
    return _stale(input_look(graph, states, graph[name], entries))


def entries_since(
    entries: Sequence[LedgerEntry], times: Sequence[Interval] | None
) -> Sequence[LedgerEntry]:
    """The entries that overlap the times of `StaleLooks.since`; all of them for None."""
    if times is None:
        return entries
    starts = [each.start for each in times]

    def is_among(entry: LedgerEntry) -> bool:
        at = bisect_left(starts, entry.interval.end) - 1
        return at >= 0 and entry.interval.start < times[at].end

    return [each for each in entries if is_among(each)]


def _versions_read(states: InputStates, node: Node) -> Iterator[ModelName]:
    """A model, and those of what it reads that have versions."""
    yield node.name
    for name in tables_read(states.graph, node):
        if not states.is_source(name):
            yield name


def _tables(look: LastLook) -> dict[ModelName, str]:
    return {name: each.table for name, each in look.inputs.items()}


def _stale(look: InputLook) -> StaleLook:
    """The entries of a look that are stale.

    A kind that builds on its own rows reads an unbounded table again with its next interval, so no
    earlier interval is stale because of such a table.
    """
    if not any(
        True for _ in look.stale(is_sequential=False)
    ):  # in this first look sources count as read without a bound
        return StaleLook(inputs=look, stale=())
    is_sequential = look.node.model.kind.is_sequential
    by_times = look.by_times()
    return StaleLook(inputs=by_times, stale=tuple(by_times.stale(is_sequential=is_sequential)))
