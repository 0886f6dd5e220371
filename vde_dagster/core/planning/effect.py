"""From when on a forward-only change counts: what a promotion of it evaluates again.

A forward-only change keeps the table. With an instant, what the table has from there on is
evaluated again once the change is promoted, as by a restatement; what is before stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.plan import NotRestated
from vde_dagster.core.planning.resolution import Resolved
from vde_dagster.core.planning.restatement import Restatement, read_again
from vde_dagster.core.planning.workload import Holdings
from vde_dagster.core.time.intervals import END_OF_TIME, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The forward-only changes of a plan that count from an earlier instant on.

    ``since`` has that of the models whose table the environment may write, ``left`` why the others
    count only from now on here.
    """

    since: Mapping[ModelName, datetime] = field(default_factory=dict)
    left: Mapping[ModelName, str] = field(default_factory=dict)


def taking_effect(
    graph: Graph,
    resolved: Mapping[ModelName, Resolved],
    holdings: Holdings,
    every: datetime | None,
    some: Mapping[ModelName, datetime],
) -> Effect:
    """Which forward-only changes of a plan count from an earlier instant on.

    A change that is shown in a table of its own is none of them: that table begins there.

    Args:
        graph: The models.
        resolved: Their snapshots, and how each differs from what is shown.
        holdings: What their versions hold, and which of them the environment may write.
        every: The instant for all forward-only changes; None where there is none.
        some: Instants for models of which none is said so.
    """
    since: dict[ModelName, datetime] = {}
    left: dict[ModelName, str] = {}
    for name, found in resolved.items():
        instant = every or some.get(name)
        is_forward = found.difference.category is Category.FORWARD_ONLY
        model = graph[name].model
        is_shown_apart = not model.kind.stores_rows or found.snapshot.bounded is not None
        if instant is None or not is_forward or is_shown_apart:
            continue
        why = why_without_effect(model) or _why_not_here(name, holdings)
        if why:
            left[name] = why
        else:
            since[name] = instant
    return Effect(since=since, left=left)


def _why_not_here(name: ModelName, holdings: Holdings) -> str:
    if name in holdings.writes:
        return ""
    if name in holdings.paused:
        return "it is paused"
    owner = holdings.owners.get(name, PRODUCTION)
    return f"{owner} owns its table: plan {owner}"


def restated_from(
    graph: Graph, holdings: Holdings, since: Mapping[ModelName, datetime]
) -> Restatement:
    """What is evaluated again, so that changes count from these instants, and what reads that."""
    if not since:
        return Restatement(ranges={})
    return read_again(
        graph,
        {name: (Interval(instant, END_OF_TIME),) for name, instant in since.items()},
        holdings.recorded,
        writes=holdings.writes,
    )


def why_without_effect(model: Model) -> str:
    """Why a forward-only change of a model counts only from now on; empty if it need not.

    Only of kinds whose intervals are loaded one by one can some be evaluated again.
    """
    if model.kind.disable_restatement:
        return "it sets disable_restatement, so that its change counts from now on"
    if model.kind.is_by_interval and model.kind.restates_whole:
        return (
            f"{model.kind.keyword} builds each interval on the ones before it, so that its change "
            "counts from now on"
        )
    if model.kind.restates_whole:
        return "it is computed as a whole, by its change when it is computed next"
    return ""


def without_effect(effect: Effect, done: Restatement) -> Iterator[NotRestated]:
    """What keeps its rows although a forward-only change was to count from an earlier instant.

    Args:
        effect: The changes.
        done: The outcome of `restated_from`.
    """
    for name, why in effect.left.items():
        yield NotRestated(name=name, reason=why)
    for name in done.kept:
        yield NotRestated(name=name, reason="it sets disable_restatement")
