"""What a restatement evaluates again: of a model, and of everything downstream.

A restated range is made of whole units that are loaded; what is not loaded is missing anyway. Kinds
that are not idempotent are restated as a whole (seed 001: *partial data restatement is not
supported*), and so is what has no intervals.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import affected
from vde_dagster.core.time.intervals import END_OF_TIME, EVER, Interval, common, merge, subtract
from vde_dagster.core.time.schedule import looked_back


class RestatementRefused(Refused):
    """A model keeps what it holds, by its own ``disable_restatement``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restatement:
    """What is evaluated again, parents first.

    ``kept`` are downstream models that read what is restated and keep what they hold, since they
    set ``disable_restatement``. ``foreign`` are models that would be evaluated again, also those
    that were asked for, and whose versions another environment writes; what reads them is not
    evaluated again for their sake.
    """

    ranges: Mapping[ModelName, tuple[Interval, ...]]
    kept: tuple[ModelName, ...] = ()
    foreign: tuple[ModelName, ...] = ()


def both(one: Restatement, other: Restatement) -> Restatement:
    """What two reasons evaluate again; what one of them evaluates, the other does not leave out."""
    names = dict.fromkeys((*one.ranges, *other.ranges))
    ranges = {
        name: merge((*one.ranges.get(name, ()), *other.ranges.get(name, ()))) for name in names
    }
    kept = dict.fromkeys((*one.kept, *other.kept))
    foreign = dict.fromkeys((*one.foreign, *other.foreign))
    return Restatement(
        ranges=ranges,
        kept=tuple(each for each in kept if each not in ranges),
        foreign=tuple(each for each in foreign if each not in ranges),
    )


def restated_ranges(
    model: Model, wanted: Iterable[Interval], loaded: Sequence[Interval]
) -> tuple[Interval, ...]:
    """What of a model is evaluated again, so that ``wanted`` is: contiguous ranges that are loaded.

    Args:
        model: The model.
        wanted: Any times.
        loaded: What its version's table holds.
    """
    bounded = common(wanted, [EVER])
    touched = common(loaded, [model.unit.widen(each) for each in bounded])
    return merge(loaded) if touched and model.kind.restates_whole else touched


def restate_all(
    graph: Graph,
    names: Collection[ModelName],
    wanted: Interval,
    loaded: Mapping[ModelName, Sequence[Interval]],
    writes: Container[ModelName] | None = None,
) -> Restatement:
    """What restating models (or sources, or views) over some time evaluates again.

    A downstream model is evaluated again for the intervals that read restated rows
    (docs/inside/architecture.md). A source and a view have no rows that we write: their readers are
    restated, as far as they read the source or the tables behind the view.

    Args:
        graph: The models.
        names: What was asked for.
        wanted: The time that was asked for.
        loaded: What each version holds; nothing where a model is not in it.
        writes: The models whose versions may be written (rule R9); all of them where it is None.

    Raises:
        RestatementRefused: Models that were asked for set ``disable_restatement``.
    """
    _refuse_kept(graph[name].model for name in sorted(names))
    return read_again(
        graph,
        dict.fromkeys(names, (wanted,)),
        loaded,
        writes=writes,
        changed=dict.fromkeys(_others_tables(graph, names), (wanted,)),
    )


def read_again(
    graph: Graph,
    wanted: Mapping[ModelName, Sequence[Interval]],
    loaded: Mapping[ModelName, Sequence[Interval]],
    *,
    writes: Container[ModelName] | None = None,
    changed: Mapping[ModelName, tuple[Interval, ...]] | None = None,
    roots: Collection[ModelName] = (),
) -> Restatement:
    """What evaluating times of models again evaluates again, with all that reads these.

    Args:
        graph: The models.
        wanted: The times of each model; downstream models are found.
        loaded: What each version holds; nothing where a model is not in it.
        writes: The models whose versions may be written (rule R9); all of them where it is None.
        changed: Times at which other tables have other rows, for those who are reached.
        roots: Models that are not evaluated again, and whose readers are reached all the same.
    """
    ranges: dict[ModelName, tuple[Interval, ...]] = {}
    kept: list[ModelName] = []
    foreign: list[ModelName] = []
    changed = dict(changed or {})
    reached = {*wanted, *roots}
    for node in graph:
        if node.name not in wanted and reached.isdisjoint(node.model.parents):
            continue
        reached.add(node.name)
        model, holds = node.model, loaded.get(node.name, ())
        if not model.kind.stores_rows or not holds:
            continue  # its readers are known to read what it reads
        times = (*units_reading(graph, node, changed, holds), *wanted.get(node.name, ()))
        found = restated_ranges(model, times, holds)
        if not found:
            continue
        if writes is not None and node.name not in writes:
            foreign.append(node.name)
        elif model.kind.disable_restatement:
            kept.append(node.name)
        else:
            ranges[node.name] = changed[node.name] = found
    return Restatement(ranges=ranges, kept=tuple(kept), foreign=tuple(foreign))


