"""What a model says about late data: mode, sources, how far back it is repaired (seed 003)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.names import ModelName


class LateDataMode(Enum):
    """How late rows reach a model: appended row by row, or by overwriting a range."""

    STATELESS = "stateless"
    STATEFUL = "stateful"


class LoadType(Enum):
    """Whether a stateful session overwrites the hours that changed, or their whole range."""

    CHANGED = "changed"
    RANGE = "range"


class OnSourceRewrite(Enum):
    """What happens when a source rewrites rows that are loaded already."""

    OVERWRITE = "overwrite"
    STOP = "stop"


LANDING_COLUMN: Final = "event_landing_ts"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedSource:
    """A source whose changes a model follows (seed 003).

    ``tracked_by`` is its column of event or landing time. It is complete to
    that column's highest time less ``offset``. After ``idle_after`` without a change it holds no
    model back.
    """

    name: ModelName
    tracked_by: str = LANDING_COLUMN
    offset: timedelta = timedelta(0)
    idle_after: timedelta | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDataPolicy:
    """A model's ``late_data`` property (docs/inside/architecture.md, *Late data*).

    Stateless mode tracks exactly one source. ``catchup_threshold`` is how far back late data is
    repaired without being asked; None for any distance.
    """

    mode: LateDataMode
    tracked: tuple[TrackedSource, ...]
    catchup_threshold: timedelta | None = None
    load_type: LoadType = LoadType.CHANGED
    on_source_rewrite: OnSourceRewrite = OnSourceRewrite.OVERWRITE

    @property
    def is_stateful(self) -> bool:
        """Whether sessions overwrite intervals, and do not add rows to them."""
        return self.mode is LateDataMode.STATEFUL

    def within(self, catalog: str) -> LateDataPolicy:
        """The policy with its sources as the project of this catalog names them."""
        tracked = (replace(each, name=each.name.within(catalog)) for each in self.tracked)
        return replace(self, tracked=tuple(tracked))

    @property
    def sources(self) -> tuple[ModelName, ...]:
        """The names of the tracked sources."""
        return tuple(each.name for each in self.tracked)
