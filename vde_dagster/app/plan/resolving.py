"""The first part of making a plan: which models it has, and which version each of them gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.inputs.completeness import holdings_of
from vde_dagster.app.plan.adoption import filled_elsewhere, given_back, graph_of, of_production
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, bounded_graph
from vde_dagster.core.graph.mixed import MixedGraph, mixed_graph
from vde_dagster.core.graph.selection import select
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot, VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.bounds import (
    Bounds,
    since_of,
    unbounded_snapshots,
    with_bounds,
)
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.flow import changed_models
from vde_dagster.core.planning.decisions import Stored
from vde_dagster.core.planning.options import OptionsRefused, PlanOptions
from vde_dagster.core.planning.resolution import Resolved, Shown, is_of, resolve_snapshots
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.core.time.intervals import format_instant
from vde_dagster.ports.state import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a plan starts from: the environment, the options, and what is shown now."""

    environment: str
    options: PlanOptions
    own: Environment | None
    production: Environment | None

    @property
    def snapshots(self) -> Mapping[ModelName, ModelSnapshot]:
        """The snapshots that the project is compared with."""
        base = self.own or self.production
        return base.snapshots if base is not None else {}

    @property
    def elsewhere(self) -> Environment | None:
        """Production, if the project is compared with another environment."""
        is_basis = self.own is None or self.own is self.production
        return None if is_basis else self.production


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of a plan with their snapshots, and what they were compared with.

    What they were compared with is not bounded. ``stored`` are those snapshots of them that an
    earlier plan stored, ``left_out`` the models whose change is not planned. ``selected`` are those
    whose change is; None where it is all of them.
    """

    graph: Graph
    shown: Shown
    stored: Stored
    resolved: Mapping[ModelName, Resolved]
    left_out: tuple[ModelName, ...]
    selected: frozenset[ModelName] | None = None

    @property
    def snapshots(self) -> dict[ModelName, ModelSnapshot]:
        """The snapshots by model."""
        return {name: each.snapshot for name, each in self.resolved.items()}


def resolve_models(
    services: Services,
    project: Graph,
    basis: Basis,
    given: Mapping[ModelName, ModelSnapshot] | None = None,
) -> Models:
    """Compare a project with what is shown, and decide the version of each model.

    See `vde_dagster.core.planning.resolution.resolve_snapshots` for ``given``.
    """
    mixed, selected, shown = _compared(services, project, basis)
    graph, rules = mixed.graph, basis.options.rules
    stored = services.state.snapshots((node.name, node.fingerprint) for node in graph)
    production = of_production(services, graph, basis.elsewhere, stored, rules)
    filled = dict(filled_elsewhere(services, graph, stored))

    def resolve(released: Collection[ModelName]) -> dict[ModelName, Resolved]:
        return resolve_snapshots(
            graph,
            shown,
            stored,
            rules,
            production=production,
            filled=filled,
            released=released,
            given=given,
        )

    return Models(
        graph=graph,
        shown=shown,
        stored=stored,
        resolved=_without_lost_equality(services, basis.environment, graph, resolve),
        left_out=mixed.left_out,
        selected=selected,
    )


def basis_of(services: Services, environment: str, options: PlanOptions) -> Basis:
    """What the plan of an environment starts from, as the state has it."""
    own = services.state.environment(environment)
    production = own if environment == PRODUCTION else services.state.environment(PRODUCTION)
    return Basis(environment=environment, options=options, own=own, production=production)


def _compared(
    services: Services, graph: Graph, basis: Basis
) -> tuple[MixedGraph, frozenset[ModelName] | None, Shown]:
    """The models that are planned, those that are selected, and what they are compared with."""
    shown = bounded_graph(graph_of(basis.snapshots, graph, services.models), {})
    before = unbounded_snapshots(shown, basis.snapshots)
    selected = _selected(services, graph, shown, basis)
    mixed = MixedGraph(graph=graph, left_out=())
    if selected is not None:
        mixed = mixed_graph(graph, shown, selected, environment=basis.environment)
    _refuse_unknown(basis.options, mixed.graph)
    versions = _versions(before, mixed.graph, changed_models(shown, mixed.graph))
    drifted, adopted = services.state.drifted(versions), services.state.adopted(versions)
    found = Shown(snapshots=before, graph=shown, drifted=drifted, adopted=adopted)
    return mixed, selected, found


def _without_lost_equality(
    services: Services,
    environment: str,
    graph: Graph,
    resolve: Callable[[Collection[ModelName]], dict[ModelName, Resolved]],
) -> dict[ModelName, Resolved]:
    """Snapshots without adopted versions that have other rows by now (rule R6)."""
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


def _versions(
    shown: Mapping[ModelName, ModelSnapshot], graph: Graph, changed: Collection[ModelName]
) -> set[VersionKey]:
    """The versions of some models: the shown ones, and those that their fingerprints give."""
    own = (graph[name] for name in changed if name in graph)
    before = (shown[name].key for name in changed if name in shown)
    return {*(VersionKey(node.name, node.fingerprint.data_version) for node in own), *before}


def _selected(
    services: Services, graph: Graph, shown: Graph, basis: Basis
) -> frozenset[ModelName] | None:
    """The models whose changes are planned; None where it is all of them."""
    if not basis.options.select:
        return None
    return select([graph, shown], basis.options.select, catalog=services.naming.catalog)


def _refuse_unknown(options: PlanOptions, graph: Graph) -> None:
    """Refuse decisions about models that are not in the plan."""
    known = [str(node.name) for node in graph]
    unknown = sorted(str(name) for name in options.decisions if name not in graph)
    if unknown:
        message = (
            (f"--decide names {name}, which is not a model of the project. {guess(name, known)}")
            for name in unknown
        )
        raise OptionsRefused("\n".join(each.strip() for each in message))


def bounds_of(snapshots: Mapping[ModelName, ModelSnapshot]) -> dict[ModelName, Bounded]:
    """The bounds of snapshots; those that have none are absent."""
    return {name: each.bounded for name, each in snapshots.items() if each.bounded is not None}


def bounded_models(
    services: Services,
    basis: Basis,
    models: Models,
    stays: Mapping[ModelName, Bounded] | None,
) -> Models:
    """The models of a plan, with versions that are bounded where they have to be.

    Args:
        services: The ports.
        basis: What the plan starts from.
        models: Its models, with the versions that they have where nothing is bounded.
        stays: The bounds that models keep. For None these are those of models that are not
            selected, and the previews whose change production does not have yet: it is planned by
            a person, who says again what else is to be bounded.

    Raises:
        OptionsRefused: There is no forward-only change that ``effective_from`` could be about, or
            that lies in the future.
    """
    options, moves = basis.options, stays is None
    stays = _stay_by_themselves(basis, models) if stays is None else stays
    if options.effective_from is not None:
        _refuse_future(services, options.effective_from)
        if not any(each.is_preview for each in stays.values()):
            _refuse_without_change(models, options.effective_from)
    if basis.environment == PRODUCTION:
        return models
    asked = (options.start, options.effective_from) != (None, None)
    if not (asked or stays or since_of(models.snapshots)):
        return models
    holdings = holdings_of(services, basis.environment, models.snapshots).unpaused
    bounds = Bounds(
        start=options.start,
        effective_from=options.effective_from,
        stays=stays,
        writes=holdings.writes,
        loaded=holdings.settled,
        production=basis.production.snapshots if basis.production is not None else {},
        now=services.project_now(),
        moves=moves,
    )
    resolved = with_bounds(models.graph, models.resolved, bounds)
    found = replace(models, resolved=resolved)
    return replace(found, graph=bounded_graph(models.graph, since_of(found.snapshots)))


def _stay_by_themselves(basis: Basis, models: Models) -> dict[ModelName, Bounded]:
    """The bounds that stay unless an option changes them."""
    graph, selected = models.graph, models.selected
    theirs = basis.production.snapshots if basis.production is not None else {}
    return {
        name: each
        for name, each in bounds_of(basis.snapshots).items()
        if (selected is not None and name not in selected)
        or (
            each.is_preview
            and name in graph
            and not (name in theirs and is_of(theirs[name], graph[name]))
        )
    }


def _refuse_future(services: Services, since: datetime) -> None:
    now = services.project_now()
    if now is not None and since > now:
        raise OptionsRefused(
            f"--effective-from {format_instant(since)} is in the future (it is "
            f"{format_instant(now)}): a forward-only change applies from its promotion on, or "
            "from an earlier instant",
            advice="Plan without it, and promote the change when it should apply.",
        )


def _refuse_without_change(models: Models, since: datetime) -> None:
    """Refuse an instant that says nothing about any of the changes that there are."""
    differences = [each.difference for each in models.resolved.values()]
    edited = [each for each in differences if each.change is Change.DIRECT]
    if edited and not any(each.category is Category.FORWARD_ONLY for each in differences):
        named = ", ".join(f"{e.name} is {e.category.value}" for e in edited if e.category)
        raise OptionsRefused(
            f"--effective-from {format_instant(since)} applies to forward-only changes, but this "
            f"plan has none: {named}",
            advice=f"Plan with --forward-only, or with --decide {edited[0].name}=forward_only.",
        )
