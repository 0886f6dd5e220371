"""Storing a plan's snapshots, before anything is written for it, and who owns them then."""

from __future__ import annotations

from contextlib import suppress

from vde_dagster.app.binding import Binding
from vde_dagster.app.clean_up.janitor import finish_drops
from vde_dagster.app.evaluate.evaluation import writing
from vde_dagster.app.plan.plan_checks import refuse_dropped
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused, SetupError
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.ledger.unit_of_work import Intent, why_given_up
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.clean_up import BeingDropped


def store_plan(services: Services, plan: Plan) -> None:
    """Store a plan's snapshots, before anything is written for it.

    Raises:
        Conflict: Another plan stored one of them meanwhile with another version, or one of its
            versions was dropped, so this plan is not valid any more.
    """
    every = plan.snapshots.values()
    snapshots = tuple(each if each.bounded is not None else each.as_stored for each in every)
    shows = tuple(each.key for each in plan.snapshots.values())
    try:
        services.state.store_snapshots(snapshots, environment=plan.environment, shows=shows)
    except BeingDropped:  # its process ended, or ends just now
        finish_drops(services, {*shows, *(each.key for each in snapshots)})
        services.state.store_snapshots(snapshots, environment=plan.environment, shows=shows)
    refuse_dropped(services, plan)
    new = [each for each in snapshots if each.name not in plan.stored]
    if not new:
        return
    stored = services.state.snapshots((each.name, each.fingerprint) for each in new)
    moved = [
        str(each.name)
        for each in new
        if stored[each.name, each.fingerprint.digest].version != each.as_stored.version
    ]
    if moved:
        raise Conflict(
            f"another plan stored {', '.join(sorted(moved))} with another version since this plan "
            "was made. Nothing was computed",
            advice=plan.again,
        )


def refuse_taken(services: Services, plan: Plan) -> None:
    """Refuse a plan that counts on computing what another environment owns by now (rule R9).

    Two environments may plan the same new version, which has no owner until one of the plans is
    stored. From then on no other environment can take it, but for production, which may write any.

    Raises:
        Conflict: It does. Nothing was computed.
    """
    if not plan.promotes:
        return
    keys = {change.name: plan.snapshots[change.name].key for change in plan.backfills}
    owners = services.state.owners(keys.values())
    taken = {
        str(name): owners[key]
        for name, key in keys.items()
        if key in owners and not may_write(plan.environment, owners[key])
    }
    if taken:
        by = ", ".join(dict.fromkeys(taken.values()))
        raise Conflict(
            f"{by} was first to create the same new version of {', '.join(sorted(taken))} and "
            f"now owns it, so {plan.environment} shows the rows computed there. Nothing was "
            "computed",
            advice=plan.again,
        )


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
