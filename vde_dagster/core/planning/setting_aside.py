"""Leaving models of a plan as they are, with all that waits for them, while the rest is done.

A table that was dropped or changed does not block changes of models that do not need it: the
environment goes on showing the version, and what reads it waits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vde_dagster.core.graph.embedded import stored_parents
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.graph.selection import select
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.plan import ModelChange, Plan, Staleness
from vde_dagster.core.planning.restatement import asked_again
from vde_dagster.core.planning.stages import left_out
from vde_dagster.core.time.intervals import merge


def lost_inputs(plan: Plan, node: Node) -> tuple[ModelName, ...]:
    """The models whose table or view is lost and that a model needs; it may be one of them."""
    lost = {each.name for each in plan.lost_tables}
    if not lost:
        return ()
    needed = {node.name, *stored_parents(plan.graph, node.name), *tables_read(plan.graph, node)}
    return tuple(sorted(lost & needed))


def without_lost(plan: Plan, catalog: str) -> Plan:
    """A plan that leaves models without a sound table as they are, and those that wait for them.

    One that changes something there (`needing_lost`) is not made smaller: it cannot be applied.
    ``catalog`` is the project's own.
    """
    lost = {each.name for each in plan.lost_tables}
    if not lost or needing_lost(plan, catalog):
        return plan
    readers = {node.name for node in plan.graph if lost_inputs(plan, node)}
    names = ", ".join(sorted(map(str, lost)))
    left = set_aside(plan, lost | readers, f"it waits until the table of {names} is as recorded")
    return replace(left, unfinished=tuple(each for each in plan.unfinished if each not in lost))


def needing_lost(plan: Plan, catalog: str) -> tuple[ModelName, ...]:
    """What a plan changes or was asked to compute of models with a lost table, and downstream.

    What only follows from other work is compared again by later runs, so that it may wait.
    """
    lost = {each.name for each in plan.lost_tables}
    if not lost:
        return ()
    downstream = set(lost)
    for node in plan.graph:
        if not downstream.isdisjoint(node.model.parents):
            downstream.add(node.name)
    chosen = select([plan.graph], plan.options.restate, catalog=catalog)
    asked = {*asked_again(plan.graph, chosen), *plan.effective_from}
    return tuple(
        each.name
        for each in plan.changes
        if each.name in downstream
        and (
            each.name in plan.views
            or each.version != each.previous_version
            or (each.name in asked and bool(each.restated))
            or (each.name in lost and _changes_table(each))
        )
    )


def set_aside(plan: Plan, names: Collection[ModelName], why: str) -> Plan:
    """A plan without the work of some models and of those that wait for them.

    Args:
        plan: What would be done.
        names: Models that are not to be tried now.
        why: The reason, for people.
    """
    if not names:
        return plan
    aside = {*names, *left_out(plan, names)}
    changes = tuple(
        replace(each, missing=(), restated=(), staleness=left_as_it_is(each.staleness, why))
        if each.name in aside
        else each
        for each in plan.changes
    )
    return replace(plan, changes=changes)


def left_as_it_is(found: Staleness | None, why: str) -> Staleness | None:
    """A finding of stale intervals, none of which is computed."""
    if found is None or not found.intervals:
        return found
    reasons = dict.fromkeys([*filter(None, [found.why_kept]), why])
    kept = merge((*found.kept, *found.intervals))
    return replace(
        found,
        intervals=(),
        following=(),
        kept=kept,
        why_kept="; ".join(reasons),
        session=False,
    )


def _changes_table(change: ModelChange) -> bool:
    """Whether a plan would write to the table of a version that is kept."""
    return change.change is Change.DIRECT or bool(change.schema_changes or change.identity_changes)
