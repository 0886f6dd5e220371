"""The first part of making a plan: which models it has, and which version each of them gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from vde_dagster.app.plan.adoption import given_back
from vde_dagster.app.plan.elsewhere import found_elsewhere, graph_of
from vde_dagster.app.services import Services
from vde_dagster.core.graph.bounded import bounded_graph
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.mixed import MixedGraph, mixed_graph
from vde_dagster.core.graph.selection import select
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.bounds import unbounded_snapshots
from vde_dagster.core.planning.changes.flow import changed_models
from vde_dagster.core.planning.decisions import Stored
from vde_dagster.core.planning.options import OptionsRefused, PlanOptions
from vde_dagster.core.planning.resolution import Resolved, Shown, resolve_snapshots
from vde_dagster.core.sql.unresolved import guess
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
    elsewhere = found_elsewhere(services, graph, basis.elsewhere, stored, rules)

    def resolve(released: Collection[ModelName]) -> dict[ModelName, Resolved]:
        return resolve_snapshots(
            graph,
            shown,
            stored,
            rules,
            elsewhere=elsewhere,
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
            f"there is no model {name} to decide about. {guess(name, known)}" for name in unknown
        )
        raise OptionsRefused("\n".join(each.strip() for each in message))
