"""What a plan says as a whole, as plain text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.ranges import count, counted, units
from vde_dagster.core.ledger.staleness import not_noticed
from vde_dagster.core.listing import first, plural, some
from vde_dagster.core.model.snapshot import Bounded, Category
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.kept_tables import column_findings, identity_findings
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.planning.plan import Behind, ModelChange, Plan, Staleness
from vde_dagster.core.time.intervals import Interval, format_instant

MOST: Final = 20
"""How many models of a sort are shown before the rest is counted."""


def heading(plan: Plan, what: str = "") -> str:
    """What a plan is for, and at which time of the project's clock it was made."""
    what = what or _purpose(plan)
    now = plan.now.replace(second=0, microsecond=0) if plan.now else None
    at = f" at {format_instant(now)}" if now else ""
    new = " (new)" if plan.base_revision == 0 else ""
    return f"{what} {plan.environment}{new}{at}"


def _purpose(plan: Plan) -> str:
    if plan.taken is None:
        return "Plan for"
    if plan.is_rollback:
        return f"Rollback to revision {plan.taken.number} of"
    return f"Promotion of {plan.taken} to"


def work_units(plan: Plan) -> int:
    """How many intervals a plan evaluates, over all models."""
    return sum(count(plan.graph[each.name], each.to_evaluate) for each in plan.backfills)


def is_source(plan: Plan, change: ModelChange) -> bool:
    """Whether a change is about a table that others write."""
    return change.name in plan.graph and plan.graph[change.name].model.kind.is_source


def matters(plan: Plan, change: ModelChange) -> bool:
    """Whether a plan has more to say of a model than that it stays as it is."""
    if is_source(plan, change):
        return change.change not in (Change.NONE, Change.ADDED)
    work = change.missing or change.restated or change.skipped or change.behind
    other = change.version != change.previous_version
    return change.change is not Change.NONE or bool(work) or (other and bool(change.reasons))


def totals(plan: Plan) -> Iterator[str]:
    """How many models change and how, what is to be computed, and `remarks`."""
    models = [each for each in plan.changes if not is_source(plan, each)]
    sources = len(plan.changes) - len(models)
    tally = Counter(each.change for each in models)
    said = ", ".join(
        f"{tally[each]:,} {CHANGE_WORDS[each]}" for each in CHANGE_WORDS if tally[each]
    )
    yield f"{said}; {plural(sources, 'source')}." if said else "No models."
    yield from work_totals(plan)
    reused = sum(1 for each in models if each.reuse and each.version != each.previous_version)
    if reused:
        yield f"Reused: existing data of {plural(reused, 'new version')}."
    yield from remarks(plan)


def remarks(plan: Plan) -> Iterator[str]:
    """What a plan leaves out or will not load, although a user may expect it."""
    if plan.left_out:
        yield f"Unchanged, because not selected: {listed(plan.left_out)}."
    if plan.hidden:
        yield f"Without a view in {plan.environment}, as in prod: {len(plan.hidden):,}."
    for each in plan.not_restated:
        yield f"Not computed again: {each.name}: {each.reason}"
    for found in column_findings(plan):
        yield f"{'Cannot be applied' if found.refuses else 'Warning'}: {found}"
    yield from (f"Cannot be applied: {each}" for each in identity_findings(plan))
    yield from _not_noticed(plan)
    yield from map(_paused, plan.pauses)
    bounded = [f"{e.name} ({bound_text(e.bounded)})" for e in plan.changes if e.bounded]
    if bounded:
        yield f"Starts later than its model, and is never promoted: {listed(bounded)}."
    if plan.unfinished:
        yield (
            f"Started by another process: {listed(plan.unfinished)}. If that process has ended, "
            "its work is finished or reverted first."
        )
    for change in plan.changes if plan.is_empty else ():
        if change.behind is not None:
            yield f"Behind: {change.name}: {change.behind.reason}"
        for line in late_or_changed(plan, change):
            yield f"Stale: {change.name}: {line}"
    yield from _dropped(plan)
    if plan.gaps:
        less = listed([each.name for each in plan.gaps])
        yield f"Fewer intervals than shown now will be loaded of {less}."


def _not_noticed(plan: Plan) -> Iterator[str]:
    """The bounds of new and changed models by which late rows would never be read."""
    for change in plan.changes:
        edited = change.change in (Change.ADDED, Change.DIRECT)
        for name in not_noticed(plan.graph, plan.graph[change.name]) if edited else ():
            yield (
                f"Warning: {change.name} would not notice late rows of {name}: it is unknown "
                "which of its rows belong to an interval. Bound one of its time columns, as in "
                "`column BETWEEN @start_ts AND @end_ts`."
            )


