"""Making a plan: reads the state and the catalog's metadata, writes nothing, starts no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.inputs.completeness import complete_times_of, due_work, holdings_of
from vde_dagster.app.plan.catalog_look import CatalogLook, look_at_catalog, lost_for, rebuilding
from vde_dagster.app.plan.fillers import stale_elsewhere
from vde_dagster.app.plan.resolving import Basis, Models, basis_of, bounded_models, resolve_models
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import followed, late_upstream
from vde_dagster.app.staleness.returning import coming_back, downstream, lag_of_readers, with_lag
from vde_dagster.app.staleness.upstream_changes import Pace, pace_of
from vde_dagster.app.staleness.version_behind import Ledger, Planned
from vde_dagster.app.view_names import are_moving
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, bounded_graph, sources
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.model.snapshot import Bounded, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.bounds import (
    Effect,
    reading_bounded,
    restated_from,
    since_of,
    taking_effect,
    without_effect,
)
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions, refuse_senseless
from vde_dagster.core.planning.pauses import PausedModel, paused_models
from vde_dagster.core.planning.plan import ExistingVersion, Plan, Workload
from vde_dagster.core.planning.plan_making import Current, Findings, make_plan
from vde_dagster.core.planning.restatement import Restatement, both
from vde_dagster.core.planning.setting_aside import without_lost
from vde_dagster.core.planning.workload import (
    Holdings,
    find_gaps,
    loaded_after,
    not_restated,
    restatement,
    with_restated,
)
from vde_dagster.core.time.intervals import merge, subtract
from vde_dagster.ports.state import Environment
from vde_dagster.project.garbage_collection import looking_at_new_values_only
from vde_dagster.project.signals import ready_intervals


@looking_at_new_values_only()
def plan_environment(
    services: Services,
    graph: Graph,
    environment: str,
    options: PlanOptions = DEFAULT_OPTIONS,
    *,
    paced: bool = False,
    sets_aside: bool = True,
    given: Mapping[ModelName, ModelSnapshot] | None = None,
    stays: Mapping[ModelName, Bounded] | None = None,
    effective_from: Mapping[ModelName, datetime] | None = None,
    only: frozenset[ModelName] | None = None,
) -> Plan:
    """The plan that makes an environment show a project's models, as the options say.

    An environment that does not exist yet is compared with production, whose versions it shares
    where nothing changed (seed 000, *Virtual Layer*). In a ``paced`` plan, which no person asked
    for, upstream changes reach a model as often as its ``freshness`` and ``updates_on`` say.

    Args:
        services: The ports.
        graph: The project.
        environment: The environment's canonical name.
        options: What was asked for.
        paced: Whether no person asked for it.
        sets_aside: Whether what needs a lost table is left out of its work.
        given: Models that get these snapshots, with the version that they have.
        stays: The bounds that models keep, see `bounded_models`; None if a person plans.
        effective_from: From when on forward-only changes of these models count, if the option for
            all of them does not say so.
        only: The models that may be computed; the others count as loaded up to where they are. None
            for all.

    Raises:
        OptionsRefused: The options make no sense together, or not for this environment.
        SelectionRefused: A selector selects nothing.
        ProjectInvalid: Selected models do not fit the ones that stay as they are shown.
        RestatementRefused: Models that are to be restated set ``disable_restatement``.
    """
    refuse_senseless(options, environment)
    basis = basis_of(services, environment, options)
    models = resolve_models(services, bounded_graph(graph, {}), basis, given)
    models = bounded_models(services, basis, models, stays)
    looked = _look(services, basis, models, effective_from or {}, only)
    pace = pace_of(services, looked.now) if paced else None
    plan = make_plan(
        plan_id=services.ids.new(),
        environment=environment,
        now=looked.now,
        graph=models.graph,
        shown=replace(models.shown, snapshots=basis.snapshots),
        current=_current(basis.own, stays=looked.stays),
        resolved=models.resolved,
        complete_to=looked.planned.complete_to,
        findings=_findings(services, basis, models, looked, pace),
        options=options,
        hidden=_hidden(looked.planned.snapshots, basis),
        left_out=models.left_out,
    )
    return without_lost(plan, services.naming.catalog) if sets_aside else plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What the state and the catalog say of a plan's models.

    ``now`` is the project's clock. ``stays`` says whether the environment's views have the names
    that the project gives them. ``effect`` has the forward-only changes that count from an earlier
    instant on.
    """

    planned: Planned
    catalog: CatalogLook
    now: datetime | None
    stays: bool
    effect: Effect


