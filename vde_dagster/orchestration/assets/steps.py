"""What one Dagster step does: decided from the state before any work, and then done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from vde_dagster.app.apply.applying import promote_followed
from vde_dagster.app.apply.filling import evaluate_rest
from vde_dagster.app.apply.storing import record_refusal, store_plan
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.listing import late_data_listed
from vde_dagster.app.evaluate.cumulative import sequential_ranges
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inputs.completeness import due_of
from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.plan.plan_checks import check_plan
from vde_dagster.app.publish.shown_views import show
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.stale_inputs import stale_inputs
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerEntry, loaded_intervals
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, WaitingRows
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval, subtract
from vde_dagster.orchestration.assets.partitions import contiguous, is_partitioned
from vde_dagster.orchestration.location import Location
from vde_dagster.ports.state import environment_resource

_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What an asset's body asks the IO manager to do.

    ``ranges`` are evaluated one after the other, each in a unit of work of its own. With ``force``
    they are computed even if nothing has changed (rule R2). ``asked_at`` is when the run was asked
    for, which is the same for all of its steps.
    """

    binding: Binding
    node: Node
    ranges: tuple[Interval, ...]
    force: bool = False
    asked_at: datetime | None = None

    @property
    def interval(self) -> Interval:
        """The time from the first range to the last."""
        return Interval(self.ranges[0].start, self.ranges[-1].end)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """What the IO manager did about an evaluation, in units of work.

    ``stale_inputs`` says for people which inputs were late or changed upstream themselves when it
    began. ``waits`` is what was refused of it while all else was done (rule R8).
    """

    evaluation: Evaluation
    done: tuple[Evaluated, ...]
    stale_inputs: tuple[str, ...] = ()
    waits: RowsWouldGo | None = None

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The loaded entries of the time that was asked for, in order.

        Of a table without partitions these are all: its rows may have been computed up to a later
        time than its sources say now that they are complete.
        """
        latest = {entry.interval: entry for each in self.done for entry in each.entries}
        asked, is_whole = self.evaluation.interval, not is_partitioned(self.evaluation.node)
        return tuple(e for at, e in sorted(latest.items()) if is_whole or asked.contains(at))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyLoaded:
    """All that is asked for is loaded: by the version's ``owner``, or by an earlier try."""

    binding: Binding
    node: Node
    owner: str
    entries: tuple[LedgerEntry, ...]


def decide(
    location: Location,
    name: ModelName,
    partitions: Sequence[str],
    *,
    force: bool = False,
    tried_at: datetime | None = None,
) -> Evaluation | AlreadyLoaded:
    """What a step does. Writes nothing and starts no Spark.

    Args:
        location: As it was loaded.
        name: The model.
        partitions: The keys of the run; none for a model without partitions.
        force: Whether the run computes its models even if nothing has changed.
        tried_at: When an earlier try of this step began; None where there was none. It may have
            ended after it had recorded what it did, which a model that builds on itself must not do
            twice.

    Raises:
        Refused: The environment does not run the loaded version any more, no plan of production
            was applied yet, or the version's owner has not computed what is asked for.
    """
    services = location.project.services
    binding = current_binding(location, name)
    node, key = binding.node(name), binding.key(name)
    owner = services.state.owners([key]).get(key)
    if owner is not None and not may_write(location.environment, owner):
        wanted = contiguous(node.model.unit, partitions) if is_partitioned(node) else None
        entries = services.state.entries_within(key, None if wanted is None else (wanted,))
        return AlreadyLoaded(
            binding=binding,
            node=node,
            owner=owner,
            entries=_computed(node, owner, entries, wanted),
        )
    ranges = (
        (contiguous(node.model.unit, partitions),)
        if is_partitioned(node)
        else _whole(services, binding, node, tried_at=None if force else tried_at)
    )
    if not ranges:
        return AlreadyLoaded(
            binding=binding,
            node=node,
            owner=owner or location.environment,
            entries=services.state.ledger([key]).get(key, ()),
        )
    return Evaluation(binding=binding, node=node, ranges=ranges, force=force)


def current_binding(location: Location, name: ModelName) -> Binding:
    """What the environment runs now, if that is the version of ``name`` that was loaded.

    Raises:
        Refused: It is not, or no plan of production was applied yet.
    """
    services = location.project.services
    environment = location.environment
    shown = services.state.environment(environment)
    revision = shown.revision if shown is not None else 0
    if shown is None and location.followed is None:
        raise Refused(
            f"no plan of {environment} has been applied yet, so nothing runs there",
            advice=f"Run `vde plan {environment}` and apply it, then reload this code location.",
        )
    if revision == location.binding.revision:
        return location.binding
    binding = bind_environment(services, environment)
    if (
        binding is None
        or name not in binding.snapshots
        or binding.key(name) != location.binding.key(name)
    ):
        raise Refused(
            f"environment moved, reload this code location: {environment} no longer runs "
            f"version {location.binding.key(name).version[:8]} of {name}. Nothing was done."
        )
    return binding


