"""The checks of `vde doctor`, each on the real part: which there are, and what each one tries."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vde_dagster.app.doctor.checking import Check
from vde_dagster.cli.spelling import vde
from vde_dagster.core.doctor.clocks import ClockReading, judge_clocks
from vde_dagster.core.doctor.dagster_instance import (
    judge_daemons,
    judge_instigators,
    judge_monitoring,
    judge_storage,
    judge_workspace,
)
from vde_dagster.core.doctor.file_systems import is_shared
from vde_dagster.core.doctor.results import CheckResult, broken, left_out, not_tried, ok, warning

if TYPE_CHECKING:
    import dagster as dg
    from pyspark.sql import SparkSession

    from vde_dagster.composition import VdeProject
    from vde_dagster.core.doctor.dagster_instance import InstanceFacts, LocationFacts
    from vde_dagster.lakehouse.catalogs.trial import Trial

PROJECT: Final = "project"
JAVA: Final = "Java"
JARS: Final = "jars"
STATE: Final = "state"
CATALOG: Final = "catalog"
VIEWS: Final = "views"
TABLES: Final = "tables"
SPARK: Final = "Spark"
WORKERS: Final = "Python in Spark"
SPARK_CATALOG: Final = "catalog in Spark"
CLOCK: Final = "clock"
INSTANCE: Final = "Dagster instance"
HISTORY: Final = "Dagster history"
MONITORING: Final = "run monitoring"
WORKSPACE: Final = "code locations"
AUTOMATION: Final = "sensors"
DAEMON: Final = "Dagster daemon"
CLEAN_UP: Final = "clean-up"

_CATALOG_ADVICE: Final = (
    "See `catalog.properties` in vde.yaml, and reference/configuration in the docs."
)
_SPARK_ADVICE: Final = "See `spark.conf` in vde.yaml; --debug shows where it happened."
_WORKERS_ADVICE: Final = (
    "Set PYSPARK_PYTHON to this release of Python, with the packages that models import, wherever "
    "Spark's workers run."
)
_SPARK_CATALOG_ADVICE: Final = (
    "Give Spark the same catalog under `spark.conf` in vde.yaml, as `spark.sql.catalog.<name>...`."
)
_WORKSPACE_ADVICE: Final = "See workspace.yaml; --debug shows where it happened."
_DAGSTER_ADVICE: Final = "See dagster.yaml in DAGSTER_HOME; --debug shows where it happened."


class Doctor:
    """One examination of a project; what a check opens, later ones use.

    Args:
        folder: The project's.
        spark: Whether Spark may be started.
        token: What no other examination is called: letters and digits.
        stack: Closes what was opened.
    """

    def __init__(self, folder: Path, *, spark: bool, token: str, stack: ExitStack) -> None:
        self._folder, self._spark, self._token, self._stack = folder, spark, token, stack
        self._project: VdeProject | None = None
        self._opened: VdeProject
        self._has_java = False
        self._trial: Trial | None = None
        self._session: SparkSession
        self._instance: dg.DagsterInstance | None = None
        self._facts: InstanceFacts
        self._locations: tuple[LocationFacts, ...] = ()
        self._readings: list[ClockReading] = []

    def checks(self) -> tuple[Check, ...]:
        """All checks, in the order in which they are to be run; the last one cleans up."""
        rows: tuple[tuple[str, Callable[[], CheckResult], tuple[str, ...], str], ...] = (
            (PROJECT, self._project_look, (), "See vde.yaml."),
            (JAVA, self._java, (), "See JAVA_HOME and the PATH."),
            (JARS, self._jars, (PROJECT,), "See VDE_JARS_CACHE."),
            (STATE, self._state, (PROJECT,), "See `state.url`."),
            (CATALOG, self._catalog, (PROJECT,), _CATALOG_ADVICE),
            (VIEWS, self._views, (CATALOG,), _CATALOG_ADVICE),
            (TABLES, self._tables, (STATE, VIEWS), _CATALOG_ADVICE),
            (SPARK, self._spark_look, (PROJECT, JAVA, JARS) if self._spark else (), _SPARK_ADVICE),
            (WORKERS, self._workers, (SPARK,), _WORKERS_ADVICE),
            (SPARK_CATALOG, self._spark_catalog, (SPARK, CATALOG), _SPARK_CATALOG_ADVICE),
            (CLOCK, lambda: judge_clocks(CLOCK, self._readings), (PROJECT,), _CATALOG_ADVICE),
            (INSTANCE, self._dagster, (PROJECT,), _DAGSTER_ADVICE),
            (HISTORY, lambda: judge_storage(HISTORY, self._facts), (INSTANCE,), _DAGSTER_ADVICE),
            (
                MONITORING,
                lambda: judge_monitoring(MONITORING, self._facts),
                (INSTANCE,),
                _DAGSTER_ADVICE,
            ),
            (WORKSPACE, self._workspace, (PROJECT,), _WORKSPACE_ADVICE),
            (
                AUTOMATION,
                lambda: judge_instigators(AUTOMATION, self._locations),
                (INSTANCE, WORKSPACE),
                _DAGSTER_ADVICE,
            ),
            (DAEMON, self._daemon, (INSTANCE,), _DAGSTER_ADVICE),
            (CLEAN_UP, self._clean_up, (), _CATALOG_ADVICE),
        )
        return tuple(
            Check(name=name, look=look, needs=needs, advice=advice)
            for name, look, needs, advice in rows
        )

    def _project_look(self) -> CheckResult:
        from vde_dagster.composition import VdeProject

        self._project = self._opened = VdeProject.load(self._folder)
        configuration = self._opened.configuration
        return ok(PROJECT, f"{configuration.name} in {configuration.folder}")

    def _java(self) -> CheckResult:
        if self._is_remote:
            self._has_java = True
            return ok(JAVA, "not needed here: spark.remote names a Spark Connect server")
        from vde_dagster.lakehouse.spark.java import find_java

        java = find_java()
        self._has_java = True
        return ok(JAVA, f"{java.full_version}, from {java.origin.value} ({java.executable})")

    def _jars(self) -> CheckResult:
        if self._is_remote:
            return ok(JARS, "not needed here: the Spark Connect server has its own")
        from vde_dagster.composition import spark_coordinates, spark_jars
        from vde_dagster.core.errors import Refused
        from vde_dagster.lakehouse.spark.jars import damaged_jars, missing_jars

        configuration = self._opened.configuration
        wanted = spark_coordinates(configuration)
        missing = missing_jars(wanted)
        if missing and not self._spark:
            return warning(
                JARS, f"{len(missing)} are not downloaded yet", f"`{vde('jars')}` downloads them."
            )
        if missing and not self._has_java:
            return not_tried(JARS, [JAVA])
        paths = spark_jars(configuration)
        if damaged := damaged_jars(wanted):
            raise Refused(
                f"changed or damaged since the download: {', '.join(map(str, damaged))}",
                advice=f"Delete the file; `{vde('jars')}` downloads it again.",
            )
        return ok(JARS, f"{len(paths)} files, unchanged since the download")

    def _state(self) -> CheckResult:
        from vde_dagster.orchestration.instance_look import file_system_at

        stored = self._opened.stored_state()
        self._stack.callback(stored.close)
        version = stored.found_version()
        if version:
            self._read_clock("the state's database", stored.clock)
        else:
            said = "the first plan creates it, which was not tried"
            return ok(STATE, f"there is none at {stored.place} yet; {said}")
        stored.try_writing(self._token)
        system = "" if stored.file is None else file_system_at(stored.file)
        if is_shared(system):
            return warning(
                STATE,
                f"{stored.place} is on {system}: SQLite loses writes where several machines use it",
                "Use it from one machine only, or set `state.url` to a database in Postgres; "
                "`vde state export` and `vde state import` move it.",
            )
        return ok(STATE, f"{stored.place} has schema version {version} and can be written")

    def _catalog(self) -> CheckResult:
        from vde_dagster.lakehouse.catalogs.trial import Trial

        catalog = self._opened.iceberg_catalog()
        self._trial = Trial(catalog, self._token)
        stored = self._trial.make_table()
        if stored is not None:
            self._readings.append(
                ClockReading(
                    clock="the warehouse's storage",
                    before=stored.before,
                    said=stored.said,
                    after=stored.after,
                    resolution=timedelta(seconds=1),
                )
            )
        return ok(CATALOG, f"a table was created in {catalog.name}, written and read")

    def _views(self) -> CheckResult:
        assert self._trial is not None, "the catalog was tried"
        self._trial.make_view()
        return ok(VIEWS, "a view of that table was created and read")

    def _tables(self) -> CheckResult:
        from vde_dagster.app.inspect.verify import damaged_tables

        wrong = list(damaged_tables(self._opened.services))
        if wrong:
            return broken(TABLES, f"{len(wrong):,} not as recorded", "\n".join(wrong))
        return ok(TABLES, "the tables and views of all environments are as recorded")

    def _spark_look(self) -> CheckResult:
        if not self._spark:
            return left_out(SPARK, "skipped by --no-spark")
        from vde_dagster.lakehouse.catalogs.trial import answer_of, clock_of

        began = time.monotonic()
        session = self._opened.open_spark()
        answer = answer_of(session)
        assert answer == 1 + 1, answer
        self._session = session
        self._read_clock("Spark", lambda: clock_of(session))
        where = "Spark Connect" if self._is_remote else self._opened.configuration.spark.master
        seconds = time.monotonic() - began
        return ok(SPARK, f"{session.version} on {where} answered after {seconds:.0f} s")

    def _workers(self) -> CheckResult:
        from vde_dagster.lakehouse.catalogs.trial import python_of_workers

        return ok(WORKERS, f"functions run in Python {python_of_workers(self._session)}")

    def _spark_catalog(self) -> CheckResult:
        assert self._trial is not None, "the catalog was tried"
        self._trial.try_spark(self._session)
        return ok(SPARK_CATALOG, "Spark read and wrote the same table")

    def _read_clock(self, clock: str, read: Callable[[], datetime]) -> None:
        before = datetime.now(UTC)
        said = read()
        after = datetime.now(UTC)
        self._readings.append(ClockReading(clock=clock, before=before, said=said, after=after))

    def _dagster(self) -> CheckResult:
        from vde_dagster.orchestration.home import home_in_use
        from vde_dagster.orchestration.instance_look import instance_facts, open_instance

        home = home_in_use(self._opened.configuration)
        if not home.is_dir():
            return warning(
                INSTANCE,
                f"there is no {home} yet, so Dagster has no history",
                f"`{vde('ui')}` creates it, and so does the first plan that computes something.",
                usable=False,
            )
        instance = self._stack.enter_context(open_instance(home))
        self._facts = instance_facts(instance, home)
        self._instance = instance
        return ok(INSTANCE, f"{home} is in use, and its history can be read")

    def _workspace(self) -> CheckResult:
        from vde_dagster.core.errors import Refused
        from vde_dagster.orchestration.instance_look import location_facts

        folder = self._opened.configuration.folder
        if not (folder / "workspace.yaml").is_file():
            raise Refused(
                f"workspace.yaml is missing in {folder}; it names the code locations to serve",
                advice="`vde init DIR` creates an example, with its definitions.py.",
            )
        self._locations = location_facts(self._instance, folder)
        return judge_workspace(WORKSPACE, self._locations)

    def _daemon(self) -> CheckResult:
        from vde_dagster.orchestration.instance_look import daemon_facts

        assert self._instance is not None, "the instance was tried"
        on = [name for each in self._locations for name in each.switched_on]
        return judge_daemons(DAEMON, daemon_facts(self._instance), on)

    def _clean_up(self) -> CheckResult:
        if self._trial is None or not self._trial.may_be_there:
            self._trial = None
            return ok(CLEAN_UP, "nothing was created")
        trial, self._trial = self._trial, None
        trial.remove()
        return ok(CLEAN_UP, f"{trial.namespace} and everything in it were removed")

    def remove_all(self) -> None:
        """Remove what was made, where the last check was not reached: a user stopped it."""
        if self._trial is not None and self._trial.may_be_there:
            self._trial.remove()

    @property
    def _is_remote(self) -> bool:
        return self._project is not None and self._project.configuration.spark.remote is not None
