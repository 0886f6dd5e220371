"""The entry point: a project's environment as Dagster definitions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import PRODUCTION, InvalidName, environment_name
from vde_dagster.core.variables import Variable
from vde_dagster.orchestration.assets.building import IO_MANAGER, build_assets
from vde_dagster.orchestration.assets.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.assets.pyspark_resource import VdePySparkResource
from vde_dagster.orchestration.assets.translator import VdeTranslator
from vde_dagster.orchestration.failures import secrets_hidden
from vde_dagster.orchestration.home import check_home
from vde_dagster.orchestration.jobs.clean_up_jobs import (
    build_clean_up_schedules,
    build_janitor_job,
    build_maintain_job,
)
from vde_dagster.orchestration.jobs.plan_job import build_apply_job, build_plan_job
from vde_dagster.orchestration.keys import AssetKey
from vde_dagster.orchestration.launchers.automation import (
    build_automation_job,
    build_automation_sensor,
    build_late_data_sensor,
)
from vde_dagster.orchestration.location import open_location
from vde_dagster.orchestration.reporting.status_checks import build_status_checks
from vde_dagster.orchestration.reporting.status_sensor import build_status_sensor
from vde_dagster.project.garbage_collection import looking_at_new_values_only


def build_definitions(
    folder: str | Path,
    *,
    environment: str | None = None,
    translator: VdeTranslator | None = None,
    settings: Mapping[str, object] | None = None,
) -> dg.Definitions:
    """Everything that Dagster needs to serve one environment of a project.

    The model snapshots are those that the state has for the environment; outside production edits
    of the files are followed unless ``vde.yaml`` says otherwise. Loading writes nothing and does
    not start Spark.

    Args:
        folder: The project's folder, absolute or relative to the working directory.
        environment: Which environment this code location serves. By default the one that the
            environment variable ``VDE_ENVIRONMENT`` names, and if it is not set, ``prod``.
        translator: Changes how models look in Dagster.
        settings: Where things are, and with which credentials: what wins over ``vde.yaml`` in its
            form, below ``catalog.properties``, ``spark`` and ``state``. Credentials are
            ``dagster.EnvVar``s, or texts with ``${NAME}``. They are read in each process that
            opens the project, and are nowhere else.

    ``folder`` and ``environment`` may be ``dagster.EnvVar``s, too.

    Raises:
        ProjectInvalid: The files or the settings are wrong, and nothing was planned that could run
            instead.
        InvalidName: The environment's name has nothing in it that a name can be made of.
        Refused: An environment variable that names the folder or the environment is not set.

    Example:
        ```python
        @dg.definitions
        def defs() -> dg.Definitions:
            return build_definitions(
                Path(__file__).parent, settings={"state": {"url": dg.EnvVar("STATE_URL")}}
            )
        ```
    """
    named = _value(environment) if isinstance(environment, dg.EnvVar) else environment
    served = named if named is not None else _own_environment() or PRODUCTION
    place = _value(folder) if isinstance(folder, dg.EnvVar) else folder
    return project_definitions(VdeProject.load(place, settings=settings), served, translator)


def _value(variable: dg.EnvVar) -> str:
    """The value of an environment variable.

    Raises:
        Refused: It is not set, or empty.
    """
    found = variable.get_value()
    if not found:
        raise Refused(
            f"the environment variable {variable.env_var_name}, passed to build_definitions, is "
            "not set",
            advice="Export it where the code location runs.",
        )
    return found


def personal_environment(default: str = "dev") -> str:
    """The environment that ``VDE_ENVIRONMENT`` names, for a code location beside production's.

    It is never production, which has a code location of its own: then, and if the variable is not
    set or blank, it is ``default``.

    Raises:
        InvalidName: The variable has nothing in it that a name can be made of.
    """
    named = _own_environment()
    return named if named and named != PRODUCTION else default


def _own_environment() -> str:
    """The environment that a person's shell names; empty for none."""
    named = os.environ.get(Variable.ENVIRONMENT, "").strip()
    try:
        return environment_name(named) if named else ""
    except InvalidName as error:
        message = f"the environment variable {Variable.ENVIRONMENT}: {error.message}"
        raise InvalidName(message, advice=error.advice) from error


def project_definitions(
    project: VdeProject, environment: str, translator: VdeTranslator | None = None
) -> dg.Definitions:
    """`build_definitions` for a project that is open already."""
    check_home(project.configuration)
    with warnings.catch_warnings(), looking_at_new_values_only(), secrets_hidden():
        # Backfill policies and code references are marked beta; users cannot act on that.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return _definitions(project, environment, translator)


def _definitions(
    project: VdeProject, environment: str, translator: VdeTranslator | None
) -> dg.Definitions:
    location = open_location(project, environment_name(environment), translator)
    automation = build_automation_job(location)
    janitor, maintain = build_janitor_job(location), build_maintain_job(location)
    jobs = [
        build_plan_job(location),
        build_apply_job(location),
        automation,
        janitor,
        maintain,
    ]
    sensors = [
        build_automation_sensor(location, automation),
        build_late_data_sensor(location, automation),
        build_status_sensor(location),
    ]
    return dg.Definitions(
        assets=build_assets(location),
        asset_checks=build_status_checks(location),
        jobs=jobs,
        sensors=[each for each in sensors if each is not None],
        schedules=build_clean_up_schedules(location, janitor=janitor, maintain=maintain),
        resources={
            IO_MANAGER: VdeIcebergIOManager(location),
            "pyspark": VdePySparkResource(
                project_folder=str(project.configuration.folder),
                settings=dict(project.configuration.given),
            ),
        },
        executor=dg.in_process_executor,
        metadata={AssetKey.FOLDER: dg.MetadataValue.path(project.configuration.folder)},
    )
