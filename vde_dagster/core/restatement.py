"""What a restatement evaluates again: of a model, and of everything below it.

A restated range is made of whole units that are held; what is not held is missing anyway. Kinds
that are not idempotent are restated as a whole (seed 001: *partial data restatement is not
supported*), and so is what has no intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.intervals import Interval, common, merge
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
from vde_dagster.core.model import Model, Window
from vde_dagster.core.names import ModelName
from vde_dagster.core.schedule import TIME, readers_of

Reads = Callable[[Node], Mapping[ModelName, Window | None]]
"""What evaluating a model reads of which table; None for all of it.

Tables below a VIEW or EMBEDDED parent may stand beside its name or in its place. A window that is
too wide restates too much; one that is too narrow leaves wrong rows."""


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


def declared_reads(node: Node) -> Mapping[ModelName, Window | None]:
    """The windows that ``depends_on`` declares; all of every other parent."""
    return {parent: node.model.windows.get(parent) for parent in node.model.parents}


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
    bounded = common(wanted, [TIME])
    touched = common(held, [model.unit.widen(each) for each in bounded])
    return merge(held) if whole and touched else touched


def restate(
    graph: Graph,
    name: ModelName,
    wanted: Interval,
    held: Mapping[ModelName, Sequence[Interval]],
    *,
    whole: Callable[[Model], bool],
    reads: Reads = declared_reads,
) -> Restatement:
    """What restating a model (or a source, or a view) over some time evaluates again.

    A source and a view have no rows of ours: their readers are restated.

    Args:
        graph: The models.
        name: What was asked for.
        wanted: The time that was asked for.
        held: What each version holds; nothing where a model is not in it.
        whole: Whether a model can only be restated as a whole.
        reads: What each model reads.

    Raises:
        RestatementRefused: The model sets ``disable_restatement``.
    """
    _refuse_kept(graph[name].model)
    ranges: dict[ModelName, tuple[Interval, ...]] = {}
    kept: list[ModelName] = []
    changed: dict[ModelName, tuple[Interval, ...]] = {}
    changed.update(dict.fromkeys(_below_views(graph, graph[name], reads), (wanted,)))
    below = {name}
    for node in graph:
        if node.name != name and below.isdisjoint(node.model.parents):
            continue
        below.add(node.name)
        times = (wanted,) if node.name == name else _read_again(reads(node), changed)
        if isinstance(node.model.kind, View | Embedded | External):
            changed[node.name] = times
            continue
        model, holds = node.model, held.get(node.name, ())
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


def _below_views(graph: Graph, node: Node, reads: Reads) -> Iterator[ModelName]:
    """Everything that a view reads, also through others: its readers may know it by these."""
    if isinstance(node.model.kind, View | Embedded):
        for name in reads(node):
            yield name
            yield from _below_views(graph, graph[name], reads)


def _read_again(
    read: Mapping[ModelName, Window | None],
    changed: Mapping[ModelName, tuple[Interval, ...]],
) -> tuple[Interval, ...]:
    """The times whose evaluation reads something that changed; all time for who reads a whole."""
    times: list[Interval] = []
    for name, window in read.items():
        for each in changed.get(name, ()):
            times += [TIME] if window is None else readers_of(each, window)
    return merge(times)


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
