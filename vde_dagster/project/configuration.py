"""A project's settings: ``vde.yaml``, and what code gives besides. Only ``name`` is required."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.model.patterns import ModelPattern
from vde_dagster.core.model.session_settings import changing_results
from vde_dagster.core.names import PRODUCTION, SuffixTarget, ViewNaming, why_no_suffix
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.given_settings import as_named, with_given
from vde_dagster.project.project_file import FILE_NAME, HOME
from vde_dagster.project.setting_problems import validated
from vde_dagster.project.written_settings import (
    NEVER,
    CatalogSettings,
    EnvironmentSettings,
    WrittenConfiguration,
    WrittenDefaults,
)
from vde_dagster.project.yaml_document import Entry, Reader, read_variables
from vde_dagster.runtime.secrets import (
    PrivateSettings,
    Secret,
    is_secret,
    remember,
    secrets_in,
    secrets_of,
)

_PATTERNS: Final = "a name (mart.revenue), a pattern (mart.*), tag:NAME, path:FILE or '*' for all"
_STATES: Final = re.compile(r"(sqlite|postgresql)(\+\w+)?:")
_CATALOGS: Final = ("bigquery", "dynamodb", "glue", "hive", "in-memory", "rest", "sql")
"""pyiceberg's own names (`pyiceberg.catalog.CatalogType`), without importing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration(WrittenConfiguration):
    """A project's settings. ``folder`` is absolute; state is in its ``.vde`` by default.

    ``outside_variables`` are the names of variables whose value is, or contains, that of an
    environment variable, and ``outside_session`` those of such settings of Spark.
    ``patterns`` has the place of each pattern in ``forward_only``.
    ``given`` are the settings that code gave, with environment variables by name.
    """

    folder: Path
    defaults: Defaults = field(default_factory=Defaults)
    outside_variables: frozenset[str] = frozenset()
    outside_session: frozenset[str] = frozenset()
    patterns: Mapping[str, Place] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)

    @property
    def naming(self) -> ViewNaming:
        """How the views of environments are named."""
        return ViewNaming(target=self.environment_suffix_target, catalog=self.catalog.name)

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

    @property
    def times(self) -> Times:
        """How long history, environments and dropped versions are kept."""
        kept = self.clean_up
        return Times(
            history=kept.history,
            environment=_length(kept.environments),
            environments={
                name: _length(settings.ttl)
                for name, settings in self.environments.items()
                if settings.ttl is not None
            },
            grace=kept.grace,
        )

    @property
    def state_url(self) -> Secret | None:
        """The address of the state, with an absolute path; None for the embedded one."""
        url = self.state.url
        return None if url is None else Secret(address_in(self.folder, url.reveal()))

    def follows_files(self, environment: str) -> bool:
        """Whether an environment follows edited files without a plan; never production."""
        return environment != PRODUCTION and self._of(environment).follow_files

    def mode(self, environment: str) -> Mode:
        """When plans of an environment ask a person for categories."""
        return self._of(environment).categorize or self.categorize

    def _of(self, environment: str) -> EnvironmentSettings:
        return self.environments.get(environment, EnvironmentSettings())


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
        ProjectInvalid: There is none, or it is not YAML.
    """
    path = folder / FILE_NAME
    reader = Reader()
    if not path.exists():
        message = "this folder has no vde.yaml, so it is not a project"
        advice = (
            "Go to a project's folder, name one with --project, or create one with `vde init DIR`."
        )
        reader.add(Place(path=path), message, advice)
        raise ProjectInvalid(reader.problems)
    root, given = reader.file(path, Path(FILE_NAME)), as_named(settings or {})
    if root is None:  # what the models mean depends on it
        raise ProjectInvalid(reader.problems)
    if given:
        root = with_given(root, given, reader)
    configuration = _configuration(root, folder.resolve(), given, reader)
    return configuration, tuple(reader.problems)


def _configuration(
    root: Entry, folder: Path, given: Mapping[str, object], reader: Reader
) -> Configuration:
    variables = read_variables(root.children.get("variables"), reader)
    outside = frozenset(map(str.lower, root.at("variables").outside))
    remember(_secrets(root))
    remember(str(variables[name]) for name in outside & variables.keys() if is_secret(name))
    written = validated(WrittenConfiguration, root, reader, variables=variables)
    patterns = _patterns(written, root, reader)
    _check_together(written, root, reader)
    session = {
        key: value
        for key, value in changing_results(written.spark.conf).items()
        if not (is_secret(key) or any(secrets_in(value)))
    }
    values = _values(written) | {
        "catalog": _placed(written.catalog, folder),
        "defaults": Defaults(
            **_values(written.defaults),
            catalog=written.catalog.name,
            session=json.dumps(session) if session else "",
            forward_only=tuple(patterns),
        ),
    }
    return Configuration(
        **values,
        folder=folder,
        outside_variables=outside,
        outside_session=root.at("spark", "conf").outside,
        patterns=patterns,
        given=given,
    )


def _values(settings: WrittenConfiguration | WrittenDefaults) -> dict[str, Any]:
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


def _secrets(root: Entry) -> Iterator[str]:
    """What is to be hidden in texts for people from now on, whether it can be used or not."""
    for keys in (("catalog", "properties"), ("spark", "conf")):
        entry = root.at(*keys)
        yield from secrets_of(
            {key: str(child.value or "") for key, child in entry.children.items()}, entry.outside
        )
    for keys in (("spark", "remote"), ("state", "url")):
        yield from secrets_in(str(root.at(*keys).value or ""))


def _patterns(written: WrittenConfiguration, root: Entry, reader: Reader) -> dict[str, Place]:
    """The patterns of ``forward_only``, each with its place; those that are none are reported."""
    found: dict[str, Place] = {}
    entry = root.at("forward_only")
    for pattern in entry.items or (entry,) if written.forward_only else ():
        text = str(pattern.value)
        if pattern.tag == "str" and ModelPattern.parse(text, catalog=written.catalog.name):
            found[text] = pattern.place
        else:
            message = f"{text!r} in forward_only is not a valid pattern of models"
            reader.add(pattern.place, message, f"Write {_PATTERNS}.")
    return found


def _placed(catalog: CatalogSettings, folder: Path) -> CatalogSettings:
    if not (catalog.properties and _is_sql(catalog)):
        return catalog
    return replace(catalog, properties=PrivateSettings(catalog_in(folder, catalog.properties)))


def _is_sql(catalog: CatalogSettings) -> bool:
    """Whether a catalog is in a database; pyiceberg takes one without a type by its address."""
    written = catalog.properties.get("type", "").lower()
    return written == "sql" or not (written or catalog.properties.get("uri", "").startswith("http"))


def _check_together(written: WrittenConfiguration, root: Entry, reader: Reader) -> None:
    """Report what is wrong with settings in view of others, or of where they come from."""
    _check_places(written, root, reader)
    _check_names(written, root, reader)
    for key, environment in root.at("environments").children.items():
        if key.strip().lower() == PRODUCTION and "ttl" in environment.children:
            message = f"{PRODUCTION} cannot have a ttl: production never expires"
            reader.add(environment.at("ttl").place, message, "Remove this line.")


def _check_places(written: WrittenConfiguration, root: Entry, reader: Reader) -> None:
    """Report a state and a catalog that there cannot be. An address is never repeated.

    One that is from outside of the file is checked when it is opened.
    """
    url, entry = written.state.url, root.at("state", "url")
    if url is not None and not (entry.from_outside or _STATES.match(url.reveal())):
        message = "this is not the address of a database that can store the state"
        reader.add(entry.place, message, "Write sqlite:///FILE.db or postgresql://USER@HOST/NAME.")
    kind = written.catalog.properties.get("type", "").lower()
    if kind and kind not in _CATALOGS:
        place = root.at("catalog", "properties", "type").place
        message = f"{kind!r} is not a supported catalog type"
        reader.add(place, message, f"Use one of {', '.join(_CATALOGS)}.")


def _check_names(written: WrittenConfiguration, root: Entry, reader: Reader) -> None:
    """Report catalogs and tables that cannot have the names that follow from settings."""
    own, place = written.catalog.name, root.at("environment_suffix_target").place
    in_catalogs = written.environment_suffix_target is SuffixTarget.CATALOG
    if in_catalogs and (why := why_no_suffix(own)) is not None:
        message = f"environments cannot have catalogs named after {own!r}: it {why}"
        reader.add(place, message, "Use schema or table, or rename the catalog.")
    if in_catalogs and not _is_sql(written.catalog):
        message = "only a SQL catalog can have a catalog for each environment"
        reader.add(place, message, "Use schema or table.")
    tables = written.late_data
    if tables.sessions == tables.marks:
        message = f"sessions and high-water marks cannot share the table {tables.marks}"
        reader.add(root.at("late_data").place, message, "Name two tables.")
    for key in ("sessions_table", "high_watermarks_table"):
        if (name := getattr(tables, key).within(own)).catalog:
            place = root.at("late_data", key).place
            message = f"{name} is not in the project's catalog, {own}"
            reader.add(place, message, "Name a table of the project's catalog.")


def _length(age: timedelta | Literal["never"]) -> timedelta | None:
    return None if age == NEVER else age


_FILE_OF_SQLITE: Final = re.compile(
    r"(?P<scheme>sqlite(\+\w+)?:///)(?!/|:memory:|file:|[A-Za-z]:)(?P<file>[^?]+)(?P<options>\?.*)?"
)


def address_in(folder: Path, address: str) -> str:
    """A database's address, with the absolute path of a SQLite file.

    Args:
        folder: The project's, absolute.
        address: One in SQLAlchemy's form; any but those of a relative SQLite file is returned.
    """
    found = _FILE_OF_SQLITE.fullmatch(address)
    if found is None:
        return address
    return f"{found['scheme']}{folder / found['file']}{found['options'] or ''}"


def catalog_in(folder: Path, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a catalog in a database, with the absolute paths of its file and warehouse.

    Args:
        folder: The project's, absolute.
        properties: pyiceberg's own.
    """
    found = dict(properties)
    if "uri" in found:
        found["uri"] = address_in(folder, found["uri"])
    if _is_relative(found.get("warehouse", "")):
        found["warehouse"] = str(folder / found["warehouse"])
    return found


def _is_relative(place: str) -> bool:
    """Whether a place has no scheme, as ``s3://`` or ``file:``, and does not begin at the root."""
    return bool(place) and ":" not in place and not Path(place).is_absolute()