def reached(
    node: Node, times: tuple[Interval, ...], recorded: Sequence[Interval]
) -> tuple[Interval, ...]:
    """The times at which a model may have other rows if these of its intervals are evaluated.

    One that reads itself goes on after them, while its intervals come out otherwise.
    """
    if not (times and node.model.reads_itself):
        return times
    after = Interval(times[0].start, END_OF_TIME)
    return merge((*times, *common([after], recorded)))


def asked_again(graph: Graph, names: Collection[ModelName]) -> frozenset[ModelName]:
    """The models whose rows are wanted again by a request to restate these (rule R2).

    A source and a view have no rows that we write: it is their readers whose rows are meant. All
    other downstream models are compared again, and computed only if what they read has changed.
    """
    meant = {name for name in names if graph[name].model.kind.stores_rows}
    waiting = {name for name in names if name not in meant}
    for node in graph:
        if not waiting.isdisjoint(node.model.parents):
            (meant if node.model.kind.stores_rows else waiting).add(node.name)
    return frozenset(meant)


def _refuse_kept(models: Iterable[Model]) -> None:
    refused = [model for model in models if model.kind.disable_restatement]
    if refused:
        named = ", ".join(f"{each.name} ({each.place})" for each in refused)
        kinds = ", ".join(dict.fromkeys(each.kind.keyword for each in refused))
        raise RestatementRefused(
            f"{named} sets disable_restatement, so its rows are kept; nothing was done",
            advice="To restate it, write `disable_restatement false` among the options of its "
            f"kind {kinds}, apply a plan, and restate again.",
        )


def _others_tables(graph: Graph, names: Iterable[ModelName]) -> set[ModelName]:
    """Sources; and all that views read, also through others. Nothing of models with rows."""
    found: set[ModelName] = set()
    seen = set(names)
    waiting = list(seen)
    while waiting:
        name = waiting.pop()
        model = graph[name].model
        if model.kind.is_source:
            found.add(name)
        elif model.kind.is_inlined:
            found.update(model.parents)
            waiting += [each for each in model.parents if each not in seen]
            seen.update(model.parents)
    return found


def units_reading(
    graph: Graph,
    node: Node,
    changed: Mapping[ModelName, tuple[Interval, ...]],
    loaded: Sequence[Interval],
) -> tuple[Interval, ...]:
    """The units of what a model holds that read something that changed, views looked through."""
    if not any(changed.values()):
        return ()  # without a look at the model's query
    reads, model = reads_of(graph, node.name), node.model
    within = Interval(loaded[0].start, loaded[-1].end)
    return merge(
        time
        for name in reads.demands
        for time in affected(
            *(reads, name, changed.get(name, ())),
            unit=model.unit,
            within=within,
            at_once=not model.kind.is_by_interval,
        )
    )


def why_never_again(model: Model) -> str:
    """Why the rows of a model cannot be computed again once they are missing; empty if they can."""
    if model.kind.keeps_history and model.kind.order is None:
        return "a history keeps the states observed at the time, which cannot be observed again"
    if model.kind.disable_restatement:
        return "it sets disable_restatement, so its rows are never computed again"
    return ""


def computed_again(model: Model, environment: str, *, is_shown: bool = False) -> str:
    """How a person has a model computed again as a whole, for people, where that is possible.

    A version that the environment shows is computed by a run, which leaves edits of files alone.
    """
    why = why_never_again(model)
    if why:
        return (
            f"It is not computed again: {why}. Write another `stamp` in the model, which gives "
            f"it a new table, then plan again: `vde plan {environment}`."
        )
    if is_shown:
        return f"compute it again: `vde run {environment} --restate-model {model.name}`."
    return f"compute it again: `vde plan {environment} --restate-model {model.name}`."


def never_again(model: Model, computed: Sequence[Interval]) -> tuple[Interval, ...]:
    """What of a model stays as it was computed, whatever is requested: all but its lookback."""
    if not model.kind.disable_restatement:
        return ()
    return subtract(computed, looked_back(model, computed))
