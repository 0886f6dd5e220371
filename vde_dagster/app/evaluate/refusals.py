"""What was refused, and whether computing it again could end otherwise.

That are rows which a blocking audit refused, and rows that would leave nothing where there is
something (rule R8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import pin
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import AsOf, Ending, UnitOfWork
from vde_dagster.core.names import ModelName
from vde_dagster.ports.catalog import TableState


def still_refused(services: Services, binding: Binding, name: ModelName) -> str:
    """Why the same rows would be refused again, for people; empty if they may not be.

    It would if the newest unit of work of the version was refused, what its query and its audits
    read has the same rows now, and the model is what it was: any edit of it counts, also one of its
    owner. A session loads all that is known, so that the next one has these rows, too; it may have
    none of those of a single interval that was evaluated by hand.

    Raises:
        Refused: A source does not exist any more.
    """
    waits = waiting_for_person(services, binding, [name]).get(name, "")
    if waits:
        return waits
    newest = next(iter(services.state.audited(binding.key(name), limit=1)), None)
    if newest is None or not newest.refused_branch:
        return ""
    if binding.node(name).model.late_data is not None and newest.intent.session is None:
        return ""
    if not _is_same_again(services, binding, name, newest):
        return ""
    audits = ", ".join(dict.fromkeys(each.name for each in newest.audits if each.stops))
    return (
        f"its rows failed {audits}, and neither its inputs nor its audits have changed since; "
        f"the rows are in {newest.refused_rows}"
    )


def waiting_for_person(
    services: Services, binding: Binding, names: Iterable[ModelName]
) -> dict[ModelName, str]:
    """What a person has to say so that rows of these models may go, with the command (rule R8).

    Of models whose newest unit of work was refused for that, and would have the same rows again.

    Raises:
        Refused: A source does not exist any more.
    """
    keys = {binding.key(name): name for name in names}
    failed = services.state.failed(keys) if keys else {}
    return {
        keys[key]: work.refusal
        for key, work in failed.items()
        if work.ending is Ending.WAITS and _is_same_again(services, binding, keys[key], work)
    }


def _is_same_again(services: Services, binding: Binding, name: ModelName, work: UnitOfWork) -> bool:
    """Whether neither a model nor anything that was read has changed since a unit of work."""
    intent = work.intent
    if intent.definition != binding.snapshots[name].fingerprint.definition:
        return False
    read = {**intent.read_beside, **intent.inputs}
    return next(changed_inputs(services, binding, read, since=work.started_at), None) is None


def changed_inputs(
    services: Services,
    binding: Binding,
    read: Mapping[ModelName, int | None],
    *,
    since: datetime,
) -> Iterator[tuple[ModelName, int | None]]:
    """The tables that were read and have other rows now, with their current Iceberg snapshots.

    A compaction changes no rows. A change of columns does, if one has become another one.

    Args:
        services: The ports.
        binding: Which version of each model is read.
        read: At which Iceberg snapshot each was read (`Intent.inputs`).
        since: When the unit of work began to read them.

    Raises:
        Refused: A source does not exist any more.
    """
    known = {name: at for name, at in read.items() if name in binding.graph}
    sources: dict[ModelName, TableState] = {}
    for name, now in pin(services, binding, sorted(known), {}, sources=sources).items():
        rows = _rows_at(services, now, now.iceberg_snapshot_id)
        others = name in sources and sources[name].may_have_replaced(known[name], since=since)
        if others or rows != _rows_at(services, now, known[name]):
            yield name, rows


def _rows_at(services: Services, table: AsOf, snapshot_id: int | None) -> int | None:
    if snapshot_id is None:
        return None
    return services.catalog.origin(table.table, snapshot_id)
