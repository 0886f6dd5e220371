"""What of a plan that was reviewed is still to be done when it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from vde_dagster.core.errors import Conflict
from vde_dagster.core.listing import some
from vde_dagster.core.planning.plan import ModelChange, Plan, Staleness
from vde_dagster.core.time.intervals import common, subtract

_LISTED: Final = 5


def still_to_do(saved: Plan, current: Plan) -> Plan:
    """The reviewed plan, with no more of its intervals than are missing still.

    Intervals that were not reviewed are left to a later plan.

    Args:
        saved: What somebody agreed to.
        current: The same models and options, planned again at the time of the reviewed plan.

    Raises:
        Conflict: The environment or what is stored changed since, so that something else would be
            done; the text says what.
    """
    moved = list(_moved(saved, current))
    if moved:
        raise Conflict("\n".join([*moved, "Nothing was written"]), advice=_saving(saved))
    known = {each.name: each for each in saved.changes}
    return replace(
        current,
        plan_id=saved.plan_id,
        options=saved.options,
        left_out=saved.left_out,
        changes=tuple(_narrowed(known[each.name], each) for each in current.changes),
    )


def nothing_left(saved: Plan) -> Plan:
    """The reviewed plan once it is applied: it names what it is about, and has nothing to do."""
    return replace(
        saved,
        changes=tuple(
            replace(e, missing=(), restated=(), behind=None, staleness=None) for e in saved.changes
        ),
        promotes=False,
        views=(),
        removed=(),
        dropped_views=(),
        lost_tables=(),
        dropped_tables=(),
        unfinished=(),
    )


def refuse_moved(saved: Plan, revision: int) -> None:
    """Refuse a plan whose token does not hold any more (docs/architecture.md).

    Raises:
        Conflict: The environment is at another revision than it was.
    """
    if revision != saved.base_revision:
        raise Conflict(
            f"{saved.environment} was changed since this plan was made: it is at revision "
            f"{revision}, the plan was made at {saved.base_revision}. Nothing was written",
            advice=_saving(saved),
        )


def _saving(saved: Plan) -> str:
    words = " ".join(saved.command)
    return f"plan again, and save that plan: `vde {words} --save FILE`."


def _narrowed(known: ModelChange, current: ModelChange) -> ModelChange:
    return replace(
        current,
        category=known.category,
        reasons=known.reasons,
        missing=common(current.missing, known.to_evaluate),
        restated=common(current.restated, known.restated),
        staleness=_still_stale(known, current),
    )


def _still_stale(known: ModelChange, current: ModelChange) -> Staleness | None:
    """What was stale when the plan was reviewed, and is; the rest is left to a later plan."""
    now, then = current.staleness, known.staleness
    if now is None or then is None or now.session != then.session:
        return None
    return replace(now, intervals=common(now.intervals, then.intervals))


def _moved(saved: Plan, current: Plan) -> Iterator[str]:
    """What a plan of now would do otherwise, for people."""
    environment = saved.environment
    if saved.base_revision != current.base_revision:
        yield (
            f"{environment} is at revision {current.base_revision}, the plan was made at "
            f"{saved.base_revision}."
        )
    other = [
        str(name)
        for name, each in saved.snapshots.items()
        if name not in current.snapshots or current.snapshots[name].version != each.version
    ]
    if other:
        yield f"{some(other, _LISTED)} would get another version than the one that was reviewed."
    if {each.name for each in saved.changes} != {each.name for each in current.changes}:
        yield f"{environment} shows other models than it did."
    elif saved.base_revision and (shown := _shown_otherwise(saved, current)):
        yield f"{environment} shows another version of {some(shown, _LISTED)} than it did."
    if saved.hidden != current.hidden:
        yield f"other models than those that were reviewed would have a view in {environment}."
    behind = [str(each.name) for each in current.changes if _is_further_behind(saved, each)]
    if behind:
        yield f"what {some(behind, _LISTED)} would be computed from changed since."
    if current.promotes and not saved.promotes:
        yield f"views of {environment} would change, and the reviewed plan changes none."


def _is_further_behind(saved: Plan, change: ModelChange) -> bool:
    """Whether more of a version that comes back is behind than was reviewed (rule R15)."""
    if change.behind is None:
        return False
    known = next((each for each in saved.changes if each.name == change.name), None)
    if known is None or known.behind is None:
        return True
    if change.catches_up:
        return not known.catches_up
    return bool(subtract(change.behind.intervals, known.to_evaluate + known.behind.lost))


def _shown_otherwise(saved: Plan, current: Plan) -> list[str]:
    before = {each.name: each.previous_version for each in saved.changes}
    return [
        str(each.name) for each in current.changes if each.previous_version != before[each.name]
    ]
