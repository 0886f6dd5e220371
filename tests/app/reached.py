"""Which intervals of generated models changes can reach, by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.app.generated_models import LOOKED_THROUGH, Made
from vde_dagster.core.time.intervals import Interval, IntervalUnit, merge

Times = Mapping[str, Sequence[Interval]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Which times of each model changes can reach; all times of those in ``whole``."""

    times: Mapping[str, tuple[Interval, ...]]
    whole: frozenset[str]

    def has(self, name: str, interval: Interval) -> bool:
        """Whether changes can reach an interval of a model."""
        if name in self.whole:
            return True
        return any(each.intersection(interval) for each in self.times.get(name, ()))


def reached(models: Sequence[Made], loaded: Times, changed: Times, whole: Iterable[str]) -> Reached:
    """By brute force, the intervals that read what has changed, directly or through others.

    Args:
        models: All models, parents first.
        loaded: The loaded intervals of each model, one by one.
        changed: The times that have other rows than before, of sources and models.
        whole: Models and sources of which anything may have changed.
    """
    times: dict[str, tuple[Interval, ...]] = {name: tuple(each) for name, each in changed.items()}
    everything = set(whole)
    units = {f"gen.{each.name}": each.unit for each in models if each.is_by_time}
    for each in models:
        name = f"gen.{each.name}"
        mine = list(times.get(name, ()))
        for parent in each.parents:
            is_moved = parent in everything or bool(times.get(parent))
            if not is_moved:
                continue
            if each.form in LOOKED_THROUGH:
                mine += times.get(parent, ())
                if parent in everything:
                    everything.add(name)
            elif parent in everything or not each.is_by_time or each.window(parent) is None:
                everything.add(name)
            else:
                unit = units.get(parent, each.unit)
                mine += _readers(each, parent, loaded.get(name, ()), times[parent], unit)
        times[name] = merge(mine)
        if mine and not each.is_by_time and each.form not in LOOKED_THROUGH:
            everything.add(name)  # its rows belong to no intervals that others could read
    return Reached(times=times, whole=frozenset(everything))


def _readers(
    model: Made,
    parent: str,
    loaded: Iterable[Interval],
    changed: Sequence[Interval],
    unit: IntervalUnit,
) -> Iterator[Interval]:
    window = model.window(parent)
    assert window is not None, "a model that reads all of a table is reached as a whole"
    before, after = window
    finer = unit if unit is IntervalUnit.DAY else model.unit if model.daily else unit
    for each in loaded:
        read = finer.widen(Interval(each.start - before, each.end + after))
        if any(time.intersection(read) for time in changed):
            yield each
