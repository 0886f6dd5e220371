"""Filling a model's version with the intervals of a plan, some of which may be loaded by now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from vde_dagster.app.apply.merging import merge_gained
from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.sessions import load
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate, recovering, writable
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, input_name, rendered, with_inputs
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.reuse import UNCHANGED
from vde_dagster.app.evaluate.savings import saved_by
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import stale_now
from vde_dagster.app.staleness.upstream_changes import pace_of
from vde_dagster.core.graph.embedded import stored_parents
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.rows_lost import WaitingRows
from vde_dagster.core.ledger.unit_of_work import AsOf, SqlRows
from vde_dagster.core.model.model import PythonFunction
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import OverwriteIntervals, Write
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.readiness import blocked_by_parents
from vde_dagster.core.time.intervals import END_OF_TIME, EVER, Interval, common, merge, subtract
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
        behind, fresh = stale_now(services, self.binding, change.name, change.stale, pace)
        if fresh:
            yield self._unchanged(fresh)
        merged = self._merged(behind)
        yield from merged or ()
        stale = self._behind(behind) if merged is None else ()
        wanted = merge((*self.left(), *stale))
        left, is_first = subtract(wanted, self._blocked(wanted)), True
        waiting = WaitingRows()
        for batch in batches(self.plan.graph[change.name].model, left):
            if not common([batch], left):
                continue
            done: list[Evaluated] = []
            for unit in evaluate_rest(
                services, self.binding, change.name, batch, waiting=waiting, within=within
            ):
                done.append(unit)
                yield unit
            stale = subtract(stale, [entry.interval for each in done for entry in each.entries])
            left = self._left_after(left, done, stale=stale, is_first=is_first)
            is_first = False
        waiting.check()

    def left(self) -> tuple[Interval, ...]:
        """The plan's intervals that are still to be evaluated: missing, or marked as outdated."""
        loaded = self._holding()
        is_production = self.plan.environment == PRODUCTION
        missing = self._missing(loaded.computed if is_production else loaded.evaluated)
        wanted = merge((*self.change.restated, *self.change.stale))
        return merge((*missing, *common(loaded.outdated, wanted)))

    def _blocked(self, wanted: Sequence[Interval]) -> tuple[Interval, ...]:
        """What reads restated intervals whose evaluation waits for a person (rule R8)."""
        graph = self.plan.graph
        planned = {each.name for each in self.plan.changes if each.to_evaluate}
        parents = planned.intersection(stored_parents(graph, self.change.name))
        if not (wanted and parents):
            return ()
        keys = {self.binding.key(name): name for name in parents}
        held = self.services.state.holdings(keys)
        marked = {keys[key]: each.outdated for key, each in held.items() if each.outdated}
        if not marked:
            return ()
        node = graph[self.change.name]
        there = {each.name: subtract([EVER], marked.get(each.name, ())) for each in graph}
        blocked = blocked_by_parents(graph, node, wanted, there, marked)
        return merge(times for each in blocked.values() for times in each)

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
        beyond = [] if until == END_OF_TIME else [Interval(until, END_OF_TIME)]
        found = model.kind.missing(model, loaded_now, self.plan.now or model.start, beyond)
        return common(found, change.missing)

    def _unchanged(self, fresh: tuple[LedgerEntry, ...]) -> Evaluated:
        """The report of entries that might have been stale and are fresh: an early cutoff."""
        saved = saved_by(self.plan.graph[self.change.name], fresh)
        head = fresh[-1].iceberg_snapshot_id
        return Evaluated.kept(self.key, fresh, saved, head=head, reason=UNCHANGED)

    def _merged(self, found: tuple[Interval, ...]) -> tuple[Evaluated, ...] | None:
        """Merge what upstream tables gained, if that is all that has changed; else None."""
        node = self.plan.graph[self.change.name]
        if not found or node.model.kind.order is None:
            return None
        done = merge_gained(self.services, self.binding, node.name, found)
        return None if isinstance(done, str) else done

    def _behind(self, found: tuple[Interval, ...]) -> tuple[Interval, ...]:
        """What is computed again, since some of it is stale.

        A model that can only be rebuilt whole is marked as outdated whole, as by a restatement. One
        that is never restated was to be merged, and cannot be any more.
        """
        node = self.plan.graph[self.change.name]
        if not (found and node.model.kind.restates_whole):
            return found
        if node.model.kind.disable_restatement:
            return ()
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
    waiting: WaitingRows,
    within: Interval | None = None,
    force: bool = False,
) -> Iterator[Evaluated]:
    """Evaluate a contiguous range of a model, but for what is ``waiting`` for a person (rule R8).

    See `evaluate_range`.

    Raises:
        RowsWouldGo: Intervals would lose all of their rows, and the rest cannot go on without them.
    """
    if binding.node(name).model.late_data is not None:
        return load(services, binding, name, interval, waiting=waiting, within=within, force=force)
    return waiting.rest_of(
        interval, lambda each: (evaluate(services, binding, name, each, force=force),)
    )


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

    Raises:
        RowsWouldGo: Some intervals would lose all of their rows; if the rest goes on, it is done.
    """
    waiting = WaitingRows()
    done = tuple(
        evaluate_rest(
            services, binding, name, interval, waiting=waiting, within=within, force=force
        )
    )
    waiting.check()
    return done


def record_empty(
    services: Services,
    binding: Binding,
    name: ModelName,
    intervals: Sequence[Interval],
    *,
    reason: str,
) -> Evaluated | None:
    """Record the intervals of some ranges that have no entry as loaded without rows, if any.

    Existing entries are left alone, so no row is ever taken away. None if all have an entry.

    Args:
        services: The ports.
        binding: The versions.
        name: A model with rows that is not a seed.
        intervals: Contiguous ranges of whole units.
        reason: Why, for people; it is recorded in the ledger.

    Raises:
        Refused: The model is a source, or another environment owns its version.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The query does not fit what it reads.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    with recovering(services, binding, key) as (lease, _):
        there = services.state.holdings([key]).get(key, NOTHING).recorded
        if node.model.kind.is_by_interval:
            left = subtract(intervals, there)
        else:
            left = () if there else tuple(intervals)
        if not left:
            return None
        work_id = services.ids.new()
        whole = Interval(left[0].start, left[-1].end)
        prepared = PreparedUnit(
            work_id=work_id,
            interval=whole,
            readings=(_no_rows(binding, node, whole, services.execution_time, work_id),),
            writes=(_write(node, left, services.execution_time),),
            status=EntryStatus.EMPTY,
            reason=reason,
        )
        return run_unit_of_work(services, binding, node, prepared, lease)


