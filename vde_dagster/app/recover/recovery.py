"""Finishing or undoing what an earlier process began on a version (rule R5).

Only the state and the catalog's metadata are read and written here, so no JVM is started.
"""

from __future__ import annotations

from dataclasses import dataclass

from vde_dagster.app.binding import Binding, environments_showing
from vde_dagster.app.publish.foreign_writes import advice_on, head_damage, missing_rows
from vde_dagster.app.publish.publishing import give_up, publish, record
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.damage import Damage, Restorable
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWork, UnitOfWorkState
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName, environment_view
from vde_dagster.ports.catalog import TableMoved
from vde_dagster.ports.state import Lease, version_resource


def recover(services: Services, key: VersionKey, lease: Lease) -> tuple[UnitOfWork, ...]:
    """Finish or undo what an earlier process began on a version. Starts no JVM.

    What was staged completely is published and recorded, unless the table has moved since; what was
    only intended is dropped.

    Returns:
        What was finished, oldest first.

    Raises:
        Conflict: The table's catalog or the state is busy; the next run does the rest.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    finished: list[UnitOfWork] = []
    for work in services.state.open_work(key):
        if work.state is not UnitOfWorkState.STAGED or work.publication is None:
            reason = "its process ended before anything was staged"
            give_up(services, key, work.intent.work_id, reason=reason, lease=lease)
        elif _finish(services, work, work.publication, lease):
            finished.append(work)
    return tuple(finished)


def _finish(services: Services, work: UnitOfWork, publication: Publication, lease: Lease) -> bool:
    """Publish and record what was staged; give it up only if it can never be published."""
    intent = work.intent
    try:
        publish(services, intent.key, intent.base, publication)
    except TableMoved as error:
        give_up(services, intent.key, intent.work_id, reason=str(error), lease=lease)
        return False
    record(services, intent.environment, intent.key, intent.work_id, publication, lease=lease)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What was found wrong with a version, and what became of it.

    - ``finished`` units of work of an earlier process were published and recorded.
    - ``repaired`` was wrong and is right again; with a dry run, what would be.
    - ``left`` is wrong still, and ``advice`` has what ends it.
    - ``dropped`` is the dropped view, physical or of the environment.
    """

    key: VersionKey
    finished: int = 0
    repaired: Restorable | None = None
    left: Damage | None = None
    advice: str = ""
    dropped: TableName | None = None

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong by now."""
        return self.left is None and self.dropped is None


def repair(
    services: Services, binding: Binding, name: ModelName, *, dry_run: bool = False
) -> Repaired:
    """Find what is wrong with the version of a model, and repair what can be repaired.

    With ``dry_run`` nothing is written.

    Raises:
        Refused: The model has no table or view of its own, or another environment that shows its
            version owns that.
        Conflict: Another process writes this version right now, or moved its table meanwhile.
        OutcomeUnknown: The answer was lost; repairing again finds out.
    """
    node, key = binding.node(name), binding.key(name)
    if not node.model.kind.is_physical or node.model.kind.is_source:
        raise Refused(f"{name} is {node.model.kind.keyword}, so there is nothing to repair.")
    owner = services.state.owners([key]).get(key)
    is_others = not may_write(binding.environment, owner)
    if is_others and owner in {each.name for each in environments_showing(services, key)}:
        raise Refused(
            f"{name} has the same version in {owner}, which owns it. Nothing was changed",
            advice=f"`vde repair {name} --env {owner}` repairs it for both.",
        )
    if dry_run:
        return _looked_at(services, binding, key)
    with services.lease(version_resource(key), f"a repair of {binding.environment}") as lease:
        finished = len(recover(services, key, lease))
        found = _looked_at(services, binding, key, finished=finished)
        if found.repaired is not None:
            moved = found.repaired
            services.catalog.restore(key.table, found=moved.found, recorded=moved.recorded)
    return found


def _looked_at(
    services: Services, binding: Binding, key: VersionKey, *, finished: int = 0
) -> Repaired:
    dropped = _dropped_view(services, binding, key)
    if binding.node(key.model).model.kind.is_view:
        advice = _remade(binding) if dropped is not None else ""
        return Repaired(key=key, finished=finished, dropped=dropped, advice=advice)
    recorded = services.state.heads([key]).get(key)
    damage = head_damage(services, key, recorded)
    repaired = damage if isinstance(damage, Restorable) else None
    left = damage if repaired is None else None
    if left is None:
        left = missing_rows(services, key, recorded)
    if left is not None:
        model = binding.node(key.model).model
        advice = advice_on(services, key, left, model=model)
    else:
        advice = _remade(binding) if dropped is not None else ""
    return Repaired(
        key=key, finished=finished, repaired=repaired, left=left, advice=advice, dropped=dropped
    )


def _dropped_view(services: Services, binding: Binding, key: VersionKey) -> TableName | None:
    """The dropped view of a model: its physical one, or that of the environment."""
    if not services.state.holdings([key]):
        return None
    views = [environment_view(key.model, binding.environment, services.naming)]
    if binding.node(key.model).model.kind.is_view:
        views.insert(0, key.table)
    shown = services.state.environment(binding.environment)
    if shown is not None and key.model in shown.hidden:
        views.pop()
    there = services.catalog.present(views)
    return next((each for each in views if each not in there), None)


def _remade(binding: Binding) -> str:
    return f"`vde plan {binding.environment}` creates it again."
