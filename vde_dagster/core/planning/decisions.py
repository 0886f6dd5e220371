"""Who decides what a change means: no one yet, or a person, whose choice wins and is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change, Rules
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.options import DECIDABLE
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.sql.unresolved import guess

Stored = Mapping[tuple[ModelName, str], ModelSnapshot]
"""Stored snapshots by name and digest of the fingerprint."""


class Mode(Enum):
    """When a person is asked for the category of a directly modified model.

    - ``AUTOMATIC``: never; what is not known is breaking.
    - ``ASK``: where it is not known.
    - ``ALWAYS``: for each of them.
    """

    AUTOMATIC = "automatic"
    ASK = "ask"
    ALWAYS = "always"


class DecisionsRefused(Refused, ValueError):
    """Decisions about models that there is nothing to decide about; all of them at once."""


def decided_rules(rules: Rules, *, before: Graph, after: Graph, stored: Stored) -> Rules:
    """The rules with what persons decided before: a stored snapshot is used as it is.

    Args:
        rules: The rules, with what is decided now.
        before: The models that are shown.
        after: The models of the project.
        stored: The snapshots of the project's models that an earlier plan stored.

    Raises:
        DecisionsRefused: With every decision of now that cannot be taken, and why.
    """
    refused = [
        why
        for name, category in sorted(rules.decisions.items())
        if (why := _why_not(name, category, before=before, after=after, stored=stored))
    ]
    if refused:
        raise DecisionsRefused("\n".join(refused))
    earlier = dict(earlier_decisions(before, after, stored))
    return replace(rules, decisions={**earlier, **rules.decisions}) if earlier else rules


def earlier_decisions(
    before: Graph, after: Graph, stored: Stored
) -> Iterator[tuple[ModelName, Category]]:
    """What was decided about the same edit: from the same definition to the same."""
    for (name, digest), snapshot in stored.items():
        if name not in before or name not in after or snapshot.category is None:
            continue
        shown = before[name].fingerprint.data_version
        current = after[name].fingerprint.digest == digest
        if current and snapshot.decided_by is DecidedBy.PERSON and snapshot.decided_from == shown:
            yield name, snapshot.category


def open_questions(plan: Plan, mode: Mode) -> tuple[ModelChange, ...]:
    """The edited models without a decision, about which a person is asked.

    A snapshot that is stored already is used as it is, so nothing is to be decided about it.
    """
    if mode is Mode.AUTOMATIC:
        return ()
    return tuple(
        each
        for each in plan.changes
        if each.change is Change.DIRECT
        and each.decided_by is DecidedBy.AUTOMATIC
        and each.name not in plan.stored
        and (each.undecidable or mode is Mode.ALWAYS)
    )


def undecided_text(questions: Sequence[ModelChange]) -> str:
    """Which decisions are missing, for people: how to give each, and what is known about it."""
    categories = "|".join(each.value for each in DECIDABLE)
    models = "one model needs" if len(questions) == 1 else f"{len(questions)} models need"
    lines = [f"{models} a decision. Say what each edit means, or pass --categorize automatic:"]
    for each in questions:
        lines.append(f"  --decide {each.name}={categories}")
        lines += [f"      {reason}" for reason in sentences(each.reasons)]
    return "\n".join(lines)


def _why_not(
    name: ModelName, category: Category, *, before: Graph, after: Graph, stored: Stored
) -> str | None:
    if name not in after:
        close = guess(str(name), [str(node.name) for node in after])
        return f"{name} cannot be decided: the project has no such model. {close}".rstrip()
    node = after[name]
    if name not in before:
        return f"{name} cannot be decided: it is new, so nothing depends on an earlier version."
    old = before[name].fingerprint
    if old == node.fingerprint:
        return f"{name} cannot be decided: it did not change."
    if old.data == node.fingerprint.data:
        what = "only metadata" if old.parent_data == node.fingerprint.parent_data else "only models"
        upstream = "" if what == "only metadata" else " upstream"
        return (
            f"{name} cannot be decided: {what}{upstream} changed. Only an edit of the model "
            "itself can be decided; everything downstream follows from it."
        )
    known = stored.get((name, node.fingerprint.digest))
    if known is not None and known.category is not category:
        return (
            f"{name} cannot be decided to be {category.value}: this model is already stored, "
            f"{_as_stored(known)}, and is reused. To decide again, change the model, for example "
            "its `stamp`."
        )
    return None


def _as_stored(known: ModelSnapshot) -> str:
    if known.category is None:
        return "as a new one"
    by = "by a person" if known.decided_by is DecidedBy.PERSON else "automatically"
    return f"decided {by} to be {known.category.value}"
