"""What the whole suite shares: one Spark session, and the rule for what a machine cannot run."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pytest

from tests.class_archive import write_class_archive
from tests.dagster_server import free_port
from tests.depth import choose_form
from tests.postgres_server import postgres_programs as found_programs
from tests.postgres_server import running_server
from tests.quick_process import collect_garbage_less_often, keep_files_in_memory
from vde_dagster.lakehouse.spark.jars import resolve_jars
from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyspark.sql import SparkSession


JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""For the many tiny queries of tests: the optimizing compiler would cost more than it gives back.

Without it Java takes 48 MB for compiled code. When these are full it throws code away and compiles
it again: that was a sixth of all its work.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkLake:
    """The embedded catalog of the shared session, for whoever opens it by other means."""

    catalog: str
    database: Path
    warehouse: Path

    def iceberg(self) -> PyIcebergCatalog:
        """The catalog without Spark; the same one whenever it is asked for."""
        return _iceberg(self)


@cache
def _iceberg(lake: SparkLake) -> PyIcebergCatalog:
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

    place = {"uri": f"sqlite:///{lake.database}", "warehouse": str(lake.warehouse)}
    return open_iceberg_catalog(lake.catalog, {"type": "sql", **place})


def not_run(reason: str) -> NoReturn:
    """A person's machine may lack something; where everything was installed that is a failure."""
    if os.environ.get("VDE_REQUIRE_ALL") == "1":
        pytest.fail(f"not run: {reason} (VDE_REQUIRE_ALL=1)", pytrace=False)
    pytest.skip(f"not run: {reason}")


def _chromium() -> Path | None:
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return Path(found)
    return None


def _inotify() -> Path | None:
    found = Path("/proc/sys/fs/inotify")
    return found if found.exists() else None


_NEEDS: dict[str, tuple[Callable[[], Path | None], str]] = {
    "postgres": (found_programs, "PostgreSQL's server programs are not installed"),
    "browser": (_chromium, "Chromium is not installed"),
    "inotify": (_inotify, "files that are opened are counted by Linux' inotify"),
}


def pytest_configure(config: pytest.Config) -> None:
    """Nothing depends on what a shell or pytest's processes export.

    Tables are as wide as where no terminal is, and nobody has an environment of their own.
    """
    for name in ("COLUMNS", "LINES", "VDE_ENVIRONMENT"):
        os.environ.pop(name, None)
    choose_form(config.option.markexpr)
    if config.option.basetemp is None:
        keep_files_in_memory()
    # The order of files is ours: see `pytest_collection_modifyitems`.
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in this hook, too
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each file is run in one process, in whichever has time; the longest files come first.

    Where pytest has two processes, each of them has a session for the files that need Spark. Short
    files come last, so that both processes end at the same time.
    """
    spark = config.stash[_WITH_SPARK] = {item.path for item in items if _needs_spark(item)}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(str(item.path)))
    items.sort(key=lambda item: (item.path not in _LONGEST, item.path not in spark))


_WITH_SPARK: Final = pytest.StashKey[set[Path]]()
_LONGEST: Final = {
    Path(__file__).parent / each
    for each in (
        "packaging/test_lint.py",
        "app/faults/test_processes.py",
        "cli/test_demo.py",
        "simulator/test_simulator.py",
        "project/test_fuzz.py",  # five thousand projects of each sort, in the full form
        "platform/test_platforms.py",  # only in the full form
    )
}


def pytest_collection_finish(session: pytest.Session) -> None:
    """No run whose groups are silently ignored: each process would then have Spark, and do all."""
    if "dagster" in sys.modules:  # tests in `core` are run without it
        from tests.dagster_storage import keep_engines

        keep_engines()
    collect_garbage_less_often()
    grouped = getattr(session.config.option, "loadgroup", False)
    if grouped and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("pytest-xdist does not group the tests with this release of pytest")


def pytest_unconfigure() -> None:
    """What was left out of the search for garbage can go again."""
    gc.unfreeze()


def _needs_spark(item: pytest.Item) -> bool:
    """Whether a test has the session: by its fixtures, or by one that is asked for as it runs."""
    asked = item.get_closest_marker("spark") is not None
    return asked or "spark" in getattr(item, "fixturenames", ())


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest) -> None:
    for marker, (find, reason) in _NEEDS.items():
        if request.node.get_closest_marker(marker) and find() is None:
            not_run(reason)


@pytest.fixture(scope="session")
def postgres_programs() -> Path:
    """The folder of initdb, postgres and pg_ctl."""
    return found_programs() or not_run(_NEEDS["postgres"][1])


@pytest.fixture(scope="session")
def postgres_server(postgres_programs: Path) -> Iterator[str]:
    """A server of this pytest process, on a Unix socket; the URL has ``{database}`` to fill in."""
    with running_server(postgres_programs) as url:
        yield url


@pytest.fixture
def postgres_on_loopback(postgres_programs: Path) -> Iterator[str]:
    """A server that Java reaches, too: the URL has ``{database}`` to fill in, and a password.

    It answers nobody without that, which stands nowhere else.
    """
    from tests.platform.canaries import canary

    with running_server(postgres_programs, port=free_port(), password=canary()) as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser's program."""
    return _chromium() or not_run(_NEEDS["browser"][1])


