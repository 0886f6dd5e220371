"""A plan for people: what changes, the effects downstream, and what has to be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vde_dagster.cli.printing import glued, unglued
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.difference import Change, DecidedBy
from vde_dagster.core.planning.changes.reason_values import sentence, sentences
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.plan_text import (
    MOST,
    heading,
    matters,
    remarks,
    totals,
    work_totals,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from vde_dagster.core.names import ModelName

_FEWEST: Final = 3
_ALL: Final = "--format json lists all"
_NAME: Final = 40
"""Names up to this length make a column."""

_SECTIONS: Final = {
    Change.ADDED: "New",
    Change.REMOVED: "Removed",
    Change.METADATA: "Only metadata",
    Change.NONE: "Unchanged, with intervals to compute",
}


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a plan changes and computes; unchanged models are only counted."""
    _print_heading(heading(plan), console)
    _print_changed(plan, console)
    for change, title in _SECTIONS.items():
        found = [each for each in plan.changes if each.change is change and matters(plan, each)]
        if found:
            _print_section(plan, title, found, console)
    _print_stale(plan, console)
    console.print()
    for line in totals(plan):
        _print(console, line)


def print_work(plan: Plan, console: Console) -> None:
    """Print what a plan computes, of models that stay as they are."""
    _print_heading(heading(plan, "Run of"), console)
    due = [each for each in plan.changes if matters(plan, each)]
    if due:
        _print_section(plan, "Due", due, console)
    _print_stale(plan, console)
    console.print()
    for line in work_totals(plan):
        _print(console, line)
    for line in remarks(plan):
        _print(console, line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Branch:
    """An edited model, with the downstream models for which it is the nearest edited one."""

    change: ModelChange
    below: list[ModelChange] = field(default_factory=list)
    kept: list[ModelChange] = field(default_factory=list)


def _branches(plan: Plan) -> list[_Branch]:
    """The edited models, each with those downstream. A model is listed once, under the last one."""
    changes = {each.name: each for each in plan.changes}
    order = {name: number for number, name in enumerate(changes)}
    nearest = _nearest(plan, changes)
    branches = {
        name: _Branch(change=each) for name, each in changes.items() if each.change is Change.DIRECT
    }
    for name, each in changes.items():
        if each.change is not Change.INDIRECT:
            continue
        root = max(nearest[name], key=order.__getitem__, default=name)
        if root == name:
            branches[name] = _Branch(change=each)
        elif _is_kept(each):
            branches[root].kept.append(each)
        else:
            branches[root].below.append(each)
    return list(branches.values())


def _nearest(
    plan: Plan, changes: Mapping[ModelName, ModelChange]
) -> dict[ModelName, tuple[ModelName, ...]]:
    """For each model the nearest edited ones upstream: with no edited one in between."""
    found: dict[ModelName, tuple[ModelName, ...]] = {}
    for node in plan.graph:
        upstream: dict[ModelName, None] = {}
        for parent in node.model.parents:
            if changes[parent].change is Change.DIRECT:
                upstream[parent] = None
            else:
                upstream |= dict.fromkeys(found[parent])
        found[node.name] = tuple(upstream)
    return found


def _is_kept(change: ModelChange) -> bool:
    """Whether nothing happens to a model, although one upstream was edited."""
    same = change.version == change.previous_version
    return same and not change.to_evaluate and not change.skipped


def _print_changed(plan: Plan, console: Console) -> None:
    branches = _branches(plan)
    if not branches:
        return
    _print_title("Changed", console)
    below = max(_FEWEST, MOST // len(branches)) if len(branches) > 1 else MOST
    for branch in branches[:MOST]:
        _print_branch(plan, branch, below, console)
    left = branches[MOST:]
    if left:
        others = sum(len(each.below) + len(each.kept) for each in left)
        _print(console, f"... and {len(left):,} more, with {others:,} downstream ({_ALL})")


def _print_branch(plan: Plan, branch: _Branch, most: int, console: Console) -> None:
    from vde_dagster.cli.change_text import details, head

    def is_rebuilt(change: ModelChange) -> bool:
        return change.category is Category.INDIRECT_BREAKING

    below = sorted(branch.below, key=is_rebuilt, reverse=True)
    more = len(below) - most
    notes = [f"... and {more:,} more downstream ({_ALL})"] if more > 0 else []
    notes += _kept_notes(branch.kept)
    rail = _guides(console)
    stem = rail.through if below or notes else rail.blank
    _print(console, head(branch.change))
    for line in details(plan, branch.change):
        _print(console, line, first=stem, rest=stem)
    shown = below[:most]
    for number, change in enumerate(shown, 1):
        last = number == len(shown) and not notes
        stem = rail.blank if last else rail.through
        _print(console, head(change), first=rail.last if last else rail.branch, rest=stem)
        for line in details(plan, change):
            _print(console, line, first=stem + rail.blank, rest=stem + rail.blank)
    for number, note in enumerate(notes, 1):
        last = number == len(notes)
        _print(
            console,
            note,
            first=rail.last if last else rail.branch,
            rest=rail.blank if last else rail.through,
        )


def _kept_notes(kept: Sequence[ModelChange]) -> Iterator[str]:
    """How many models keep their versions, by the reason that each has in JSON, too."""
    reasons = Counter(_why_kept(each) for each in kept).most_common()
    for reason, number in reasons[:_FEWEST]:
        said = "keeps its version" if number == 1 else "keep their versions; of each"
        yield f"{number:,} downstream {said}: {reason}"
    others = sum(number for _, number in reasons[_FEWEST:])
    if others:
        yield f"... and {others:,} more downstream with other reasons ({_ALL})"


def _why_kept(change: ModelChange) -> str:
    if change.decided_by is DecidedBy.DATA:
        return "what it reads has equal rows"
    return sentence(change.reasons[-1]) if change.reasons else "nothing of it changes"


def _print_section(
    plan: Plan, title: str, changes: Sequence[ModelChange], console: Console
) -> None:
    from rich.text import Text

    from vde_dagster.cli.change_text import MARKS, version_and_work

    _print_title(title, console)
    shown = changes[:MOST]
    width = min(_NAME, max(len(str(each.name)) for each in shown))
    for change in shown:
        mark, style, _ = MARKS[change.change]
        line = Text(f"{mark} {str(change.name).ljust(width)}  ", style=style)
        if change.change is Change.METADATA:
            line.append("; ".join(sentences(change.reasons)), style="dim")
        else:
            line.append_text(version_and_work(plan, change))
        _print(console, line, rest="    ")
    if len(changes) > MOST:
        _print(console, f"... and {len(changes) - MOST:,} more ({_ALL})")


def _print_stale(plan: Plan, console: Console) -> None:
    """The models with stale intervals, each with why."""
    from vde_dagster.core.planning.plan_text import late_or_changed

    stale = [each for each in plan.changes if each.staleness is not None]
    if not stale:
        return
    _print_title("Late or changed upstream", console)
    width = min(_NAME, max(len(str(each.name)) for each in stale[:MOST]))
    for change in stale[:MOST]:
        for number, line in enumerate(late_or_changed(plan, change)):
            name = str(change.name) if number == 0 else ""
            _print(console, f"  {name.ljust(width)}  {line}", rest="    ")
    if len(stale) > MOST:
        _print(console, f"... and {len(stale) - MOST:,} more ({_ALL})")


def _print_heading(text: str, console: Console) -> None:
    from rich.text import Text

    _print(console, Text(text, style="bold"))


def _print_title(title: str, console: Console) -> None:
    console.print(f"\n{title}", style="bold underline")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guides:
    """The lines of a tree."""

    branch: str = "├─ "
    last: str = "└─ "
    through: str = "│  "
    blank: str = "   "


def _guides(console: Console) -> _Guides:
    try:
        "├└│─".encode(console.encoding)
    except UnicodeEncodeError:
        return _Guides(branch="|- ", last="`- ", through="|  ")
    return _Guides()


def _print(console: Console, line: Text | str, *, first: str = "", rest: str = "  ") -> None:
    """Print a line; if it is too long it goes on in the next lines, behind ``rest``.

    No line ends within a command, so that each can be copied.
    """
    from rich.text import Text

    text = Text(line) if isinstance(line, str) else line.copy()
    text.plain = glued(text.plain)
    longest = max((len(each) for each in text.plain.split() if unglued(each) != each), default=0)
    width = max(_NAME // 2, console.width - max(len(first), len(rest)), longest)
    for number, part in enumerate(text.wrap(console, width)):
        part.rstrip()
        part.plain = unglued(part.plain)
        guide = (rest if number else first, "dim")
        console.print(Text.assemble(guide, part), soft_wrap=True)
