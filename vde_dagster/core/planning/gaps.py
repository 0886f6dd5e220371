"""What an environment shows of a model that another version of it does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Gap
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, common, subtract
from vde_dagster.core.time.schedule import lacking

_TIMELESS: Final = Interval(EPOCH, END_OF_TIME)
"""What a version without any time holds: a view, a seed."""


def lost_intervals(
    model: Model, shown: Sequence[Interval], loaded: Sequence[Interval]
) -> tuple[Interval, ...]:
    """What is shown of a model, is in the time that it has by itself, and is not loaded.

    Args:
        model: As it is now.
        shown: What the version that is shown holds.
        loaded: What the other version holds.
    """
    if _TIMELESS in shown:  # it says nothing about times
        return () if loaded else (_TIMELESS,)
    return common(subtract(shown, loaded), lacking(model, ()))


def find_gaps(
    graph: Graph,
    before: Mapping[ModelName, ModelSnapshot],
    after: Mapping[ModelName, ModelSnapshot],
    ledgers: Mapping[VersionKey, Holding],
    loaded: Mapping[ModelName, Sequence[Interval]],
) -> Iterator[Gap]:
    """The models that would show less than they do.

    Args:
        graph: The models as they will be.
        before: What is shown.
        after: What would be.
        ledgers: What the versions that are shown hold.
        loaded: What the versions that would be shown hold then, by model.
    """
    for node in graph:
        shown = before.get(node.name)
        if shown is None or shown.key == after[node.name].key:
            continue
        if not node.model.kind.is_physical:
            continue  # nothing of it is shown
        there = ledgers.get(shown.key)
        written = there.written if there is not None else ()
        # What is bounded begins later than what is shown: all that is before is lost.
        model = node.model if node.own_start is None else replace(node.model, start=node.own_start)
        lost = lost_intervals(model, written, loaded.get(node.name, ()))
        if lost:
            yield Gap(name=node.name, intervals=lost)
