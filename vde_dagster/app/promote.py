"""Promotion: an environment's views are swapped to other versions (DESIGN.md section 6).

A promotion is recorded before the views move and again after: whoever finds one that was begun and
not finished swaps the same views again, which changes nothing where they were swapped already.
"""

from __future__ import annotations

from collections.abc import Collection

from vde_dagster.app.leases import environment_resource, held
from vde_dagster.app.services import Services
from vde_dagster.core.dsha import Column
from vde_dagster.core.kind import External
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.plan import Plan
from vde_dagster.core.snapshot import ModelSnapshot, VersionKey
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.state import Environment, Lease
from vde_dagster.project.model_files import read_model


def promote(services: Services, plan: Plan, lease: Lease) -> Environment:
    """Make an environment show a plan's snapshots.

    Raises:
        Conflict: The environment was changed since the plan was made.
        LeaseLost: The lease on the environment is not held any more.
    """
    snapshots = tuple(plan.snapshots[node.name] for node in plan.graph)
    environment = services.state.begin_promotion(
        plan.environment,
        expected_revision=plan.base_revision,
        plan_id=plan.plan_id,
        snapshots=snapshots,
        lease=lease,
    )
    return _swap(services, environment, _no_longer_shown(plan))


def finish_promotions(services: Services, environment: str) -> None:
    """Finish a promotion that an earlier process began and did not finish."""
    shown = services.state.environment(environment)
    if shown is None or not shown.promoting:
        return
    with held(services.state, environment_resource(environment), holder="recovery"):
        shown = services.state.environment(environment)
        if shown is not None and shown.promoting:
            _swap(services, shown, ())


def show(services: Services, environment: str, names: Collection[ModelName]) -> None:
    """Make the views of these models, where the environment shows them and they hold something."""
    shown = services.state.environment(environment)
    if shown is not None and not shown.promoting:
        views = _views(services, shown, names)
        services.catalog.swap_views(views, ())


def show_first(
    services: Services, environment: str, key: VersionKey, columns: tuple[Column, ...]
) -> None:
    """Make the view of a version that an environment was promoted to before it held anything.

    Called between publishing and booking a version's first rows, so that a crash leaves either a
    view or open work that makes it.
    """
    shown = services.state.environment(environment)
    snapshot = shown.snapshots.get(key.model) if shown is not None else None
    if snapshot is not None and snapshot.key == key:
        name = environment_view(key.model, environment)
        view = ViewDefinition(name=name, target=key.table, columns=columns)
        services.catalog.swap_views([view], ())


def _swap(
    services: Services, environment: Environment, removed: tuple[ModelName, ...]
) -> Environment:
    services.catalog.swap_views(
        _views(services, environment, environment.snapshots),
        [environment_view(name, environment.name) for name in removed],
    )
    return services.state.finish_promotion(environment.name, plan_id=environment.plan_id)


def _views(
    services: Services, environment: Environment, names: Collection[ModelName]
) -> list[ViewDefinition]:
    """The views of those models that hold something; others get theirs when they are filled."""
    shown = [
        each
        for each in environment.snapshots.values()
        if each.name in names and not _is_source(each)
    ]
    ledger = services.state.ledger(each.key for each in shown)
    views: list[ViewDefinition] = []
    for snapshot in shown:
        entries = ledger.get(snapshot.key, ())
        if not entries:
            continue
        views.append(
            ViewDefinition(
                name=environment_view(snapshot.name, environment.name),
                target=snapshot.key.table,
                columns=entries[-1].columns,
            )
        )
    return views


def _is_source(snapshot: ModelSnapshot) -> bool:
    return isinstance(read_model(snapshot.source).kind, External)


def _no_longer_shown(plan: Plan) -> tuple[ModelName, ...]:
    return tuple(change.name for change in plan.changes if change.version is None)
