"""What a Dagster code location serves: the snapshots of one environment, found at load."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment, bind_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.view_names import naming_of
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.orchestration.assets.metadata import run_tags
from vde_dagster.orchestration.assets.translating import (
    Names,
    names_of,
    project_translator,
    translated_checks,
    translated_spec,
    translator_data,
)
from vde_dagster.orchestration.assets.translator import VdeTranslator
from vde_dagster.orchestration.reporting.checks import CheckNames

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Location:
    """One environment of a project as Dagster serves it.

    ``binding`` is what it runs. ``plan`` is set if that comes from the files and not from the
    state: in an environment that follows the files, a step stores that plan's model snapshots in
    the state; in others nothing runs before a person has applied a plan. ``partitions_end`` is the
    project's clock, None for the wall clock. ``specs`` are the translated assets and sources,
    ``checks`` those of each model by our names for them.
    """

    project: VdeProject
    environment: str
    binding: Binding
    plan: Plan | None
    partitions_end: datetime | None
    specs: Mapping[ModelName, dg.AssetSpec]
    checks: Mapping[ModelName, Mapping[str, dg.AssetCheckSpec]]
    translator: VdeTranslator = field(default_factory=VdeTranslator)

    @cached_property
    def check_names(self) -> CheckNames:
        """What the checks of models are called."""
        return {
            name: {ours: spec.name for ours, spec in checks.items()}
            for name, checks in self.checks.items()
        }

    @property
    def followed(self) -> Plan | None:
        """The plan that steps store in the state; None if only plans of a person count."""
        follows = self.project.configuration.follows_files(self.environment)
        return self.plan if follows else None

    @cached_property
    def timed(self) -> frozenset[ModelName]:
        """The models whose assets have a freshness policy, their own or a translator's."""
        policies = {name: spec.freshness_policy for name, spec in self.specs.items()}
        return frozenset(name for name, policy in policies.items() if policy is not None)

    @property
    def run_tags(self) -> dict[str, str]:
        """The tags of runs about the environment."""
        return run_tags(self.project.configuration.name, self.environment)

    def key(self, name: ModelName) -> dg.AssetKey:
        """The asset key of a model or source."""
        return self.specs[name].key

    def names(self, binding: Binding) -> Names:
        """What all models of a binding are called, also those not loaded here, and their checks."""
        known = Names(
            keys={name: spec.key for name, spec in self.specs.items()}, checks=self.check_names
        )
        if all(node.name in self.specs for node in binding.graph):
            return known
        every = names_of(self.project, binding, self.project.services.naming, self.translator)
        return Names(keys={**every.keys, **known.keys}, checks={**every.checks, **known.checks})

    def name(self, key: dg.AssetKey) -> ModelName | None:
        """The model or source of an asset key; None where it is another asset."""
        return next((name for name, spec in self.specs.items() if spec.key == key), None)


def automation_sensor_name(environment: str) -> str:
    """The name of the sensor of an environment's automation."""
    return f"vde_automation_{environment}"


def open_location(
    project: VdeProject, environment: str, translator: VdeTranslator | None = None
) -> Location:
    """Find what an environment runs. Stores nothing and starts no Spark.

    An environment that was rolled back, or that another one was promoted to, does not follow the
    files until a plan of them is applied to it.

    Raises:
        ProjectInvalid: The files are wrong, and the state has nothing to run in their place.
    """
    services = project.services
    loaded = bind_environment(services, environment)
    edited = _plan_of_files(project, environment, fallback=loaded)
    follows = project.configuration.follows_files(environment)
    follows = follows and (loaded is None or loaded.taken is None)
    if loaded is None or (follows and edited is not None and edited.promotes):
        assert edited is not None, "files that cannot be read were reported"
        binding, plan = bind_plan(edited), edited
    else:
        binding, plan = loaded, None
    chosen = translator or project_translator(project.configuration)
    changed = _changed(edited) if loaded is not None else {}
    naming = services.naming if plan is not None else naming_of(services, environment)
    paused = services.state.pauses(environment)
    data = translator_data(project, binding, naming, changed, paused)
    specs = {name: translated_spec(chosen, each) for name, each in data.items()}
    return Location(
        project=project,
        environment=environment,
        binding=binding,
        plan=plan,
        partitions_end=services.project_now()
        or min((node.model.start for node in binding.graph), default=None)
        if services.clock_sources
        else None,
        specs=specs,
        checks={
            name: translated_checks(chosen, each, specs[name].key) for name, each in data.items()
        },
        translator=chosen,
    )


def _plan_of_files(
    project: VdeProject, environment: str, *, fallback: Binding | None
) -> Plan | None:
    """The plan of the files; None if they are wrong and the state has something to run."""
    try:
        graph = project.files.graph
    except ProjectInvalid as error:
        if fallback is None:
            raise
        _LOG.warning(
            "%s runs the last applied plan, since the project's files cannot be read: %s",
            environment,
            error,
        )
        return None
    shown = project.services.state.environment(environment)
    all_shown = environment == PRODUCTION or shown is None or not shown.hidden
    options = PlanOptions(include_unmodified=all_shown)
    stays = bounds_of(fallback.snapshots) if fallback is not None else {}
    return plan_environment(project.services, graph, environment, options, stays=stays)


def _changed(plan: Plan | None) -> dict[ModelName, str]:
    """How the files differ from what an environment was planned to show, model by model."""
    changes = plan.changes if plan is not None else ()
    return {
        each.name: (each.category or each.change).value
        for each in changes
        if each.change is not Change.NONE
    }
