"""How the views of an environment are named: as its last plan made them, or as configured now.

A change of ``environment_suffix_target`` reaches an environment with the next plan that is applied
to it: one transaction creates its views with their new names and drops the old ones. Until then the
current names are found by looking in the catalog. Every transaction that moves views moves all
views of an environment, so the name of one of them shows how all are named.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from vde_dagster.app.services import Services
from vde_dagster.core.model.kinds import Embedded
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import (
    PRODUCTION,
    ModelName,
    SuffixTarget,
    TableName,
    ViewNaming,
    environment_view,
    model_of,
)
from vde_dagster.ports.state import Environment
from vde_dagster.project.model_files import read_model

_AT_ONCE: Final = 20
"""Usually the first model that is looked for has a view; those that are not loaded have none."""


def naming_of(services: Services, environment: str) -> ViewNaming:
    """How the views of an environment are named now; see `shown_naming`."""
    shown = services.state.environment(environment)
    return services.naming if shown is None else shown_naming(services, shown)


def shown_naming(services: Services, environment: Environment) -> ViewNaming:
    """How the views of an environment are named now.

    As the project says for production, whose views have no suffix, and if there is no view yet.
    """
    if environment.name == PRODUCTION:
        return services.naming
    ways = _every_naming(services)
    names = sorted(
        name
        for name, each in environment.snapshots.items()
        if not each.is_source  # a source has no view
    )
    for first in range(0, len(names), _AT_ONCE):
        at = {
            environment_view(name, environment.name, way): (name, way)
            for name in names[first : first + _AT_ONCE]
            for way in ways
        }
        for place, view in services.catalog.views(at).items():
            name, way = at[place]
            if model_of(view.target) == name:
                return way
    return services.naming


def are_moving(services: Services, environment: Environment) -> bool:
    """Whether the next plan of an environment has to move its views to other names."""
    return shown_naming(services, environment) != services.naming


def has_view(snapshot: ModelSnapshot) -> bool:
    """Whether a model has a view. For most models this is known without reading their text."""
    may_be_embedded = Embedded.keyword in snapshot.source.text.upper()
    if snapshot.is_source or not may_be_embedded:
        return not snapshot.is_source
    return not read_model(snapshot.source).kind.is_embedded


def with_views(environment: Environment) -> set[ModelName]:
    """The models of an environment that have a view in it once they are filled."""
    return {
        name
        for name, each in environment.snapshots.items()
        if name not in environment.hidden and has_view(each)
    }


def former_views(
    services: Services,
    environment: str,
    *,
    kept: Collection[ModelName],
    removed: Collection[ModelName],
) -> list[TableName]:
    """The views of an environment that no model of it has any more.

    Args:
        services: How the project names views now, and its catalog.
        environment: Its canonical name.
        kept: Models that it shows; their views with names of another naming are included.
        removed: Models that it does not show any more; all of their views are included.
    """
    now, *others = _every_naming(services)
    at = {environment_view(name, environment, now): name for name in removed}
    if environment != PRODUCTION:  # whose views have one name under every way
        for way in others:
            at |= {environment_view(name, environment, way): name for name in (*kept, *removed)}
    found = services.catalog.views(at)
    return [name for name, view in found.items() if model_of(view.target) == at[name]]


def every_view_name(services: Services, name: ModelName, environment: str) -> frozenset[TableName]:
    """Every name that the view of a model may have or have had in an environment."""
    return frozenset(environment_view(name, environment, way) for way in _every_naming(services))


def _every_naming(services: Services) -> list[ViewNaming]:
    """Every way of naming, the project's first, since most environments have it."""
    now = services.naming
    rest = [replace(now, target=each) for each in SuffixTarget if each is not now.target]
    return [now, *rest]
