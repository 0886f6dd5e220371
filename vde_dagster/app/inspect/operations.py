"""What a person who operates an environment has to know besides what a run of it would compute.

That is what failed and was refused, what is known and not loaded, what stopped, who writes, and who
promoted last. All of it is read from the state and from Iceberg metadata; no Spark is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.late.decision import Stop
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.unit_of_work import Ending, UnitOfWork
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.held_leases import HeldLease
from vde_dagster.ports.state import Environment, environment_resource


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRows:
    """What is known of a model's sources and is not loaded; ``owner`` is who loads its version."""

    name: ModelName
    owner: str | None
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """What somebody marked to be evaluated again; ``owner`` is who evaluates the version."""

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
    shown = services.state.environment(plan.environment)
    assert shown is not None, "a run is one of an environment that is there"
    works = services.state.failed(keys.values())
    found = (works[key] for key in keys.values() if key in works)
    given_up = [each for each in found if each.ending is not Ending.DAMAGED]  # a look finds that
    return Operations(
        failed=tuple(each for each in given_up if not each.refused_branch),
        refused=tuple(each for each in given_up if each.refused_branch),
        pending=tuple(_pending(services, keys, owners)),
        outdated=tuple(_outdated(services, keys, owners)),
        stopped=tuple(_stopped(services, binding, owners)),
        leases=tuple(_of_environment(services.state.leases(), plan.environment)),
        shown=shown,
        fillers=fillers(services, plan.environment, keys.values(), owners),
    )


def late_rows_not_loaded(services: Services, binding: Binding) -> dict[ModelName, LateRows]:
    """What is known of the sources of an environment's models and is not loaded, by model."""
    keys = {name: each.key for name, each in sorted(binding.snapshots.items())}
    owners = services.state.owners(keys.values())
    return {each.name: each for each in _pending(services, keys, owners)}


def _pending(
    services: Services, keys: Mapping[ModelName, VersionKey], owners: Mapping[VersionKey, str]
) -> Iterator[LateRows]:
    found = services.state.pending(keys.values())
    for name, key in keys.items():
        if key in found:
            yield LateRows(name=name, owner=owners.get(key), pending=found[key])


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
