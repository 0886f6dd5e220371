"""Making a plan: reads the state and the catalog's metadata, writes nothing, starts no Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster import kinds
from vde_dagster.app.adoption import given_back
from vde_dagster.app.catalog_look import look_at_catalog
from vde_dagster.app.elsewhere import found_elsewhere, graph_of
from vde_dagster.app.returning import Lag, lag_of
from vde_dagster.app.services import Services, valid_to_of
from vde_dagster.app.version_behind import Planned
from vde_dagster.app.view_names import are_moving
from vde_dagster.app.workload import (
    Holdings,
    held_after,
    not_restated,
    restatement,
    workloads,
)
from vde_dagster.core.dsha import Column
from vde_dagster.core.gaps import find_gaps
from vde_dagster.core.graph import Graph, sources
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import Full
from vde_dagster.core.ledger import LedgerEntry
from vde_dagster.core.mixed_graph import MixedGraph, mixed_graph
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.ownership import may_write
from vde_dagster.core.plan import Plan, Reuse, complete_to
from vde_dagster.core.plan_making import Current, Findings, make_plan
from vde_dagster.core.plan_options import (
    DEFAULT_OPTIONS,
    OptionsRefused,
    PlanOptions,
    refuse_senseless,
)
from vde_dagster.core.resolution import Resolved, Shown, resolve_snapshots
from vde_dagster.core.restatement import both
from vde_dagster.core.schema_changes import newest_columns
from vde_dagster.core.selection import select
from vde_dagster.core.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.ports.state import Environment
from vde_dagster.project.collector import looking_at_new_values_only
from vde_dagster.project.signals import ready_intervals


@looking_at_new_values_only()
def plan_environment(
    services: Services, graph: Graph, environment: str, options: PlanOptions = DEFAULT_OPTIONS
) -> Plan:
    """The plan that makes an environment show a project's models, as the options say.

    An environment that does not exist yet is compared with production, whose versions it shares
    where nothing changed (seed 000, *Virtual Layer*).

    Raises:
        OptionsRefused: The options make no sense together, or not for this environment.
        SelectionRefused: A selector selects nothing.
        ProjectInvalid: Selected models do not fit the ones that stay as they are shown.
        RestatementRefused: Models that shall be restated set ``disable_restatement``.
    """
    refuse_senseless(options, environment)
    basis = _basis(services, environment, options)
    mixed, shown = _compared(services, graph, basis)
    graph = mixed.graph
    stored = services.state.snapshots((node.name, node.fingerprint) for node in graph)
    elsewhere = found_elsewhere(services, graph, basis.elsewhere, stored, options.rules)

    def resolve(released: Collection[ModelName]) -> dict[ModelName, Resolved]:
        return resolve_snapshots(
            graph, shown, stored, options.rules, elsewhere=elsewhere, released=released
        )

    resolved = _without_lost_equality(services, environment, graph, resolve)
    snapshots = {name: each.snapshot for name, each in resolved.items()}
    now = services.project_now()
    ledger = services.state.ledger(
        dict.fromkeys(each.key for each in (*snapshots.values(), *basis.snapshots.values()))
    )
    stays = basis.own is not None and _stays(services, basis.own)
    naming = services.naming if stays else None
    look = look_at_catalog(services, graph, snapshots, ledger, shown=basis.own, naming=naming)
    held = look.left(ledger)
    holdings = holdings_of(services, environment, snapshots, held)
    capped = _capped(graph, holdings.writes, holdings.computed)
    horizons = _horizons(services, graph, now, capped=capped)
    overdue = _overdue(graph, holdings, horizons)
    if overdue:
        horizons = _horizons(services, graph, now, capped={**capped, **overdue})
    lag = lag_of(
        services,
        Planned(
            environment=environment,
            own=basis.own,
            shown_graph=shown.graph,
            graph=graph,
            snapshots=snapshots,
            holdings=holdings,
            ledger=ledger,
            horizons=horizons,
        ),
        options,
    )
    at = _Moment(now=now, horizons=horizons)
    found = _findings(services, basis, graph, holdings, at, lag=lag)
    return make_plan(
        plan_id=services.ids.new(),
        environment=environment,
        now=now,
        graph=graph,
        shown=shown,
        current=_current(basis.own, stays=stays),
        resolved=resolved,
        horizons=horizons,
        findings=replace(
            found,
            stored=frozenset(name for name, _ in stored),
            reuse=_reuse(services, holdings, snapshots, [basis.own, basis.production]),
            dropped_views=look.views,
            lost_tables=look.lost,
            unfinished=_unfinished(services, snapshots, holdings),
            filled=frozenset(
                name for name, each in basis.snapshots.items() if ledger.get(each.key)
            ),
            booked=_booked(basis, snapshots, ledger),
            gaps=tuple(
                find_gaps(
                    graph,
                    basis.snapshots,
                    snapshots,
                    ledger,
                    held_after(graph, holdings, found.work, options),
                )
            ),
        ),
        options=options,
        hidden=_hidden(snapshots, basis),
        left_out=mixed.left_out,
    )


def _without_lost_equality(
    services: Services,
    environment: str,
    graph: Graph,
    resolve: Callable[[Collection[ModelName]], dict[ModelName, Resolved]],
) -> dict[ModelName, Resolved]:
    """Snapshots of which none shows an adopted version that has other rows by now (rule R6)."""
    released: frozenset[ModelName] = frozenset()
    while True:
        resolved = resolve(released)
        snapshots = {name: each.snapshot for name, each in resolved.items()}
        found = given_back(services, environment, graph, snapshots)
        if not found:
            return resolved
        if found <= released:
            again = ", ".join(sorted(map(str, found)))
            raise RuntimeError(f"{again} kept an adopted version that was to be given back")
        released |= found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What a plan starts from: the environment, what is asked, and what is shown now."""

    environment: str
    options: PlanOptions
    own: Environment | None
    production: Environment | None

    @property
    def snapshots(self) -> Mapping[ModelName, ModelSnapshot]:
        """What changes are told against."""
        base = self.own or self.production
        return base.snapshots if base is not None else {}

    @property
    def elsewhere(self) -> Environment | None:
        """Production, where changes are told against something else."""
        is_basis = self.own is None or self.own is self.production
        return None if is_basis else self.production


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """The project's clock, and up to when all that each model reads is complete."""

    now: datetime | None
    horizons: Mapping[ModelName, datetime | None]


