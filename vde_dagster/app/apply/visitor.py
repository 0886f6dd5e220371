"""What each stage of a plan does when it is applied (`vde_dagster.core.planning.stages`)."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import assert_never

from vde_dagster.app.apply.adopting import (
    adopt,
    compared_again,
    has_to_give_back,
    refuse_given_back,
)
from vde_dagster.app.apply.filling import Filling, evaluate_range, record_empty
from vde_dagster.app.apply.storing import record_refusal, refuse_taken, store_plan
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import recovering, writing
from vde_dagster.app.evaluate.evolution import evolve_tables
from vde_dagster.app.inputs.completeness import holdings_of
from vde_dagster.app.plan.adoption import has_rows_of
from vde_dagster.app.promote.promotion import promote
from vde_dagster.app.publish.publishing import record_dropped
from vde_dagster.app.publish.shown_views import show
from vde_dagster.app.recover.recovery import recover
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import remember_looks
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.selection import select
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.adoption import with_snapshot
from vde_dagster.core.planning.bounds import restated_from
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.restatement import asked_again, both, computed_again, read_again
from vde_dagster.core.planning.stages import (
    Backfill,
    BeginAgain,
    CatchUp,
    EmptyBackfill,
    EvolveTables,
    FinishWork,
    MakeView,
    Promote,
    Reserve,
    Restate,
    ShowFilled,
    Stage,
    StoreSnapshots,
    WorkStage,
)
from vde_dagster.core.planning.workload import restatement
from vde_dagster.core.time.intervals import ALWAYS, Interval, common, merge
from vde_dagster.core.time.schedule import batches
from vde_dagster.ports.state import Lease, LeaseHeld, LeaseLost, environment_resource


class EnvironmentBusy(Conflict):
    """Another process changes an environment, or changed it after the plan was made.

    So nothing was done. Any other `Conflict` is about a part of a plan that was started.
    """


@contextmanager
def applying(services: Services, plan: Plan) -> Iterator[Applying]:
    """The visitor of a plan's stages. The leases that it takes are given back at the end."""
    with ExitStack() as leases:
        changes = {change.name: change for change in plan.changes}
        yield Applying(services, plan, binding=bind_plan(plan), changes=changes, leases=leases)


