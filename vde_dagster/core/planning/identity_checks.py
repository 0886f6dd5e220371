"""Which edits of a plan cannot keep their table, since its rows would be others by what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from vde_dagster.core.model.model import Model
from vde_dagster.core.model.row_identity import IdentityChange, Property, is_kept
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.column_checks import new_table
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import Interval, format_instant


def identity_findings(
    plan: Plan, loaded: Mapping[ModelName, Sequence[Interval]] | None = None
) -> Iterator[str]:
    """Why a plan's kept tables cannot be kept, for people: one text for each property.

    Args:
        plan: The plan.
        loaded: What its versions hold by now; None for what they held when it was made.
    """
    for change in plan.changes:
        if not change.identity_changes:
            continue
        model = plan.graph[change.name].model
        there = change.reuse.loaded if loaded is None and change.reuse is not None else ()
        holds = there if loaded is None else loaded[change.name]
        for each in change.identity_changes:
            if not is_kept(each, model, holds):
                yield _text(plan, change, each, model, holds)


def _text(
    plan: Plan,
    change: ModelChange,
    identity: IdentityChange,
    model: Model,
    loaded: Sequence[Interval],
) -> str:
    lost = ", without the history that is there" if model.kind.keeps_history else ""
    return (
        f"{model.place}: {change.name} keeps its table, and {_why(identity, model, loaded)}. "
        f"{_way(identity, model, loaded)}, or {new_table(plan, change)}, which makes a new "
        f"table{lost}."
    )


def _why(identity: IdentityChange, model: Model, loaded: Sequence[Interval]) -> str:
    """What is wrong with rows that stay."""
    was = f"was {identity.before} and is {identity.after}"
    match identity.changed:
        case Property.KIND:
            return f"its kind {was}: the rows that are there were loaded in another way"
        case Property.COARSER:
            return f"its interval unit {was}: {_parts(identity, model, loaded)}"
        case Property.FINER:
            return f"its interval unit {was}: what is there is recorded by the {identity.before}"
        case Property.START:
            return (
                f"its start {was}: {model.kind.keyword} builds each interval on the ones before "
                f"it, and is loaded from {format_instant(loaded[0].start)} on"
            )
        case Property.TIME_COLUMN:
            return f"its time_column {was}: by that, rows that are there are of other intervals"
        case Property.UNIQUE_KEY:
            return f"its unique_key {was}: by that, several rows that are there may have one key"
        case Property.PARTITIONED_BY:
            return (
                f"its partitioned_by {was}: the table's partitions stay as they were made, and "
                "they are what is replaced"
            )
        case Property.VALIDITY:
            return (
                f"the columns of its history are others ({identity.before}, now {identity.after}): "
                "rows that are there have no value in them"
            )
        case Property.CRON | Property.LATER_START | Property.END:
            raise ValueError(f"{identity.changed.value} keeps every table")
        case unreachable:
            assert_never(unreachable)


def _parts(identity: IdentityChange, model: Model, loaded: Sequence[Interval]) -> str:
    if model.kind.is_partitioned:
        return f"what is there is recorded by the {identity.before}"
    parts = ", ".join(str(each) for each in loaded if each != model.unit.widen(each))
    return f"{parts} is loaded, which is not made of whole units"


def _way(identity: IdentityChange, model: Model, loaded: Sequence[Interval]) -> str:
    """How the table can be kept."""
    match identity.changed:
        case Property.COARSER:
            return (
                f"Write `interval_unit {identity.before}` in the model, with which another cron "
                "only says when it is due"
            )
        case Property.START:
            return f"Write `start '{format_instant(loaded[0].start)}'` in the model"
        case Property.VALIDITY:
            return "Take the change back, and give the columns other names in a VIEW of the model"
        case _:
            return "Take the change back"
