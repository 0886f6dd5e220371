"""A project with its adapters: where configuration meets state, catalog and engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vde_dagster.app.services import Services
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.model.session_settings import against_translation, changing_results
from vde_dagster.core.names import PRODUCTION, ModelName, TableName
from vde_dagster.ports.engine import Answering
from vde_dagster.project.cache.models import ModelCache
from vde_dagster.project.configuration import Configuration, read_configuration
from vde_dagster.project.loading import ProjectFiles, load_files, load_project, models_kept_in
from vde_dagster.project.machine import RandomIds, SystemClock, author

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyspark.sql import SparkSession

    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine
    from vde_dagster.ports.catalog import Catalog
    from vde_dagster.ports.engine import Engine, LocalQueries
    from vde_dagster.ports.late_tables import LateTables
    from vde_dagster.state.sql_state import SqlState
    from vde_dagster.state.stored_state import StoredState


@dataclass(frozen=True)
class VdeProject:
    """A user's project. Each adapter is opened when it is first needed; Spark is the last."""

    configuration: Configuration
    """The settings of ``vde.yaml``."""

    @classmethod
    def load(
        cls, folder: Path | str = ".", *, settings: Mapping[str, object] | None = None
    ) -> VdeProject:
        """Read the configuration of a project's folder.

        Args:
            folder: The project's folder, absolute or relative to the working directory.
            settings: Where things are, and with which credentials: what wins over ``vde.yaml`` in
                its form, below ``catalog.properties``, ``spark`` and ``state``. ``${NAME}`` and
                Dagster's ``EnvVar("NAME")`` stand for an environment variable; a credential has to.

        Raises:
            ProjectInvalid: There is no ``vde.yaml``, or something in it or in ``settings`` is
                wrong; then the problems of the models are included, so that a person sees all of
                them at once.
        """
        try:
            return cls(read_configuration(Path(folder), settings))
        except ProjectInvalid:
            load_project(Path(folder), settings)
            raise

    @cached_property
    def files(self) -> ProjectFiles:
        """The models in the project's files now.

        Raises:
            ProjectInvalid: Something is wrong in the files; all problems at once.
        """
        return load_files(self.configuration, self.models)

    @property
    def models(self) -> ModelCache | None:
        """The cache of parsed models; None if the environment says ``VDE_CACHE=off``."""
        configuration = self.configuration
        return models_kept_in(configuration.folder, private=configuration.outside_variables)

    def complete_to(self, model: str, *, environment: str = PRODUCTION) -> datetime | None:
        """Up to when a model has all of its intervals, such as ``lifecycle.cancels``.

        See `vde_dagster.app.inspect.interval_report.complete_to` for what that says. No Spark is
        started.

        Returns:
            That instant (UTC); None if the first interval is not loaded.

        Raises:
            Refused: There is no such environment or model, or the model has no intervals.
        """
        from vde_dagster.app.inspect.interval_report import complete_to

        name = ModelName.parse(model).within(self.configuration.catalog.name)
        return complete_to(self.services, environment, name)

    @cached_property
    def services(self) -> Services:
        """All ports of this project, as the configuration says; the catalog is not opened yet."""
        from vde_dagster.lakehouse.opening import opened_when_used

        return Services(
            state=self.state,
            catalog=opened_when_used(self._catalog),
            engine=opened_when_used(self._engine),
            clock=SystemClock(),
            ids=RandomIds(),
            clock_sources=self.configuration.clock.valid_to,
            naming=self.configuration.naming,
            models=self.models,
            algorithm=self.configuration.dsha_algorithm,
            author=author(),
            late_tables=opened_when_used(self._late_tables),
        )

    def _engine(self) -> Engine:
        return self.engine

    def _catalog(self) -> Catalog:
        from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog

        opened = self.iceberg_catalog()
        if self.configuration.catalog.properties:  # what Spark cannot be told is refused here
            spark_conf(self.configuration)
        return IcebergCatalog(opened, state=self._state_id)

    def _late_tables(self) -> LateTables:
        from vde_dagster.lakehouse.iceberg.late_tables import IcebergLateTables

        listed = self.configuration.late_data
        return IcebergLateTables(self.iceberg_catalog, sessions=listed.sessions, marks=listed.marks)

    @cached_property
    def state(self) -> SqlState:
        """The project's state."""
        from vde_dagster.state.sql_state import SqlState

        return SqlState.open(self._state_url, moves=False)

    @cached_property
    def engine(self) -> SparkEngine:
        """The engine; it starts Spark when it is first used."""
        from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

        return SparkEngine(
            self.open_spark,
            self.configuration.catalog.name,
            self.iceberg_catalog,
            self._state_id,
        )

    @cached_property
    def local_queries(self) -> LocalQueries:
        """Who answers queries in this process; DuckDB is loaded when it is first asked."""
        from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries

        return DuckDbQueries()

    @property
    def settings_against_duckdb(self) -> tuple[str, ...]:
        """Spark's settings in vde.yaml with which DuckDB was never compared: Spark answers then."""
        return against_translation(changing_results(self.configuration.spark.conf))

    @property
    def quick_answers(self) -> Answering | None:
        """Who answers questions over given rows without Spark, where that means the same."""
        from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckAnswers

        return None if self.settings_against_duckdb else DuckAnswers(self.local_queries)

    def iceberg_catalog(self) -> PyIcebergCatalog:
        """The project's catalog as pyiceberg knows it, for those who write sources."""
        from sqlalchemy import make_url

        from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
        from vde_dagster.state.sqlite_file import path_of, whole_at_exit

        settings = self.configuration.catalog
        properties = settings.properties or self._embedded()
        opened = open_iceberg_catalog(settings.name, properties)
        uri = properties.get("uri", "")
        if uri.startswith("sqlite:") and (file := path_of(make_url(uri))) is not None:
            whole_at_exit(file)
        return opened

    def open_spark(self, *, reading: Iterable[TableName] = ()) -> SparkSession:
        """A Spark session on the project's catalog, and on those of these views of environments.

        Raises:
            SetupError: Java, Spark's jars, or the configured Spark is not available, or a server of
                Spark Connect does not know the catalog.
        """
        from vde_dagster.lakehouse.spark.connect import require_catalog
        from vde_dagster.lakehouse.spark.session import SparkSettings, add_catalog, open_session

        configuration = self.configuration
        remote = configuration.spark.remote
        settings = SparkSettings(
            master=configuration.spark.master,
            conf=spark_conf(configuration),
            remote=None if remote is None else remote.reveal(),
        )
        session = open_session(settings, () if settings.remote else spark_jars(configuration))
        if settings.remote is not None:
            require_catalog(session, configuration.catalog.name)
        for catalog in {view.catalog for view in reading} - {""}:
            add_catalog(session, configuration.catalog.name, catalog)
        return session

    def open_spark_for_users(self) -> SparkSession:
        """A Spark session for users' own assets, in which they may change any setting.

        Raises:
            SetupError: As for `open_spark`.
        """
        from vde_dagster.lakehouse.spark.lanes import session_for_users

        return session_for_users(self.open_spark())

    def _state_id(self) -> str:
        return self.state.identity()

    def stored_state(self) -> StoredState:
        """The database of the state by itself, also where it has to be moved forward or is damaged.

        Raises:
            Refused: The configured place is none of a state.
        """
        from vde_dagster.state.stored_state import StoredState

        return StoredState(self._state_url)

    @property
    def _state_url(self) -> str:
        url = self.configuration.state_url
        return f"sqlite:///{self.configuration.database}" if url is None else url.reveal()

    def _embedded(self) -> dict[str, str]:
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.configuration.database}",
            "warehouse": f"file://{self.configuration.warehouse}",
            "py-io-impl": "vde_dagster.lakehouse.iceberg.local_files.LocalMetadataIO",
        }


