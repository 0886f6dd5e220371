"""What a plan says about one model, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.text import Text

from vde_dagster.core.ledger.schema_changes import described
from vde_dagster.core.listing import first
from vde_dagster.core.planning.changes.difference import Change, DecidedBy, Difference
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan_text import CHANGE_WORDS, version_text, words, work_text

if TYPE_CHECKING:
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
        text.append(" (decided by a person)", style="not bold")
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
