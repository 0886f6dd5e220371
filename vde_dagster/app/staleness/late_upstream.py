"""Which intervals of versions that stay are late or changed upstream, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inputs.gained import Gained, gained, why_not_merged
from vde_dagster.app.inputs.input_look import input_look
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import StaleLook, look_within, stale_looks
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.since import late_since, stale_since
from vde_dagster.app.staleness.upstream_changes import Pace, reading_again
from vde_dagster.app.staleness.version_behind import (
    FORBIDDEN,
    UNCOVERED,
    Planned,
    late_behind,
    listed,
)
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of, tables_read
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.listing import plural
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Staleness, Workload
from vde_dagster.core.planning.readiness import blocked_by_parents, readable_after
from vde_dagster.core.planning.restatement import reached
from vde_dagster.core.planning.workload import left_out_by, within_bounds
from vde_dagster.core.time.intervals import Interval, common, merge, subtract

_STOPPED: Final = "a session for late rows was stopped"
WAITS: Final = "it waits for"


def late_upstream(services: Services, planned: Planned) -> dict[ModelName, Staleness]:
    """Staleness of the versions that stay, by model, without what only follows from it.

    Reads the state and the catalog's metadata; of the latter only about inputs that have changed.
    """
    names = planned.staying
    if planned.own is None or not names:
        return {}
    found = dict(_late(services, planned, names))
    computed = [name for name in names if planned.graph[name].model.stateless is None]
    # Compared as shown now: a version that a plan keeps under a new parent counts as before.
    shown = planned.own.snapshots
    last = services.state.last_looks(shown[name].key for name in computed)
    looks = stale_looks(
        services, planned.shown_graph, shown, planned.loaded, planned.tables, last=last
    )
    for name, look, _ in looks.found(computed):
        if look.stale:
            stale = _staleness(planned, planned.graph[name], look)
            found[name] = by_session(services, planned.binding, name, stale)
    return found


def by_session(
    services: Services, binding: Binding, name: ModelName, stale: Staleness
) -> Staleness:
    """Staleness of a version, as far as a stateful session would load it; the rest is kept."""
    if binding.graph[name].model.stateful is None:
        return stale
    late, why = _loaded_by(detect(services, binding, name), stale.intervals)
    left = subtract(stale.intervals, late)
    if not left:
        return stale
    kept = merge((*stale.kept, *left))
    reasons = "; ".join(filter(None, [stale.why_kept, why]))
    return replace(stale, intervals=late, kept=kept, why_kept=reasons)


def _loaded_by(decision: Decision, times: tuple[Interval, ...]) -> tuple[tuple[Interval, ...], str]:
    """What a session loads again of some times, and why it leaves the rest."""
    match decision:
        case Load():
            return common(times, decision.late), pending_text(decision.pending)
        case NothingToLoad(reason=reason):
            return (), reason
        case Stop(reason=reason, advice=advice):
            return (), f"catch-up sessions cannot load it: {reason}. {advice}"
        case unreachable:
            assert_never(unreachable)


def stale_now(
    services: Services,
    binding: Binding,
    name: ModelName,
    times: tuple[Interval, ...],
    pace: Pace | None = None,
) -> tuple[tuple[Interval, ...], tuple[LedgerEntry, ...]]:
    """What was expected to be stale in a version, once what it reads is computed.

    First come the times that are stale, lose no rows by being computed again, and need not wait by
    the ``pace``, if any; then the entries that are not stale, and stay.
    """
    states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
    look = look_within(states, name, times)
    behind = {each.entry.interval for each in look.stale}
    ready = look.stale if pace is None else pace.ready(binding.graph, look.inputs.node, look.stale)
    expired = {each.entry.interval for each in look.expired}
    fresh = tuple(
        each
        for each in look.inputs.entries
        if each.interval not in behind and each.status is EntryStatus.COMPUTED
    )
    return merge({each.entry.interval for each in ready} - expired), fresh


def why_stale(look: StaleLook) -> str:
    """Which inputs have changed, for people."""
    inputs = dict.fromkeys(name for each in look.stale for name in each.inputs)
    return f"its inputs from {listed(inputs)} have changed since"


def _staleness(planned: Planned, node: Node, look: StaleLook) -> Staleness:
    """Staleness of a version, and the part of it that stays."""
    assert planned.own is not None, "only what is shown stays"
    staleness = stale_in(planned.environment, node, look)
    if staleness.intervals and planned.own.snapshots[node.name].drifted:
        return replace(staleness, reason=f"{staleness.reason}, {_EDITED}")
    return staleness


def stale_in(environment: str, node: Node, look: StaleLook) -> Staleness:
    """Staleness of a version that an environment writes, and what its runs leave of it."""
    behind = merge(each.entry.interval for each in look.stale)
    staleness = Staleness(
        reason=why_stale(look),
        inputs=tuple(dict.fromkeys(name for each in look.stale for name in each.inputs)),
        since=stale_since(look),
    )
    found = gained(look)
    if isinstance(found, Gained):
        rows = plural(found.rows, "row")
        how = f"merged by key: {found.table} only gained rows, at most {rows} for these times"
        merged = replace(staleness, intervals=found.intervals, merges=True, how=how)
        lost = _not_merged("; ".join(dict.fromkeys(found.lost.values()))) if found.lost else ""
        return replace(merged, kept=merge(found.lost), why_kept=lost)
    if node.model.kind.disable_restatement:
        never = FORBIDDEN if node.model.kind.order is None else _not_merged(found)
        return replace(staleness, kept=behind, why_kept=never)
    staleness = replace(staleness, how=_rebuilt(look, found))
    expired = look.expired
    kept = merge(each.entry.interval for each in expired)
    if kept and node.model.kind.restates_whole:
        kept = behind
    why = _why_expired(environment, node, look) if kept else ""
    return replace(staleness, intervals=subtract(behind, kept), kept=kept, why_kept=why)


def _not_merged(why: str) -> str:
    return f"{FORBIDDEN}, and it cannot be merged: {why}"


def _rebuilt(look: StaleLook, why: str) -> str:
    """That a table is rebuilt whole, how many rows that are, and why; empty for other kinds."""
    node, states = look.inputs.node, look.inputs.states
    if not (node.model.kind.is_sequential and look.stale):
        return ""
    key = states.snapshots[node.name].key
    there = states.services.state.sums([key]).get(key)
    rows = f"rebuilt whole, {plural(there.rows if there is not None else 0, 'row')}"
    return f"{rows}: {why}" if why else rows


_EDITED: Final = (
    "and its rows were kept by a forward-only change: they are now computed with the current model"
)


def _why_expired(environment: str, node: Node, look: StaleLook) -> str:
    """Why rows would be lost, and what to do about it."""
    lacking = {name for each in look.expired for name in each.inputs}
    gone = [name for name in lacking if look.inputs.states.is_gone(name)]
    if gone:
        return f"{listed(gone)} no longer exists. Restore it, or remove it from the model"
    again = f"`vde run {environment} --restate-model {node.name} --allow-empty`"
    return f"{UNCOVERED}. To compute it from the remaining rows, run {again}"


def _late(
    services: Services, planned: Planned, names: Iterable[ModelName]
) -> Iterator[tuple[ModelName, Staleness]]:
    """The models that a session has late rows for, or whose late rows are not known."""
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    for name in sorted(names):
        node, recorded = planned.graph[name], planned.holdings.recorded[name]
        if node.model.stateless is None or not recorded:
            continue
        found = late_behind(services, planned.binding, states, node, recorded)
        if found is None:
            continue
        source, key = node.model.stateless.sources[0], planned.snapshots[name].key
        mark = services.state.marks(key).get(source)
        entries = services.state.entries_within(key, found.times) if mark is not None else ()
        look = input_look(planned.graph, states, node, entries).by_times()
        since = late_since(look, mark, found.times) if mark is not None else None
        last = services.state.sessions(key, limit=1) if found.session else ()
        is_stopped = bool(last) and last[0].state is not UnitOfWorkState.DONE
        reason = _STOPPED if is_stopped else found.reason
        yield name, replace(found, reason=reason, since=since)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingBack:
    """Versions that come back: their own staleness, and when their inputs may change.

    ``first`` are the times at which the plan may give other rows to what they read, by model, see
    `computed_first`.
    """

    stale: Mapping[ModelName, Staleness] = field(default_factory=dict)
    first: Mapping[ModelName, tuple[Interval, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followers:
    """Intervals of versions that are compared again, since their inputs may get new rows.

    ``staying`` are the versions that stay. Those of ``returning`` come back, so that all counts for
    them that the plan evaluates, and ``first`` what else it may give other rows (rule R15); of a
    version that stays under a new parent it is decided elsewhere which of its rows are kept (rule
    R10). ``changed`` are the times at which models may have other rows by a plan. ``pace`` holds
    back what is not to be evaluated again yet; None if a person asks for the plan.
    """

    planned: Planned
    options: PlanOptions
    staying: frozenset[ModelName]
    returning: frozenset[ModelName]
    work: Mapping[ModelName, Workload]
    first: Mapping[ModelName, tuple[Interval, ...]] = field(default_factory=dict)
    pace: Pace | None = None
    changed: dict[ModelName, tuple[Interval, ...]] = field(default_factory=dict)
    _again: dict[ModelName, tuple[Interval, ...]] = field(default_factory=dict)

    def found(self, direct: Mapping[ModelName, Staleness]) -> Iterator[tuple[ModelName, Staleness]]:
        """Versions that are stale, or downstream of what a plan computes, parents first."""
        for node in self.planned.graph:
            name, known = node.name, direct.get(node.name)
            if known is not None and known.session:
                left_out = left_out_by(self.options)
                kept = replace(known, intervals=(), kept=known.times, why_kept=left_out)
                known = replace(kept, session=False) if left_out else known
                self._change(name, known.intervals)
                yield name, known
            elif self._follows(node):
                staleness = self._of(node, known)
                if staleness is not None:
                    self._change(name, staleness.intervals)
                    yield name, staleness
            elif known is not None:
                yield name, known

    def _follows(self, node: Node) -> bool:
        named = node.name in self.staying or node.name in self.returning
        return named and node.model.kind.follows_upstream and node.model.stateless is None

    def _upstream(self, node: Node) -> dict[ModelName, tuple[Interval, ...]]:
        """The times of what a model reads that count for it."""
        comes_back = node.name in self.returning
        first = self.first if comes_back else {}
        return {
            each: merge((*self.changed.get(each, ()), *first.get(each, ())))
            for each in tables_read(self.planned.graph, node)
            if each in first or (each in self.changed and (comes_back or each in self.staying))
        }

    def _reading(
        self, node: Node, upstream: Mapping[ModelName, tuple[Interval, ...]]
    ) -> tuple[Interval, ...]:
        """The intervals of a version that read such times and are not evaluated anyway."""
        name, work = node.name, self.work[node.name]
        last = name in self.returning and not work.missing
        read = reading_again(self.planned, name, upstream, last=last) if upstream else ()
        return subtract(common(read, self.planned.holdings.computed[name]), work.restated)

    def _of(self, node: Node, known: Staleness | None) -> Staleness | None:
        upstream = self._upstream(node)
        computed = self.planned.holdings.computed[node.name]
        if not computed or not (upstream or known):
            return known
        read = self._reading(node, upstream)
        own = self._merging(node, known, upstream)
        if node.model.kind.disable_restatement and not own.merges:
            if read and node.name in self.returning:
                inputs, kept = tuple(dict.fromkeys([*own.inputs, *upstream])), (*own.kept, *read)
                why = own.why_kept or FORBIDDEN
                return replace(own, kept=merge(kept), why_kept=why, inputs=inputs)
            return known
        times = merge((*own.intervals, *subtract(read, own.kept)))
        following = subtract(times, own.intervals)
        if times and node.model.kind.restates_whole and not own.merges:
            times = () if own.kept else merge(computed)
            following = times if known is None else ()
        if not (times or known):
            return None
        inputs = tuple(dict.fromkeys([*own.inputs, *upstream]))
        found = replace(own, intervals=times, following=following, inputs=inputs)
        found = self._ready(node, self._bounded(node, found))
        if self.pace is None:
            return found
        return self.pace.bounded(self.planned, node, found, upstream)

    def _merging(
        self, node: Node, known: Staleness | None, upstream: Mapping[ModelName, object]
    ) -> Staleness:
        """Staleness of a version, with whether what follows from the plan can be merged."""
        own = known or Staleness(reason=f"it is downstream of {listed(upstream)}")
        merges = node.name in self.staying and node.model.kind.order is not None
        merges = merges and (own.merges if known else not why_not_merged(self.planned.graph, node))
        if not (merges and upstream):
            return replace(own, merges=merges)
        how = f"merged by key if {listed(upstream)} only gained rows, otherwise "
        never = node.model.kind.disable_restatement
        return replace(own, merges=True, how=how + ("left unchanged" if never else "rebuilt whole"))

    def _bounded(self, node: Node, found: Staleness) -> Staleness:
        """The part of it that the plan's options let it evaluate."""
        left_out, inside = left_out_by(self.options), found.intervals
        inside = within_bounds(node.model, inside, self.planned.environment, self.options)
        inside = () if left_out else inside
        outside = merge(subtract(found.intervals, inside))
        found = replace(found, intervals=inside, following=common(found.following, inside))
        if not outside:
            return found
        why = left_out or "--start and --end exclude it"
        reasons = "; ".join(filter(None, [found.why_kept, why]))
        return replace(found, kept=merge((*found.kept, *outside)), why_kept=reasons)

    def _ready(self, node: Node, found: Staleness) -> Staleness:
        """The part of it whose inputs will be there, as for what is missing."""
        graph, holdings = self.planned.graph, self.planned.holdings
        if not found.intervals:
            return found
        there = {
            name: self._there(name) for name in reads_of(graph, node.name).at(found.intervals[-1])
        }
        blocked = {
            name: waiting
            for name, times in blocked_by_parents(
                graph, node, found.intervals, there, holdings.recorded
            ).items()
            if (waiting := common(found.intervals, times))
        }
        waits = merge(each for times in blocked.values() for each in times)
        if not waits:
            return found
        waits = found.intervals if node.model.kind.restates_whole else waits
        left = subtract(found.intervals, waits)
        why = [self._why_waiting(name, there[name]) for name in sorted(blocked)]
        reasons = "; ".join(filter(None, [found.why_kept, *why]))
        kept, following = merge((*found.kept, *waits)), common(found.following, left)
        return replace(found, intervals=left, following=following, kept=kept, why_kept=reasons)

    def _there(self, name: ModelName) -> tuple[Interval, ...]:
        """What others may read of a version once the plan is done."""
        holdings, work = self.planned.holdings, self.work.get(name, Workload())
        evaluated = (*work.missing, *work.restated, *self._again.get(name, ()))
        recorded = holdings.recorded.get(name, ())
        model = self.planned.graph[name].model
        return merge(readable_after(model, holdings.computed.get(name, ()), evaluated, recorded))

    def _why_waiting(self, name: ModelName, there: tuple[Interval, ...]) -> str:
        """That a model waits for rows of another one, and how they come."""
        holdings, kind = self.planned.holdings, self.planned.graph[name].model.kind
        empty = subtract(holdings.recorded.get(name, ()), there)
        if not empty:
            return f"{WAITS} {name}, which has to load more intervals first"
        of = f" for {', '.join(map(str, empty))}" if kind.is_by_interval else ""
        why = f"{WAITS} {name}, which has no computed rows{of}"
        if kind.disable_restatement:
            return why
        owner = holdings.owners.get(name, self.planned.environment)
        return f"{why}: `vde run {owner} --restate-model {name}` computes them"

    def _change(self, name: ModelName, times: tuple[Interval, ...]) -> None:
        self._again[name] = times
        if times:
            recorded = self.planned.holdings.recorded[name]
            found = reached(self.planned.graph[name], times, recorded)
            self.changed[name] = merge((*self.changed.get(name, ()), *found))


