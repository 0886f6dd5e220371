"""The ordered stages of a plan: what applying it does, as values.

`stages_of` is a pure function of the plan. Applying visits the stages, explaining prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

from vde_dagster.core.intervals import Interval
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Take the environment, if it is still at the revision that the plan was made at."""

    environment: str
    base_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSnapshots:
    """Store the snapshots of these models, which are new, and own the versions nobody owns."""

    models: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restate:
    """Mark held intervals as outdated, all of them in one transaction.

    They count as missing from then on, whatever happens, until they are evaluated again. Readers
    see what they saw before until then.
    """

    ranges: tuple[tuple[ModelName, tuple[Interval, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Evaluate ranges of a model, in these batches, each of which is published at once."""

    model: ModelName
    version: str
    intervals: tuple[Interval, ...]
    batches: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyBackfill:
    """Record ranges of a model as held without rows; its table is made where it is missing."""

    model: ModelName
    version: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeView:
    """Make the physical view of a model of kind VIEW; nothing is computed."""

    model: ModelName
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """Let the environment's views show the plan's versions, in one transaction.

    ``views`` are the models whose view is made or shows another version, ``removed`` those whose
    view is dropped.
    """

    environment: str
    views: tuple[ModelName, ...]
    removed: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFilled:
    """Make the views of models that held nothing before; the environment shows them already."""

    environment: str
    models: tuple[ModelName, ...]


Stage = (
    Reserve | StoreSnapshots | Restate | Backfill | EmptyBackfill | MakeView | Promote | ShowFilled
)