def spark_conf(configuration: Configuration) -> dict[str, str]:
    """Spark's own settings in vde.yaml, and those of the project's catalog.

    A Spark Connect server knows a catalog that is not embedded by its own settings, but for one:
    tables that it keeps would hide what this process commits.

    Raises:
        SetupError: Spark cannot use this catalog.
    """
    from vde_dagster.lakehouse.spark.spark_catalog import (
        embedded_catalog_conf,
        spark_catalog_conf,
        uncached,
    )

    given, catalog = dict(configuration.spark.conf), configuration.catalog
    if not catalog.properties:
        embedded = embedded_catalog_conf(
            catalog.name, configuration.database, configuration.warehouse
        )
        return {**embedded, **given}
    if configuration.spark.remote is not None:
        return {**uncached(catalog.name), **given}
    return {**spark_catalog_conf(catalog.name, catalog.properties, given), **given}


def spark_coordinates(configuration: Configuration) -> tuple[str, ...]:
    """The jars that Spark needs in addition to its own, in Maven's terms.

    They are Iceberg's, and the driver of the project's catalog.

    Raises:
        SetupError: Spark cannot use this catalog.
    """
    from vde_dagster.lakehouse.spark.spark_catalog import needed_jars

    return needed_jars(spark_conf(configuration))


def spark_jars(configuration: Configuration) -> tuple[Path, ...]:
    """The files of `spark_coordinates`, which are downloaded if they are missing.

    Raises:
        SetupError: One cannot be resolved, or Spark cannot use the project's catalog.
    """
    from vde_dagster.lakehouse.spark.jars import resolve_jars

    return resolve_jars(spark_coordinates(configuration), conf=configuration.spark.conf)