def _basis(services: Services, environment: str, options: PlanOptions) -> _Basis:
    own = services.state.environment(environment)
    production = own if environment == PRODUCTION else services.state.environment(PRODUCTION)
    return _Basis(environment=environment, options=options, own=own, production=production)


def _compared(services: Services, graph: Graph, basis: _Basis) -> tuple[MixedGraph, Shown]:
    """The models that are planned, and what they are compared with."""
    before = basis.snapshots
    shown = graph_of(before, graph, services.models)
    mixed = _selected(services, graph, shown, basis)
    _refuse_unknown(basis.options, mixed.graph)
    versions = _versions(before.values(), mixed.graph)
    drifted, adopted = services.state.drifted(versions), services.state.adopted(versions)
    return mixed, Shown(snapshots=before, graph=shown, drifted=drifted, adopted=adopted)


def _findings(
    services: Services,
    basis: _Basis,
    graph: Graph,
    holdings: Holdings,
    at: _Moment,
    *,
    lag: Lag,
) -> Findings:
    """What is evaluated, and what is not evaluated again although it was asked for."""
    catalog = services.naming.catalog
    restated = restatement(graph, holdings, basis.options, catalog=catalog)
    work = workloads(
        graph,
        holdings,
        basis.options,
        now=at.now,
        horizons=at.horizons,
        ready=lambda model, units: ready_intervals(
            model, units, execution_time=services.clock.now()
        ),
        restated=both(restated, lag.restated),
    )
    kept = not_restated(graph, holdings, basis.options, restated, catalog=catalog)
    return Findings(work=work, not_restated=tuple(kept), behind=lag.found)


def _versions(shown: Iterable[ModelSnapshot], graph: Graph) -> set[VersionKey]:
    """The versions that are shown, and those that a project's models have by themselves."""
    own = {VersionKey(node.name, node.fingerprint.data_version) for node in graph}
    return own | {each.key for each in shown}


def _selected(services: Services, graph: Graph, shown: Graph, basis: _Basis) -> MixedGraph:
    """The graph of the models whose changes are planned, and of the others as they are shown."""
    if not basis.options.select:
        return MixedGraph(graph=graph, left_out=())
    names = select([graph, shown], basis.options.select, catalog=services.naming.catalog)
    return mixed_graph(graph, shown, names, environment=basis.environment)


def _refuse_unknown(options: PlanOptions, graph: Graph) -> None:
    """Refuse decisions about models that are not in the plan."""
    known = [str(node.name) for node in graph]
    unknown = sorted(str(name) for name in options.decisions if name not in graph)
    if unknown:
        told = (
            f"there is no model {name} to decide about. {guess(name, known)}" for name in unknown
        )
        raise OptionsRefused("\n".join(each.strip() for each in told))


