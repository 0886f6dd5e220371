"""What a restatement evaluates again: of a model, and of everything below it.

A restated range is made of whole units that are held; what is not held is missing anyway. Kinds
that are not idempotent are restated as a whole (seed 001: *partial data restatement is not
supported*), and so is what has no intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.intervals import END_OF_TIME, Interval, common, merge
from vde_dagster.core.kind import (
    Embedded,
    External,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    ScdType2ByColumn,
    ScdType2ByTime,
    View,
)
from vde_dagster.core.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.reads.input_ranges import affected
from vde_dagster.core.render_model import reads_of

_TIME: Final = Interval(datetime.min.replace(tzinfo=UTC), END_OF_TIME)


class RestatementRefused(Refused):
    """A model keeps what it holds, by its own ``disable_restatement``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restatement:
    """What is evaluated again, parents first.

    ``kept`` are models below that read what is restated and keep what they hold, since they set
    ``disable_restatement``.
    """

    ranges: Mapping[ModelName, tuple[Interval, ...]]
    kept: tuple[ModelName, ...] = ()


def restated_ranges(
    model: Model, wanted: Iterable[Interval], held: Sequence[Interval], *, whole: bool
) -> tuple[Interval, ...]:
    """What of a model is evaluated again, so that ``wanted`` is: contiguous ranges that are held.

    Args:
        model: The model.
        wanted: Any times.
        held: What its version's table holds.
        whole: Whether the model's kind can only be made anew from its start.
    """
    bounded = common(wanted, [_TIME])
    touched = common(held, [model.unit.widen(each) for each in bounded])
    return merge(held) if whole and touched else touched


def restate(
    graph: Graph,
    name: ModelName,
    wanted: Interval,
    held: Mapping[ModelName, Sequence[Interval]],
    *,
    whole: Callable[[Model], bool],
) -> Restatement:
    """What restating a model (or a source, or a view) over some time evaluates again.

    A model below is evaluated again where it reads what is (DESIGN.md section 4.1). A source and a
    view have no rows of ours: their readers are restated, as far as they read the tables below.

    Args:
        graph: The models.
        name: What was asked for.
        wanted: The time that was asked for.
        held: What each version holds; nothing where a model is not in it.
        whole: Whether a model can only be restated as a whole.

    Raises:
        RestatementRefused: The model sets ``disable_restatement``.
    """
    _refuse_kept(graph[name].model)
    ranges: dict[ModelName, tuple[Interval, ...]] = {}
    kept: list[ModelName] = []
    changed: dict[ModelName, tuple[Interval, ...]] = {}
    changed.update(dict.fromkeys(_others_tables(graph, name), (wanted,)))
    reached = {name}
    for node in graph:
        if node.name != name and reached.isdisjoint(node.model.parents):
            continue
        reached.add(node.name)
        model, holds = node.model, held.get(node.name, ())
        if isinstance(model.kind, View | Embedded | External) or not holds:
            continue  # its readers are known to read what lies below it
        times = (wanted,) if node.name == name else _read_again(graph, node, changed, holds)
        found = restated_ranges(model, times, holds, whole=whole(model))
        if found and forbids_restatement(model):
            kept.append(node.name)
        elif found:
            ranges[node.name] = changed[node.name] = found
    return Restatement(ranges=ranges, kept=tuple(kept))


def _refuse_kept(model: Model) -> None:
    if forbids_restatement(model):
        raise RestatementRefused(
            f"{model.name} ({model.place}) sets disable_restatement, so what it holds is kept; "
            "nothing was done. To restate it, write `disable_restatement false` among the options "
            f"of its kind {model.kind.keyword}, apply a plan, and restate again."
        )


def _others_tables(graph: Graph, name: ModelName) -> Iterator[ModelName]:
    """A source; or all that a view reads, also through others. Nothing of a model with rows."""
    model = graph[name].model
    if isinstance(model.kind, External):
        yield name
    elif isinstance(model.kind, View | Embedded):
        for parent in model.parents:
            yield parent
            yield from _others_tables(graph, parent)


def _read_again(
    graph: Graph,
    node: Node,
    changed: Mapping[ModelName, tuple[Interval, ...]],
    held: Sequence[Interval],
) -> tuple[Interval, ...]:
    """The units of what a model holds that read something that changed."""
    reads, unit = reads_of(graph, node.name), node.model.unit
    within = Interval(held[0].start, held[-1].end)
    return merge(
        time
        for name, times in changed.items()
        for time in affected(reads, name, times, unit=unit, within=within)
    )


def forbids_restatement(model: Model) -> bool:
    """Whether a model's ``disable_restatement`` keeps what it holds (seed 001; SCD2's default)."""
    match model.kind:
        case (
            IncrementalByTimeRange(disable_restatement=True)
            | IncrementalByUniqueKey(disable_restatement=True)
            | IncrementalByPartition(disable_restatement=True)
            | IncrementalUnmanaged(disable_restatement=True)
            | ScdType2ByTime(disable_restatement=True)
            | ScdType2ByColumn(disable_restatement=True)
        ):
            return True
        case _:
            return False