def _look(
    services: Services,
    basis: Basis,
    models: Models,
    effective_from: Mapping[ModelName, datetime],
    only: frozenset[ModelName] | None,
) -> _Looked:
    """Look up the versions' loaded intervals, and whether their tables and views exist."""
    graph, snapshots = models.graph, models.snapshots
    now = services.project_now()
    loaded = services.state.holdings(
        each.key for each in (*snapshots.values(), *basis.snapshots.values())
    )
    tables = {name: services.source(name) for name in sources(graph)}
    own = basis.own
    stays = own is not None and not own.promoting and not are_moving(services, own)
    naming = services.naming if stays else None
    look = look_at_catalog(services, graph, snapshots, loaded, shown=basis.own, naming=naming)
    holdings = holdings_of(services, basis.environment, snapshots, look.left(loaded))
    writes = holdings.writes - reading_bounded(graph, snapshots)
    holdings = replace(holdings, writes=writes if only is None else writes & only)
    planned = Planned(
        environment=basis.environment,
        own=basis.own,
        shown_graph=bounded_graph(models.shown.graph, since_of(basis.snapshots)),
        graph=graph,
        snapshots=snapshots,
        holdings=holdings,
        loaded=loaded,
        ledger=Ledger(services.state),
        complete_to=complete_times_of(services, graph, now, holdings, tables),
        tables=tables,
    )
    since = basis.options.effective_from
    effect = taking_effect(graph, models.resolved, holdings, since, effective_from)
    return _Looked(planned=planned, catalog=look, now=now, stays=stays, effect=effect)


def planned_now(services: Services, plan: Plan, shown: Environment, shown_graph: Graph) -> Planned:
    """A plan's models with their versions' intervals by now; the time is that of the plan.

    Args:
        services: The ports.
        plan: The plan.
        shown: Its environment as it is.
        shown_graph: The models that it shows.
    """
    every = (*plan.snapshots.values(), *shown.snapshots.values())
    loaded = services.state.holdings(each.key for each in every)
    holdings = holdings_of(services, plan.environment, plan.snapshots, loaded)
    tables = {name: services.source(name) for name in sources(plan.graph)}
    return Planned(
        environment=plan.environment,
        own=shown,
        shown_graph=shown_graph,
        graph=plan.graph,
        snapshots=plan.snapshots,
        holdings=holdings,
        loaded=loaded,
        ledger=Ledger(services.state),
        complete_to=complete_times_of(services, plan.graph, plan.now, holdings, tables),
        tables=tables,
    )


def _findings(
    services: Services, basis: Basis, models: Models, looked: _Looked, pace: Pace | None
) -> Findings:
    """What is loaded, missing and evaluated, and what was asked for and is not evaluated."""
    planned, options = looked.planned, basis.options
    graph, snapshots, holdings = planned.graph, planned.snapshots, planned.holdings
    loaded, catalog, effect = planned.loaded, services.naming.catalog, looked.effect
    due = _due(services, planned, options, looked.now)
    direct = late_upstream(services, planned) | dict(stale_elsewhere(services, planned))
    late = followed(planned, direct, due, options, pace=pace) if direct else {}
    back = coming_back(services, planned)
    asked = restatement(graph, holdings, options, catalog=catalog)
    from_instants = restated_from(graph, holdings, effect.since)
    restated = both(asked, from_instants)
    stale = Restatement(ranges={name: each.intervals for name, each in late.items()})
    lag = lag_of_readers(services, planned, options, both(stale, restated).ranges)
    gone = lost_for(services, basis.environment, looked.catalog)
    again = rebuilding(services, planned, gone, options, restated.ranges)
    every = both(both(restated, lag.restated), again.restated)
    work = with_restated(graph, due, every)
    follows = followed(planned, direct, work, options, pace=pace, back=back)
    behind = downstream(services, planned, work, follows, back=back)
    lag, work = with_lag(lag, behind), with_restated(graph, work, behind.restated)
    returning = {each.name for each in planned.returning}
    staleness = {name: each for name, each in follows.items() if name not in returning}
    kept = loaded_after(graph, holdings, work, options)
    return Findings(
        work=work,
        reuse=_reuse(services, holdings, snapshots, [basis.own, basis.production]),
        filled=frozenset(name for name, each in basis.snapshots.items() if each.key in loaded),
        foreign=frozenset(holdings.owners) - holdings.writes - holdings.paused,
        recorded=_recorded(basis, snapshots, loaded),
        stored=frozenset(name for name, _ in models.stored),
        not_restated=(
            *not_restated(graph, holdings, options, asked, catalog=catalog),
            *without_effect(effect, from_instants),
        ),
        gaps=tuple(find_gaps(graph, basis.snapshots, snapshots, loaded, kept)),
        behind=lag.found,
        staleness=staleness,
        dropped_views=looked.catalog.views,
        lost_tables=again.lost,
        dropped_tables=again.tables,
        unfinished=_unfinished(services, snapshots, holdings),
        shown_heads=shown_heads(services, basis.own, snapshots),
        pauses=_pauses(services, planned, options, looked.now, work),
        effective_from=effect.since,
    )


