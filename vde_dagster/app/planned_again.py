"""Planning again what a plan is about, to see what has become of it since it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster import kinds
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.intervals import Interval, common, merge
from vde_dagster.core.ledger import LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.core.plan import Plan
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.core.work import Work

Ledger = Mapping[VersionKey, tuple[LedgerEntry, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoppedClock:
    """A clock that stands still."""

    at: datetime

    def now(self) -> datetime:
        """Always the same time."""
        return self.at


def planned_again(services: Services, plan: Plan) -> Plan:
    """The plan of the same models with the same options, of what they read and hold now.

    The time is that of the first plan, so that what became due since is left to a later one.
    """
    if plan.now is not None:
        services = replace(services, clock=_StoppedClock(at=plan.now), clock_sources=())
    options = replace(plan.options, select=())  # the plan's graph is what they selected
    return plan_environment(services, plan.graph, plan.environment, options)


def refuse_older_rows(services: Services, plan: Plan) -> None:
    """Refuse to take away what an environment was given while a plan waited or was carried out.

    A version that shall be shown may be behind its inputs (rule R15): it counts where the version
    that is shown was made of them later.

    Raises:
        Conflict: It would show older rows of some models than it does.
    """
    newer = dict(_newer(services, plan))
    if not newer:
        return
    told = {change.name: change.behind for change in plan.changes}
    older: list[str] = []
    for change in planned_again(services, plan).changes:
        known = told.get(change.name)
        lost = known.lost if known is not None else ()
        behind = change.behind.intervals if change.behind is not None else ()
        if any(each not in lost for each in common(behind, newer.get(change.name, ()))):
            older.append(str(change.name))
    if older:
        named = ", ".join(older)
        raise Conflict(
            f"{plan.environment} was given rows of {named} since this plan looked at them, and the "
            "versions that it would show are behind them. No view was moved, and what was filled "
            f"stays; plan {plan.environment} again."
        )


def _newer(services: Services, plan: Plan) -> Iterator[tuple[ModelName, tuple[Interval, ...]]]:
    """The times of which the versions that are shown were made later than those of a plan."""
    shown = services.state.environment(plan.environment)
    if shown is None:
        return
    both = {
        name: (shown.snapshots[name].key, each.key)
        for name, each in plan.snapshots.items()
        if name in shown.snapshots
        and shown.snapshots[name].key != each.key
        and kinds.of(plan.graph[name].model).has_rows
    }
    ledger = services.state.ledger(key for keys in both.values() for key in keys)
    works = services.state.works(
        dict.fromkeys(entry.work_id for entries in ledger.values() for entry in entries)
    )
    for name, (before, after) in both.items():
        times = _made_later(ledger.get(before, ()), ledger.get(after, ()), works)
        if times:
            yield name, times


def _made_later(
    shown: Sequence[LedgerEntry], others: Sequence[LedgerEntry], works: Mapping[str, Work]
) -> tuple[Interval, ...]:
    """The times of which entries that are shown were made after others, both in order."""
    found: list[Interval] = []
    first = 0
    for entry in others:
        while first < len(shown) and shown[first].interval.end <= entry.interval.start:
            first += 1
        at = first
        while at < len(shown) and shown[at].interval.start < entry.interval.end:
            made, looked = works.get(entry.work_id), works.get(shown[at].work_id)
            if made is None or looked is None or looked.started_at >= made.started_at:
                found.append(entry.interval)
            at += 1
    return merge(found)
