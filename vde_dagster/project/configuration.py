"""``vde.yaml`` as a value. Only ``name`` is required."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from vde_dagster.core.clean_up.references import DEFAULT_TIMES, Times
from vde_dagster.core.clean_up.upkeep import DEFAULT_UPKEEP, Upkeep
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.ledger.dsha import ALGORITHMS, DEFAULT_ALGORITHM
from vde_dagster.core.model.room import DEFAULT_MODELS
from vde_dagster.core.model.session_settings import changing_results
from vde_dagster.core.names import (
    PRODUCTION,
    InvalidName,
    ModelName,
    SuffixTarget,
    ViewNaming,
    why_no_suffix,
)
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.core.secrets import (
    PrivateSettings,
    Secret,
    is_secret,
    remember,
    secrets_in,
    secrets_of,
)
from vde_dagster.project.addresses import check_catalog_type, state_address
from vde_dagster.project.clean_up_settings import read_clean_up
from vde_dagster.project.concurrency_settings import read_concurrency
from vde_dagster.project.defaults import Defaults, defaults_of
from vde_dagster.project.environment_settings import (
    read_default_environment,
    read_environments,
    read_mode,
)
from vde_dagster.project.forward_only_settings import read_patterns
from vde_dagster.project.given_settings import as_named, with_given
from vde_dagster.project.late_data_settings import LateDataSettings, read_late_data
from vde_dagster.project.local_places import catalog_in
from vde_dagster.project.maintain_settings import read_maintain
from vde_dagster.project.problems import message_and_advice
from vde_dagster.project.project_file import FILE_NAME, HOME
from vde_dagster.project.remote_setting import read_remote
from vde_dagster.project.schedule_settings import CleanUpSchedules, read_schedules
from vde_dagster.project.variables import read_variables
from vde_dagster.project.yaml_document import Entry, Reader

_POOL: Final = re.compile(r"\S*")
_KEYS: Final = (
    "catalog",
    "categorize",
    "clean_up",
    "clock",
    "concurrency",
    "dagster",
    "default_environment",
    "defaults",
    "dsha_algorithm",
    "environment_suffix_target",
    "environments",
    "forward_only",
    "late_data",
    "maintain",
    "name",
    "spark",
    "state",
    "strict_columns",
    "variables",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """The Iceberg catalog. ``properties`` are pyiceberg's; empty means the embedded one."""

    name: str = "lake"
    properties: Mapping[str, str] = field(default_factory=PrivateSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkConfiguration:
    """Where Spark runs: its master, or a Spark Connect address, and its own settings."""

    master: str = "local[*]"
    remote: Secret | None = None
    conf: Mapping[str, str] = field(default_factory=PrivateSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A project's settings. ``folder`` is absolute; state is in its ``.vde`` by default.

    ``strict_columns`` makes it breaking to remove or change a column that no model reads.
    ``dsha_algorithm`` is what rows are hashed with.
    ``categorize_in`` are the environments with a mode of their own. ``outside_variables`` are the
    names of variables whose value is, or contains, that of an environment variable, and
    ``outside_session`` those of such settings of Spark.
    ``translator`` is the dotted path of the class that says how models look in Dagster, ``pool``
    the name of the Dagster pool of all of their steps. ``late_data`` is where sessions are listed.
    ``clean_up`` is how long what nobody uses is kept, ``maintain`` when tables are maintained.
    ``schedules`` is when Dagster does both by itself.
    ``default_environment`` is where a plan goes that names no environment.
    ``forward_only`` has the place of each pattern in ``defaults.forward_only``.
    ``given`` are the settings that code gave, with environment variables by name.
    ``concurrency`` is how many models are evaluated at once.
    """

    folder: Path
    name: str
    defaults: Defaults = field(default_factory=Defaults)
    catalog: CatalogSettings = CatalogSettings()
    spark: SparkConfiguration = SparkConfiguration()
    state_url: Secret | None = None
    clock_sources: tuple[ModelName, ...] = ()
    follow_files: Mapping[str, bool] = field(default_factory=dict)
    variables: Mapping[str, object] = field(default_factory=dict, repr=False)
    suffix_target: SuffixTarget = SuffixTarget.SCHEMA
    strict_columns: bool = False
    dsha_algorithm: str = DEFAULT_ALGORITHM
    categorize: Mode = Mode.AUTOMATIC
    categorize_in: Mapping[str, Mode] = field(default_factory=dict)
    outside_variables: frozenset[str] = frozenset()
    outside_session: frozenset[str] = frozenset()
    translator: str | None = None
    pool: str | None = None
    late_data: LateDataSettings = field(default_factory=LateDataSettings)
    clean_up: Times = DEFAULT_TIMES
    maintain: Upkeep = DEFAULT_UPKEEP
    schedules: CleanUpSchedules = field(default_factory=CleanUpSchedules)
    default_environment: str = PRODUCTION
    forward_only: Mapping[str, Place] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)
    concurrency: int = DEFAULT_MODELS

    @property
    def naming(self) -> ViewNaming:
        """How the views of environments are named."""
        return ViewNaming(target=self.suffix_target, catalog=self.catalog.name)

    @property
    def session(self) -> Mapping[str, str]:
        """The settings of Spark's session that may change results, but for secrets."""
        found: dict[str, str] = json.loads(self.defaults.session or "{}")
        return found

    @property
    def home(self) -> Path:
        """The folder of the project's own state and caches."""
        return self.folder / HOME

    @property
    def database(self) -> Path:
        """The embedded database file with both the catalog and the state."""
        return self.home / "lake.db"

    @property
    def warehouse(self) -> Path:
        """The embedded folder of table data."""
        return self.home / "warehouse"

    def follows_files(self, environment: str) -> bool:
        """Whether an environment follows edited files without a plan; never production."""
        return environment != PRODUCTION and self.follow_files.get(environment, True)

    def mode(self, environment: str) -> Mode:
        """When plans of an environment ask a person for categories."""
        return self.categorize_in.get(environment, self.categorize)


def read_configuration(folder: Path, settings: Mapping[str, object] | None = None) -> Configuration:
    """Read ``vde.yaml`` of a project's folder.

    Args:
        folder: The folder.
        settings: What code gives, which wins; see `vde_dagster.project.given_settings`.

    Raises:
        ProjectInvalid: There is none, or something in it is wrong; all problems at once.
    """
    configuration, problems = find_configuration(folder, settings)
    if problems:
        raise ProjectInvalid(problems)
    return configuration


def find_configuration(
    folder: Path, settings: Mapping[str, object] | None = None
) -> tuple[Configuration, tuple[Problem, ...]]:
    """``vde.yaml`` of a project's folder as far as it can be used, and what is wrong with it.

    See `read_configuration` for the arguments.

    Raises:
        ProjectInvalid: There is none, or it is no YAML.
    """
    path = folder / FILE_NAME
    reader = Reader()
    if not path.exists():
        reader.add(
            Place(path=path),
            "there is no vde.yaml here, so this folder is no project",
            "Go to a project's folder or name it with --project; `vde init DIR` makes a new one.",
        )
        raise ProjectInvalid(reader.problems)
    root, given = reader.file(path, Path(FILE_NAME)), as_named(settings or {})
    folder = folder.resolve()
    if root is None:  # what the models mean depends on it
        raise ProjectInvalid(reader.problems)
    if given:
        root = with_given(root, given, reader)
    configuration = replace(_configuration(root, folder, reader), given=given)
    return configuration, tuple(reader.problems)


def _configuration(root: Entry, folder: Path, reader: Reader) -> Configuration:
    reader.known(root, _KEYS, FILE_NAME)
    keys = root.children
    name = reader.text(keys.get("name"), "")
    if not name:
        reader.add(root.place, "the project has no name", "Add a line like `name: my_project`.")
    catalog = _catalog(keys.get("catalog"), folder, reader)
    follow, modes = read_environments(keys.get("environments"), reader)
    spark = _spark(keys.get("spark"), reader)
    session = changing_results(spark.conf)
    shown = {
        key: value
        for key, value in session.items()
        if not (is_secret(key) or any(secrets_in(value)))
    }
    dagster = _dagster(keys.get("dagster"), reader)
    patterns = read_patterns(keys.get("forward_only"), catalog.name, reader)
    return Configuration(
        folder=folder,
        name=name,
        defaults=replace(
            defaults_of(keys.get("defaults"), reader),
            catalog=catalog.name,
            session=json.dumps(shown) if shown else "",
            forward_only=tuple(patterns),
        ),
        catalog=catalog,
        spark=spark,
        state_url=_state_url(keys.get("state"), folder, reader),
        clock_sources=_clock(keys.get("clock"), reader),
        follow_files=follow,
        variables=_variables(keys.get("variables"), reader),
        suffix_target=_suffix_target(keys.get("environment_suffix_target"), catalog, reader),
        strict_columns=reader.flag(keys.get("strict_columns"), default=False),
        dsha_algorithm=_algorithm(keys.get("dsha_algorithm"), reader),
        categorize=read_mode(keys.get("categorize"), reader) or Mode.AUTOMATIC,
        categorize_in=modes,
        outside_variables=_outside(keys.get("variables")),
        outside_session=_outside_session(keys.get("spark")),
        translator=dagster.get("translator"),
        pool=dagster.get("pool"),
        late_data=read_late_data(keys.get("late_data"), catalog.name, reader),
        clean_up=read_clean_up(keys.get("clean_up"), keys.get("environments"), reader),
        maintain=read_maintain(keys.get("maintain"), reader),
        schedules=read_schedules(keys.get("clean_up"), keys.get("maintain"), reader),
        default_environment=read_default_environment(keys.get("default_environment"), reader),
        forward_only=patterns,
        concurrency=read_concurrency(keys.get("concurrency"), reader),
    )


def _catalog(entry: Entry | None, folder: Path, reader: Reader) -> CatalogSettings:
    if entry is None:
        return CatalogSettings()
    reader.known(entry, ("name", "properties"), "catalog")
    catalog = CatalogSettings(
        name=reader.text(entry.children.get("name"), "lake"),
        properties=_private(entry.children.get("properties"), reader),
    )
    check_catalog_type(entry.children.get("properties"), reader)
    if not _is_sql(catalog):
        return catalog
    return replace(catalog, properties=PrivateSettings(catalog_in(folder, catalog.properties)))


def _spark(entry: Entry | None, reader: Reader) -> SparkConfiguration:
    if entry is None:
        return SparkConfiguration()
    reader.known(entry, ("conf", "master", "remote"), "spark")
    return SparkConfiguration(
        master=reader.text(entry.children.get("master"), "local[*]"),
        remote=read_remote(entry.children.get("remote"), reader),
        conf=_private(entry.children.get("conf"), reader),
    )


def _private(entry: Entry | None, reader: Reader) -> PrivateSettings:
    """Settings with credentials among them; from now on these are hidden in texts for people."""
    settings = reader.mapping(entry)
    children = entry.children if entry is not None else {}
    outside = [key for key, child in children.items() if child.from_outside]
    remember(secrets_of(settings, outside))
    return PrivateSettings(settings)


def _secret(address: str) -> Secret | None:
    """An address with a password or a token in it; None where there is none."""
    remember(secrets_in(address))
    return Secret(address) if address else None


def _dagster(entry: Entry | None, reader: Reader) -> Mapping[str, str]:
    """The texts below ``dagster``; empty ones are left out."""
    if entry is None:
        return {}
    reader.known(entry, ("pool", "translator"), "dagster")
    texts = {key: reader.text(each, "") for key, each in entry.children.items()}
    if not _POOL.fullmatch(texts.get("pool", "")):
        message = f"Dagster has no pool named {texts['pool']!r}"
        reader.add(entry.children["pool"].place, message, "Write it without spaces.")
    return {key: text for key, text in texts.items() if text}


def _state_url(entry: Entry | None, folder: Path, reader: Reader) -> Secret | None:
    if entry is None:
        return None
    reader.known(entry, ("url",), "state")
    return _secret(state_address(entry.children.get("url"), folder, reader))


def _clock(entry: Entry | None, reader: Reader) -> tuple[ModelName, ...]:
    if entry is None or entry.value == "wall":
        return ()
    if not entry.is_mapping:
        found = repr(entry.value) if entry.value is not None else "a list"
        message = f"the clock is `wall` or `valid_to: [source, ...]`, not {found}"
        reader.add(entry.place, message, "Write one of these two.")
        return ()
    reader.known(entry, ("valid_to",), "clock")
    names: list[ModelName] = []
    for text in reader.texts(entry.children.get("valid_to")):
        try:
            names.append(ModelName.parse(text))
        except InvalidName as error:
            reader.add(entry.place, *message_and_advice(error))
    return tuple(names)


def _suffix_target(entry: Entry | None, catalog: CatalogSettings, reader: Reader) -> SuffixTarget:
    written = reader.text(entry, SuffixTarget.SCHEMA.value)
    if entry is None or written not in (each.value for each in SuffixTarget):
        if entry is not None:
            message = f"environment_suffix_target is schema, table or catalog, not {written!r}"
            reader.add(entry.place, message, "Write one of these three.")
        return SuffixTarget.SCHEMA
    target = SuffixTarget(written)
    if target is SuffixTarget.CATALOG and (why := why_no_suffix(catalog.name)) is not None:
        message = f"environments cannot have catalogs named after {catalog.name!r}: it {why}"
        reader.add(entry.place, message, "Use schema or table, or another name of the catalog.")
    if target is SuffixTarget.CATALOG and not _is_sql(catalog):
        message = "environments can have catalogs of their own only in a SQL catalog"
        reader.add(entry.place, message, "Use schema or table.")
    return target


def _is_sql(catalog: CatalogSettings) -> bool:
    """Whether a catalog is in a database; pyiceberg takes one without a type by its address."""
    written = catalog.properties.get("type", "").lower()
    return written == "sql" or not (written or catalog.properties.get("uri", "").startswith("http"))


def _algorithm(entry: Entry | None, reader: Reader) -> str:
    written = reader.text(entry, DEFAULT_ALGORITHM)
    if entry is not None and written not in ALGORITHMS:
        message = f"no D-SHA is computed with {written!r}"
        reader.add(entry.place, message, f"Use one of {', '.join(ALGORITHMS)}.")
        return DEFAULT_ALGORITHM
    return written


def _variables(entry: Entry | None, reader: Reader) -> dict[str, object]:
    """The project's variables; one from an environment variable may be a secret by its name."""
    found = read_variables(entry, reader)
    remember(str(found[name]) for name in _outside(entry) & found.keys() if is_secret(name))
    return found


def _outside(entry: Entry | None) -> frozenset[str]:
    children = entry.children if entry else {}
    return frozenset(key.lower() for key, child in children.items() if child.from_outside)


def _outside_session(spark: Entry | None) -> frozenset[str]:
    conf = spark.children.get("conf") if spark is not None else None
    children = conf.children if conf is not None else {}
    return frozenset(key for key, child in children.items() if child.from_outside)