def nothing_to_plan(plan: Plan, *, waits: bool) -> str:
    """What an empty plan says first; ``waits`` if models of it wait for something."""
    name = plan.environment
    if not plan.is_up_to_date:
        return f"{name} is not up to date, and this plan cannot change that."
    if waits:
        return f"Nothing to do in this plan: {name} waits for the following."
    return f"Nothing to do: {name} is up to date."


def nothing_to_run(plan: Plan, *, waits: bool) -> str:
    """The same of a run, without a full stop."""
    said = "is up to date" if plan.is_up_to_date and not waits else "has nothing to compute"
    return f"{plan.environment} {said}"


def _paused(paused: PausedModel) -> str:
    waits = f" {listed(paused.waiting)} wait for it." if len(paused.waiting) > 1 else ""
    if len(paused.waiting) == 1:
        waits = f" {paused.waiting[0]} waits for it."
    return (
        f"Not computed: {paused.pause.model} is {paused.pause}.{waits} To resume: "
        f"`{paused.pause.resume}`"
    )


def _dropped(plan: Plan) -> Iterator[str]:
    """The missing views, the dropped tables, and what becomes of them."""
    if plan.dropped_views:
        names = listed(plan.dropped_views)
        yield f"Views missing or replaced by another program, to be rebuilt: {names}."
    if plan.rebuilds:
        names = listed([each.name for each in plan.rebuilds])
        yield f"Tables dropped outside vde, to be computed again: {names}."
    for lost in plan.lost_tables:
        if lost.damage:
            yield f"Not as recorded: {lost.told}"
            continue
        way = f"rebuilt by a plan of {lost.owner}" if lost.owner else "restored"
        why = f": {lost.why}" if lost.why else ""
        yield f"The {lost.what} of {lost.name} ({lost.table}) is missing and must be {way}{why}."


def work_totals(plan: Plan) -> Iterator[str]:
    """What is to be computed in all."""
    stale = [each for each in plan.changes if each.staleness and each.staleness.intervals]
    if stale:
        yield f"Late or changed upstream: {_stale_units(plan, stale)}."
    if plan.backfills:
        units, models = work_units(plan), len(plan.backfills)
        at_most = f" ({len(plan.may_adopt):,} of them at most)" if plan.may_adopt else ""
        yield (f"To compute: {plural(units, 'interval')} in {plural(models, 'model')}{at_most}.")
    elif plan.promotes:
        yield "Nothing to compute: only views change."


def listed(names: Iterable[object]) -> str:
    """Names in a text; many are only counted."""
    return some(names, MOST)


def _stale_units(plan: Plan, stale: Sequence[ModelChange]) -> str:
    said = [
        f"{_units(plan.graph[each.name], each.staleness.intervals)} of {each.name}"
        for each in stale
        if each.staleness is not None
    ]
    return ", ".join(first(said, MOST, "and {:,} more models"))


_NEW_ROWS: Final = "new rows"
CHANGE_WORDS: Final = {
    Change.ADDED: "new",
    Change.REMOVED: "removed",
    Change.DIRECT: "changed",
    Change.INDIRECT: "changed upstream",
    Change.METADATA: "metadata",
    Change.NONE: "unchanged",
}
"""The word of each change."""

_WORDS: Final = {
    Category.BREAKING: "breaking",
    Category.NON_BREAKING: "non-breaking",
    Category.FORWARD_ONLY: "forward-only",
    Category.METADATA: "only metadata",
    Category.INDIRECT_BREAKING: "indirect breaking",
    Category.INDIRECT_NON_BREAKING: "indirect non-breaking",
}
_RANGES: Final = 3


def words(category: Category) -> str:
    """A category as people write it."""
    return _WORDS[category]


def version_text(change: ModelChange) -> str:
    """The versions of a model before and after; empty for one without any."""
    bound = f" ({bound_text(change.bounded)})" if change.bounded is not None else ""
    return f"{versions_text(change.previous_version, change.version)}{bound}"


def versions_text(before: str | None, after: str | None) -> str:
    """The versions on two sides, of which either may lack the model."""
    old, new = (before or "")[:8], (after or "")[:8]
    if not new or not old:
        return new or old
    return f"{old} stays" if old == new else f"{old} -> {new}"


