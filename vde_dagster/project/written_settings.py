"""What ``vde.yaml`` may say: each section a class, each key a field with the type of its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from vde_dagster.core.clean_up.references import DEFAULT_TIMES
from vde_dagster.core.clean_up.upkeep import DEFAULT_UPKEEP, Upkeep
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM
from vde_dagster.core.model.room import DEFAULT_MODELS, MOST_MODELS
from vde_dagster.core.names import PRODUCTION, ModelName, SuffixTarget, TableName
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.project.defaults import WrittenDefaults
from vde_dagster.project.setting_types import (
    EMPTY,
    NAME_ADVICE,
    SEVERAL,
    Address,
    Age,
    Algorithm,
    DefaultEnvironment,
    Duration,
    EnvironmentName,
    FileSize,
    InvalidSetting,
    OptionalText,
    OrphanAge,
    Pool,
    Remote,
    Schedule,
    Table,
    Text,
    section,
)
from vde_dagster.runtime.secrets import PrivateSettings

Private: TypeAlias = Annotated[Mapping[str, Text], EMPTY, AfterValidator(PrivateSettings)]
"""Settings with credentials among them: a mapping of names to texts."""


def _name(text: str) -> str:
    if not text:
        raise InvalidSetting("the project has no name", advice=NAME_ADVICE)
    return text


def _clock(written: object) -> object:
    if written is None or written == "wall":
        return {}
    if not isinstance(written, dict | Clock):
        shown = repr(written) if isinstance(written, str) else "a list"
        raise InvalidSetting(
            f"the clock is `wall` or `valid_to: [source, ...]`, not {shown}",
            advice="Write one of these two.",
        )
    return written


@section
class CatalogSettings:
    """The Iceberg catalog. ``properties`` are pyiceberg's; empty means the embedded one."""

    name: Text = "lake"
    properties: Private = field(default_factory=PrivateSettings)


@section
class SparkConfiguration:
    """Where Spark runs: its master, or a Spark Connect address, and its own settings."""

    master: Text = "local[*]"
    remote: Remote = None
    conf: Private = field(default_factory=PrivateSettings)


@section
class StateSettings:
    """The database with the state; None is the embedded one."""

    url: Address = None


@section
class Clock:
    """The sources whose valid-to time is the project's; the wall clock without any."""

    valid_to: Annotated[tuple[Table, ...], SEVERAL] = ()


@section
class DagsterSettings:
    """The class that says how models look in Dagster, and the pool of all of their steps."""

    translator: OptionalText = None
    pool: Pool = None


@section
class LateDataSettings:
    """The tables in the project's catalog in which people query sessions and marks."""

    sessions_table: Table = ModelName("vde_meta", "late_sessions")
    high_watermarks_table: Table = ModelName("vde_meta", "high_watermarks")

    @property
    def sessions(self) -> TableName:
        """The table of sessions."""
        return TableName(self.sessions_table.schema, self.sessions_table.name)

    @property
    def marks(self) -> TableName:
        """The table of high-water marks."""
        return TableName(self.high_watermarks_table.schema, self.high_watermarks_table.name)


@section
class CleanUpSettings:
    """How long what nobody uses is kept, and the cron by which Dagster removes it by itself."""

    history: Duration = DEFAULT_TIMES.history
    environments: Age = timedelta(days=7)
    grace: Duration = DEFAULT_TIMES.grace
    schedule: Schedule = None


@section
class MaintainSettings(Upkeep):
    """When tables are maintained, and the cron by which Dagster does it by itself."""

    snapshots: Duration = DEFAULT_UPKEEP.snapshots
    orphans: OrphanAge = DEFAULT_UPKEEP.orphans
    small_files: Annotated[int, Field(ge=2)] = DEFAULT_UPKEEP.small_files
    file_size: FileSize = DEFAULT_UPKEEP.file_size
    schedule: Schedule = None


@section
class EnvironmentSettings:
    """What is said of one environment; None is what is said of all of them."""

    categorize: Mode | None = None
    follow_files: bool = True
    ttl: Age | None = None


@section
class WrittenConfiguration:
    """What ``vde.yaml`` says.

    ``strict_columns`` makes it breaking to remove or change a column that no model reads.
    ``dsha_algorithm`` is what rows are hashed with, ``concurrency`` how many models are evaluated
    at once, ``default_environment`` where a plan goes that names no environment.
    """

    name: Annotated[Text, AfterValidator(_name)]
    catalog: Annotated[CatalogSettings, EMPTY] = CatalogSettings()
    categorize: Mode = Mode.AUTOMATIC
    clean_up: Annotated[CleanUpSettings, EMPTY] = CleanUpSettings()
    clock: Annotated[Clock, BeforeValidator(_clock)] = Clock()
    concurrency: Annotated[int, Field(ge=1, le=MOST_MODELS)] = DEFAULT_MODELS
    dagster: Annotated[DagsterSettings, EMPTY] = DagsterSettings()
    default_environment: DefaultEnvironment = PRODUCTION
    defaults: Annotated[WrittenDefaults, EMPTY] = WrittenDefaults()
    dsha_algorithm: Algorithm = DEFAULT_ALGORITHM
    environment_suffix_target: SuffixTarget = SuffixTarget.SCHEMA
    environments: Annotated[
        Mapping[EnvironmentName, Annotated[EnvironmentSettings, EMPTY]], EMPTY
    ] = field(default_factory=dict)
    forward_only: Annotated[tuple[Text, ...], SEVERAL] = ()
    late_data: Annotated[LateDataSettings, EMPTY] = LateDataSettings()
    maintain: Annotated[MaintainSettings, EMPTY] = MaintainSettings()
    spark: Annotated[SparkConfiguration, EMPTY] = SparkConfiguration()
    state: Annotated[StateSettings, EMPTY] = StateSettings()
    strict_columns: bool = False
    variables: Mapping[str, object] = field(default_factory=dict, repr=False)
