"""The properties ``freshness`` and ``updates_on``: when changes upstream recompute a model.

The freshness of a MANAGED table is called its ``target_lag``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from vde_dagster.core.graph.freshness import (
    FRESHNESS,
    UPDATES_ON,
    FreshnessInvalid,
    parse_freshness,
)
from vde_dagster.core.model.kinds import Embedded, External, Kind, Managed, Seed, View
from vde_dagster.core.model.kinds.managed import TARGET_LAG
from vde_dagster.core.model.model import UpdatesOn
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import read_choice

_ELSEWHERE: Final[Mapping[type[Kind], str]] = {
    View: "has no rows of its own, and shows every change at once",
    Embedded: "has no rows of its own, and its readers have every change",
    Seed: "is loaded by plans alone",
    External: "is written by others",
    Managed: "is kept fresh by its target_lag",
}
"""Kinds without these properties, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """Limits on how often a model is recomputed; see `vde_dagster.core.graph.freshness`."""

    freshness: timedelta | None
    updates_on: UpdatesOn


def read_updates(
    values: Mapping[str, Value], kind: Kind | None, defaults: Defaults, problems: Problems
) -> Updates:
    """What a model's properties ask for; else the project's defaults.

    The defaults apply to the kinds that are recomputed; another kind that asks for it is refused.
    """
    freshness, updates_on = defaults.freshness, defaults.updates_on
    if FRESHNESS in values:
        freshness = _freshness(values[FRESHNESS], problems)
    if UPDATES_ON in values:
        found = read_choice(values[UPDATES_ON], UPDATES_ON, UpdatesOn, problems)
        updates_on = found or UpdatesOn.ANY
    why = _ELSEWHERE.get(type(kind)) if kind is not None else None
    if kind is None or why is None:
        return Updates(freshness=freshness, updates_on=updates_on)
    for name in (FRESHNESS, UPDATES_ON):
        if name in values:
            message = f"{name} has no effect on a model of kind {kind.keyword}, which {why}"
            is_lag = isinstance(kind, Managed) and name == FRESHNESS
            advice = "Write `physical_properties (target_lag = '...')` instead."
            problems.reject(values[name].place, message, advice if is_lag else "Leave it out.")
    lag = _target_lag(values, problems) if isinstance(kind, Managed) else None
    return Updates(freshness=lag, updates_on=UpdatesOn.ANY)


def _target_lag(values: Mapping[str, Value], problems: Problems) -> timedelta | None:
    given = values.get("physical_properties")
    for item in given.items() if given is not None else ():
        name = item.first_word()
        value = item.after(len(name.tokens))
        if name.written == TARGET_LAG and value is not None:
            return _freshness(value, problems, TARGET_LAG)
    return None


def _freshness(value: Value, problems: Problems, name: str = FRESHNESS) -> timedelta | None:
    try:
        return parse_freshness(value.written, name)
    except FreshnessInvalid as error:
        problems.refuse(value.place, error)
        return None
