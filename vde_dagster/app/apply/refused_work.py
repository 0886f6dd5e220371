"""Recording that a model was refused, where nothing of its work was begun.

Else the state would know nothing of it, and `vde status` would advise to try again what is refused
again. Work that was begun says so itself when it is given up.
"""

from __future__ import annotations

from contextlib import suppress

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluation import writing
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused, SetupError
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.ledger.unit_of_work import Intent, why_given_up
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval


def record_refusal(
    services: Services,
    binding: Binding,
    name: ModelName,
    intervals: tuple[Interval, ...],
    refused: Refused,
) -> None:
    """Record that intervals of a model were refused, unless that is what was recorded last.

    What the machine lacks says nothing of the model. If another process writes the version by now,
    what becomes of that is recorded by it.
    """
    key, reason = binding.key(name), why_given_up(refused)
    last = services.state.failed([key]).get(key)
    if isinstance(refused, SetupError) or (last is not None and last.refusal == str(refused)):
        return
    work = services.state.work(refused.work_id) if isinstance(refused, RowsWouldGo) else None
    tried = work.intent if work is not None else None
    with suppress(Conflict), writing(services, binding, key) as lease:
        intent = Intent(
            work_id=services.ids.new(),
            key=key,
            environment=binding.environment,
            intervals=intervals,
            inputs=tried.inputs if tried is not None else {},
            base=None,
            execution_time=services.clock.now(),
            definition=tried.definition if tried is not None else "",
            read_beside=tried.read_beside if tried is not None else {},
        )
        services.state.record_intent(intent, lease=lease)
        services.state.abandon(intent.work_id, reason=reason, lease=lease)
