"""A plan for people: what changes, the effects downstream, and what has to be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.text import Text

from vde_dagster.cli.printing import glued, unglued
from vde_dagster.core.ledger.schema_changes import described
from vde_dagster.core.listing import first
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.difference import Change, DecidedBy, Difference
from vde_dagster.core.planning.changes.reason_values import sentence, sentences
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.plan_text import (
    CHANGE_WORDS,
    MOST,
    heading,
    late_or_changed,
    matters,
    remarks,
    totals,
    version_text,
    words,
    work_text,
    work_totals,
)

if TYPE_CHECKING:
    from rich.console import Console

    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.plan import ModelChange, Plan


_STYLES: Final = {
    Change.ADDED: ("+", "green"),
    Change.REMOVED: ("-", "red"),
    Change.DIRECT: ("~", "yellow"),
    Change.INDIRECT: ("~", "magenta"),
    Change.METADATA: ("~", "blue"),
    Change.NONE: (" ", ""),
}
MARKS: Final = {each: (*style, CHANGE_WORDS[each]) for each, style in _STYLES.items()}
"""Mark, style and word of each change."""
_REASONS: Final = 5


def head(change: ModelChange | Difference, *, changed: bool = True, of: str = "") -> Text:
    """The line that names a model and its category.

    Args:
        change: What happens to it.
        changed: Whether an edited model is called changed, too.
        of: What follows the category.
    """
    mark, style, word = MARKS[change.change]
    text = Text(f"{mark} {change.name}", style=f"bold {style}".strip())
    said = words(change.category) if change.category is not None else word
    if changed and change.change is Change.DIRECT and said != word:
        said = f"{word}, {said}"
    text.append(f"  {said}{of}", style=f"not bold {style}".strip())
    if change.decided_by is DecidedBy.PERSON:
        text.append(" (decided by a user)", style="not bold")
    elif change.undecidable:
        text.append(" (undecidable)", style="not bold")
    return text


def details(plan: Plan, change: ModelChange) -> Iterator[Text]:
    """The lines under it: reasons, changes of the table in place, versions, and the work."""
    for reason in first(sentences(change.reasons), _REASONS, "... and {:,} more reasons"):
        yield Text(reason, style="dim")
    for each in change.schema_changes:
        yield Text(f"in place: {described(each)}")
    for identity in change.identity_changes:
        yield Text(f"on rows that stay: {identity}")
    yield version_and_work(plan, change)


def version_and_work(plan: Plan, change: ModelChange) -> Text:
    """The versions of a model, and what has to be computed of it."""
    text = Text(version_text(change), style="cyan")
    work = "; ".join(work_text(plan, change))
    if work:
        text.append(f"  {work}", style="default")
    return text


_FEWEST: Final = 3
_ALL: Final = "--format json lists all"
_NAME: Final = 40
"""Names up to this length make a column."""
_BLANK: Final = "   "
_SECTIONS: Final = {
    Change.ADDED: "New",
    Change.REMOVED: "Removed",
    Change.METADATA: "Only metadata",
    Change.NONE: "Unchanged, with intervals to compute",
}
_Line = tuple[Text | str, str, str]
"""A text, what stands before its first line, and before the others where it is too long."""


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a plan changes and computes; unchanged models are only counted."""
    titled = {
        title: [each for each in plan.changes if each.change is change and matters(plan, each)]
        for change, title in _SECTIONS.items()
    }
    sections = (line for each in titled.items() for line in _section(plan, *each))
    changed = _changed(plan, _guides(console))
    _print(console, heading(plan), [*changed, *sections, *_stale(plan)], totals(plan))


def print_work(plan: Plan, console: Console) -> None:
    """Print what a plan computes, of models that stay as they are."""
    due = [each for each in plan.changes if matters(plan, each)]
    lines = [*_section(plan, "Due", due), *_stale(plan)]
    _print(console, heading(plan, "Run of"), lines, [*work_totals(plan), *remarks(plan)])


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


