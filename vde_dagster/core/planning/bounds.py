"""Which versions of a plan are bounded: they begin at an instant, and production never shows them.

Outside of production a plan may leave out all that is before its start. An interval that is loaded
by itself has the rows that it has anyway. What builds on all that is before it, or reads a whole
table of which something is left out, has not: it gets a version of its own, and so does all that
reads such a version. A forward-only change is shown in the same way, from the instant on that it
is to count from, where its table is another environment's (rules R9 and R11).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.ledger.staleness import read_by_a_unit
from vde_dagster.core.model.fingerprint import bounded_version, follows_from_range
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.plan import NotRestated
from vde_dagster.core.planning.resolution import Resolved, is_of, view_versions
from vde_dagster.core.planning.restatement import Restatement, read_again
from vde_dagster.core.planning.workload import Holdings
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import END_OF_TIME, EVER, Interval, common, format_instant
from vde_dagster.core.time.schedule import due_interval, lacking

Snapshots = Mapping[ModelName, ModelSnapshot]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What decides which versions of a plan are bounded. It is never one of production.

    - ``start`` is the instant before which the plan evaluates nothing; None for no bound.
    - ``effective_from`` is when its forward-only changes are to count from; None where no option
    says so.
    - ``stays`` are the bounds that models have already and keep.
    - ``writes`` are the models whose unbounded version the environment may write (rule R9), and
      ``loaded`` is what those versions hold.
    - ``production`` is what production shows, and ``now`` the project's clock.
    - ``moves`` says whether an unchanged model may become bounded. Where no user asked for the
    plan,
      one that would have to stays as it is, and is not computed (`reading_bounded`).
    """

    start: datetime | None
    effective_from: datetime | None
    stays: Mapping[ModelName, Bounded]
    writes: Collection[ModelName]
    loaded: Mapping[ModelName, tuple[Interval, ...]]
    production: Snapshots
    now: datetime | None
    moves: bool = True


def since_of(snapshots: Snapshots) -> dict[ModelName, datetime]:
    """The instants from which snapshots are bounded; those that are not are absent."""
    return {name: each.bounded.since for name, each in snapshots.items() if each.bounded}


def reading_bounded(graph: Graph, snapshots: Snapshots) -> frozenset[ModelName]:
    """The models that are not bounded themselves and read a table that is.

    They are not computed: their rows would follow from rows that no other environment has, in a
    version that others may take. A plan that a person asks for makes them bounded, too.
    """
    if not since_of(snapshots):
        return frozenset()
    return frozenset(node.name for node in graph if reads_bounded(graph, snapshots, node))


def reads_bounded(graph: Graph, snapshots: Snapshots, node: Node) -> bool:
    """Whether a model is one of `reading_bounded`."""

    def is_bounded(name: ModelName) -> bool:
        return name in snapshots and snapshots[name].bounded is not None

    return (
        node.model.kind.stores_rows
        and not is_bounded(node.name)
        and any(map(is_bounded, tables_read(graph, node)))
    )


def unbounded_snapshots(graph: Graph, snapshots: Snapshots) -> dict[ModelName, ModelSnapshot]:
    """What an environment would show of its models if nothing was bounded.

    Args:
        graph: The models.
        snapshots: What it shows.
    """
    moved = since_of(snapshots)
    if not moved:
        return dict(snapshots)
    found = {name: each.unbounded for name, each in snapshots.items()}
    return view_versions(graph, found, moved)


def with_bounds(
    graph: Graph, resolved: Mapping[ModelName, Resolved], bounds: Bounds
) -> dict[ModelName, Resolved]:
    """The snapshots of a plan, those bounded that have to be; views follow what they read.

    Args:
        graph: The models, none of them bounded.
        resolved: Their snapshots, without bounds but for those that are taken as they are.
        bounds: What decides.
    """
    bounding = _Bounding(graph=graph, resolved=resolved, bounds=bounds)
    for node in graph:
        bounding.visit(node)
    moved = {n: e for n, e in bounding.bounded.items() if resolved[n].snapshot.bounded is None}
    if not moved:
        return dict(resolved)
    every = {name: each.snapshot for name, each in resolved.items()} | moved
    found = view_versions(graph, every, moved)
    return {name: replace(each, snapshot=found[name]) for name, each in resolved.items()}


