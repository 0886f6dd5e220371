"""What ``vde.yaml`` may say: each section a class, each key a field with the type of its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast, dataclass_transform

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainValidator
from pydantic.dataclasses import dataclass

from vde_dagster.core.clean_up.references import DEFAULT_TIMES
from vde_dagster.core.clean_up.upkeep import DEFAULT_UPKEEP, Upkeep
from vde_dagster.core.connect_address import ConnectAddress
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.freshness import parse_freshness
from vde_dagster.core.ledger.dsha import ALGORITHMS, DEFAULT_ALGORITHM
from vde_dagster.core.model.model import UpdatesOn
from vde_dagster.core.model.retries import MOST_RETRIES
from vde_dagster.core.model.room import DEFAULT_MODELS, MOST_MODELS
from vde_dagster.core.names import PRODUCTION, ModelName, SuffixTarget, TableName, environment_name
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.core.sql.dialects import SUPPORTED
from vde_dagster.core.time.cron import Cron, unit_of
from vde_dagster.core.time.intervals import parse_duration, parse_instant
from vde_dagster.project.machine import user
from vde_dagster.runtime.secrets import PrivateSettings, Secret

T = TypeVar("T")
NEVER: Final = "never"
NAME_ADVICE: Final = "Add a line like `name: my_project`."
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_SIZE: Final = re.compile(r"([0-9]{1,6}) ?(MB|GB)")
_UNITS: Final = {"MB": 1_000_000, "GB": 1_000_000_000}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def section(cls: type[T]) -> type[T]:
    """A class whose fields are the keys of a mapping in ``vde.yaml``, and no others."""
    config = ConfigDict(extra="forbid", hide_input_in_errors=True, arbitrary_types_allowed=True)
    checked: Any = dataclass(frozen=True, slots=True, kw_only=True, config=config)(cls)
    return cast("type[T]", checked)


class InvalidSetting(Refused, ValueError):
    """A text is not a value of a setting; the advice says what to write."""


def written_as(read: Callable[[str], object], advice: str = "") -> PlainValidator:
    """A setting that is one value, read from its text.

    Args:
        read: Raises a ValueError with what is wrong; nothing of a secret is in it.
        advice: What to write instead, unless the error says it itself.
    """

    def validate(written: object) -> object:
        if not isinstance(written, str):
            raise InvalidSetting("a single value is expected here", advice="Write `key: value`.")
        try:
            return read(written)
        except Refused:
            raise
        except (ValueError, OverflowError) as error:
            raise InvalidSetting(str(error), advice=advice) from None

    return PlainValidator(validate)


def _remote(address: str) -> Secret | None:
    if not address:
        return None
    try:
        ConnectAddress.parse(address)
    except ValueError as error:
        raise ValueError(
            f"spark.remote is not an address of a Spark Connect server: {error}"
        ) from None
    return Secret(address)


def _age(text: str) -> timedelta | Literal["never"]:
    return NEVER if text == NEVER else parse_duration(text)


def _orphan_age(text: str) -> timedelta:
    if (age := parse_duration(text)) < timedelta(hours=1):
        raise InvalidSetting(
            "orphans is less than an hour, so files that are being written would be removed",
            advice="Write more than any commit takes, such as `3 days`.",
        )
    return age


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise ValueError(f"file_size has to be a number of MB or GB, not {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def _start(text: str) -> datetime:
    try:
        return parse_instant(text)
    except ValueError:
        raise ValueError("start is not a date") from None


def _pool(text: str) -> str | None:
    if re.search(r"\s", text):
        raise ValueError(f"{text!r} is not a valid name of a Dagster pool")
    return text or None


def _algorithm(text: str) -> str:
    if text not in ALGORITHMS:
        raise ValueError(f"{text!r} is not an algorithm for D-SHAs")
    return text


def _filled_in(text: str) -> str:
    """An environment's name, with who works here for ``{user}``."""
    unknown = [f"{{{name}}}" for name in _PLACEHOLDER.findall(text) if name != "user"]
    if unknown or re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        what = ", ".join(unknown) or "a single brace"
        raise ValueError(f"{what} has no meaning in default_environment")
    return environment_name(text.replace("{user}", user()))


