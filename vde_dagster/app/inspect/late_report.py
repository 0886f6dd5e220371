"""What is known of late data in an environment: marks, what is pending, and past sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.late.decision import Decision
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class LateReport:
    """The late data of one model: what was recorded, and what a session would do now.

    ``owner`` is the environment that runs its sessions; None if nobody owns the version yet.
    """

    name: ModelName
    mode: LateDataMode
    owner: str | None
    marks: tuple[HighWaterMark, ...]
    pending: tuple[Pending, ...]
    decision: Decision


def late_reports(
    services: Services, binding: Binding, names: Sequence[ModelName]
) -> tuple[LateReport, ...]:
    """The late data of some models that load it by sessions. Starts no Spark and writes nothing."""
    keys = [binding.key(name) for name in names]
    owners, pending = services.state.owners(keys), services.state.pending(keys)
    seen = Seen.above(services, binding, names)
    return tuple(
        LateReport(
            name=key.model,
            mode=policy.mode,
            owner=owners.get(key),
            marks=tuple(services.state.marks(key).values()),
            pending=pending.get(key, ()),
            decision=detect(services, binding, key.model, seen=seen),
        )
        for key in keys
        if (policy := binding.graph[key.model].model.late_data) is not None
    )


def past_sessions(
    services: Services, binding: Binding, name: ModelName, *, limit: int
) -> Sequence[UnitOfWork]:
    """The sessions of the version that an environment shows, newest first."""
    return services.state.sessions(binding.key(name), limit=limit)
