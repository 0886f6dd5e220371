"""What a plan says about one model, as plain text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.ranges import count, counted
from vde_dagster.core.model.snapshot import Bounded, Category
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.plan import Behind, ModelChange, Plan, Staleness
from vde_dagster.core.time.intervals import Interval, format_instant

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
        yield "at most, since the rows upstream may turn out to be equal"
    if change.reuse is not None and change.version != change.previous_version:
        owner = change.reuse.owner
        by = f" of {owner}" if owner not in (None, plan.environment) else ""
        yield f"reuses {counted_ranges(node, change.reuse.loaded, 'the view')}{by}"
    if not change.missing and change.complete_to is None and node.model.kind.stores_rows:
        yield _without_times(node)


def _without_times(node: Node) -> str:
    """Why nothing can be computed of a model, if no time is known up to which all is complete."""
    if node.model.stateful is not None:
        return "waits: it is not known yet up to when what it tracks is complete"
    return "waits: what it reads has no data yet"


def late_or_changed(plan: Plan, change: ModelChange) -> Iterator[str]:
    """Which intervals of a model are stale, which are computed, and which are kept."""
    if change.staleness is not None:
        yield from stale_lines(plan.graph[change.name], change.staleness)


def stale_lines(node: Node, found: Staleness) -> Iterator[str]:
    """The stale intervals of a model, since when and why, and those that are kept."""
    if found.intervals:
        how = " by a session" if found.session else ""
        yield f"{counted_ranges(node, found.intervals)}{since_text(found)}{how}: {found.reason}"
    if found.kept:
        yield f"kept as it is: {kept_text(node, found)}"
    elif not found.intervals:
        yield kept_text(node, found)


def kept_text(node: Node, found: Staleness) -> str:
    """The stale intervals of a model that are not computed, since when and why."""
    if not found.kept:
        return f"{found.reason}: {found.why_kept}"
    when = "" if found.intervals else since_text(found)
    also = "" if found.why_kept == found.reason else f", and {found.why_kept}"
    return f"{counted_ranges(node, found.kept)}{when}, since {found.reason}{also}"


def since_text(found: Staleness) -> str:
    """Since when ranges are stale, in parentheses; empty if that is not known."""
    if found.since is None:
        return ""
    return f" (since {format_instant(found.since.replace(second=0, microsecond=0))})"


def _behind(node: Node, found: Behind) -> Iterator[str]:
    """What a version lacks of its inputs, and which of its rows cannot be computed again."""
    yield f"behind: {found.reason}"
    if found.lost:
        yield f"as it was: {counted_ranges(node, found.lost)}, since {found.why_lost}"


def counted_ranges(node: Node, ranges: Sequence[Interval], view: str = "make the view") -> str:
    """Ranges of a model, for people; many of them as a whole."""
    if node.model.kind.is_view:
        return view
    if len(ranges) <= _RANGES or not node.model.kind.is_by_interval:
        return counted(node, ranges)
    first, last = format_instant(ranges[0].start), format_instant(ranges[-1].end)
    return f"{count(node, ranges):,} intervals in {len(ranges):,} ranges, {first} to {last}"
