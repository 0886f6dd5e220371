"""Two graphs side by side: how each model differs, with a category and reasons."""

from __future__ import annotations

from vde_dagster.core.categorize import Verdict, categorize, reads_every_column
from vde_dagster.core.changes.difference import Change, Difference, Rules
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.snapshot import Category

DEFAULT_RULES = Rules()


def compare_graphs(
    before: Graph, after: Graph, rules: Rules = DEFAULT_RULES
) -> dict[ModelName, Difference]:
    """How each model differs: those of ``after`` parents first, then removed ones by name."""
    reaching: set[ModelName] = set()
    found: dict[ModelName, Difference] = {}
    for node in after:
        difference = _difference(node, before, reaching)
        if difference.category is not None and difference.category.reaches_children:
            reaching.add(node.name)
        found[node.name] = difference
    for node in before:
        if node.name not in after:
            reasons = ("no longer in the project",)
            found[node.name] = Difference(name=node.name, change=Change.REMOVED, reasons=reasons)
    return found


def _difference(node: Node, before: Graph, reaching: set[ModelName]) -> Difference:
    if node.name not in before:
        return Difference(name=node.name, change=Change.ADDED, reasons=("new model",), rebuild=True)
    change, verdict = _verdict(node, before[node.name], reaching)
    if verdict is None:
        return Difference(name=node.name, change=change)
    kept = (Category.INDIRECT_NON_BREAKING, Category.METADATA)
    return Difference(
        name=node.name,
        change=change,
        category=verdict.category,
        reasons=verdict.reasons,
        rebuild=verdict.category not in kept,
    )


def _verdict(node: Node, before: Node, reaching: set[ModelName]) -> tuple[Change, Verdict | None]:
    """How a model changed, and what that means; no verdict for an unchanged one."""
    old, new = before.fingerprint, node.fingerprint
    if old == new:
        return Change.NONE, None
    above = sorted(str(parent) for parent in node.model.parents if parent in reaching)
    reason = f"reads {', '.join(above)}, which changed"
    if old.data != new.data:
        verdict = categorize(before, node)
        if above and not verdict.category.reaches_children:
            # Its own change keeps its rows, but those of its parents do not.
            verdict = Verdict(category=Category.BREAKING, reasons=(*verdict.reasons, reason))
        return Change.DIRECT, verdict
    if old.parent_data != new.parent_data:
        return Change.INDIRECT, _indirect(node, reason if above else None)
    return Change.METADATA, Verdict(category=Category.METADATA, reasons=("only metadata changed",))


def _indirect(node: Node, above: str | None) -> Verdict:
    """What a change of parents only means; ``above`` tells which of them change rows or columns."""
    if above is not None:
        return Verdict(category=Category.INDIRECT_BREAKING, reasons=(above,))
    if reads_every_column(node):
        reason = "may read columns that it does not name, and its parents have other ones now"
        return Verdict(category=Category.INDIRECT_BREAKING, reasons=(reason,))
    return Verdict(
        category=Category.INDIRECT_NON_BREAKING, reasons=("nothing that it reads changed",)
    )
