"""Which edits of a plan cannot keep their table: by what they say, its rows would be others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vde_dagster.core.model.model import Model
from vde_dagster.core.model.row_identity import IdentityChange, Property, is_kept
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.column_checks import new_table
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import Interval, format_instant, merge


def identity_findings(
    plan: Plan, loaded: Mapping[ModelName, Sequence[Interval]] | None = None
) -> Iterator[str]:
    """Why a plan's kept tables cannot be kept, for people: one text for each property.

    Args:
        plan: The plan.
        loaded: What its versions hold by now; None for what they held when it was made.
    """
    for change in plan.changes:
        there = change.reuse.loaded if loaded is None and change.reuse is not None else ()
        holds = there if loaded is None else loaded.get(change.name, ())
        for identity in change.identity_changes:
            refusal = why_refused(plan, change, identity, holds)
            if refusal:
                yield refusal


def why_refused(
    plan: Plan, change: ModelChange, identity: IdentityChange, loaded: Sequence[Interval]
) -> str:
    """Why a table cannot be kept if a property of its model changes, for people; empty if it can.

    Args:
        plan: The plan.
        change: The model's.
        identity: One of its ``identity_changes``.
        loaded: What its version holds.
    """
    model = plan.graph[change.name].model
    return "" if is_kept(identity, model, loaded) else _text(plan, change, identity, model, loaded)


def _text(
    plan: Plan,
    change: ModelChange,
    identity: IdentityChange,
    model: Model,
    loaded: Sequence[Interval],
) -> str:
    parts = ", ".join(str(each) for each in loaded if each != model.unit.widen(each))
    by_unit = f"what is there is recorded by the {identity.before}"
    why, way = (
        text.format(
            was=f"was {identity.before} and is {identity.after}",
            before=identity.before,
            kind=model.kind.keyword,
            later=_later(plan, model, loaded),
            column=identity.column,
            by="" if change.change is Change.DIRECT else " by what it reads",
            first=format_instant(loaded[0].start) if loaded else "",
            parts=by_unit if model.kind.is_partitioned else f"{parts} is not made of whole units",
        )
        for text in _TEXTS[identity.changed]
    )
    lost = ", without the history that is there" if model.kind.keeps_history else ""
    return (
        f"{model.place}: {change.name} keeps its table, and {why}. {way[0].upper()}{way[1:]}, or "
        f"{new_table(plan, change)}, which makes a new table{lost}."
    )


def _later(plan: Plan, model: Model, loaded: Sequence[Interval]) -> str:
    """The advice to wait until the last unit is whole, where that is all that is lacking."""
    widened = merge(map(model.unit.widen, loaded))
    if model.kind.is_partitioned or [e.start for e in widened] != [e.start for e in merge(loaded)]:
        return ""
    return f"once {', '.join(map(str, widened))} is loaded, {plan.again.removesuffix('.')}, or "


_BACK: Final = "take the change back"
_TEXTS: Final = {
    Property.KIND: ("its kind {was}: the rows that are there were loaded in another way", _BACK),
    Property.COARSER: (
        "its interval unit {was}: {parts}",
        (
            "{later}write `interval_unit {before}` in the model, with which another cron only says "
            "when it is due"
        ),
    ),
    Property.FINER: ("its interval unit {was}: {parts}", _BACK),
    Property.START: (
        (
            "its start {was}: {kind} builds each interval on the ones before it, and is loaded "
            "from {first} on"
        ),
        "write `start '{first}'` in the model",
    ),
    Property.TIME_COLUMN: (
        "its time_column {was}: by that, rows that are there are of other intervals",
        _BACK,
    ),
    Property.UNIQUE_KEY: (
        "its unique_key {was}: by that, several rows that are there may have one key",
        _BACK,
    ),
    Property.PARTITIONED_BY: (
        (
            "its partitioned_by {was}: the table's partitions stay as they were made, and they are "
            "what is replaced"
        ),
        _BACK,
    ),
    Property.UPDATED_AT: (
        "its updated_at_name {was}: the rows that are there have the times of the other column",
        _BACK,
    ),
    Property.COMPUTED: (
        (
            "it tells rows apart by `{column}`, which{by} {was}: rows that are there would stay "
            "beside the same ones with other values"
        ),
        "take the change back, or give the new values to a column of another name",
    ),
    Property.VALIDITY: (
        "its history's columns {was}: rows that are there have no value in them",
        "take the change back, and give the columns other names in a VIEW of the model",
    ),
}
"""Why a table cannot be kept, and how it can; properties that never say so are absent."""
