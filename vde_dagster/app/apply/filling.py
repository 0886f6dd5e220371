"""Filling a model's version with the intervals of a plan, some of which may be loaded by now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.sessions import load
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.evaluate.reuse import UNCHANGED
from vde_dagster.app.evaluate.savings import record, saved_by
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import stale_now
from vde_dagster.app.staleness.pace import pace_of
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import END_OF_TIME, Interval, common, merge, subtract
from vde_dagster.core.time.schedule import batches
from vde_dagster.ports.state import Lease


@dataclass(frozen=True, slots=True)
class Filling:
    """The evaluation of one model of a plan; what is left to do is looked up when it begins.

    Args:
        services: The ports.
        plan: What was planned.
        binding: What the plan's environment will run.
        change: The plan's change of the model.
        lease: The lease on the plan's environment.
    """

    services: Services
    plan: Plan
    binding: Binding
    change: ModelChange
    lease: Lease

    @property
    def key(self) -> VersionKey:
        """The version that is filled."""
        return self.binding.key(self.change.name)

    def steps(self) -> Iterator[Evaluated]:
        """Evaluate what is to be done now, batch by batch; that may be less than was planned.

        Raises:
            Conflict: Another process writes the same version right now.
            RowsWouldGo: Some intervals would lose all of their rows; the rest may be done.
            Refused: An evaluation is not possible in the current state.
            EvaluationFailed: A query failed.
        """
        services, change = self.services, self.change
        within = self.plan.options.bounds(self.plan.environment)
        pace = pace_of(services, self.plan.now) if self.plan.paced else None
        found = stale_now(services, self.binding, change.name, change.stale, pace)
        if found.fresh:
            yield self._unchanged(found.fresh)
        stale = self._behind(found.behind)
        left, is_first = merge((*self.left(), *stale)), True
        waiting: list[RowsWouldGo] = []
        for batch in batches(self.plan.graph[change.name].model, left):
            if not common([batch], left):
                continue
            done: list[Evaluated] = []
            try:
                for unit in evaluate_rest(
                    services, self.binding, change.name, batch, within=within
                ):
                    done.append(unit)
                    yield unit
            except RowsWouldGo as waits:
                if not waits.rest_goes_on:
                    raise
                waiting.append(waits)
            stale = subtract(stale, [entry.interval for each in done for entry in each.entries])
            left = self._left_after(left, done, stale=stale, is_first=is_first)
            is_first = False
        if waiting:
            raise waiting[0].with_those_of(waiting[1:])

    def left(self) -> tuple[Interval, ...]:
        """The plan's intervals that are still to be evaluated: missing, or marked as outdated."""
        loaded = self._holding()
        is_production = self.plan.environment == PRODUCTION
        missing = self._missing(loaded.computed if is_production else loaded.evaluated)
        wanted = merge((*self.change.restated, *self.change.stale))
        return merge((*missing, *common(loaded.outdated, wanted)))

    def _left_after(
        self,
        left: tuple[Interval, ...],
        done: Sequence[Evaluated],
        *,
        stale: tuple[Interval, ...],
        is_first: bool,
    ) -> tuple[Interval, ...]:
        """What is left of a plan's intervals once a batch of them is done.

        The state is read again only when it may have changed by more than the batch: after the
        first one, which also records what an earlier process staged, and if others wrote.
        """
        head = self.services.state.heads([self.key]).get(self.key)
        if is_first or not done or head != done[-1].iceberg_snapshot_id:
            return merge((*self.left(), *stale))
        return subtract(left, [entry.interval for each in done for entry in each.entries])

    def _missing(self, loaded_now: tuple[Interval, ...]) -> tuple[Interval, ...]:
        change = self.change
        if not change.missing:
            return ()
        model = self.plan.graph[change.name].model
        until = change.missing[-1].end
        ended = until == END_OF_TIME or (
            model.end is not None and until >= model.unit.floor(model.end)
        )
        beyond = [] if ended else [Interval(until, END_OF_TIME)]
        found = model.kind.missing(model, loaded_now, self.plan.now or model.start, beyond)
        return common(found, change.missing)

    def _unchanged(self, fresh: tuple[LedgerEntry, ...]) -> Evaluated:
        """The report of entries that might have been stale and are fresh: an early cutoff."""
        done = Evaluated(
            work_id=fresh[-1].work_id,
            key=self.key,
            interval=Interval(fresh[0].interval.start, fresh[-1].interval.end),
            rows=0,
            entries=fresh,
            iceberg_snapshot_id=fresh[-1].iceberg_snapshot_id,
            seconds=0.0,
            saved=saved_by(self.plan.graph[self.change.name], fresh),
            reason=UNCHANGED,
            reused=True,
        )
        record(self.services, self.plan.environment, self.services.ids.new(), done)
        return done

    def _behind(self, found: tuple[Interval, ...]) -> tuple[Interval, ...]:
        """What is computed again, since some of it is stale.

        A model that can only be rebuilt whole is marked as outdated whole, as by a restatement.
        """
        node = self.plan.graph[self.change.name]
        if not (found and node.model.kind.restates_whole):
            return found
        reason = f"what it is built from has changed, as plan {self.plan.plan_id} found"
        recorded = self._holding().recorded
        self.services.state.outdate({self.key: recorded}, reason=reason, lease=self.lease)
        return recorded

    def _holding(self) -> Holding:
        return self.services.state.holdings([self.key]).get(self.key, NOTHING)


def evaluate_rest(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval,
    *,
    within: Interval | None = None,
    force: bool = False,
) -> Iterator[Evaluated]:
    """Evaluate a contiguous range of a model, and what waits for a person last (rule R8).

    So the newest unit of work says what waits, and why. See `evaluate_range`, also for what else is
    raised.

    Raises:
        RowsWouldGo: Some intervals would lose all of their rows; if the rest goes on, it is done.
    """
    waiting: list[RowsWouldGo] = []
    left = deque([interval])
    while left:
        each = left.popleft()
        try:
            yield from evaluate_range(services, binding, name, each, within=within, force=force)
        except RowsWouldGo as waits:
            if not waits.rest_goes_on:
                raise
            rest = subtract([each], waits.intervals)
            if rest and binding.node(name).model.stateful is None:
                left.extendleft(reversed(rest))
                left += common([each], waits.intervals)
            else:  # it is evaluated alone, or a session has done the rest
                waiting.append(waits)
    if waiting:
        raise waiting[0].with_those_of(waiting[1:])


def evaluate_range(
    services: Services,
    binding: Binding,
    name: ModelName,
    interval: Interval,
    *,
    within: Interval | None = None,
    force: bool = False,
) -> tuple[Evaluated, ...]:
    """Evaluate a contiguous range of a model in the way that the model is loaded.

    A model with late data is loaded by a session, which begins only intervals inside ``within``.
    Intervals whose result would be the same are kept, unless ``force`` (rule R2).
    """
    if binding.node(name).model.late_data is not None:
        return load(services, binding, name, interval, within=within, force=force)
    return (evaluate(services, binding, name, interval, force=force),)
