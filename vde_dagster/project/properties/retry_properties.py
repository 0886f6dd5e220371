"""The properties ``retries`` and ``concurrency``: how often a model runs, and beside how many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vde_dagster.core.model.kinds import Embedded, External, Kind, View
from vde_dagster.core.model.retries import MOST_RETRIES, RETRIES
from vde_dagster.core.model.room import CONCURRENCY, MOST_MODELS
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import read_count

_NOTHING_RUNS: Final[Mapping[type[Kind], str]] = {
    View: "has no rows of its own, so nothing is computed",
    Embedded: "has no rows of its own, so nothing is computed",
    External: "is written by others",
}


def read_retries(
    values: Mapping[str, Value], kind: Kind | None, defaults: Defaults, problems: Problems
) -> int:
    """How often to try again; the project's default where rows are computed and nothing is said."""
    why = _NOTHING_RUNS.get(type(kind)) if kind is not None else None
    value = values.get(RETRIES)
    if value is None:
        return defaults.retries if why is None else 0
    if _has_no_effect(RETRIES, value, kind, problems):
        return 0
    count = read_count(value, RETRIES, problems, least=0) or 0
    if count > MOST_RETRIES:
        message = f"{RETRIES} {count} is more than {MOST_RETRIES}"
        problems.add(
            value.place, message, "Pauses double, so that the tenth is almost three hours long."
        )
        return 0
    return count


def read_concurrency(
    values: Mapping[str, Value], kind: Kind | None, problems: Problems
) -> int | None:
    """How many models may be evaluated while this one is, itself among them; None for any."""
    value = values.get(CONCURRENCY)
    if value is None or _has_no_effect(CONCURRENCY, value, kind, problems):
        return None
    count = read_count(value, CONCURRENCY, problems, least=1)
    if count is not None and count > MOST_MODELS:
        message = f"{CONCURRENCY} {count} is more than {MOST_MODELS}"
        problems.add(value.place, message, "No more models are evaluated at once: leave it out.")
        return None
    return count


def _has_no_effect(name: str, value: Value, kind: Kind | None, problems: Problems) -> bool:
    """Whether nothing of a model runs, which is a problem if it says how."""
    why = _NOTHING_RUNS.get(type(kind)) if kind is not None else None
    if kind is None or why is None:
        return False
    message = f"{name} has no effect on a model of kind {kind.keyword}, which {why}"
    problems.reject(value.place, message, "Leave it out.")
    return True