def evaluate_step(location: Location, evaluation: Evaluation) -> EvaluationResult:
    """Evaluate, publish, record, and let the environment's view show it."""
    services = replace(
        location.project.services,
        retries=False,  # Dagster's retry policy does that
        asked_at=evaluation.asked_at,
    )
    store_followed(location)
    name, binding, ranges = evaluation.node.name, evaluation.binding, evaluation.ranges
    behind = stale_inputs(services, binding, name, ranges)
    waiting = WaitingRows()
    with late_data_listed(services):
        done = [
            unit
            for each in ranges
            for unit in evaluate_rest(
                services, binding, name, each, waiting=waiting, force=evaluation.force
            )
        ]
    waits = waiting.refusal
    if waits is not None:
        record_refusal(services, binding, name, waits.intervals, waits)
    show_result(location, name)
    return EvaluationResult(
        evaluation=evaluation,
        done=tuple(done),
        stale_inputs=tuple(map(str, behind)),
        waits=waits,
    )


def store_followed(location: Location) -> None:
    """Store the snapshots of a plan that follows the files, before anything is written for it.

    Raises:
        Refused: The plan cannot be applied, so nothing is written for it.
    """
    plan = _outstanding(location)
    if plan is not None:
        check_plan(location.project.services, plan)
        store_plan(location.project.services, plan)


def show_result(location: Location, name: ModelName) -> None:
    """Make the environment's view of a model show its table, if it does not yet.

    Outside production the plan that follows the files is promoted first. Steps of other runs may be
    doing the same, so it is tried for some seconds.

    Raises:
        Conflict: A plan is being applied to the environment; its end shows the result, too.
        Refused: The plan that follows the files cannot be applied; no view was moved.
    """
    for pause in _PAUSES:
        try:
            _show_result(location, name)
        except Conflict:
            time.sleep(pause)
        else:
            return
    _show_result(location, name)


def _show_result(location: Location, name: ModelName) -> None:
    services, environment = location.project.services, location.environment
    plan = _outstanding(location)
    if plan is not None:
        promote_followed(services, plan)
        return
    naming = naming_of(services, environment)
    view = services.catalog.view(environment_view(name, environment, naming))
    if view is None or view.target != location.binding.key(name).table:
        holder = holder_of(services.ids, "a run's view")
        resource, ttl = environment_resource(environment), services.lease_ttl
        with leased(services.state, resource, holder=holder, ttl=ttl):
            show(services, environment, {name})


def _outstanding(location: Location) -> Plan | None:
    """The plan that follows the files, while the environment does not show its snapshots."""
    plan = location.followed
    if plan is None or not plan.promotes:
        return None
    revision = location.project.services.state.revision(location.environment)
    return plan if revision == plan.base_revision else None


def _whole(
    services: Services, binding: Binding, node: Node, *, tried_at: datetime | None
) -> tuple[Interval, ...]:
    """What an evaluation of a model without partitions covers.

    For a kind that is built as a whole it is all that is due, at once. For a kind that builds each
    interval on the ones before, it is what is not loaded yet, in batches; nothing if an earlier try
    has recorded all that is due.

    Raises:
        Refused: Nothing is due, or such a model has loaded all that is due.
    """
    model = node.model
    due = due_of(services, binding, node.name)
    rules = model.kind
    if rules.is_sequential:
        key = binding.key(node.name)
        holding = services.state.holdings([key]).get(key, NOTHING)
        if not due.missing and _is_recorded_since(services, key, tried_at):
            return ()
        if model.late_data is not None and not due.missing:
            there = services.state.sums([key]).get(key)
            if there is not None:
                return (there.last.interval,)  # a session appends what came late
        wanted = sequential_ranges(model, holding, due.missing, environment=binding.environment)
    else:
        wanted = rules.missing(model, (), due.complete_to or model.start)[:1]
    if not wanted:
        raise Refused(
            f"{node.name} is not due: none of its inputs is complete for a whole "
            f"{model.unit.value} yet",
            advice="Load its sources first.",
        )
    return wanted


def _is_recorded_since(services: Services, key: VersionKey, tried_at: datetime | None) -> bool:
    """Whether something was recorded after an earlier try began; a refused one recorded nothing."""
    if tried_at is None:
        return False
    entries = services.state.ledger([key]).get(key, ())
    works = services.state.works(entry.work_id for entry in entries).values()
    return any(each.finished_at is not None and each.finished_at >= tried_at for each in works)


def _computed(
    node: Node, owner: str, entries: Sequence[LedgerEntry], wanted: Interval | None
) -> tuple[LedgerEntry, ...]:
    if wanted is None:
        found, lacks = tuple(entries), "" if entries else "anything"
    else:
        found = tuple(entry for entry in entries if wanted.contains(entry.interval))
        gaps = subtract([wanted], loaded_intervals(found))
        lacks = ", ".join(str(gap) for gap in gaps)
    if lacks:
        raise Refused(
            f"{owner} owns this version of {node.name} and has not computed {lacks} of it yet",
            advice="Compute it there, or change the model to get a version of its own.",
        )
    return found
