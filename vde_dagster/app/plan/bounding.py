"""The second part of making a plan: which of its versions are bounded (rules R9 and R11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from vde_dagster.app.inputs.completeness import holdings_of
from vde_dagster.app.plan.resolving import Basis, Models
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import bounded_graph
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.bounds import Bounds, since_of, with_bounds
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.options import OptionsRefused
from vde_dagster.core.planning.resolution import is_of
from vde_dagster.core.time.intervals import format_instant


def bounds_of(snapshots: Mapping[ModelName, ModelSnapshot]) -> dict[ModelName, Bounded]:
    """The bounds of snapshots; those that have none are absent."""
    return {name: each.bounded for name, each in snapshots.items() if each.bounded is not None}


def bounded_models(
    services: Services,
    basis: Basis,
    models: Models,
    stays: Mapping[ModelName, Bounded] | None,
) -> Models:
    """The models of a plan, with versions that are bounded where they have to be.

    Args:
        services: The ports.
        basis: What the plan starts from.
        models: Its models, with the versions that they have where nothing is bounded.
        stays: The bounds that models keep. For None these are those of models that are not
            selected, and the previews whose change production does not have yet: it is planned by
            a person, who says again what else is to be bounded.

    Raises:
        OptionsRefused: There is no forward-only change that ``effective_from`` could be about, or
            that lies in the future.
    """
    options, moves = basis.options, stays is None
    stays = _stay_by_themselves(basis, models) if stays is None else stays
    if options.effective_from is not None:
        _refuse_future(services, options.effective_from)
        if not any(each.is_preview for each in stays.values()):
            _refuse_without_change(models, options.effective_from)
    if basis.environment == PRODUCTION:
        return models
    asked = (options.start, options.effective_from) != (None, None)
    if not (asked or stays or since_of(models.snapshots)):
        return models
    holdings = holdings_of(services, basis.environment, models.snapshots).unpaused
    bounds = Bounds(
        start=options.start,
        effective_from=options.effective_from,
        stays=stays,
        writes=holdings.writes,
        loaded=holdings.settled,
        production=basis.production.snapshots if basis.production is not None else {},
        now=services.project_now(),
        moves=moves,
    )
    resolved = with_bounds(models.graph, models.resolved, bounds)
    found = replace(models, resolved=resolved)
    return replace(found, graph=bounded_graph(models.graph, since_of(found.snapshots)))


def _stay_by_themselves(basis: Basis, models: Models) -> dict[ModelName, Bounded]:
    """The bounds that stay if nobody says otherwise."""
    graph, selected = models.graph, models.selected
    theirs = basis.production.snapshots if basis.production is not None else {}
    return {
        name: each
        for name, each in bounds_of(basis.snapshots).items()
        if (selected is not None and name not in selected)
        or (
            each.is_preview
            and name in graph
            and not (name in theirs and is_of(theirs[name], graph[name]))
        )
    }


def _refuse_future(services: Services, since: datetime) -> None:
    now = services.project_now()
    if now is not None and since > now:
        raise OptionsRefused(
            f"--effective-from {format_instant(since)} lies in the future (it is "
            f"{format_instant(now)}): a forward-only change counts from when it is promoted, or "
            "from an earlier instant",
            advice="Plan without it, and promote the change when it is to count.",
        )


def _refuse_without_change(models: Models, since: datetime) -> None:
    """Refuse an instant that says nothing about any of the changes that there are."""
    differences = [each.difference for each in models.resolved.values()]
    edited = [each for each in differences if each.change is Change.DIRECT]
    if edited and not any(each.category is Category.FORWARD_ONLY for each in differences):
        named = ", ".join(f"{e.name} is {e.category.value}" for e in edited if e.category)
        raise OptionsRefused(
            f"--effective-from {format_instant(since)} says from when forward-only changes count, "
            f"and there is none: {named}",
            advice=f"Plan with --forward-only, or with --decide {edited[0].name}=forward_only.",
        )
