"""What the commands of `vde late` share: their project, their models, and how they say it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.ledger.late.pending import Pending


def opened(folder: Path, environment: str) -> tuple[VdeProject, Binding]:
    """A project and what one of its environments shows.

    Raises:
        Refused: There is no such environment.
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    binding = shown_binding(project.services, environment)
    return project, binding


def late_names(
    project: VdeProject, binding: Binding, model: ModelName | None
) -> tuple[ModelName, ...]:
    """The model that was asked for, or all with late data.

    Raises:
        Refused: It has none.
    """
    from vde_dagster.app.catch_up.detecting import late_models

    late = late_models(binding)
    if model is None:
        return late
    name = model.within(project.configuration.catalog.name)
    if name not in late:
        names = ", ".join(map(str, late)) or "none"
        raise Refused(f"{name} has no late_data here", advice=f"models that have: {names}.")
    return (name,)


def load_command(model: ModelName, environment: str, pending: Pending) -> str | None:
    """The command that loads what is pending; None if a session does, once sources are complete."""
    from vde_dagster.core.ledger.late.pending import loading_arguments

    words = loading_arguments(model, environment, pending)
    return None if words is None else vde(*words)