def _changed(plan: Plan, guides: tuple[str, str, str]) -> Iterator[_Line]:
    branches = _branches(plan)
    if not branches:
        return
    yield _title("Changed")
    below = max(_FEWEST, MOST // len(branches)) if len(branches) > 1 else MOST
    for branch in branches[:MOST]:
        yield from _branch_lines(plan, branch, below, guides)
    left = branches[MOST:]
    if left:
        others = sum(len(each.below) + len(each.kept) for each in left)
        yield f"... and {len(left):,} more, with {others:,} downstream ({_ALL})", "", "  "


def _branch_lines(
    plan: Plan, branch: _Branch, most: int, guides: tuple[str, str, str]
) -> Iterator[_Line]:
    below = sorted(
        branch.below, key=lambda each: each.category is Category.INDIRECT_BREAKING, reverse=True
    )
    more = len(below) - most
    notes = [f"... and {more:,} more downstream ({_ALL})"] if more > 0 else []
    twigs: list[tuple[Text | str, list[Text]]] = [
        *((head(each), [*details(plan, each)]) for each in below[:most]),
        *((note, []) for note in (*notes, *_kept_notes(branch.kept))),
    ]
    middle, last, through = guides
    stem = through if twigs else _BLANK
    yield head(branch.change), "", "  "
    yield from ((line, stem, stem) for line in details(plan, branch.change))
    for number, (text, lines) in enumerate(twigs, 1):
        mark, stem = (last, _BLANK) if number == len(twigs) else (middle, through)
        yield text, mark, stem
        yield from ((line, stem + _BLANK, stem + _BLANK) for line in lines)


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
        return "its inputs have equal rows"
    return sentence(change.reasons[-1]) if change.reasons else "it does not change"


def _section(plan: Plan, title: str, changes: Sequence[ModelChange]) -> Iterator[_Line]:
    if not changes:
        return
    yield _title(title)
    width = _width(changes)
    for change in changes[:MOST]:
        mark, style, _ = MARKS[change.change]
        line = Text(f"{mark} {str(change.name).ljust(width)}  ", style=style)
        if change.change is Change.METADATA:
            line.append("; ".join(sentences(change.reasons)), style="dim")
        else:
            line.append_text(version_and_work(plan, change))
        yield line, "", "    "
    yield from _more(changes)


def _stale(plan: Plan) -> Iterator[_Line]:
    """The models with stale intervals, each with why."""
    stale = [each for each in plan.changes if each.staleness is not None]
    if not stale:
        return
    yield _title("Late or changed inputs")
    width = _width(stale)
    for change in stale[:MOST]:
        for number, line in enumerate(late_or_changed(plan, change)):
            name = str(change.name) if number == 0 else ""
            yield f"  {name.ljust(width)}  {line}", "", "    "
    yield from _more(stale)


def _width(changes: Sequence[ModelChange]) -> int:
    return min(_NAME, max(len(str(each.name)) for each in changes[:MOST]))


def _more(changes: Sequence[ModelChange]) -> Iterator[_Line]:
    if len(changes) > MOST:
        yield f"... and {len(changes) - MOST:,} more ({_ALL})", "", "  "


def _title(title: str) -> _Line:
    return Text(f"\n{title}", style="bold underline"), "", ""


def _guides(console: Console) -> tuple[str, str, str]:
    """The lines of a tree: to one in the middle, to the last one, and past one."""
    unicode = ("├─ ", "└─ ", "│  ")
    try:
        "".join(unicode).encode(console.encoding)
    except UnicodeEncodeError:
        return ("|- ", "`- ", "|  ")
    return unicode


def _print(console: Console, title: str, lines: Iterable[_Line], ends: Iterable[str]) -> None:
    """Print a plan; what is too long for a line goes on in the next ones.

    No line ends within a command, so that each can be copied.
    """
    first = Text(title, style="bold")
    for line, guide, rest in (
        (first, "", "  "),
        *lines,
        ("", "", ""),
        *((e, "", "  ") for e in ends),
    ):
        text = Text(line) if isinstance(line, str) else line.copy()
        text.plain = glued(text.plain)
        longest = max(
            (len(word) for word in text.plain.split() if unglued(word) != word), default=0
        )
        width = max(_NAME // 2, console.width - max(len(guide), len(rest)), longest)
        for number, part in enumerate(text.wrap(console, width)):
            part.rstrip()
            part.plain = unglued(part.plain)
            console.print(Text.assemble((rest if number else guide, "dim"), part), soft_wrap=True)