@dataclass
class Applying:
    """The visitor that runs the stages of one plan. Threads may run those of different models.

    ``plan`` and ``binding`` change meanwhile: models may adopt versions. What a model reads has
    done so before the model's stage begins, and what others do changes nothing for it.

    Args:
        services: The ports.
        plan: The plan whose stages are visited.
        binding: What the plan's environment will run.
        changes: The plan's changes by name.
        leases: Gives back the leases that `Reserve` took.
    """

    services: Services
    plan: Plan
    binding: Binding = field(kw_only=True)
    changes: dict[ModelName, ModelChange] = field(kw_only=True)
    leases: ExitStack = field(kw_only=True)
    planned: Plan = field(init=False)
    _lease: Lease | None = None
    _adopting: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.planned = self.plan

    @property
    def lease(self) -> Lease:
        """The lease on the environment, once it is reserved."""
        assert self._lease is not None, "the first stage reserves the environment"
        return self._lease

    def visit(self, stage: Stage) -> Iterator[Evaluated]:
        """Run a stage; each evaluation is yielded when it is done.

        Raises:
            EnvironmentBusy: Another process changes the environment, or the plan is stale.
            Conflict: Another process writes the same right now.
            Refused: An evaluation is not possible in the current state.
            EvaluationFailed: A query failed.
        """
        match stage:
            case Reserve():
                self._reserve(stage)
            case StoreSnapshots():
                store_plan(self.services, self.plan)
                refuse_taken(self.services, self.plan)
            case Restate():
                self._outdate(stage)
            case BeginAgain(models=models):
                self._begin_again(models)
            case FinishWork(models=models):
                self._finish_work(models)
            case EvolveTables(changes=changes):
                evolve_tables(self.services, self.binding, changes)
            case Backfill() | CatchUp() | MakeView() | EmptyBackfill():
                yield from self._fill(stage)
            case Promote():
                yield from self._compute_given_back()
                promote(self.services, self.plan, self.lease)
                remember_looks(self.services, self.binding)
            case ShowFilled():
                show(self.services, stage.environment, stage.models)
                remember_looks(self.services, self.binding)
            case unreachable:
                assert_never(unreachable)

    def _fill(self, stage: WorkStage) -> Iterator[Evaluated]:
        """Fill a model's version. What is refused is recorded."""
        change = self.changes[stage.model]
        try:
            match stage:
                case Backfill():
                    yield from self._adopt(stage)
                    yield from self._filling(stage.model).steps()
                case CatchUp():
                    yield from self._catch_up(change)
                case MakeView():
                    yield from self._make_view(change)
                case EmptyBackfill():
                    yield from self._record_empty(stage)
                case unreachable:
                    assert_never(unreachable)
        except Refused as refused:
            record_refusal(self.services, self.binding, change.name, change.to_evaluate, refused)
            raise

    def _reserve(self, stage: Reserve) -> None:
        resource = environment_resource(stage.environment)
        try:
            lease = self.services.lease(resource, f"plan {self.plan.plan_id}")
            self._lease = self.leases.enter_context(lease)
        except LeaseHeld as held:
            raise EnvironmentBusy(held.message, advice=held.advice) from held
        self.leases.callback(self._release_unfilled)
        revision = self.services.state.revision(stage.environment)
        if revision != stage.base_revision:
            raise EnvironmentBusy(
                f"{stage.environment} was changed since this plan was made (revision {revision}, "
                f"the plan was made at {stage.base_revision}). Nothing was done",
                advice=self.plan.again,
            )

    def _release_unfilled(self) -> None:
        """Let others fill what this plan, or an earlier one, was to show and did not fill."""
        with suppress(LeaseLost):  # whoever has the environment now does it at their end
            self.services.state.release_unfilled(self.plan.environment, lease=self.lease)

    def _outdate(self, stage: Restate) -> None:
        """Mark what is restated, and what was staged from it earlier and is recorded only now.

        The marks outlive this process: the next plan evaluates what is marked, and no model reads
        it until then.
        """
        ranges = dict(stage.ranges)
        downstream = select([self.plan.graph], [f"{name}+" for name in ranges], catalog="")
        finished = [name for name in downstream if self._finish_staged(name)]
        if finished:
            ranges = self._restated_now(ranges)
        times = {self.binding.key(name): each for name, each in ranges.items()}
        reason = f"restated by plan {self.plan.plan_id} of {self.plan.environment}"
        named = {*self._asked(), *(each.name for each in self.plan.rebuilds)}
        asked = {self.binding.key(name) for name in named if name in ranges}
        self.services.state.outdate(times, reason=reason, lease=self.lease, rebuilt=asked)

    def _asked(self) -> Collection[ModelName]:
        """The models whose rows were asked to be computed again, whatever has changed."""
        catalog = self.services.naming.catalog
        chosen = select([self.plan.graph], self.plan.options.restate, catalog=catalog)
        return asked_again(self.plan.graph, chosen)

    def _begin_again(self, models: Collection[ModelName]) -> None:
        """Record of dropped tables that there are none, so that new ones begin without rows."""
        for key in map(self.binding.key, models):
            with recovering(self.services, self.binding, key) as (lease, _):
                record_dropped(self.services, self.plan.environment, key, lease=lease)

    def _finish_staged(self, name: ModelName) -> bool:
        """Finish or undo what an earlier process began. Returns whether there was anything."""
        key = self.binding.key(name)
        if not self.services.state.open_work(key):
            return False
        with recovering(self.services, self.binding, key):
            return True

    def _finish_work(self, models: Collection[ModelName]) -> None:
        for key in map(self.binding.key, models):
            with ExitStack() as leases:
                try:
                    lease = leases.enter_context(writing(self.services, self.binding, key))
                except Conflict:  # another process is at work on it and will finish it
                    continue
                recover(self.services, key, lease)

    def _restated_now(
        self, planned: Mapping[ModelName, tuple[Interval, ...]]
    ) -> dict[ModelName, tuple[Interval, ...]]:
        """What the plan restates, with what is recorded only by now and was asked for or reads it.

        Of models whose table was dropped that is all that is recorded; of others no more than
        the plan evaluates.
        """
        plan, graph = self.plan, self.plan.graph
        holdings = holdings_of(self.services, plan.environment, plan.snapshots)
        again = {each.name: holdings.computed[each.name] for each in plan.rebuilds}
        wanted = {
            name: merge((*planned.get(name, ()), *again.get(name, ())))
            for name in (*planned, *again)
        }
        reading = read_again(
            graph,
            wanted,
            holdings.recorded,
            writes=holdings.writes,
        )
        asked = restatement(graph, holdings, plan.options, catalog=self.services.naming.catalog)
        effective = restated_from(graph, holdings, plan.effective_from)
        found = both(both(asked, effective), reading).ranges
        now = {name: common(times, self.changes[name].to_evaluate) for name, times in found.items()}
        names = dict.fromkeys((*wanted, *now))
        marked = {name: merge((*wanted.get(name, ()), *now.get(name, ()))) for name in names}
        return {name: times for name, times in marked.items() if times}

    def _filling(self, name: ModelName) -> Filling:
        """The evaluation of a model's intervals that are to be done now."""
        return Filling(self.services, self.plan, self.binding, self.changes[name], self.lease)

    def _adopt(self, stage: Backfill) -> Iterator[Evaluated]:
        """Let a model adopt its existing version, if that has the same rows (rule R6)."""
        if not stage.adopts:
            return
        change = self.changes[stage.model]
        with self._adopting:  # each plan follows from the one before
            found = adopt(self.services, self.plan, change, stage.adopts)
            if found is not None:
                self._follow(found[0])
        if found is not None:
            yield found[1]

    def _compute_given_back(self) -> Iterator[Evaluated]:
        """Compute adopted models whose rows would differ by now, until a look finds none."""
        looked_at = None
        while looked_at is not self.plan:
            looked_at = self.plan
            yield from self._give_back()

    def _give_back(self) -> Iterator[Evaluated]:
        """One look at the adopted versions, parents first, and at what reads those given back."""
        compared = compared_again(self.services, self.plan, self.planned)
        moved: set[ModelName] = set()
        for node in self.plan.graph:
            name, planned = node.name, self.planned
            if name in compared and has_to_give_back(self.services, self.plan, planned, name):
                self._follow(with_snapshot(self.plan, planned.snapshots[name]))
                yield from self._filling(name).steps()
                moved.add(name)
            elif not moved.isdisjoint(node.model.parents):
                yield from self._follow_moved(node, self.changes[name])
                moved.add(name)

    def _follow_moved(self, node: Node, change: ModelChange) -> Iterator[Evaluated]:
        """Bring a filled model up to date with parents that gave back an adopted version.

        Raises:
            Conflict: The model builds on its own rows, so it cannot be computed again here.
        """
        if node.model.kind.is_view:
            yield from self._make_view(change)
            return
        key = self.plan.snapshots[node.name].key
        if not change.to_evaluate or self.plan.snapshots[node.name].is_adopted:
            return
        if has_rows_of(self.services, self.plan.graph, self.plan.snapshots, key):
            return
        if node.model.kind.is_sequential:
            taken = self.plan.taken
            owner = taken.environment if taken is not None else self.plan.environment
            raise Conflict(
                f"{node.name} was computed from a table that has changed since. No view was moved",
                advice=computed_again(node.model, owner),
            )
        within = self.plan.options.bounds(self.plan.environment)
        for batch in batches(node.model, change.to_evaluate):
            yield from evaluate_range(self.services, self.binding, node.name, batch, within=within)

    def _follow(self, plan: Plan) -> None:
        self.plan, self.binding = plan, bind_plan(plan)

    def _catch_up(self, change: ModelChange) -> Iterator[Evaluated]:
        """Bring a version's loaded intervals up to date with the source, and then load the rest."""
        within = self.plan.options.bounds(self.plan.environment)
        done = catch_up(self.services, self.binding, change.name, within=within)
        if isinstance(done, Evaluated):
            yield done
        yield from self._filling(change.name).steps()

    def _make_view(self, change: ModelChange) -> Iterator[Evaluated]:
        """Create a physical view that is not recorded, or that was dropped."""
        table = self.binding.key(change.name).table
        if self._filling(change.name).left() or not self.services.catalog.present([table]):
            yield from evaluate_range(self.services, self.binding, change.name, ALWAYS)

    def _record_empty(self, stage: EmptyBackfill) -> Iterator[Evaluated]:
        reason = f"recorded as empty by plan {self.plan.plan_id} of {self.plan.environment}"
        done = record_empty(
            self.services, self.binding, stage.model, stage.intervals, reason=reason
        )
        if done is not None:
            yield done


def visit_without_work(work: Applying, stage: Stage) -> Iterator[Evaluated]:
    """Run a stage of a plan whose models others fill, each one when it is asked for.

    Adopted versions of other environments are not computed here.

    Raises:
        Refused: One of these has other rows by now, or the plan cannot be shown in the current
            state. No view was moved.
        Conflict: The environment was changed since the plan was made.
    """
    if isinstance(stage, WorkStage):
        return
    if isinstance(stage, StoreSnapshots):
        store_plan(work.services, work.plan)
    elif isinstance(stage, Promote):
        refuse_given_back(work.services, work.plan)
        promote(work.services, work.plan, work.lease)
    else:
        yield from work.visit(stage)
