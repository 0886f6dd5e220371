"""What a direct change of one model does to its readers, decided on two canonical trees.

Only what is known to keep every row and every existing column is non-breaking; everything else, and
everything that is not understood, is breaking.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from vde_dagster.core.graph import Node
from vde_dagster.core.model import Model, Query
from vde_dagster.core.snapshot import Category
from vde_dagster.core.sql.canonical_form import canonical_form

_MAY_CHANGE_ROWS = (
    exp.AggFunc,
    exp.Any,
    exp.UDTF,
    exp.Explode,
    exp.Anonymous,
    exp.Query,
    exp.Window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A category with the reasons that a person reads."""

    category: Category
    reasons: tuple[str, ...]


def categorize(before: Node, after: Node) -> Verdict:
    """The category of a change between two nodes of one model whose own data hashes differ."""
    if not isinstance(before.model.body, Query) or not isinstance(after.model.body, Query):
        return _breaking("its content changed")
    changed = _changed_loading(before.model, after.model)
    if changed is not None:
        return _breaking(changed)
    assert before.canonical is not None, f"{before.name} has a query but no canonical form"
    assert after.canonical is not None, f"{after.name} has a query but no canonical form"
    added = _added_projections(before.canonical.expression, after.canonical.expression)
    if added is None:
        return _breaking(_difference(before, after))
    if _types(after)[: len(before.columns)] != _types(before):
        return _breaking("the type of a column changed")
    names = ", ".join(f"`{each.alias_or_name}`" for each in added)
    if any(each.find(*_MAY_CHANGE_ROWS) for each in added):
        return _breaking(f"adds {names}, which may change the rows")
    return Verdict(category=Category.NON_BREAKING, reasons=(f"adds {names}",))


def _changed_loading(before: Model, after: Model) -> str | None:
    if before.kind != after.kind:
        return f"its kind was {before.kind.keyword} or had other options"
    if before.unit != after.unit:
        return f"its intervals were of one {before.unit.value} each"
    if before.late_data != after.late_data:
        return "how it loads late data changed"
    return None


def reads_every_column(node: Node) -> bool:
    """Whether a model's rows may follow from columns that it does not name.

    Python models are not understood; ``*`` inside a function and PIVOT mean all columns that there
    are. COUNT(*) counts rows only.
    """
    if node.canonical is None:
        return node.model.body is not None
    query = node.canonical.expression
    if query.find(exp.Pivot) is not None:
        return True
    stars = query.find_all(exp.Star)
    return any(not (isinstance(star.parent, exp.Count)) for star in stars)


def _breaking(reason: str) -> Verdict:
    return Verdict(category=Category.BREAKING, reasons=(reason,))


def _added_projections(before: exp.Query, after: exp.Query) -> list[exp.Expr] | None:
    """Projections that were put behind the old ones where nothing else differs, else None."""
    if not isinstance(before, exp.Select) or not isinstance(after, exp.Select):
        return None
    old, new = before.expressions, after.expressions
    if len(new) <= len(old) or after.args.get("distinct") or before.args.get("distinct"):
        return None
    if any(_means_all_projections(each) for each in after.walk()):
        return None  # GROUP BY ALL and ORDER BY ALL mean other columns now
    kept = after.copy()
    kept.set("expressions", [each.copy() for each in new[: len(old)]])
    if canonical_form(kept) != canonical_form(before):
        return None
    return list(new[len(old) :])


def _means_all_projections(node: exp.Expr) -> bool:
    if isinstance(node, exp.Ordered):
        return isinstance(node.this, exp.Var)
    return isinstance(node, exp.Group) and bool(node.args.get("all"))


def _types(node: Node) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in node.columns]


def _difference(before: Node, after: Node) -> str:
    old = [column.name for column in before.columns]
    new = [column.name for column in after.columns]
    removed = [f"`{name}`" for name in old if name not in new]
    if removed:
        return f"removes {', '.join(removed)}"
    added = [f"`{name}`" for name in new if name not in old]
    if added:
        return f"adds {', '.join(added)} and changes more than that"
    return "its query returns other rows or values"
