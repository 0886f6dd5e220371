"""The ordered stages of a plan: what applying it does, as values.

`stages_of` is a pure function of the plan. Applying visits the stages, explaining prints them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened, InPlace
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.schedule import batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Take the environment, if it is still at the revision that the plan was made at."""

    environment: str
    base_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSnapshots:
    """Store the snapshots of these models, which are new, and own the versions without an owner.

    ``environment`` is the owner of these versions from then on (rule R9).
    """

    environment: str
    models: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restate:
    """Mark loaded intervals as outdated, all of them in one transaction.

    They count as missing from then on, whatever happens, until they are evaluated again. Readers
    see what they saw before until then.
    """

    ranges: tuple[tuple[ModelName, tuple[Interval, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginAgain:
    """Record that the tables of these versions do not exist any more: the next rows are the first.

    What they held is outdated by then, so that it is not read until it is computed again.
    """

    models: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishWork:
    """Finish or undo what an earlier process began on versions and did not end; nothing computes.

    What is being written right now is left to its writer.
    """

    models: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveTables:
    """Change the columns of tables that are kept, without their rows (rule R11).

    Readers see nothing of it: views name their columns, and are rebuilt by a promotion.
    """

    changes: tuple[tuple[ModelName, tuple[InPlace, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Load late rows into a version that comes back, by a session, and all else that is due.

    ``intervals`` are evaluated after it, as far as the session leaves them.
    """

    model: ModelName
    version: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Evaluate ranges of a model, in these batches, each of which is published at once.

    ``adopts`` is the existing version that is kept, and nothing of it computed, where all that the
    model reads turns out to have the rows that it was computed from (rule R6); empty for none.
    """

    model: ModelName
    version: str
    intervals: tuple[Interval, ...]
    batches: tuple[Interval, ...]
    adopts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyBackfill:
    """Record ranges of a model as loaded without rows; its table is made where it is missing."""

    model: ModelName
    version: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeView:
    """Make the physical view of a model of kind VIEW; nothing is computed."""

    model: ModelName
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """Let the environment's views show the plan's versions, in one transaction.

    ``views`` are the models whose view is made or shows another version, ``removed`` those whose
    view is dropped.
    """

    environment: str
    views: tuple[ModelName, ...]
    removed: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFilled:
    """Make views that are missing: their models held nothing before, or they were dropped."""

    environment: str
    models: tuple[ModelName, ...]


Opening = Reserve | StoreSnapshots | Restate | BeginAgain | FinishWork | EvolveTables
"""What comes before any work: from the first stage on the environment is reserved."""
WorkStage = Backfill | CatchUp | EmptyBackfill | MakeView
"""What fills one model's version."""
Closing = Promote | ShowFilled
"""What shows the work."""
Stage = Opening | WorkStage | Closing


def stages_of(plan: Plan) -> tuple[Stage, ...]:
    """What applying a plan does, in order; nothing for an empty one. Linear in its models."""
    if plan.is_empty:
        return ()
    return (*opening_of(plan), *work_stages(plan), closing_of(plan))


def opening_of(plan: Plan) -> tuple[Opening, ...]:
    """The stages before any work."""
    new = tuple(name for name in plan.snapshots if name not in plan.stored)
    stages: list[Opening] = [
        Reserve(environment=plan.environment, base_revision=plan.base_revision),
        StoreSnapshots(environment=plan.environment, models=new),
    ]
    outdated = tuple((each.name, each.restated) for each in plan.changes if each.restated)
    if outdated:
        stages.append(Restate(ranges=outdated))
    if plan.rebuilds:
        stages.append(BeginAgain(models=tuple(each.name for each in plan.rebuilds)))
    if plan.unfinished:
        stages.append(FinishWork(models=plan.unfinished))
    evolved = tuple((each.name, found) for each in plan.changes if (found := _in_place(plan, each)))
    if evolved:
        stages.append(EvolveTables(changes=evolved))
    return tuple(stages)


def _in_place(plan: Plan, change: ModelChange) -> tuple[InPlace, ...]:
    """What the plan changes of a table that is kept; nothing of another environment's (rule R9)."""
    owner = change.reuse.owner if change.reuse is not None else None
    if plan.environment != PRODUCTION and owner not in (None, plan.environment):
        return ()
    return tuple(e for e in change.schema_changes if isinstance(e, ColumnAdded | ColumnWidened))


def work_stages(plan: Plan) -> tuple[WorkStage, ...]:
    """The stages that fill versions, parents first, each model once."""
    return tuple(_work_stage(plan, change) for change in plan.backfills)


def closing_of(plan: Plan) -> Closing:
    """The stage that shows what is filled."""
    if plan.promotes:
        return Promote(environment=plan.environment, views=plan.views, removed=plan.removed)
    missing = dict.fromkeys([*(each.name for each in plan.backfills), *plan.dropped_views])
    return ShowFilled(environment=plan.environment, models=tuple(missing))


def filled_by(plan: Plan) -> frozenset[ModelName]:
    """The models that a plan fills: made once for all stages that `awaited` is asked of."""
    return frozenset(change.name for change in plan.backfills)


def awaited(plan: Plan, stage: Stage, filled: frozenset[ModelName]) -> frozenset[ModelName]:
    """The models whose work has to succeed before a stage; that of others does not matter.

    For work these are the nearest models upstream that the plan fills, looking through those that
    it does not. A promotion awaits the models that it shows at another version than before: it is
    all or nothing. Views that are missing are made last, of what is there by then, whatever failed.

    Args:
        plan: The plan.
        stage: One of its stages.
        filled: What the plan fills, see `filled_by`.
    """
    match stage:
        case Backfill() | CatchUp() | EmptyBackfill() | MakeView():
            return _nearest(plan, stage.model, filled)
        case Promote(views=views):
            return filled.intersection(views)
        case ShowFilled():
            return filled
        case (
            Reserve() | StoreSnapshots() | Restate() | BeginAgain() | FinishWork() | EvolveTables()
        ):
            return frozenset()
        case unreachable:
            assert_never(unreachable)


def left_out(plan: Plan, failed: Collection[ModelName]) -> tuple[ModelName, ...]:
    """The models that a plan does not fill, since they await some that failed; parents first."""
    stopped, filled = set(failed), filled_by(plan)
    waiting: list[ModelName] = []
    for stage in work_stages(plan):
        if stage.model not in stopped and not stopped.isdisjoint(awaited(plan, stage, filled)):
            waiting.append(stage.model)
            stopped.add(stage.model)
    return tuple(waiting)


def _nearest(plan: Plan, name: ModelName, filled: Collection[ModelName]) -> frozenset[ModelName]:
    found: set[ModelName] = set()
    seen: set[ModelName] = set()
    waiting = [*plan.graph[name].model.parents]
    while waiting:
        parent = waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        if parent in filled:
            found.add(parent)
        else:
            waiting += plan.graph[parent].model.parents
    return frozenset(found)


def _work_stage(plan: Plan, change: ModelChange) -> WorkStage:
    model, version = plan.graph[change.name].model, change.version or ""
    if model.kind.is_view:
        return MakeView(model=change.name, version=version)
    intervals = change.to_evaluate
    if change.catches_up:
        return CatchUp(model=change.name, version=version, intervals=intervals)
    if plan.options.empty_backfill and not model.kind.is_seed:
        return EmptyBackfill(model=change.name, version=version, intervals=intervals)
    return Backfill(
        model=change.name,
        version=version,
        intervals=intervals,
        batches=batches(model, intervals),
        adopts=(change.previous_version or "") if change.may_adopt else "",
    )
