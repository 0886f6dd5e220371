"""What a plan does to the columns of kept tables, against what their models allow (rule R11).

A rollback is no edit: it shows a definition again that was there, and its tables keep what they
have. So nothing is asked about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from vde_dagster.core.errors import Place
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnDropped,
    ColumnIncompatible,
    ColumnWidened,
    SchemaChange,
    described,
)
from vde_dagster.core.model.column_rules import (
    ON_ADDITIVE_CHANGE,
    ON_DESTRUCTIVE_CHANGE,
    ColumnRules,
    OnChange,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.plan import ModelChange, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFinding:
    """Changes of one kept table that its model wants to be warned of, or refuses.

    ``said_by`` is the property that says so, ``new_table`` how the model gets another table.
    """

    name: ModelName
    place: Place
    said_by: str
    rule: OnChange
    changes: tuple[SchemaChange, ...]
    new_table: str

    @property
    def refuses(self) -> bool:
        """Whether the plan cannot be applied because of them."""
        return self.rule is OnChange.ERROR

    def __str__(self) -> str:
        what = ", ".join(map(described, self.changes))
        said = f"{self.place}: {self.name} keeps its table and {what}"
        if not self.refuses:
            return f"{said} ({self.said_by} warn)"
        return (
            f"{said}, which its {self.said_by} does not allow. Write `{self.said_by} allow` (or "
            f"warn) in the model, take the change back, or {self.new_table}, which makes a new "
            "table."
        )


def rule_of(change: SchemaChange, rules: ColumnRules) -> tuple[str, OnChange]:
    """The property that a change of a table's columns falls under, and what it says."""
    match change:
        case ColumnAdded() | ColumnWidened():
            return ON_ADDITIVE_CHANGE, rules.additive
        case ColumnDropped() | ColumnIncompatible():
            return ON_DESTRUCTIVE_CHANGE, rules.destructive
        case unreachable:
            assert_never(unreachable)


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
        by_property: dict[tuple[str, OnChange], list[SchemaChange]] = {}
        for each in _possible(change.schema_changes):
            by_property.setdefault(rule_of(each, model.column_rules), []).append(each)
        for (name, rule), changes in by_property.items():
            if rule is not OnChange.ALLOW:
                yield ColumnFinding(
                    name=change.name,
                    place=model.place,
                    said_by=name,
                    rule=rule,
                    changes=tuple(changes),
                    new_table=new_table(plan, change),
                )


def new_table(plan: Plan, change: ModelChange) -> str:
    """How a model gets another table: by a decision, for which it may need another stamp first."""
    decides = f"plan with --decide {change.name}=breaking"
    may_decide = change.change is Change.DIRECT and change.name not in plan.stored
    return decides if may_decide else f"write another `stamp` in it and {decides}"


def _possible(changes: Sequence[SchemaChange]) -> Iterator[SchemaChange]:
    return (each for each in changes if not isinstance(each, ColumnIncompatible))
