"""Rows that a blocking audit refused, and whether computing them again could end otherwise."""

from __future__ import annotations

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.changed_inputs import changed_inputs
from vde_dagster.app.services import Services
from vde_dagster.core.names import ModelName


def still_refused(
    services: Services, binding: Binding, name: ModelName, *, of_session: bool = False
) -> str:
    """Why an audit would refuse the same rows again, for people; empty if it may not.

    It would if the newest unit of work of the version was refused, what its query and its audits
    read has the same rows now, and the model is what it was: any edit of it counts, also one of its
    owner. Of work that an earlier release recorded that is not known, so it may not. A session
    loads all that is known, so that the next one has these rows, too: ``of_session`` asks whether
    the newest unit of work was one.

    Raises:
        Refused: A source does not exist any more.
    """
    newest = next(iter(services.state.audited(binding.key(name), limit=1)), None)
    if newest is None or not newest.refused_branch:
        return ""
    if of_session and newest.intent.session is None:
        return ""
    intent = newest.intent
    if intent.definition != binding.snapshots[name].fingerprint.definition:
        return ""
    read = {**intent.read_beside, **intent.inputs}
    if next(changed_inputs(services, binding, read, since=newest.started_at), None) is not None:
        return ""
    audits = ", ".join(dict.fromkeys(each.name for each in newest.audits if each.stops))
    return (
        f"{audits} refused its rows, and neither what they follow from nor its audits have "
        f"changed since; the rows are in {newest.refused_rows}"
    )
