"""A comparison of two revisions for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text
from rich.tree import Tree

from vde_dagster.cli.change_text import MARKS, head
from vde_dagster.core.listing import plural, some
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import sentence
from vde_dagster.core.planning.plan_text import versions_text

if TYPE_CHECKING:
    from rich.console import Console

    from vde_dagster.app.inspect.compare import ComparedModel, Comparison

_SECTIONS: Final = {
    Change.DIRECT: "Changed",
    Change.INDIRECT: "Changed upstream",
    Change.METADATA: "Only metadata",
    Change.ADDED: "New",
    Change.REMOVED: "Removed",
}
_MOST: Final = 30
"""How many models of each section but the first are shown, and how many columns of a model."""


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what differs and what follows; unchanged models are only counted."""
    title = f"{comparison.before.title} -> {comparison.after.title}"
    console.print(Text(title, style="bold"))
    for change, heading in _SECTIONS.items():
        found = [each for each in comparison.models if each.difference.change is change]
        if found:
            console.print()
            console.print(_section(f"{heading} ({len(found):,})", change, found))
    console.print()
    for line in _totals(comparison):
        console.print(Text(line))


def _section(heading: str, change: Change, models: Sequence[ComparedModel]) -> Tree:
    tree = Tree(Text(heading, style="bold underline"), guide_style="dim")
    most = len(models) if change is Change.DIRECT else _MOST
    for each in models[:most]:
        branch = tree.add(_head(each))
        for line in _details(each):
            branch.add(line)
    if len(models) > most:
        tree.add(f"... and {len(models) - most:,} more (--format json lists all)")
    return tree


def _head(compared: ComparedModel) -> Text:
    """What a model is called, what happens to it, and its versions."""
    is_source = compared.model.kind.is_source
    text = head(compared.difference, changed=False, of=" source" if is_source else "")
    if not is_source:
        sides = (each.version if each else None for each in (compared.before, compared.after))
        text.append(f"  {versions_text(*sides)}", style="not bold cyan")
    outcome = _outcome(compared)
    if outcome:
        text.append(f"  {outcome}", style="" if outcome == _REBUILT else "not bold")
    return text


def _details(compared: ComparedModel) -> Iterator[Text]:
    difference = compared.difference
    if difference.change not in (Change.ADDED, Change.REMOVED):
        yield from (Text(sentence(reason), style="dim") for reason in difference.reasons)
        if difference.columns_changed:
            yield Text(f"columns: {some(difference.columns_changed, _MOST)}")


_BUILT: Final = "built"
_REBUILT: Final = "rebuilt"
_VIEW_REBUILT: Final = "view rebuilt"
_KEPT: Final = "kept"


def _outcome(compared: ComparedModel) -> str:
    """What would happen to a model's table or view; empty for a model that has neither."""
    old, new = compared.before, compared.after
    if new is None or not compared.model.kind.is_physical:
        return ""
    if old is None:
        return _BUILT
    if compared.model.kind.is_view:
        return _KEPT if old.version == new.version else _VIEW_REBUILT
    return _REBUILT if compared.difference.rebuild else _KEPT


def _totals(comparison: Comparison) -> Iterator[str]:
    models = [each for each in comparison.models if not each.model.kind.is_source]
    sources = len(comparison.models) - len(models)
    tally = Counter(each.difference.change for each in models)
    said = ", ".join(f"{tally[each]:,} {MARKS[each][2]}" for each in MARKS if tally[each])
    yield f"{said or 'No models'}; {plural(sources, 'source')}."
    yield _work(Counter(map(_outcome, comparison.models)))


def _work(outcomes: Counter[str]) -> str:
    """The last line: how many tables and views are computed, and how many stay."""
    parts = [
        f"{outcomes[_REBUILT]:,} rebuilt",
        *([f"{outcomes[_BUILT]:,} built new"] if outcomes[_BUILT] else []),
        *([_views(outcomes[_VIEW_REBUILT])] if outcomes[_VIEW_REBUILT] else []),
        f"{outcomes[_KEPT]:,} kept",
    ]
    return f"What a plan would make of them: {', '.join(parts)}."


def _views(number: int) -> str:
    return f"{plural(number, 'view')} rebuilt"
