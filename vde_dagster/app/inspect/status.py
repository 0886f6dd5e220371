"""Which models of an environment are behind, since when and why. No Spark is needed.

It reports what a run would find now (`vde_dagster.app.apply.running`), and what no run of the
environment repairs: what another environment computes, what stays stale, and dropped tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vde_dagster.app.apply.running import look_at_run
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.evaluate.refusals import waiting_for_person
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.plan.waiting import Wait
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.planning.plan import LostTable, Plan, Staleness
from vde_dagster.core.time.intervals import Interval, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """How one model is behind, or what it waits for.

    - ``owner`` is the environment that computes its version, if that is another one.
    - ``due`` is computed by the next run. ``waits`` is what other due intervals wait for.
    - ``staleness`` is what is late or changed upstream; None if nothing is.
    - ``lost`` is its table, if somebody dropped it.
    - ``is_unfinished`` says that an earlier process left work on it, which the next run finishes.
    - ``refused`` is what a person has to say before a run computes it; empty if nothing.
    """

    node: Node
    version: str
    owner: str | None = None
    due: tuple[Interval, ...] = ()
    staleness: Staleness | None = None
    waits: tuple[Wait, ...] = ()
    lost: LostTable | None = None
    is_unfinished: bool = False
    refused: str = ""

    @property
    def is_behind(self) -> bool:
        """Whether anything is wrong or to be done; intervals that only wait do not count."""
        found = (self.staleness, self.lost)
        return bool(self.due or self.is_unfinished) or any(each is not None for each in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStatus:
    """What a look at an environment found.

    ``looked_at`` is how many models it has, ``at`` the time of the look, and ``now`` the project's
    clock, None if it has no time yet. ``models`` are those that are behind or wait, parents first;
    ``dropped_views`` those whose view is missing or shows something else than it is to show, such
    as a version that was adopted and nobody computes any more; the next run makes them.
    ``pauses`` are models that are not evaluated: whether these are stale is not known.
    ``is_promoting`` says that a promotion was begun and is not finished: all else is said of what
    it is to show, and the views may be those from before.
    """

    environment: str
    at: datetime
    now: datetime | None
    looked_at: int
    models: tuple[ModelStatus, ...]
    dropped_views: tuple[ModelName, ...]
    pauses: tuple[PausedModel, ...] = ()
    is_promoting: bool = False

    @property
    def is_up_to_date(self) -> bool:
        """Whether nothing is begun, due, stale or gone, and nothing waits or is paused."""
        return not (self.models or self.dropped_views or self.pauses or self.is_promoting)

    @property
    def is_behind(self) -> bool:
        """Whether something is begun, due, stale or gone; what only waits does not count."""
        has_begun = bool(self.dropped_views) or self.is_promoting
        return has_begun or any(each.is_behind for each in self.models)


def look_at_environment(services: Services, environment: str) -> EnvironmentStatus:
    """Which models of an environment are behind now, from the state and the catalog's metadata.

    Raises:
        Refused: There is no such environment.
    """
    return status_of(services, look_at_run(services, environment))


def status_of(services: Services, plan: Plan) -> EnvironmentStatus:
    """The same, of what a run of the environment would do now."""
    environment, binding = plan.environment, bind_plan(plan)
    shown = services.state.environment(environment)
    theirs = _filled_elsewhere(services, binding)
    waits = dict(waiting_models(services, plan))
    lost = {each.name: each for each in (*plan.lost_tables, *plan.dropped_tables)}
    refused = waiting_for_person(services, binding, [each.name for each in plan.backfills])
    models = [
        ModelStatus(
            node=plan.graph[change.name],
            version=plan.snapshots[change.name].version,
            owner=theirs[change.name].environment if change.name in theirs else None,
            due=merge((*change.missing, *change.restated)),
            staleness=change.staleness,
            waits=waits.get(change.name, ()),
            lost=lost.get(change.name),
            is_unfinished=change.name in plan.unfinished,
            refused=refused.get(change.name, ""),
        )
        for change in plan.changes
        if change.name in plan.graph and _has_status(plan.graph[change.name])
    ]
    return EnvironmentStatus(
        environment=environment,
        at=services.clock.now(),
        now=plan.now,
        looked_at=len(models),
        models=tuple(each for each in models if each.is_behind or each.waits),
        dropped_views=tuple(dict.fromkeys((*plan.dropped_views, *plan.views))),
        pauses=plan.pauses,
        is_promoting=shown is not None and shown.promoting,
    )


def _has_status(node: Node) -> bool:
    return not node.model.kind.is_source


def _filled_elsewhere(services: Services, binding: Binding) -> dict[ModelName, Filler]:
    """Who fills the versions that an environment shows and may not write (rule R9)."""
    keys = {name: each.key for name, each in binding.snapshots.items()}
    found = fillers(services, binding.environment, keys.values())
    return {name: found[key] for name, key in keys.items() if key in found}