def _write(node: Node, intervals: tuple[Interval, ...], now: datetime) -> Write:
    axis = node.time_axis
    if axis is not None:
        return OverwriteIntervals(intervals=intervals, axis=axis)
    return node.write(intervals[0], now)


def _no_rows(
    binding: Binding, node: Node, interval: Interval, now: datetime, work_id: str
) -> PinnedReading:
    """The columns of a model's rows. Its inputs are bound, but no rows are read."""
    if isinstance(node.model.body, PythonFunction):
        return PinnedReading(
            rows=SqlRows(sql=_typed_nothing(node).sql("spark")), inputs={}, pinned={}
        )
    query = rendered(binding, node, interval, now)
    names = {
        name: input_name(work_id, position)
        for position, name in enumerate(
            sorted(name for name in query.tables if name in binding.graph)
        )
    }
    hole = exp.Var(this="")
    rows = exp.Subquery(this=hole, alias=exp.TableAlias(this=exp.to_identifier("rows_of_model")))
    nothing = query.around(
        exp.select("*").from_(rows, copy=False).where(exp.false(), copy=False), hole
    )
    return PinnedReading(
        rows=SqlRows(sql=with_inputs(nothing, names)),
        inputs={
            view: AsOf(table=binding.table(name), iceberg_snapshot_id=None)
            for name, view in names.items()
        },
        pinned={},
    )


def _typed_nothing(node: Node) -> exp.Select:
    """An empty result with the columns that a Python model declares; its function is not called."""
    columns = (
        exp.cast(exp.null(), exp.DataType.build(column.type, dialect="spark")).as_(
            exp.to_identifier(column.name, quoted=True)
        )
        for column in node.model.columns
    )
    return exp.select(*columns).where(exp.false(), copy=False)