def _empty(written: object) -> object:
    return {} if written is None else written


def _several(written: object) -> object:
    return (written,) if isinstance(written, str) else written or ()


EMPTY: Final = BeforeValidator(_empty)
"""A key with nothing behind it is a mapping without keys."""
SEVERAL: Final = BeforeValidator(_several)
"""A list, or the only value of one."""

Text: TypeAlias = Annotated[str, written_as(str)]
OptionalText: TypeAlias = Annotated[str | None, written_as(lambda text: text or None)]
Pool: TypeAlias = Annotated[str | None, written_as(_pool, "Write it without spaces.")]
Algorithm: TypeAlias = Annotated[
    str, written_as(_algorithm, f"Use one of {', '.join(ALGORITHMS)}.")
]
Instant: TypeAlias = Annotated[datetime | None, written_as(_start, "Write it like 2024-01-31.")]
Duration: TypeAlias = Annotated[timedelta, written_as(parse_duration, "Write it like `7 days`.")]
Age: TypeAlias = Annotated[
    timedelta | Literal["never"], written_as(_age, f"Write it like `7 days` or `{NEVER}`.")
]
"""A length of time, or for ever."""
OrphanAge: TypeAlias = Annotated[timedelta, written_as(_orphan_age, "Write it like `7 days`.")]
FileSize: TypeAlias = Annotated[int, written_as(_size, "Write it like `128 MB`.")]
Schedule: TypeAlias = Annotated[
    str | None, written_as(lambda text: Cron.parse(text).text if text else None)
]
Table: TypeAlias = Annotated[ModelName, written_as(ModelName.parse)]
EnvironmentName: TypeAlias = Annotated[str, written_as(environment_name)]
DefaultEnvironment: TypeAlias = Annotated[
    str, written_as(_filled_in, "Known: {user}, as in `default_environment: dev_{user}`.")
]
Remote: TypeAlias = Annotated[
    Secret | None,
    written_as(
        _remote,
        "Write sc://host:port, followed by parameters as in sc://host:port/;use_ssl=true.",
    ),
]
Address: TypeAlias = Annotated[
    Secret | None, written_as(lambda text: Secret(text) if text else None)
]
"""A database's, with a password in it."""

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
            f"the clock has to be `wall` or `valid_to: [source, ...]`, not {shown}",
            advice="Write one of the two.",
        )
    return written


def _dialect(text: str) -> str:
    if text.lower() not in SUPPORTED:
        raise ValueError(f"unknown dialect {text!r}")
    return text


def _cron(text: str) -> str:
    unit_of(text)
    return text


@section
class WrittenDefaults:
    """What ``vde.yaml`` says below ``defaults``."""

    dialect: Annotated[str, written_as(_dialect, f"Use one of {', '.join(SUPPORTED)}.")] = "spark"
    """SQL dialect of the models: one of [these](models.md#dialects)."""
    start: Instant = None
    """First instant of the models' intervals, in UTC. By default the earliest start of a
    model's parents, else 1970-01-01.
    """
    cron: Annotated[str, written_as(_cron)] = "@daily"
    """How often a model is due. The time between two ticks is also the default length of its
    intervals.
    """
    freshness: Annotated[timedelta | None, written_as(parse_freshness)] = None
    """Least age of a table before a change upstream recomputes it, such as `4 hours`. By
    default a table follows each change.
    """
    updates_on: UpdatesOn = UpdatesOn.ANY
    """`any`: one changed parent is enough to recompute a table. `all`: all parents must have
    changed.
    """
    retries: Annotated[int, Field(ge=0, le=MOST_RETRIES)] = 0
    """How often a failed evaluation is [retried](../reference/automation.md#retries), up to 10
    times.
    """


