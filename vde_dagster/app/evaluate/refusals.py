"""Rows that a blocking audit refused, and whether computing them again could end otherwise."""

from __future__ import annotations

from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.changed_inputs import changed_inputs
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName


def still_refused(
    services: Services, binding: Binding, name: ModelName, *, of_session: bool = False
) -> str:
    """Why an audit would refuse the same rows again, for people; empty if it may not.

    It would if the newest unit of work of the version was refused, what that read has the same rows
    now, and the model has the same audits. A session loads all that is known, so that the next one
    has these rows, too: ``of_session`` asks whether the newest unit of work was one.

    Raises:
        Refused: A source does not exist any more.
    """
    newest = next(iter(services.state.audited(binding.key(name), limit=1)), None)
    if newest is None or not newest.refused_branch:
        return ""
    if of_session and newest.intent.session is None:
        return ""
    if _is_edited(services, binding, name, newest):
        return ""
    if next(changed_inputs(services, binding, newest.intent.inputs), None) is not None:
        return ""
    audits = ", ".join(dict.fromkeys(each.name for each in newest.audits if each.stops))
    return (
        f"{audits} refused its rows, and neither what it reads nor its audits have changed since; "
        f"the rows are in {newest.refused_rows}"
    )


def _is_edited(services: Services, binding: Binding, name: ModelName, work: UnitOfWork) -> bool:
    """Whether the model has other metadata, such as its audits, than when the work ended."""
    before = _shown_at(services, binding.environment, name, work.finished_at)
    return before is None or before.fingerprint.metadata != _metadata(binding, name)


def _metadata(binding: Binding, name: ModelName) -> str:
    return binding.snapshots[name].fingerprint.metadata


def _shown_at(
    services: Services, environment: str, name: ModelName, at: datetime | None
) -> ModelSnapshot | None:
    """The snapshot of a model that an environment showed then; None if it is not known."""
    shown = services.state.environment(environment)
    while shown is not None and (at is None or shown.promoted_at > at):
        shown = services.state.environment(environment, revision=shown.revision - 1)
    return None if shown is None else shown.snapshots.get(name)
