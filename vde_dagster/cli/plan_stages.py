"""The stages of a plan, described and not applied: the second visitor of them.

The first one is `vde_dagster.app.apply.visitor.Applying`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, assert_never

import click

from vde_dagster.core.graph.ranges import counted
from vde_dagster.core.ledger.schema_changes import described
from vde_dagster.core.listing import plural, some
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
    stages_of,
)

if TYPE_CHECKING:
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.core.time.intervals import Interval

_NAMED: Final = 10
_RANGES: Final = 3


def print_stages(plan: Plan) -> None:
    """Print what applying a plan would do, step by step. Nothing is applied."""
    stages = stages_of(plan)
    if not stages:
        click.echo("Applying it does nothing.")
        return
    click.echo("\nApplying it does, in this order:")
    width = len(str(len(stages)))
    for number, stage in enumerate(stages, 1):
        first, *rest = _lines(plan, stage)
        click.echo(f"{number:>{width}}. {first}")
        for line in rest:
            click.echo(f"{' ' * width}    {line}")


def _lines(  # noqa: PLR0912 - one branch for each stage
    plan: Plan, stage: Stage
) -> Iterator[str]:
    """What a stage does, for people; details of it below the first line."""
    match stage:
        case Reserve(environment=name, base_revision=revision):
            at = f"still at revision {revision}" if revision else "still not there"
            yield f"Reserve {name}, if it is {at}"
        case StoreSnapshots(environment=name, models=models):
            yield f"Store {plural(len(models), 'new model snapshot')}{_listed(models)}"
            yield f"{name} becomes the owner of those versions that have none"
        case Restate(ranges=ranges):
            models_ = plural(len(ranges), "model")
            yield f"Mark as outdated, in one transaction, intervals of {models_}"
            for name, times in ranges:
                yield f"{name}: {_ranges(plan, name, times)}"
        case BeginAgain(models=models):
            yield f"Begin {plural(len(models), 'dropped table')} again, without any rows"
            yield from map(str, models)
        case FinishWork(models=models):
            yield f"Finish or undo what earlier processes left of {plural(len(models), 'model')}"
            yield from map(str, models)
        case EvolveTables(changes=changes):
            tables = plural(len(changes), "table")
            yield f"Change the columns of {tables} in place, without their rows"
            for name, each in changes:
                yield f"{name}: {', '.join(map(described, each))}"
        case Backfill(model=name, version=version, intervals=intervals, batches=batches):
            if stage.adopts:
                yield f"Keep {name} ({stage.adopts[:8]}) if all that it reads has equal rows, else:"
            cut = f", in {len(batches):,} batches" if len(batches) > len(intervals) else ""
            yield f"Compute {name} ({version[:8]}): {_ranges(plan, name, intervals)}{cut}"
        case CatchUp(model=name, version=version, intervals=intervals):
            yield f"Load late rows of {name} ({version[:8]}) by a session"
            if intervals:
                yield f"and compute {_ranges(plan, name, intervals)}"
        case EmptyBackfill(model=name, version=version, intervals=intervals):
            ranges_ = _ranges(plan, name, intervals)
            yield f"Record {name} ({version[:8]}) as loaded without rows: {ranges_}"
        case MakeView(model=name, version=version):
            yield f"Make the view {name} ({version[:8]})"
        case Promote(environment=name, views=views, removed=removed):
            yield f"Let {name} show the new versions, all views in one transaction"
            if views:
                yield f"{plural(len(views), 'view')} made or moved{_listed(views)}"
            if removed:
                yield f"{plural(len(removed), 'view')} dropped{_listed(removed)}"
        case ShowFilled(environment=name, models=models):
            yield f"Make the views that {name} lacks{_listed(models)}"
        case unreachable:
            assert_never(unreachable)


def _ranges(plan: Plan, name: ModelName, intervals: Sequence[Interval]) -> str:
    shown = counted(plan.graph[name], intervals[:_RANGES])
    more = len(intervals) - _RANGES
    return f"{shown} and {more:,} more ranges" if more > 0 else shown


def _listed(names: Sequence[ModelName]) -> str:
    return f": {some(names, _NAMED)}" if names else ""
