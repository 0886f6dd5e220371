"""A plan for programs: the JSON contract that docs/cli.md describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from vde_dagster.cli.printing import instant
from vde_dagster.cli.reason_facts import reason_facts
from vde_dagster.core.graph.ranges import count
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnDropped,
    ColumnIncompatible,
    ColumnWidened,
    SchemaChange,
)
from vde_dagster.core.planning.column_checks import rule_of
from vde_dagster.core.planning.identity_checks import why_refused
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.pauses import Pause, PausedModel
from vde_dagster.core.planning.plan import (
    Behind,
    ExistingVersion,
    LostTable,
    ModelChange,
    Plan,
    Staleness,
)
from vde_dagster.core.planning.plan_file import CODEC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.model.row_identity import IdentityChange
    from vde_dagster.core.model.snapshot import Bounded
    from vde_dagster.core.time.intervals import Interval

Facts = dict[str, object]


def _lost_facts(lost: LostTable) -> Facts:
    return {"name": str(lost.name), "table": lost.table, "damage": lost.damage or None}


def plan_facts(plan: Plan) -> Facts:
    """The document of a plan; sources are among its changes, with kind EXTERNAL."""
    return {
        "environment": plan.environment,
        "plan_id": plan.plan_id,
        "base_revision": plan.base_revision,
        "taken": (
            {"environment": plan.taken.environment, "revision": plan.taken.number}
            if plan.taken is not None
            else None
        ),
        "now": instant(plan.now) if plan.now else None,
        "empty": plan.is_empty,
        "promotes": plan.promotes,
        "options": CODEC.write(PlanOptions, plan.options),
        "changes": [_change(plan, each) for each in plan.changes],
        "views": [str(name) for name in plan.views],
        "removed_views": [str(name) for name in plan.removed],
        "hidden": sorted(str(name) for name in plan.hidden),
        "left_out": [str(name) for name in plan.left_out],
        "not_restated": [
            {"name": str(each.name), "reason": each.reason} for each in plan.not_restated
        ],
        "gaps": [
            {
                "name": str(each.name),
                "intervals": ranges_facts(plan.graph[each.name], each.intervals),
            }
            for each in plan.gaps
        ],
        "dropped_views": [str(name) for name in plan.dropped_views],
        "lost_tables": [_lost_facts(each) | {"why": each.why or None} for each in plan.lost_tables],
        "rebuilt_tables": [_lost_facts(each) for each in plan.rebuilds],
        "unfinished": [str(name) for name in plan.unfinished],
        "pauses": [paused_facts(each) for each in plan.pauses],
        "effective_from": {str(n): instant(since) for n, since in plan.effective_from.items()},
    }


def paused_facts(paused: PausedModel) -> Facts:
    """A pause, and the models that are not computed because of it."""
    return {**pause_facts(paused.pause), "waiting": [str(name) for name in paused.waiting]}


def pause_facts(pause: Pause) -> Facts:
    """Who paused a model and why, as JSON has it."""
    return {
        "model": str(pause.model),
        "paused_at": instant(pause.paused_at),
        "author": pause.author,
        "reason": pause.reason,
    }


def _change(plan: Plan, change: ModelChange) -> Facts:
    node = plan.graph.nodes.get(change.name)
    return {
        "name": str(change.name),
        "kind": node.model.kind.keyword if node else None,
        "change": change.change.value,
        "category": change.category.value if change.category else None,
        "decided_by": change.decided_by.value,
        "undecidable": change.undecidable,
        **reason_facts(change.reasons),
        "columns_changed": list(change.columns_changed),
        "previous_version": change.previous_version,
        "version": change.version,
        "complete_to": instant(change.complete_to) if change.complete_to else None,
        "missing_intervals": ranges_facts(node, change.missing),
        "restatements": ranges_facts(node, change.restated),
        "skipped": ranges_facts(node, change.skipped),
        "reused": _reused(node, change.reuse),
        "may_adopt": change.may_adopt,
        "behind": _behind(node, change.behind),
        "stale": stale_facts(node, change.staleness),
        "schema_changes": [_schema_change(node, each) for each in change.schema_changes],
        "identity_changes": [
            _identity_change(plan, change, each) for each in change.identity_changes
        ],
        **bound_facts(change.bounded),
    }


def _identity_change(plan: Plan, change: ModelChange, identity: IdentityChange) -> Facts:
    loaded = change.reuse.loaded if change.reuse is not None else ()
    return {
        "property": identity.changed.name.lower(),
        "column": identity.column or None,
        "old": identity.before,
        "new": identity.after,
        "refused": why_refused(plan, change, identity, loaded) or None,
    }


def bound_facts(bounded: Bounded | None) -> Facts:
    """From when on a version is bounded, if it is, and whether it is a preview."""
    return {
        "bounded_from": instant(bounded.since) if bounded is not None else None,
        "preview": bounded is not None and bounded.is_preview,
    }


def ranges_facts(node: Node | None, ranges: Sequence[Interval]) -> list[Facts]:
    """Ranges of a model, each with its number of intervals; 0 for a model that was removed."""
    return [
        {
            "start": instant(each.start),
            "end": instant(each.end),
            "intervals": count(node, [each]) if node else 0,
        }
        for each in ranges
    ]


def _reused(node: Node | None, reuse: ExistingVersion | None) -> Facts | None:
    if reuse is None:
        return None
    return {
        "intervals": ranges_facts(node, reuse.loaded),
        "owner": reuse.owner,
        "shown_by": list(reuse.shown_by),
    }


def _behind(node: Node | None, found: Behind | None) -> Facts | None:
    if found is None:
        return None
    return {
        "intervals": ranges_facts(node, found.intervals),
        "reason": found.reason,
        "lost": ranges_facts(node, found.lost),
        "why_lost": found.why_lost,
        "session": found.session,
    }


def stale_facts(node: Node | None, found: Staleness | None) -> Facts | None:
    """The stale intervals of a model, as JSON has them; None if there are none."""
    if found is None:
        return None
    return {
        "intervals": ranges_facts(node, found.intervals),
        "reason": found.reason,
        "kept": ranges_facts(node, found.kept),
        "why_kept": found.why_kept,
        "following": ranges_facts(node, found.following),
        "since": instant(found.since) if found.since else None,
        "session": found.session,
    }


def _schema_change(node: Node | None, change: SchemaChange) -> Facts:
    what: tuple[str, str | None, str | None]
    match change:
        case ColumnAdded():
            what = ("added", None, change.type)
        case ColumnDropped():
            what = ("dropped", change.type, None)
        case ColumnWidened():
            what = ("widened", change.before, change.after)
        case ColumnIncompatible():
            what = ("incompatible", change.before, change.after)
        case _:
            assert_never(change)
    kind, old, new = what
    rule = rule_of(change, node.model.column_rules)[1].value if node is not None else None
    return {"change": kind, "column": change.column, "old": old, "new": new, "rule": rule}
