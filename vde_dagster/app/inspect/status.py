"""Which models of an environment are behind, since when and why. No Spark is needed.

It reports what a run would find now (`vde_dagster.app.apply.running`), and what no run of the
environment repairs: what another environment computes, what stays stale, and dropped tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.app.apply.running import look_at_run
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.refusals import waiting_for_person
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.plan.waiting import Wait
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.late.decision import Stop
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.unit_of_work import Ending, UnitOfWork
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.planning.plan import LostTable, Plan, Staleness
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.records import HeldLease
from vde_dagster.ports.state import Environment, environment_resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """How one model is behind, or what it waits for.

    - ``owner`` is the environment that computes its version, if that is another one.
    - ``due`` is computed by the next run. ``waits`` is what other due intervals wait for.
    - ``staleness`` says which inputs are late or changed; None if none are.
    - ``lost`` is its table, if it was dropped.
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
    as a version that was adopted and has no owner any more; the next run makes them.
    ``pauses`` are models that are not evaluated: whether these are stale is not known.
    ``is_promoting`` says that a promotion was started and is not finished: all else is said of what
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
        """Whether nothing is started, due, stale or missing, and nothing waits or is paused."""
        return not (self.models or self.dropped_views or self.pauses or self.is_promoting)

    @property
    def is_behind(self) -> bool:
        """Whether something is started, due, stale or missing; what only waits does not count."""
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
    theirs = fillers(services, environment, (each.key for each in plan.snapshots.values()))
    owners = {key.model: each.environment for key, each in theirs.items()}
    waits = dict(waiting_models(services, plan))
    lost = {each.name: each for each in (*plan.lost_tables, *plan.dropped_tables)}
    refused = waiting_for_person(services, binding, [each.name for each in plan.backfills])
    models = [
        ModelStatus(
            node=plan.graph[change.name],
            version=plan.snapshots[change.name].version,
            owner=owners.get(change.name),
            due=merge((*change.missing, *change.restated)),
            staleness=change.staleness,
            waits=waits.get(change.name, ()),
            lost=lost.get(change.name),
            is_unfinished=change.name in plan.unfinished,
            refused=refused.get(change.name, ""),
        )
        for change in plan.changes
        if change.name in plan.graph and not plan.graph[change.name].model.kind.is_source
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRows:
    """What is known of a model's sources and is not loaded; ``owner`` is who loads its version.

    ``filler`` is that if it is another environment, which may not show the version.
    """

    name: ModelName
    owner: str | None
    filler: Filler | None
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """What was marked to be evaluated again; ``owner`` is who evaluates the version."""

    key: VersionKey
    owner: str | None
    intervals: tuple[Interval, ...]

    @property
    def name(self) -> ModelName:
        """The model."""
        return self.key.model


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedSession:
    """A model whose late rows no session can load until a person has decided."""

    name: ModelName
    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """What was found, by model's name.

    - ``failed`` is the newest unit of work of each version that was given up, also where nothing is
      left to be done; ``refused`` the same where a blocking audit held its rows back.
    - ``leases`` are those on the environment and on versions; other environments' are left out.
    - ``shown`` is the last promotion.
    - ``fillers`` are who fills those versions that the environment may not write (rule R9).
    """

    failed: tuple[UnitOfWork, ...]
    refused: tuple[UnitOfWork, ...]
    pending: tuple[LateRows, ...]
    outdated: tuple[Outdated, ...]
    stopped: tuple[StoppedSession, ...]
    leases: tuple[HeldLease, ...]
    shown: Environment
    fillers: Mapping[VersionKey, Filler] = field(default_factory=dict)

    @property
    def bounded(self) -> tuple[ModelSnapshot, ...]:
        """The snapshots that are shown with a version that is bounded, by model's name."""
        found = (each for each in self.shown.snapshots.values() if each.bounded is not None)
        return tuple(sorted(found, key=lambda each: each.name))

    @property
    def is_calm(self) -> bool:
        """Whether nothing was refused or stopped, or is left to be loaded or evaluated again."""
        return not (self.refused or self.pending or self.outdated or self.stopped)


def look_at_operations(services: Services, plan: Plan) -> Operations:
    """What a person has to know of an environment, of the versions that a run of it would fill.

    The state is asked a number of questions that does not depend on the number of models, each in
    as many statements as its keys need; sources only about models with late data.
    """
    binding = bind_plan(plan)
    keys = {name: each.key for name, each in sorted(binding.snapshots.items())}
    owners = services.state.owners(keys.values())
    theirs = fillers(services, plan.environment, keys.values(), owners)
    shown = services.state.environment(plan.environment)
    assert shown is not None, "a run is one of an environment that is there"
    works = services.state.failed(keys.values())
    found = (works[key] for key in keys.values() if key in works)
    given_up = [each for each in found if each.ending is not Ending.DAMAGED]  # a look finds that
    return Operations(
        failed=tuple(each for each in given_up if not each.refused_branch),
        refused=tuple(each for each in given_up if each.refused_branch),
        pending=tuple(_pending(services, keys, owners, theirs)),
        outdated=tuple(_outdated(services, keys, owners)),
        stopped=tuple(_stopped(services, binding, owners)),
        leases=tuple(_of_environment(services.state.leases(), plan.environment)),
        shown=shown,
        fillers=theirs,
    )


def late_rows_not_loaded(services: Services, binding: Binding) -> dict[ModelName, LateRows]:
    """What is known of the sources of an environment's models and is not loaded, by model."""
    keys = {name: each.key for name, each in sorted(binding.snapshots.items())}
    owners = services.state.owners(keys.values())
    theirs = fillers(services, binding.environment, keys.values(), owners)
    return {each.name: each for each in _pending(services, keys, owners, theirs)}


def _pending(
    services: Services,
    keys: Mapping[ModelName, VersionKey],
    owners: Mapping[VersionKey, str],
    theirs: Mapping[VersionKey, Filler],
) -> Iterator[LateRows]:
    found = services.state.pending(keys.values())
    for name, key in keys.items():
        if key in found:
            owner, filler = owners.get(key), theirs.get(key)
            yield LateRows(name=name, owner=owner, filler=filler, pending=found[key])


def _outdated(
    services: Services, keys: Mapping[ModelName, VersionKey], owners: Mapping[VersionKey, str]
) -> Iterator[Outdated]:
    holdings = services.state.holdings(keys.values())
    for key in keys.values():
        if key in holdings and holdings[key].outdated:
            intervals = holdings[key].outdated
            yield Outdated(key=key, owner=owners.get(key), intervals=intervals)


def _stopped(
    services: Services, binding: Binding, owners: Mapping[VersionKey, str]
) -> Iterator[StoppedSession]:
    """What a session of this environment would stop at; other environments report their own."""
    names = [
        node.name
        for node in binding.graph
        if node.model.late_data is not None
        and may_write(binding.environment, owners.get(binding.key(node.name)))
    ]
    seen = Seen.above(services, binding, names)
    for name in sorted(names):
        decision = detect(services, binding, name, seen=seen)
        if isinstance(decision, Stop):
            yield StoppedSession(name=name, stop=decision)


def _of_environment(leases: Sequence[HeldLease], environment: str) -> Iterator[HeldLease]:
    ours, of_any = environment_resource(environment), environment_resource("")
    for each in leases:
        if each.resource == ours or not each.resource.startswith(of_any):
            yield each
