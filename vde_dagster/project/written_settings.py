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
    start: Instant = None
    cron: Annotated[str, written_as(_cron)] = "@daily"
    freshness: Annotated[timedelta | None, written_as(parse_freshness)] = None
    updates_on: UpdatesOn = UpdatesOn.ANY
    retries: Annotated[int, Field(ge=0, le=MOST_RETRIES)] = 0


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
    """How long unused tables are kept, and the cron by which Dagster removes them automatically."""

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