@pytest.fixture(scope="session")
def spark_lake(tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    """Catalog `lake` over a database and a warehouse of this pytest process."""
    folder = tmp_path_factory.mktemp("lake")
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    return SparkLake(catalog="lake", database=folder / "lake.db", warehouse=warehouse)


@pytest.fixture(scope="session")
def spark(spark_lake: SparkLake, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The one Spark session of this pytest process. Each test takes a namespace of its own."""
    conf = embedded_catalog_conf(spark_lake.catalog, spark_lake.database, spark_lake.warehouse)
    if remote := os.environ.get(SPARK_REMOTE):
        session = open_session(SparkSettings(conf=conf, remote=remote), ())
    else:
        session = _own_session(conf)
    request.config.stash[_OPENED] = session, session.conf.getAll
    yield session
    session.stop()


SPARK_REMOTE: Final = "VDE_TEST_SPARK_REMOTE"
"""Names a Spark Connect server for the session; see `tests/platform/test_spark_connect.py`."""


def _own_session(conf: dict[str, str]) -> SparkSession:
    """A session whose JVM is this process's own, with these settings and those for tests."""
    write_class_archive()
    # With more room for what is thrown away at once, it is collected less often.
    conf["spark.driver.extraJavaOptions"] = f"{JAVA_OPTIONS} -Xmn512m"
    # Else each operation on a column asks Java where in Python it was written.
    conf["spark.python.sql.dataFrameDebugging.enabled"] = "false"
    session = open_session(SparkSettings(conf=conf), resolve_jars())
    _keep_classes(session)
    return session


def _keep_classes(session: SparkSession) -> None:
    """Keep what pyspark asks Java for at each operation on a column.

    Java looks for these names in all of its jars, every time.
    """
    java = session.sparkContext._jvm
    for name in ("functions", "PythonUtils", "PythonSQLUtils", "org.apache.spark.sql.functions"):
        setattr(java, name, getattr(java, name))


_OPENED: Final = pytest.StashKey[tuple["SparkSession", dict[str, str]]]()


_LAKE: Final = "spark.sql.catalog.lake"


@pytest.fixture(scope="module", autouse=True)
def _settings_of_the_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """No file finds what projects of another one have set, whichever files a process has run."""
    yield
    if request.path not in request.config.stash[_WITH_SPARK] or _OPENED not in request.config.stash:
        return
    session, opened = request.config.stash[_OPENED]
    settings = session.conf.getAll
    taken = [
        key
        for key in settings
        if f"{key}.".startswith(f"{_LAKE}.") and settings[key] != opened.get(key)
    ]
    for key, value in settings.items():
        if value == opened.get(key) or not session.conf.isModifiable(key):
            continue
        if key in opened:
            session.conf.set(key, opened[key])
        elif not key.startswith("spark.sql.catalog."):
            session.conf.unset(key)
    assert not taken, (
        f"a project of this file took the catalog of the session ({', '.join(taken)}): Spark reads "
        "a catalog's settings once, so give it a name of its own (`catalog: {name: ...}`)"
    )
