"""Which snapshot of each model an environment runs: from the state, or from the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node, bounded_graph, build_graph
from vde_dagster.core.model.snapshot import ModelSnapshot, Revision, VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.bounds import since_of
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import EVER, Interval
from vde_dagster.ports.state import Environment
from vde_dagster.project.cache.models import ModelCache, known_models
from vde_dagster.project.garbage_collection import looking_at_new_values_only
from vde_dagster.project.model_files import read_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """An environment's models with the versions that they write to and read from.

    ``revision`` is that of the environment when it was read, 0 if it has none yet.
    ``may_empty`` has the times of models all of whose rows may go, since a person said so (rule
    R8). Versions that are ``returning`` may not get smaller, if they build on themselves: they come
    back to what is not to show less than it does. ``taken`` is the revision that was promoted,
    where that was not a plan of files. ``command`` is what evaluates the models again as they are
    here, and ``restates`` says whether it can be asked to restate some.
    """

    environment: str
    revision: int
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    may_empty: Mapping[ModelName, tuple[Interval, ...]] = field(default_factory=dict)
    returning: frozenset[ModelName] = frozenset()
    taken: Revision | None = None
    command: str = ""
    restates: bool = True

    def key(self, name: ModelName) -> VersionKey:
        """The version of a model."""
        return self.snapshots[name].key

    def node(self, name: ModelName) -> Node:
        """A model in its graph.

        Raises:
            Refused: The environment has no model of this name.
        """
        if name not in self.graph:
            raise Refused(
                f"{self.environment} has no model {name}",
                advice="`vde environments --format json` lists the models of each.",
            )
        return self.graph[name]

    def table(self, name: ModelName) -> TableName:
        """The table or view with the rows of a model or source.

        Raises:
            Refused: It is EMBEDDED, so there is none.
        """
        if self.graph[name].model.kind.is_embedded:
            raise Refused(
                f"{name} is EMBEDDED: it has no table or view, its query is inlined in "
                "downstream queries",
                advice="Read a downstream model, or make it a VIEW.",
            )
        if self.graph[name].model.kind.is_source:
            return TableName(name.schema, name.name)
        return self.key(name).table


def bind_environment(services: Services, environment: str) -> Binding | None:
    """What an environment runs by the state; None if nothing was ever promoted to it."""
    shown = services.state.environment(environment)
    return None if shown is None else bind_revision(services, shown)


def shown_binding(services: Services, environment: str) -> Binding:
    """What an environment runs by the state.

    Raises:
        Refused: Nothing was ever promoted to it.
    """
    return bind_revision(services, existing(services, environment))


def bind_revision(services: Services, shown: Environment) -> Binding:
    """What an environment runs, or ran, at a revision."""
    return Binding(
        environment=shown.name,
        revision=shown.revision,
        graph=stored_graph(shown.snapshots, services.models),
        snapshots=shown.snapshots,
        taken=shown.taken,
        command=f"vde run {shown.name}",
    )


def existing(services: Services, name: str) -> Environment:
    """What an environment shows, or is about to show.

    Raises:
        Refused: There is no such environment.
    """
    shown = services.state.environment(name)
    if shown is None:
        raise Refused(
            f"there is no environment {name}",
            advice=f"`vde environments` lists them, and `vde plan {name}` creates it.",
        )
    return shown


def environments_showing(services: Services, key: VersionKey) -> Iterator[Environment]:
    """The environments that show a version, by name."""
    for name in services.state.environments():
        shown = services.state.environment(name)
        if shown is not None and shown.shows(key):
            yield shown


def bind_plan(plan: Plan) -> Binding:
    """What a plan's environment will run once the plan is applied."""
    return Binding(
        environment=plan.environment,
        revision=plan.base_revision,
        graph=plan.graph,
        snapshots=plan.snapshots,
        may_empty={each.name: _may_empty(plan, each) for each in plan.changes},
        returning=frozenset(
            each.name for each in plan.changes if plan.refuses_loss and _comes_back(each)
        ),
        command=f"vde {' '.join(plan.command)}",
        restates=plan.taken is None,
    )


def _may_empty(plan: Plan, change: ModelChange) -> tuple[Interval, ...]:
    """The times of a version all of whose rows may go: of a restatement, what is restated."""
    options = plan.options
    permits = options.accept_loss or options.allow_empty
    if permits and (_comes_back(change) or not _is_shown(change)):
        return (EVER,)
    if not options.allow_empty:
        return ()
    if not options.restate:
        return (EVER,)
    whole = change.restated and plan.graph[change.name].model.kind.restates_whole
    return (EVER,) if whole else change.restated


def _comes_back(change: ModelChange) -> bool:
    """Whether a version is loaded and behind; one that an earlier plan outdated is only missing."""
    if change.behind is None or not change.behind.has_times:
        return False
    return not (change.catches_up and _is_shown(change))


def _is_shown(change: ModelChange) -> bool:
    return change.version == change.previous_version


@looking_at_new_values_only()
def stored_graph(
    snapshots: Mapping[ModelName, ModelSnapshot], cache: ModelCache | None = None
) -> Graph:
    """The models of stored snapshots, read from the text that was stored with them.

    Those in ``cache`` are not read again. Models begin later where their version is bounded.
    """
    sources = {name: each.source for name, each in snapshots.items()}

    def read() -> Graph:
        with known_models(cache) as known:
            models = (known.model(each, read_model) for each in sources.values())
            return build_graph(models, known=known, are_stored=True)

    graph = read() if cache is None else cache.graph(sources, read)
    return bounded_graph(graph, since_of(snapshots))
