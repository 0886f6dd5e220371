"""Pausing models of an environment, and resuming them."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.app.binding import Binding, shown_binding
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause


def pause_models(
    services: Services, environment: str, names: Sequence[ModelName], *, reason: str
) -> tuple[Pause, ...]:
    """Pause models that an environment shows, from the next evaluation on.

    What is being evaluated right now is not stopped.

    Raises:
        Refused: There is no such environment, or one of the models is not in it or stores no rows.
            Nothing was changed.
    """
    binding = shown_binding(services, environment)
    problems = [*filter(None, (_why_not(binding, name) for name in names))]
    if problems:
        raise Refused("\n".join([*problems, "Nothing was paused."]))
    at = services.clock.now()
    pauses = tuple(
        Pause(
            environment=environment,
            model=name,
            paused_at=at,
            author=services.author,
            reason=reason.strip(),
        )
        for name in dict.fromkeys(names)
    )
    services.state.pause(pauses)
    return pauses


def resume_models(
    services: Services, environment: str, names: Sequence[ModelName]
) -> tuple[Pause, ...]:
    """Resume paused models of an environment, all of them if none is named.

    Returns:
        What was paused.

    Raises:
        Refused: One of the models is not paused. Nothing was changed.
    """
    paused = services.state.pauses(environment)
    unknown = [name for name in names if name not in paused]
    if unknown:
        known = ", ".join(map(str, paused)) or "none"
        raise Refused(
            f"{', '.join(map(str, unknown))}: not paused in {environment}. Nothing was resumed",
            advice=f"Paused there: {known}.",
        )
    found = tuple(paused[name] for name in dict.fromkeys(names or paused))
    services.state.resume(environment, [each.model for each in found])
    return found


def _why_not(binding: Binding, name: ModelName) -> str:
    if name not in binding.graph:
        return f"{binding.environment} has no model {name}"
    kind = binding.graph[name].model.kind
    if kind.is_source:
        return f"{name} is a source, written by other programs"
    if not kind.stores_rows:
        stores = f"{name} is of kind {kind.keyword} and stores no rows"
        return f"{stores}: pause the models that it reads"
    return ""
