"""A plan for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vde_dagster import kinds
from vde_dagster.cli.printing import instant
from vde_dagster.cli.ranges import count, counted
from vde_dagster.core.changes.difference import Change
from vde_dagster.core.intervals import format_instant
from vde_dagster.core.kind import External
from vde_dagster.core.plan import ModelChange, Plan

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from vde_dagster.core.graph import Node

_MARKS: Final = {
    Change.ADDED: ("+", "green", "new"),
    Change.REMOVED: ("-", "red", "removed"),
    Change.DIRECT: ("~", "yellow", "changed"),
    Change.INDIRECT: ("~", "magenta", "changed above"),
    Change.METADATA: ("~", "blue", "metadata"),
    Change.NONE: (" ", "dim", "unchanged"),
}


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a plan changes and computes; unchanged models are only counted."""
    console.print(_heading(plan))
    shown = [each for each in plan.changes if _matters(plan, each)]
    if shown:
        console.print(_table(plan, shown))
    for line in _totals(plan):
        console.print(line)


def plan_facts(plan: Plan) -> dict[str, object]:
    """The JSON contract of a plan; sources are among its changes, with kind EXTERNAL."""
    return {
        "environment": plan.environment,
        "plan_id": plan.plan_id,
        "base_revision": plan.base_revision,
        "now": instant(plan.now) if plan.now else None,
        "empty": plan.is_empty,
        "promotes": plan.promotes,
        "changes": [_change_facts(plan, each) for each in plan.changes],
    }


def work_units(plan: Plan) -> int:
    """How many intervals a plan evaluates, over all models."""
    return sum(count(plan.graph[each.name], each.missing) for each in plan.backfills)


def is_source(plan: Plan, change: ModelChange) -> bool:
    """Whether a change is about a table that others write."""
    return change.name in plan.graph and isinstance(plan.graph[change.name].model.kind, External)


def _matters(plan: Plan, change: ModelChange) -> bool:
    if is_source(plan, change):
        return change.change not in (Change.NONE, Change.ADDED)
    return change.change is not Change.NONE or bool(change.missing)


def _heading(plan: Plan) -> Text:
    from rich.text import Text

    now = plan.now.replace(second=0, microsecond=0) if plan.now else None
    at = f" at {format_instant(now)}" if now else ""
    new = " (new)" if plan.base_revision == 0 else ""
    return Text(f"Plan for {plan.environment}{new}{at}", style="bold")


def _table(plan: Plan, changes: list[ModelChange]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("model", no_wrap=True)
    table.add_column("change")
    table.add_column("version", no_wrap=True)
    table.add_column("to compute")
    for change in changes:
        mark, style, _ = _MARKS[change.change]
        node = plan.graph.nodes.get(change.name)
        table.add_row(
            Text(mark, style=style),
            Text(str(change.name), style=style),
            _change(change),
            _version(change),
            _to_compute(change, node),
        )
    return table


def _change(change: ModelChange) -> Text:
    from rich.text import Text

    _, style, word = _MARKS[change.change]
    text = Text(word, style=style)
    if change.category is not None:
        text.append(f", {change.category.value.replace('_', ' ')}", style=style)
    for reason in change.reasons:
        if change.change not in (Change.ADDED, Change.REMOVED):
            text.append(f"\n{reason}", style="dim")
    return text


def _to_compute(change: ModelChange, node: Node | None) -> Text:
    from rich.text import Text

    if node is None or isinstance(node.model.kind, External):
        return Text("")
    if not change.missing and change.complete_to is None and kinds.of(node.model).has_rows:
        return Text("waits: what it reads has no data yet", style="dim")
    return Text(counted(node, change.missing))


def _version(change: ModelChange) -> Text:
    from rich.text import Text

    new, old = (change.version or "")[:8], (change.previous_version or "")[:8]
    if not new:
        return Text(old, style="dim")
    if not old or old == new:
        return Text(new, style="cyan")
    return Text(f"{old} -> {new}", style="cyan")


def _totals(plan: Plan) -> list[str]:
    models = [each for each in plan.changes if not is_source(plan, each)]
    sources = len(plan.changes) - len(models)
    tally: dict[str, int] = {}
    for each in models:
        word = _MARKS[each.change][2]
        tally[word] = tally.get(word, 0) + 1
    said = ", ".join(f"{number} {word}" for word, number in tally.items())
    lines = [f"{said}; {sources} source{'s' if sources != 1 else ''}." if said else "No models."]
    if plan.backfills:
        units, models_ = work_units(plan), len(plan.backfills)
        lines.append(
            f"To compute: {units:,} interval{'s' if units != 1 else ''} "
            f"in {models_} model{'s' if models_ != 1 else ''}."
        )
    elif plan.promotes:
        lines.append("Nothing to compute: only views change.")
    return lines


def _change_facts(plan: Plan, change: ModelChange) -> dict[str, object]:
    node = plan.graph.nodes.get(change.name)
    return {
        "model": str(change.name),
        "kind": node.model.kind.keyword if node else None,
        "change": change.change.value,
        "category": change.category.value if change.category else None,
        "reasons": list(change.reasons),
        "previous_version": change.previous_version,
        "version": change.version,
        "complete_to": instant(change.complete_to) if change.complete_to else None,
        "missing": [
            {
                "start": instant(each.start),
                "end": instant(each.end),
                "intervals": count(node, [each]) if node else 0,
            }
            for each in change.missing
        ],
    }