def holdings_of(
    services: Services,
    environment: str,
    snapshots: Mapping[ModelName, ModelSnapshot],
    ledger: Mapping[VersionKey, tuple[LedgerEntry, ...]] | None = None,
) -> Holdings:
    """What these snapshots' versions hold, by a ledger or, without one, by the state as it is."""
    if ledger is None:
        ledger = services.state.ledger(each.key for each in snapshots.values())
    owners = services.state.owners(each.key for each in snapshots.values())
    owned = {name: owners[each.key] for name, each in snapshots.items() if each.key in owners}
    return Holdings.of(
        environment,
        {name: ledger.get(each.key, ()) for name, each in snapshots.items()},
        owners=owned,
        writes=frozenset(name for name in snapshots if may_write(environment, owned.get(name))),
    )


def _current(own: Environment | None, *, stays: bool) -> Current:
    """What the environment shows where its views are to be; nothing where they have to move."""
    if own is None:
        return Current()
    if not stays:
        return Current(revision=own.revision)
    return Current(revision=own.revision, snapshots=own.snapshots, hidden=own.hidden)


def _hidden(snapshots: Mapping[ModelName, ModelSnapshot], basis: _Basis) -> frozenset[ModelName]:
    """The models that are as in production, where only the others get a view."""
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
) -> dict[ModelName, Reuse]:
    """What the versions hold before the plan; nothing of those that hold nothing."""
    computed = {name: held for name, held in holdings.computed.items() if held}
    shown = {each.name: each for each in known if each is not None}
    for owner in sorted({holdings.owners[name] for name in computed if name in holdings.owners}):
        other = None if owner in shown else services.state.environment(owner)
        shown |= {} if other is None else {owner: other}
    return {
        name: Reuse(
            held=held,
            owner=holdings.owners.get(name),
            shown_by=tuple(
                sorted(
                    each.name
                    for each in shown.values()
                    if name in each.snapshots and each.snapshots[name].key == snapshots[name].key
                )
            ),
        )
        for name, held in computed.items()
    }


def _unfinished(
    services: Services, snapshots: Mapping[ModelName, ModelSnapshot], holdings: Holdings
) -> tuple[ModelName, ...]:
    """The models on whose version an earlier process left work that may be finished here."""
    keys = {snapshots[name].key: name for name in holdings.writes}
    return tuple(sorted(keys[key] for key in services.state.unfinished(keys)))


def _booked(
    basis: _Basis,
    snapshots: Mapping[ModelName, ModelSnapshot],
    ledger: Mapping[VersionKey, tuple[LedgerEntry, ...]],
) -> dict[ModelName, tuple[Column, ...]]:
    """The columns of the tables of models that differ, as rows were written to them last."""
    found: dict[ModelName, tuple[Column, ...]] = {}
    for name, each in snapshots.items():
        shown, entries = basis.snapshots.get(name), ledger.get(each.key, ())
        if entries and (shown is None or shown.fingerprint != each.fingerprint):
            found[name] = newest_columns(entry.columns for entry in entries)
    return found


def _stays(services: Services, shown: Environment) -> bool:
    """Whether the views show what the state says, under the names that the project gives them."""
    return not shown.promoting and not are_moving(services, shown)


def _capped(
    graph: Graph,
    writes: Collection[ModelName],
    held: Mapping[ModelName, tuple[Interval, ...]],
) -> dict[ModelName, datetime | None]:
    """Up to where intervals are held, from the first on, that only another environment may fill."""
    capped: dict[ModelName, datetime | None] = {}
    for node in graph:
        if node.name in writes or not kinds.is_by_interval(node.model):
            continue
        unit, end = node.model.unit, node.model.end
        first = unit.ceil(node.model.start)
        covering = [each.end for each in held[node.name] if each.start <= first < each.end]
        if end is not None and covering and covering[0] >= unit.floor(end):
            continue  # it is whole for good
        capped[node.name] = covering[0] if covering else None
    return capped


def _overdue(
    graph: Graph, holdings: Holdings, horizons: Mapping[ModelName, datetime | None]
) -> dict[ModelName, datetime | None]:
    """Up to where FULL tables were made that only another environment may make again, and has to.

    Who reads one for a later time would find nothing of it there.
    """
    found: dict[ModelName, datetime | None] = {}
    for node in graph:
        horizon, held = horizons[node.name], holdings.computed[node.name]
        if node.name in holdings.writes or not isinstance(node.model.kind, Full):
            continue
        if horizon is not None and kinds.of(node.model).missing(node.model, held, horizon):
            found[node.name] = held[-1].end if held else None
    return found


def _horizons(
    services: Services,
    graph: Graph,
    now: datetime | None,
    *,
    capped: Mapping[ModelName, datetime | None],
) -> dict[ModelName, datetime | None]:
    tables = {name: services.source(name) for name in sources(graph)}
    valid_to = {name: valid_to_of(table) for name, table in tables.items()}
    return complete_to(
        graph,
        now,
        valid_to={name: time for name, time in valid_to.items() if time is not None},
        unborn={
            name
            for name, table in tables.items()
            if table is None or table.iceberg_snapshot_id is None
        },
        capped=capped,
    )