@section
class CatalogSettings:
    """The Iceberg catalog. ``properties`` are pyiceberg's; empty means the embedded one."""

    name: Text = "lake"
    """Name of the catalog in Spark and PyIceberg."""
    properties: Private = field(default_factory=PrivateSettings)
    """PyIceberg's properties. Spark [gets the same
    catalog](../how-to/deploy.md#the-catalog-configured-once); a property that Spark would miss
    is refused. By default a SQLite catalog in `.vde/lake.db` with files in `.vde/warehouse`.
    """


@section
class SparkConfiguration:
    """Where Spark runs: its master, or a Spark Connect address, and its own settings."""

    master: Text = "local[*]"
    """URL of Spark's master."""
    remote: Remote = None
    """Address of a [Spark Connect server](../how-to/deploy.md#spark-connect), used instead of
    `master`: `sc://host:port`, perhaps with parameters
    (`sc://host:port/;use_ssl=true;token=${SPARK_TOKEN}`).
    """
    conf: Private = field(default_factory=PrivateSettings)
    """Settings of Spark. Some [change results](#settings-of-spark-that-change-results) and are
    part of each model.
    """


@section
class StateSettings:
    """The database with the state; None is the embedded one."""

    url: Address = None
    """SQLAlchemy address of SQLite or Postgres. By default SQLite in `.vde/lake.db`; relative
    paths start in the project's folder.
    """


@section
class Clock:
    """The sources whose valid-to time is the project's; the wall clock without any."""

    valid_to: Annotated[tuple[Table, ...], SEVERAL] = ()
    """Sources whose table property `vde.valid-to` is the project's time; the earliest one
    counts. Use it for historical or replayed data.
    """


@section
class DagsterSettings:
    """The class that says how models look in Dagster, and the pool of all of their steps."""

    translator: OptionalText = None
    """Class that [sets keys, groups and more](../how-to/translator.md) of models in Dagster,
    such as `translator.OurTranslator` in the project's `translator.py`. By default
    `VdeTranslator`.
    """
    pool: Pool = None
    """Dagster pool of all model steps; see [concurrent
    steps](dagster.md#how-many-steps-at-once).
    """


@section
class LateDataSettings:
    """The tables in the project's catalog in which people query sessions and marks."""

    sessions_table: Table = ModelName("vde_meta", "late_sessions")
    """Table that lists sessions."""
    high_watermarks_table: Table = ModelName("vde_meta", "high_watermarks")
    """Table that lists high-water marks."""

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
    """How long unused tables are kept, and the cron by which Dagster removes them automatically."""

    history: Duration = DEFAULT_TIMES.history
    """How long you can roll an environment back to an earlier revision."""
    environments: Age = timedelta(days=7)
    """An environment expires after this time without a plan or promotion; `never` keeps all."""
    grace: Duration = DEFAULT_TIMES.grace
    """Time between the tombstone of an unused version and the removal of its files."""
    schedule: Schedule = None
    """Cron, in UTC, of the janitor in Dagster. Without it Dagster has a
    [schedule](dagster-jobs.md#clean-up) at 03:00 that is switched off.
    """


@section
class MaintainSettings(Upkeep):
    """When tables are maintained, and the cron by which Dagster does it by itself."""

    snapshots: Duration = DEFAULT_UPKEEP.snapshots
    """Age at which a replaced, unused Iceberg snapshot is removed. No query may take longer."""
    orphans: OrphanAge = DEFAULT_UPKEEP.orphans
    """Age at which an unused file is removed; at least an hour. No commit may take longer."""
    small_files: Annotated[int, Field(ge=2)] = DEFAULT_UPKEEP.small_files
    """Number of small files in a partition from which on they are rewritten; at least 2."""
    file_size: FileSize = DEFAULT_UPKEEP.file_size
    """Target size of files, in MB or GB. A file below three quarters of it is small."""
    schedule: Schedule = None
    """Cron, in UTC, of maintenance in Dagster. Without it Dagster has a
    [schedule](dagster-jobs.md#clean-up) at 04:00 that is switched off.
    """