def _pauses(
    services: Services,
    planned: Planned,
    options: PlanOptions,
    now: datetime | None,
    work: Mapping[ModelName, Workload],
) -> tuple[PausedModel, ...]:
    """The paused models, with those that are not computed because of them."""
    if not planned.holdings.paused:
        return ()
    graph, holdings = planned.graph, planned.holdings.unpaused
    complete_to = complete_times_of(services, graph, now, holdings, planned.tables)
    free = replace(planned, holdings=holdings, complete_to=complete_to)
    restated = restatement(graph, holdings, options, catalog=services.naming.catalog)
    unpaused = with_restated(graph, _due(services, free, options, now), restated)
    stopped = [
        name
        for name, each in unpaused.items()
        if subtract(
            merge((*each.missing, *each.restated)), (*work[name].missing, *work[name].restated)
        )
    ]
    found = services.state.pauses(planned.environment)
    return tuple(paused_models(planned.graph, found, stopped))


def _due(
    services: Services, planned: Planned, options: PlanOptions, now: datetime | None
) -> dict[ModelName, Workload]:
    """What is missing of each model and evaluated, and what is left out."""
    return due_work(
        services,
        planned.graph,
        planned.snapshots,
        planned.holdings,
        options,
        now=now,
        complete_to=planned.complete_to,
        ready=lambda model, units: ready_intervals(
            model, units, execution_time=services.clock.now()
        ),
    )


def _current(own: Environment | None, *, stays: bool) -> Current:
    """What the environment's views show; nothing if they have to move to other names."""
    if own is None:
        return Current()
    if not stays:
        return Current(revision=own.revision)
    return Current(revision=own.revision, snapshots=own.snapshots, hidden=own.hidden)


def _hidden(snapshots: Mapping[ModelName, ModelSnapshot], basis: Basis) -> frozenset[ModelName]:
    """The models that are as in production and get no view, if the options say so."""
    if basis.options.include_unmodified or basis.production is None:
        return frozenset()
    theirs = basis.production.snapshots
    return frozenset(
        name
        for name, each in snapshots.items()
        if name in theirs and theirs[name].fingerprint == each.fingerprint
    )


def _reuse(
    services: Services,
    holdings: Holdings,
    snapshots: Mapping[ModelName, ModelSnapshot],
    known: Sequence[Environment | None],
) -> dict[ModelName, ExistingVersion]:
    """What the versions have loaded before the plan, without those that have loaded nothing."""
    computed = {name: loaded for name, loaded in holdings.computed.items() if loaded}
    shown = {each.name: each for each in known if each is not None}
    for owner in sorted({holdings.owners[name] for name in computed if name in holdings.owners}):
        other = None if owner in shown else services.state.environment(owner)
        shown |= {} if other is None else {owner: other}
    return {
        name: ExistingVersion(
            loaded=loaded,
            owner=holdings.owners.get(name),
            shown_by=tuple(
                sorted(
                    each.name
                    for each in shown.values()
                    if name in each.snapshots and each.snapshots[name].key == snapshots[name].key
                )
            ),
        )
        for name, loaded in computed.items()
    }


def _unfinished(
    services: Services, snapshots: Mapping[ModelName, ModelSnapshot], holdings: Holdings
) -> tuple[ModelName, ...]:
    """The models with unfinished work of an earlier process that may be finished here."""
    keys = {snapshots[name].key: name for name in holdings.writes}
    return tuple(sorted(keys[key] for key in services.state.unfinished(keys)))


def shown_heads(
    services: Services, own: Environment | None, snapshots: Mapping[ModelName, ModelSnapshot]
) -> dict[ModelName, int]:
    """What was recorded last on the shown versions that these would replace."""
    shown = own.snapshots if own is not None else {}
    keys = {
        name: shown[name].key
        for name, each in snapshots.items()
        if name in shown and shown[name].key != each.key
    }
    heads = services.state.heads(keys.values()) if keys else {}
    return {name: heads[key] for name, key in keys.items() if key in heads}


def _recorded(
    basis: Basis,
    snapshots: Mapping[ModelName, ModelSnapshot],
    loaded: Mapping[VersionKey, Holding],
) -> dict[ModelName, tuple[Column, ...]]:
    """The columns that changed models' tables had when rows were last written to them."""
    found: dict[ModelName, tuple[Column, ...]] = {}
    for name, each in snapshots.items():
        shown, there = basis.snapshots.get(name), loaded.get(each.key)
        if there is not None and (shown is None or shown.fingerprint != each.fingerprint):
            found[name] = there.columns
    return found
