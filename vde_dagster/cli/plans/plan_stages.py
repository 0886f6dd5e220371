"""The stages of a plan, described and not applied: the second visitor of them.

The first one is `vde_dagster.app.apply.visitor.Applying`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from vde_dagster.core.graph.ranges import counted
from vde_dagster.core.ledger.schema_changes import described
from vde_dagster.core.listing import plural, some
from vde_dagster.core.planning import stages

if TYPE_CHECKING:
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.core.time.intervals import Interval

_NAMED: Final = 10
_RANGES: Final = 3


def stage_lines(plan: Plan) -> Iterator[str]:
    """What applying a plan would do, step by step. Nothing is applied."""
    found = stages.stages_of(plan)
    yield "\nApplying it takes these steps, in order:" if found else "Applying it does nothing."
    width = len(str(len(found)))
    for number, stage in enumerate(found, 1):
        first, *rest = _lines(plan, stage)
        yield f"{number:>{width}}. {first}"
        yield from (f"{' ' * width}    {line}" for line in rest)


def _lines(  # noqa: PLR0912 - one branch for each stage
    plan: Plan, stage: stages.Stage
) -> Iterator[str]:
    """What a stage does, for people; details of it below the first line."""
    match stage:
        case stages.Reserve(environment=name, base_revision=revision):
            at = f"is still at revision {revision}" if revision else "still does not exist"
            yield f"Reserve {name}, if it {at}"
        case stages.StoreSnapshots(environment=name, models=models):
            yield f"Store {plural(len(models), 'new model snapshot')}{_listed(models)}"
            yield f"{name} becomes the owner of those versions that have none"
        case stages.Restate(ranges=ranges):
            models_ = plural(len(ranges), "model")
            yield f"Mark as outdated, in one transaction, intervals of {models_}"
            for name, times in ranges:
                yield f"{name}: {_ranges(plan, name, times)}"
        case stages.BeginAgain(models=models):
            yield f"Recreate {plural(len(models), 'dropped table')}, without any rows"
            yield from map(str, models)
        case stages.FinishWork(models=models):
            yield f"Finish or revert unfinished work on {plural(len(models), 'model')}"
            yield from map(str, models)
        case stages.EvolveTables(changes=changes):
            tables = plural(len(changes), "table")
            yield f"Change the columns of {tables} in place, without their rows"
            for name, each in changes:
                yield f"{name}: {', '.join(map(described, each))}"
        case stages.Backfill(model=name, version=version, intervals=intervals, batches=batches):
            if stage.adopts:
                yield f"Keep {name} ({stage.adopts[:8]}) if all its inputs have equal rows, else:"
            cut = f", in {len(batches):,} batches" if len(batches) > len(intervals) else ""
            yield f"Compute {name} ({version[:8]}): {_ranges(plan, name, intervals)}{cut}"
        case stages.CatchUp(model=name, version=version, intervals=intervals):
            yield f"Load late rows of {name} ({version[:8]}) in a session"
            if intervals:
                yield f"and compute {_ranges(plan, name, intervals)}"
        case stages.EmptyBackfill(model=name, version=version, intervals=intervals):
            ranges_ = _ranges(plan, name, intervals)
            yield f"Record {name} ({version[:8]}) as loaded without rows: {ranges_}"
        case stages.MakeView(model=name, version=version):
            yield f"Create the view {name} ({version[:8]})"
        case stages.Promote(environment=name, views=views, removed=removed):
            yield f"Point {name} at the new versions, all views in one transaction"
            if views:
                yield f"{plural(len(views), 'view')} created or moved{_listed(views)}"
            if removed:
                yield f"{plural(len(removed), 'view')} dropped{_listed(removed)}"
        case stages.ShowFilled(environment=name, models=models):
            yield f"Create the missing views of {name}{_listed(models)}"
        case unreachable:
            assert_never(unreachable)


def _ranges(plan: Plan, name: ModelName, intervals: Sequence[Interval]) -> str:
    shown = counted(plan.graph[name], intervals[:_RANGES])
    more = len(intervals) - _RANGES
    return f"{shown} and {more:,} more ranges" if more > 0 else shown


def _listed(names: Sequence[ModelName]) -> str:
    return f": {some(names, _NAMED)}" if names else ""