@dataclass(slots=True, kw_only=True)
class _Bounding:
    """The bounded snapshots of a graph's models, parents first.

    ``left_out`` is what the plan leaves out of versions that are not bounded, by model.
    """

    graph: Graph
    resolved: Mapping[ModelName, Resolved]
    bounds: Bounds
    bounded: dict[ModelName, ModelSnapshot] = field(default_factory=dict)
    left_out: dict[ModelName, tuple[Interval, ...]] = field(default_factory=dict)

    def visit(self, node: Node) -> None:
        """Decide about a model, those upstream being decided."""
        snapshot = self.resolved[node.name].snapshot
        if not node.model.kind.stores_rows:
            return
        if snapshot.bounded is not None:
            self.bounded[node.name] = snapshot
            return
        preview = self._preview(node)
        if preview is None and not (node.name in self.bounds.writes or self._stays(node)):
            return  # another environment's version is shown as it is
        read = [each for each in tables_read(self.graph, node) if each in self.bounded]
        is_changed = self.resolved[node.name].difference.change is not Change.NONE
        if preview is None and not (self.bounds.moves or is_changed or self._stays(node)):
            return
        since = max(self._instants(node, read, preview), default=None)
        if since is not None:
            self.bounded[node.name] = self._snapshot(node, since, read, is_preview=bool(preview))
        elif self.bounds.start is not None and node.model.kind.is_partitioned:
            self.left_out[node.name] = self._before_start(node)

    def _snapshot(
        self, node: Node, since: datetime, read: Iterable[ModelName], *, is_preview: bool
    ) -> ModelSnapshot:
        snapshot = self.resolved[node.name].snapshot
        tables = [self.bounded[each].key.table for each in read]
        return replace(
            snapshot,
            version=bounded_version(node.fingerprint.data_version, since, tables),
            bounded=Bounded(since=since, instead_of=snapshot.version, is_preview=is_preview),
        )

    def _instants(
        self, node: Node, read: Iterable[ModelName], preview: datetime | None
    ) -> Iterator[datetime]:
        """The instants before which nothing can be computed of a model that is shown here."""
        bounds = (self.bounded[each].bounded for each in read)
        yield from (each.since for each in bounds if each is not None)
        kept, start = self.bounds.stays.get(node.name), self.bounds.start
        if preview is not None:
            yield preview
        elif kept is not None and not kept.is_preview:
            yield kept.since
        if start is not None and (
            preview is not None or self._begins_later(node) or self._reads_less(node)
        ):
            yield start

    def _stays(self, node: Node) -> bool:
        """Whether a model is unchanged, and keeps the bound that it has."""
        change = self.resolved[node.name].difference.change
        return change is Change.NONE and node.name in self.bounds.stays

    def _preview(self, node: Node) -> datetime | None:
        """From when on a forward-only change is shown in a table of its own; None if it is not.

        That begins only where the table that is kept is another environment's. It goes on while
        that is kept, unless a change leads to what production has.
        """
        found, kept = self.resolved[node.name], self.bounds.stays.get(node.name)
        shown = self.bounds.production.get(node.name)
        is_in_production = shown is not None and is_of(shown, node)
        if found.difference.change is not Change.NONE and is_in_production:
            return None
        before = kept if kept is not None and kept.is_preview else None
        goes_on = before is not None and found.snapshot.version == before.instead_of
        is_forward = found.difference.category is Category.FORWARD_ONLY
        if not goes_on and not (is_forward and node.name not in self.bounds.writes):
            return None
        return self.bounds.effective_from or (before.since if before is not None else None)

    def _begins_later(self, node: Node) -> bool:
        """Whether the plan leaves something out that all later rows of a model build on."""
        model, start = node.model, self.bounds.start
        if start is None or start <= model.start:
            return False
        if model.kind.is_whole:
            return follows_from_range(model) and not self.bounds.loaded[node.name]
        is_built_up = model.kind.is_sequential or model.reads_itself
        return is_built_up and bool(self._before_start(node))

    def _reads_less(self, node: Node) -> bool:
        """Whether a model reads a whole table of which the plan leaves something out."""
        less = [each for each in tables_read(self.graph, node) if self.left_out.get(each)]
        if not (less and node.model.kind.is_by_interval):
            return bool(less)
        ranges = read_by_a_unit(self.graph, node)
        return any(isinstance(ranges.get(each), WholeTable) for each in less)

    def _before_start(self, node: Node) -> tuple[Interval, ...]:
        """What is due of a model's unbounded version, is not loaded, and is before the start."""
        start, now = self.bounds.start, self.bounds.now
        due = due_interval(node.model, now) if now is not None else None
        if start is None or due is None or start <= EVER.start:
            return ()
        lacks = lacking(node.model, self.bounds.loaded[node.name])
        return common(common(lacks, [due]), [Interval(EVER.start, start)])


