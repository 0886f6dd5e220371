"""How often changes upstream reach a model by themselves: ``freshness`` and ``updates_on``.

Both are about *stale* intervals: those that are loaded, and would be computed from other rows now.
An interval that becomes due for the first time waits for neither, nor does what a person asks for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.model.model import Model, UpdatesOn
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.cron import Cron
from vde_dagster.core.time.intervals import (
    END_OF_TIME,
    format_duration,
    format_instant,
    parse_duration,
)

FRESHNESS: Final = "freshness"
UPDATES_ON: Final = "updates_on"
_SHORTEST: Final = timedelta(minutes=1)


class FreshnessInvalid(Refused, ValueError):
    """A freshness is not a length of time, or is too short."""


def parse_freshness(text: str, name: str = FRESHNESS) -> timedelta:
    """A length of time such as ``4 hours``, of at least a minute; ``name`` is the property.

    Raises:
        FreshnessInvalid: It is none, or a shorter one.
    """
    try:
        found = parse_duration(text)
    except (ValueError, OverflowError):
        raise FreshnessInvalid(
            f"{name} {text!r} is not a valid duration",
            advice="Write it like '4 hours' or '2 days'.",
        ) from None
    if found < _SHORTEST:
        raise FreshnessInvalid(
            f"{name} {text!r} is shorter than a minute",
            advice="Write it like '4 hours', or omit it to follow every change immediately.",
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Recompute:
    """Stale rows may be recomputed now."""

    changed: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Stale rows are left as they are for now.

    ``until`` is when they are old enough (UTC); None where they are. ``parents`` are those that
    have to change first. ``reason`` is for people.
    """

    until: datetime | None = None
    parents: tuple[ModelName, ...] = ()
    reason: str


def may_recompute(
    model: Model,
    *,
    now: datetime,
    computed_at: datetime,
    changed: Collection[ModelName],
    awaited: Collection[ModelName],
) -> Recompute | Wait:
    """Whether rows of a model that something upstream made stale may be recomputed by themselves.

    It is asked for each group of intervals that were computed together, and not once for a model:
    an hourly model is computed every hour, so its older hours would never be old enough.

    Args:
        model: The model; its ``freshness`` and ``updates_on`` decide.
        now: The wall clock, which ``computed_at`` is of.
        computed_at: When these rows were computed last.
        changed: The parents that have other rows since. At least one.
        awaited: Those whose change ``updates_on all`` waits for, see `awaited_parents`.
    """
    lacking = (
        tuple(sorted(name for name in awaited if name not in changed))
        if model.updates_on is UpdatesOn.ALL
        else ()
    )
    until = _old_enough(computed_at, model.freshness)
    if until is not None and until <= now:
        until = None
    if until is None and not lacking:
        return Recompute(changed=tuple(sorted(changed)))
    return Wait(until=until, parents=lacking, reason=_reason(model, changed, until, lacking))


def expected_within(model: Model) -> timedelta | None:
    """How old a model's latest result may become while all goes well; None without ``freshness``.

    That is the longest time between two ticks of its cron, in which nothing may have changed, and
    its ``freshness``, by which it may lag behind. A clock that is put forward or back in its zone
    adds an hour. What no cron makes due may be as old as what it reads.
    """
    if model.freshness is None or model.kind.is_timeless:
        return None
    shift = timedelta(hours=0 if model.cron_tz == "UTC" else 1)
    return Cron.parse(model.cron).longest_gap + shift + model.freshness


def awaited_parents(graph: Graph, name: ModelName, now: datetime) -> tuple[ModelName, ...]:
    """The parents of a model whose change ``updates_on all`` waits for: those with data to come.

    A VIEW or an EMBEDDED model has no rows of its own, and is replaced by what it reads. A SEED
    changes by a plan alone, a source has no known schedule, and a model that has ended gets no
    further rows: none of them is waited for.
    """
    read = tables_read(graph, graph[name])
    return tuple(sorted(each for each in read if _is_loaded_on(graph[each], now)))


def _is_loaded_on(node: Node, now: datetime) -> bool:
    model = node.model
    has_ended = model.end is not None and model.end <= now
    return not (model.kind.is_seed or model.kind.is_source or has_ended)


def _old_enough(computed_at: datetime, freshness: timedelta | None) -> datetime | None:
    if freshness is None:
        return None
    return computed_at + freshness if freshness < END_OF_TIME - computed_at else END_OF_TIME


def _reason(
    model: Model,
    changed: Collection[ModelName],
    until: datetime | None,
    lacking: tuple[ModelName, ...],
) -> str:
    """Such as: core.a has changed; waits until ... (freshness '4 hours') and for core.b."""
    names = ", ".join(map(str, sorted(changed)))
    waits: list[str] = []
    if until is not None and model.freshness is not None:
        waits.append(f"until {_written(until)} (freshness '{format_duration(model.freshness)}')")
    if lacking:
        waits.append(f"for a change of {', '.join(map(str, lacking))} (updates_on all)")
    return f"{names} changed, and it waits {' and '.join(waits)}"


def _written(instant: datetime) -> str:
    return f"{format_instant(instant.replace(microsecond=0))} UTC"
