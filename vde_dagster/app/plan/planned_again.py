"""Planning again what a plan is about, to see what has changed since it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.plan.planning import plan_environment, planned_now, shown_heads
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.kept_readers import compared_again
from vde_dagster.app.staleness.remembered_looks import touched
from vde_dagster.app.staleness.version_behind import look_at
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval, common, merge, subtract
from vde_dagster.ports.state import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoppedClock:
    """A clock that does not move."""

    at: datetime

    def now(self) -> datetime:
        """Always the same time."""
        return self.at

    def wait(self, length: timedelta) -> None:
        """Nothing waits while it is planned."""
        raise AssertionError("a plan does not wait")


def planned_again(services: Services, plan: Plan) -> Plan:
    """The plan of the same models with the same options, by their inputs and intervals now.

    The time is that of the first plan, so intervals that became due since are left to a later one.
    """
    if plan.now is not None:
        services = replace(services, clock=_StoppedClock(at=plan.now), clock_sources=())
    options = replace(plan.options, select=())  # the plan's graph is what they selected
    given = plan.snapshots if plan.taken is not None else None
    again = plan_environment(
        services,
        plan.graph,
        plan.environment,
        options,
        given=given,
        stays=bounds_of(plan.snapshots),
        effective_from=plan.effective_from,
    )
    return replace(again, taken=plan.taken)


def refuse_older_rows(services: Services, plan: Plan, shown: Environment) -> None:
    """Refuse to hide rows that an environment got while a plan waited or was applied.

    A version that is about to be shown may be behind its inputs (rule R15). That is refused if rows
    were recorded meanwhile on the version that is ``shown`` now.

    Raises:
        Conflict: The environment would show older rows of some models than it does.
    """
    newer = dict(_recorded_since(services, plan, shown))
    if not newer:
        return
    planned = planned_now(services, plan, shown, stored_graph(shown.snapshots, services.models))
    states = InputStates(services=services, graph=plan.graph, snapshots=plan.snapshots)
    before = {change.name: change.behind for change in plan.changes}
    older: list[str] = []
    for name, times in newer.items():
        found = look_at(services, planned, states, plan.graph[name]).found()
        known = before.get(name)
        lost = known.lost if known is not None else ()
        if found is not None and subtract(common(found.times, times), lost):
            older.append(str(name))
    if older:
        named = ", ".join(older)
        raise Conflict(
            f"{plan.environment} got new rows of {named} since this plan looked at them, and the "
            "versions that it would show are behind. No view was moved, and filled intervals "
            "stay",
            advice=f"plan {plan.environment} again.",
        )


def to_compare(
    services: Services, plan: Plan, shown: Environment
) -> Mapping[ModelName, tuple[Interval, ...]]:
    """What a plan keeps, and its next look has to compare with the tables that it shows then.

    A kept version is as fresh against what it reads from then on as against what it reads now (rule
    R10), but where that was computed with late rows that the shown tables lack.
    """
    keys = {name: each.key for name, each in plan.snapshots.items()}
    before = {name: each.key for name, each in shown.snapshots.items()}
    moved = touched(plan.graph, plan.snapshots, shown.snapshots)
    if not any(keys[name] == before.get(name) for name in moved):
        return {}
    planned = planned_now(services, plan, shown, stored_graph(shown.snapshots, services.models))
    # what is paused now is run later, and is said to be fresh against these tables all the same
    return compared_again(services, replace(planned, holdings=planned.holdings.unpaused))


def _recorded_since(
    services: Services, plan: Plan, shown: Environment
) -> Iterator[tuple[ModelName, tuple[Interval, ...]]]:
    """The times of what was recorded on shown versions since a plan was made.

    That is all where the Iceberg snapshot has expired that was shown then.
    """
    heads = shown_heads(services, shown, plan.snapshots)
    moved = {
        name: shown.snapshots[name].key
        for name, head in heads.items()
        if head != plan.shown_heads.get(name) and plan.graph[name].model.kind.stores_rows
    }
    ledger = services.state.ledger(moved.values())
    for name, key in moved.items():
        line = services.catalog.line(key.table)
        before = plan.shown_heads.get(name)
        later = set(line[: line.index(before)]) if before in line else None
        times = merge(
            each.interval
            for each in ledger.get(key, ())
            if later is None or each.iceberg_snapshot_id in later
        )
        if times:
            yield name, times