def bound_text(bounded: Bounded) -> str:
    """What a version is that is bounded, and from when on."""
    what = "preview" if bounded.is_preview else "bounded"
    return f"{what} from {format_instant(bounded.since)}"


def work_text(plan: Plan, change: ModelChange) -> Iterator[str]:
    """What has to be computed of a model, and what is there already."""
    node = plan.graph.nodes.get(change.name)
    if node is None or node.model.kind.is_source:
        return
    if change.missing:
        yield counted_ranges(node, change.missing)
    if change.restated:
        yield f"again: {counted_ranges(node, change.restated)}"
    if change.behind is not None:
        yield from _behind(node, change.behind)
    if change.skipped:
        yield f"left out: {counted_ranges(node, change.skipped)}"
    if change.may_adopt:
        yield "at most, because the upstream rows may turn out to be equal"
    if change.reuse is not None and change.version != change.previous_version:
        owner = change.reuse.owner
        by = f" of {owner}" if owner not in (None, plan.environment) else ""
        yield f"reuses {counted_ranges(node, change.reuse.loaded, 'the view')}{by}"
    if not change.missing and change.complete_to is None and node.model.kind.stores_rows:
        yield _without_times(node)


def _without_times(node: Node) -> str:
    """Why nothing can be computed of a model, if no time is known up to which all is complete."""
    if node.model.stateful is not None:
        return "waits: how far its tracked sources are complete is not known yet"
    return "waits: its inputs have no data yet"


def late_or_changed(plan: Plan, change: ModelChange) -> Iterator[str]:
    """Which intervals of a model are stale, which are computed, and which are kept."""
    if change.staleness is not None:
        yield from stale_lines(plan.graph[change.name], change.staleness)


def stale_lines(node: Node, found: Staleness) -> Iterator[str]:
    """The stale intervals of a model, since when and why, and those that are kept."""
    if found.intervals:
        yield stale_text(node, found, found.intervals)
        if found.how:
            yield found.how
    if found.kept:
        yield f"not recomputed: {kept_text(node, found)}"
    elif not found.intervals:
        yield kept_text(node, found)


def stale_text(node: Node, found: Staleness, ranges: Sequence[Interval]) -> str:
    """Ranges of a model that are stale and computed: how many, since when, how and why."""
    how = " by a session" if found.session else ""
    return f"{_ranges(node, ranges)}{since_text(found)}{how}: {found.reason}"


def _ranges(node: Node, ranges: Sequence[Interval]) -> str:
    return _NEW_ROWS if _is_timeless(node) else counted_ranges(node, ranges)


def _units(node: Node, ranges: Sequence[Interval]) -> str:
    return _NEW_ROWS if _is_timeless(node) else units(node, ranges)


def _is_timeless(node: Node) -> bool:
    """Whether sessions add rows to a table, or merge them, whatever their time."""
    return node.time_axis is None and node.model.stateless is not None


def kept_text(node: Node, found: Staleness) -> str:
    """The stale intervals of a model that are not computed, since when and why."""
    if not found.kept:
        return f"{found.reason}: {found.why_kept}"
    when = "" if found.intervals else since_text(found)
    also = "" if found.why_kept == found.reason else f", and {found.why_kept}"
    return f"{_ranges(node, found.kept)}{when}, because {found.reason}{also}"


def since_text(found: Staleness) -> str:
    """Since when ranges are stale, in parentheses; empty if that is not known."""
    if found.since is None:
        return ""
    return f" (since {format_instant(found.since.replace(second=0, microsecond=0))})"


def _behind(node: Node, found: Behind) -> Iterator[str]:
    """What a version lacks of its inputs, and which of its rows cannot be computed again."""
    yield f"behind: {found.reason}"
    if found.lost:
        yield f"as it was: {counted_ranges(node, found.lost)}, because {found.why_lost}"


def counted_ranges(node: Node, ranges: Sequence[Interval], view: str = "create the view") -> str:
    """Ranges of a model, for people; many of them as a whole."""
    if node.model.kind.is_view:
        return view
    if len(ranges) <= _RANGES or not node.model.kind.is_by_interval:
        return counted(node, ranges)
    first, last = format_instant(ranges[0].start), format_instant(ranges[-1].end)
    return f"{count(node, ranges):,} intervals in {len(ranges):,} ranges, {first} to {last}"
