"""Applying a plan: reserve the environment, fill what is missing, promote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vde_dagster import kinds
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.catch_up import load
from vde_dagster.app.evaluate import Evaluated, evaluate
from vde_dagster.app.leases import environment_resource, held
from vde_dagster.app.promote import promote, show
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.intervals import END_OF_TIME, Interval, common
from vde_dagster.core.ledger import held_intervals
from vde_dagster.core.names import ModelName
from vde_dagster.core.plan import ModelChange, Plan
from vde_dagster.core.schedule import batches
from vde_dagster.kinds.rules import refuse_not_evaluated
from vde_dagster.ports.state import Lease

Report = Callable[[Evaluated], None]


def apply_plan(services: Services, plan: Plan, report: Report) -> tuple[Evaluated, ...]:
    """Carry out a plan, without Dagster. ``report`` is told of each unit of work when it is done.

    Raises:
        Conflict: The environment changed since the plan was made, or somebody else is changing it;
            nothing was written.
        NotEvaluated: The plan has models of kinds that cannot be evaluated yet; nothing was
            written.
        Refused: An evaluation cannot be done as things stand.
        EvaluationFailed: A query failed. What was filled before stays and is not filled again.
    """
    check_plan(plan)
    done: list[Evaluated] = []
    with reserved(services, plan) as lease:
        binding = bind_plan(plan)
        for change in plan.backfills:
            for evaluated in backfill(services, binding, plan, change.name):
                report(evaluated)
                done.append(evaluated)
        finish(services, plan, lease)
    return tuple(done)


@contextmanager
def reserved(services: Services, plan: Plan) -> Iterator[Lease]:
    """Hold a plan's environment, with the plan's snapshots stored, before the first write.

    Raises:
        Conflict: The plan is stale, or somebody else changes this environment right now.
    """
    resource = environment_resource(plan.environment)
    with held(services.state, resource, holder=f"plan {plan.plan_id}") as lease:
        shown = services.state.environment(plan.environment)
        revision = shown.revision if shown is not None else 0
        if revision != plan.base_revision:
            raise Conflict(
                f"{plan.environment} was changed since this plan was made (revision {revision}, "
                f"the plan was made at {plan.base_revision}). Nothing was done; plan again."
            )
        store_plan(services, plan)
        yield lease


def store_plan(services: Services, plan: Plan) -> None:
    """Store a plan's snapshots, before anything is written for it.

    Raises:
        Conflict: Another plan stored one of them meanwhile with another version, so what this plan
            says does not hold any more.
    """
    snapshots = tuple(plan.snapshots.values())
    services.state.store_snapshots(snapshots, environment=plan.environment)
    stored = services.state.snapshots((each.name, each.fingerprint) for each in snapshots)
    moved = [
        str(each.name)
        for each in snapshots
        if stored[each.name, each.fingerprint.digest].version != each.version
    ]
    if moved:
        raise Conflict(
            f"another plan stored {', '.join(sorted(moved))} with another version since this plan "
            "was made. Nothing was computed; plan again."
        )


def backfill(
    services: Services, binding: Binding, plan: Plan, name: ModelName
) -> Iterator[Evaluated]:
    """Evaluate what a model lacks now, batch by batch; that may be less than when it was planned.

    Raises:
        NotEvaluated: The plan has models of kinds that cannot be evaluated yet.
    """
    check_plan(plan)
    (change,) = (each for each in plan.changes if each.name == name)
    model = binding.node(name).model
    for batch in batches(model, _missing(services, binding, plan, change)):
        if common([batch], _missing(services, binding, plan, change)):
            yield from evaluate_range(services, binding, name, batch)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that cannot be carried out, before anything is written for it.

    Raises:
        NotEvaluated: It has models of kinds that cannot be evaluated yet; it names all of them.
    """
    refuse_not_evaluated(plan.graph[change.name].model for change in plan.backfills)


def evaluate_range(
    services: Services, binding: Binding, name: ModelName, interval: Interval
) -> tuple[Evaluated, ...]:
    """Evaluate a contiguous range of a model in the way that the model is loaded."""
    if binding.node(name).model.stateless is not None:
        return load(services, binding, name, interval)
    return (evaluate(services, binding, name, interval),)


def finish(services: Services, plan: Plan, lease: Lease) -> None:
    """Show what a plan has filled: by a promotion, or by views that were missing so far."""
    if plan.promotes:
        promote(services, plan, lease)
    else:
        show(services, plan.environment, {change.name for change in plan.backfills})


def _missing(
    services: Services, binding: Binding, plan: Plan, change: ModelChange
) -> tuple[Interval, ...]:
    """What of a plan's intervals is missing still."""
    if not change.missing:
        return ()
    model, key = binding.node(change.name).model, binding.key(change.name)
    held_now = held_intervals(services.state.ledger([key]).get(key, ()))
    until = change.missing[-1].end
    ended = until == END_OF_TIME or (model.end is not None and until >= model.unit.floor(model.end))
    beyond = [] if ended else [Interval(until, END_OF_TIME)]
    found = kinds.of(model).missing(model, held_now, plan.now or model.start, beyond)
    return common(found, change.missing)