@section
class EnvironmentSettings:
    """What is said of one environment; None is what is said of all of them."""

    categorize: Mode | None = None
    """`categorize` of this environment."""
    follow_files: bool = True
    """Dagster shows edited files before they are planned. Never in `prod`."""
    ttl: Age | None = None
    """`clean_up.environments` of this environment: a time, or `never`. `prod` never expires."""


@section
class WrittenConfiguration:
    """What ``vde.yaml`` says. The texts of its keys are those of the reference."""

    name: Annotated[Text, AfterValidator(_name)]
    """Name of the project."""
    catalog: Annotated[CatalogSettings, EMPTY] = CatalogSettings()
    """The Iceberg catalog."""
    categorize: Mode = Mode.AUTOMATIC
    """When a plan asks you what an edit means: `automatic` (never; an edit with an unknown
    effect is breaking), `ask` (if the effect is unknown) or `always`. `--categorize`
    overrides it.
    """
    clean_up: Annotated[CleanUpSettings, EMPTY] = CleanUpSettings()
    """How long [`vde janitor`](../how-to/clean-up.md) keeps unused data, by the wall clock."""
    clock: Annotated[Clock, BeforeValidator(_clock)] = Clock()
    """Time of the project: intervals that have ended by then are due. By default `wall`."""
    concurrency: Annotated[int, Field(ge=1, le=MOST_MODELS)] = DEFAULT_MODELS
    """Number of models that are evaluated [concurrently](../how-to/concurrency.md), up to 64.
    `--concurrency` overrides it.
    """
    dagster: Annotated[DagsterSettings, EMPTY] = DagsterSettings()
    """Models in Dagster."""
    default_environment: DefaultEnvironment = PRODUCTION
    """Environment of `vde plan` without ENV. `{user}` stands for VDE_USER or the user of the
    operating system: `dev_{user}` is `dev_ana_b` for `Ana.B`.
    """
    defaults: Annotated[WrittenDefaults, EMPTY] = WrittenDefaults()
    """Defaults of model properties."""
    dsha_algorithm: Algorithm = DEFAULT_ALGORITHM
    """[Hash of rows](../reference/reuse.md#d-sha-algorithms): `xxhash64x2` or `murmur3_128`. A
    version changes to another one when all of its rows are rebuilt.
    """
    environment_suffix_target: SuffixTarget = SuffixTarget.SCHEMA
    """[Part of a view's name](#names) that contains the environment: `schema`, `table` or
    `catalog`.
    """
    environments: Annotated[
        Mapping[EnvironmentName, Annotated[EnvironmentSettings, EMPTY]], EMPTY
    ] = field(default_factory=dict)
    """Settings of single environments."""
    forward_only: Annotated[tuple[Text, ...], SEVERAL] = ()
    """Patterns of models whose table each edit, theirs or upstream,
    [keeps](../reference/kinds.md#what-becomes-of-rows-that-stay): a name, `events.*`, `tag:NAME`
    or `path:models/raw/*`. The kind's option `forward_only` and `--decide` override it.
    """
    late_data: Annotated[LateDataSettings, EMPTY] = LateDataSettings()
    """Tables in the project's catalog that [list late
    data](../reference/late-data.md#the-two-tables).
    """
    maintain: Annotated[MaintainSettings, EMPTY] = MaintainSettings()
    """What [`vde maintain`](../how-to/clean-up.md#maintain-the-tables-that-stay) does."""
    spark: Annotated[SparkConfiguration, EMPTY] = SparkConfiguration()
    """Where models are evaluated."""
    state: Annotated[StateSettings, EMPTY] = StateSettings()
    """Database with the state."""
    strict_columns: bool = False
    """Removing or changing a column is breaking even if no model reads it."""
    variables: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Variables by name for macros (`@name`, `@VAR('name')`) and Python models (`context.var`):
    texts, numbers, booleans, null, lists. Case does not count; names of time macros are
    refused.
    """