def followed(
    planned: Planned,
    direct: Mapping[ModelName, Staleness],
    work: Mapping[ModelName, Workload],
    options: PlanOptions,
    *,
    pace: Pace | None = None,
    back: ComingBack | None = None,
) -> dict[ModelName, Staleness]:
    """What a plan evaluates in versions that stay, if it is still stale once its parents are done.

    Also what versions that come back read of what the plan evaluates, see `returning.downstream`.

    Args:
        planned: The plan's models.
        direct: The outcome of `late_upstream`.
        work: What the plan evaluates in any case. Models that read it are compared again.
        options: The plan's options.
        pace: How often changes reach models by themselves; None if a person asks for the plan.
        back: What is known of versions that come back.
    """
    back = back or ComingBack()
    stays, comes_back = planned.staying, frozenset(each.name for each in planned.returning)
    changed = {
        name: reached(
            planned.graph[name],
            merge((*each.missing, *each.restated)),
            planned.holdings.recorded[name],
        )
        for name, each in work.items()
        if (comes_back or name in stays) and (each.missing or each.restated)
    }
    followers = Followers(
        planned=planned,
        options=options,
        staying=stays,
        returning=comes_back,
        work=work,
        first=back.first,
        changed=changed,
        pace=pace,
    )
    return dict(followers.found({**direct, **back.stale}))
