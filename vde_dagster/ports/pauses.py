"""Which models are paused in which environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause


class Pauses(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def pauses(self, environment: str) -> Mapping[ModelName, Pause]:
        """The paused models of an environment."""
        ...

    def pause(self, pauses: Sequence[Pause]) -> None:
        """Pause models, all or none. One that is paused already gets the new time and reason."""
        ...

    def resume(self, environment: str, models: Iterable[ModelName]) -> None:
        """End the pauses of models, all or none; no error for one that is not paused."""
        ...
