"""What a plan does to the columns of kept tables, against what their models allow (rule R11).

A rollback is not an edit: it shows a definition again that was there, and its tables keep what they
have. So nothing is asked about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnDropped,
    ColumnWidened,
    described,
)
from vde_dagster.core.model.column_rules import (
    ON_ADDITIVE_CHANGE,
    ON_DESTRUCTIVE_CHANGE,
    OnChange,
)
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.row_identity import IdentityChange, Property, is_kept
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import Interval, format_instant, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFinding:
    """What a model says of changes of its kept table: it refuses them, or warns of them."""

    rule: OnChange
    text: str

    @property
    def refuses(self) -> bool:
        """Whether the plan cannot be applied because of them."""
        return self.rule is OnChange.ERROR

    def __str__(self) -> str:
        return self.text


def column_findings(plan: Plan) -> Iterator[ColumnFinding]:
    """What a plan's models want to be warned of and refuse, of the columns of kept tables.

    What cannot be done in place at all is not among it: no rule allows that.
    """
    if plan.is_rollback:
        return
    for change in plan.changes:
        if change.name not in plan.graph:
            continue
        model = plan.graph[change.name].model
        rules = model.column_rules
        for by, rule, kinds in (
            (ON_ADDITIVE_CHANGE, rules.additive, ColumnAdded | ColumnWidened),
            (ON_DESTRUCTIVE_CHANGE, rules.destructive, ColumnDropped),
        ):
            found = [each for each in change.schema_changes if isinstance(each, kinds)]
            if not found or rule is OnChange.ALLOW:
                continue
            what = ", ".join(map(described, found))
            said = f"{model.place}: {change.name} keeps its table and {what}"
            if rule is OnChange.WARN:
                yield ColumnFinding(rule=rule, text=f"{said} ({by} warn)")
                continue
            yield ColumnFinding(
                rule=rule,
                text=f"{said}, but its {by} does not allow this. Write `{by} allow` (or warn) in "
                f"the model, revert the change, or {new_table(plan, change)}, which creates "
                "a new table.",
            )


def new_table(plan: Plan, change: ModelChange) -> str:
    """How a model gets another table: by a decision, for which it may need another stamp first."""
    decides = f"plan with --decide {change.name}=breaking"
    may_decide = change.change is Change.DIRECT and change.name not in plan.stored
    return decides if may_decide else f"write another `stamp` in it and {decides}"


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
            model = plan.graph[change.name].model
            if not is_kept(identity, model, holds):
                yield _why_refused(plan, change, identity, model, holds)


def _why_refused(
    plan: Plan,
    change: ModelChange,
    identity: IdentityChange,
    model: Model,
    loaded: Sequence[Interval],
) -> str:
    parts = ", ".join(str(each) for each in loaded if each != model.unit.widen(each))
    by_unit = f"loaded data is recorded by the {identity.before}"
    why, way = (
        text.format(
            was=f"was {identity.before} and is {identity.after}",
            before=identity.before,
            kind=model.kind.keyword,
            later=_later(plan, model, loaded),
            column=identity.column,
            by="" if change.change is Change.DIRECT else " by an upstream change",
            first=format_instant(loaded[0].start) if loaded else "",
            parts=by_unit
            if model.kind.is_partitioned
            else (f"{parts} does not consist of whole units"),
        )
        for text in _TEXTS[identity.changed]
    )
    lost = ", without the existing history" if model.kind.keeps_history else ""
    return (
        f"{model.place}: {change.name} keeps its table, and {why}. {way[0].upper()}{way[1:]}, or "
        f"{new_table(plan, change)}, which creates a new table{lost}."
    )


def _later(plan: Plan, model: Model, loaded: Sequence[Interval]) -> str:
    """The advice to wait until the last unit is whole, where that is all that is lacking."""
    widened = merge(map(model.unit.widen, loaded))
    if model.kind.is_partitioned or [e.start for e in widened] != [e.start for e in merge(loaded)]:
        return ""
    return f"once {', '.join(map(str, widened))} is loaded, {plan.again.removesuffix('.')}, or "


_BACK: Final = "revert the change"
_TEXTS: Final = {
    Property.KIND: ("its kind {was}: the existing rows were loaded in another way", _BACK),
    Property.COARSER: (
        "its interval unit {was}: {parts}",
        (
            "{later}write `interval_unit {before}` in the model, so that the new cron only "
            "decides when it is due"
        ),
    ),
    Property.FINER: ("its interval unit {was}: {parts}", _BACK),
    Property.START: (
        (
            "its start {was}: {kind} builds each interval on the ones before it, and has been "
            "loaded from {first} on"
        ),
        "write `start '{first}'` in the model",
    ),
    Property.TIME_COLUMN: (
        "its time_column {was}: this moves existing rows to other intervals",
        _BACK,
    ),
    Property.UNIQUE_KEY: (
        "its unique_key {was}: existing rows may then share a key",
        _BACK,
    ),
    Property.PARTITIONED_BY: (
        (
            "its partitioned_by {was}: the table keeps its partitions, and rows are replaced by "
            "partition"
        ),
        _BACK,
    ),
    Property.SEQUENCE: (
        "its order of changes {was}: other changes of the existing rows would then win",
        _BACK,
    ),
    Property.UPDATED_AT: (
        "its updated_at_name {was}: existing rows have the times of the other column",
        _BACK,
    ),
    Property.COMPUTED: (
        (
            "it identifies rows by `{column}`, which{by} {was}: existing rows would stay next "
            "to the same rows with other values"
        ),
        "revert the change, or give the new values to a column of another name",
    ),
    Property.VALIDITY: (
        "its history's columns {was}: existing rows have no value in them",
        "revert the change, and give the columns other names in a VIEW of the model",
    ),
}
"""Why a table cannot be kept, and how it can; properties that never say so are absent."""