def why_bounded(before: ModelSnapshot | None, after: ModelSnapshot) -> tuple[Reason, ...]:
    """What is said of a version that is bounded, or was until now; nothing of all others.

    Args:
        before: What is shown of the model; None for a new one.
        after: What would be.
    """
    was = before.bounded if before is not None else None
    if after.bounded is not None:
        kind = ReasonKind.PREVIEW if after.bounded.is_preview else ReasonKind.BOUNDED
        return (Reason(kind=kind, after=format_instant(after.bounded.since)),)
    if was is None:
        return ()
    kind = ReasonKind.PREVIEW_ENDS if was.is_preview else ReasonKind.BOUND_ENDS
    return (Reason(kind=kind, before=format_instant(was.since)),)


def effective(since: datetime) -> Reason:
    """That a forward-only change counts from an earlier instant on."""
    return Reason(kind=ReasonKind.EFFECTIVE_FROM, after=format_instant(since))


def never_taken(environment: str, shown: ModelSnapshot) -> tuple[Reason, ...]:
    """That a promotion takes another version than the bounded one that an environment shows."""
    if shown.bounded is None:
        return ()
    since = format_instant(shown.bounded.since)
    kind = ReasonKind.PREVIEW_STAYS if shown.bounded.is_preview else ReasonKind.BOUND_STAYS
    return (Reason(kind=kind, before=environment, after=since),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The forward-only changes of a plan that count from an earlier instant on.

    ``since`` has that of the models whose table the environment may write, ``left`` why the others
    count only from now on here.
    """

    since: Mapping[ModelName, datetime] = field(default_factory=dict)
    left: Mapping[ModelName, str] = field(default_factory=dict)


def taking_effect(
    graph: Graph,
    resolved: Mapping[ModelName, Resolved],
    holdings: Holdings,
    every: datetime | None,
    some: Mapping[ModelName, datetime],
) -> Effect:
    """Which forward-only changes of a plan count from an earlier instant on.

    A change that is shown in a table of its own is none of them: that table begins there.

    Args:
        graph: The models.
        resolved: Their snapshots, and how each differs from what is shown.
        holdings: What their versions hold, and which of them the environment may write.
        every: The instant for all forward-only changes; None where there is none.
        some: Instants for models of which none is said so.
    """
    since: dict[ModelName, datetime] = {}
    left: dict[ModelName, str] = {}
    for name, found in resolved.items():
        instant = every or some.get(name)
        is_forward = found.difference.category is Category.FORWARD_ONLY
        model = graph[name].model
        is_shown_apart = not model.kind.stores_rows or found.snapshot.bounded is not None
        if instant is None or not is_forward or is_shown_apart:
            continue
        why = why_without_effect(model) or _why_not_here(name, holdings)
        if why:
            left[name] = why
        else:
            since[name] = instant
    return Effect(since=since, left=left)


def _why_not_here(name: ModelName, holdings: Holdings) -> str:
    if name in holdings.writes:
        return ""
    if name in holdings.paused:
        return "it is paused"
    owner = holdings.owners.get(name, PRODUCTION)
    return f"{owner} owns its table: plan {owner}"


def restated_from(
    graph: Graph, holdings: Holdings, since: Mapping[ModelName, datetime]
) -> Restatement:
    """What is evaluated again, so that changes count from these instants, and what reads that."""
    if not since:
        return Restatement(ranges={})
    return read_again(
        graph,
        {name: (Interval(instant, END_OF_TIME),) for name, instant in since.items()},
        holdings.recorded,
        writes=holdings.writes,
    )


def why_without_effect(model: Model) -> str:
    """Why a forward-only change of a model counts only from now on; empty if it need not.

    Only of kinds whose intervals are loaded one by one can some be evaluated again.
    """
    if model.kind.disable_restatement:
        return "it sets disable_restatement, so its change applies from now on"
    if model.kind.is_by_interval and model.kind.restates_whole:
        return (
            f"{model.kind.keyword} builds each interval on the ones before it, so its change "
            "applies from now on"
        )
    if model.kind.restates_whole:
        return "it is computed as a whole, and its change applies from the next computation on"
    return ""


def without_effect(effect: Effect, done: Restatement) -> Iterator[NotRestated]:
    """What keeps its rows although a forward-only change was to count from an earlier instant.

    Args:
        effect: The changes.
        done: The outcome of `restated_from`.
    """
    for name, why in effect.left.items():
        yield NotRestated(name=name, reason=why)
    for name in done.kept:
        yield NotRestated(name=name, reason="it sets disable_restatement")
