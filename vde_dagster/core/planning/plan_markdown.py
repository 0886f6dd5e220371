"""A plan as Markdown: what changes and why, what is computed, and what is left as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vde_dagster.core.ledger.schema_changes import described
from vde_dagster.core.listing import first
from vde_dagster.core.planning.changes.difference import Change, DecidedBy
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.plan_text import (
    CHANGE_WORDS,
    MOST,
    heading,
    late_or_changed,
    matters,
    nothing_to_plan,
    nothing_to_run,
    remarks,
    totals,
    version_text,
    words,
    work_text,
    work_totals,
)

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<|])")
_HEAD: Final = ("| model | change | version | work |", "| --- | --- | --- | --- |")


def plan_markdown(plan: Plan, waiting: Sequence[str] = ()) -> str:
    """A plan for review. Models that stay as they are, and long lists, are only counted.

    Args:
        plan: The plan.
        waiting: What models wait for that the plan does not evaluate, a line for each.
    """
    if not plan.is_empty:
        return _document(plan, heading(plan), [*totals(plan), *_most(waiting)])
    said = [nothing_to_plan(plan, waits=bool(waiting)), *remarks(plan)]
    return _document(plan, heading(plan), [*said, *_most(waiting)])


def run_markdown(plan: Plan, waiting: Sequence[str] = ()) -> str:
    """What a run computes, of models that stay as they are; ``waiting`` as for a plan."""
    said = [*work_totals(plan)]
    if plan.is_empty:
        said = [f"{nothing_to_run(plan, waits=bool(waiting))}."]
    return _document(plan, heading(plan, "Run of"), [*said, *remarks(plan), *_most(waiting)])


def _most(lines: Sequence[str]) -> list[str]:
    return first(lines, MOST, "and {:,} more wait.")


def _document(plan: Plan, title: str, said: Sequence[str]) -> str:
    shown = [] if plan.is_empty else [each for each in plan.changes if matters(plan, each)]
    parts = [
        [f"## {escaped(title)}"],
        [f"- {escaped(line)}" for line in said],
        [*_table(plan, shown)],
        [*_reasons(shown)],
        [*_stale(plan)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _table(plan: Plan, changes: Sequence[ModelChange]) -> Iterator[str]:
    if not changes:
        return
    yield from _HEAD
    for change in changes[:MOST]:
        cells = [
            f"`{change.name}`",
            escaped(_change(change)),
            escaped(version_text(change)),
            escaped("; ".join(work_text(plan, change))),
        ]
        yield f"| {' | '.join(cells)} |"
    if len(changes) > MOST:
        yield f"| and {len(changes) - MOST:,} more | | | |"


def _change(change: ModelChange) -> str:
    """What happens to a model, its category, and who decided that."""
    said = [CHANGE_WORDS[change.change]]
    if change.category is not None:
        said.append(words(change.category))
    if change.decided_by is DecidedBy.PERSON:
        said.append("decided by a person")
    elif change.undecidable:
        said.append("undecidable")
    return ", ".join(said)


def _reasons(changes: Sequence[ModelChange]) -> Iterator[str]:
    """Why each edited model has its category, and what that changes of its table in place."""
    found = [each for each in changes if each.change in (Change.DIRECT, Change.METADATA)]
    if not found:
        return
    yield "### Why"
    yield ""
    for change in found[:MOST]:
        for reason in sentences(change.reasons):
            yield f"- `{change.name}`: {escaped(reason)}"
        for each in change.schema_changes:
            yield f"- `{change.name}`: in place: {escaped(described(each))}"
        for identity in change.identity_changes:
            yield f"- `{change.name}`: on rows that stay: {escaped(str(identity))}"


def _stale(plan: Plan) -> Iterator[str]:
    """The models with stale intervals; those of an empty plan are among its remarks."""
    stale = [each for each in plan.changes if each.staleness is not None and not plan.is_empty]
    if not stale:
        return
    yield "### Late or changed upstream"
    yield ""
    for change in stale[:MOST]:
        for line in late_or_changed(plan, change):
            yield f"- `{change.name}`: {escaped(line)}"
    if len(stale) > MOST:
        yield f"- and {len(stale) - MOST:,} more"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, in one line; what stands in backticks is code."""
    line = " ".join(text.split())
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return _SPECIAL.sub(r"\\\1", line)
    return "`".join(
        part.replace("|", r"\|") if number % 2 else _SPECIAL.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )
