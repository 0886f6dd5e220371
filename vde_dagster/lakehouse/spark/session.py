"""Opens the Spark session that evaluates models, and says what it is doing.

Importing this module loads no pyspark: plans, promotions and reused steps need no JVM.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from vde_dagster.core.errors import SetupError
from vde_dagster.core.model.session_settings import DEFAULTS, PINNED, may_change_results
from vde_dagster.lakehouse.spark.connect import is_remote, open_remote
from vde_dagster.lakehouse.spark.jars import (
    ICEBERG_EXTENSIONS,
    archive_options,
    jars_cache,
    log_settings,
    spark_home,
)
from vde_dagster.lakehouse.spark.java import Java, environment_for, find_java
from vde_dagster.lakehouse.spark.jvm import JAVA_OPTIONS, start_jvm
from vde_dagster.lakehouse.spark.spark_log import level_option, prepare_pyspark
from vde_dagster.ports.engine import EngineProgress, StageProgress
from vde_dagster.runtime.secrets import PATTERN

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ERRORS_OF_JAVA = "-XX:+DisplayVMOutputToStderr"
"""What keeps Java itself from starting is not written to standard output, which is not read."""
_CLASS_PATH = "spark.driver.extraClassPath"
_EXTENSIONS = "spark.sql.extensions"

# A local session lives for one run, so only what is really hot goes through the optimizer. Start,
# 20 small queries and 11 small writes on two cores, with the class archive: 12.7 -> 11.0 s and
# 19 -> 15 CPU s; three million rows take as long as before. (-XX:TieredStopAtLevel=1 takes 9.4 s
# and 10 CPU s, but from 4.3 to 7.1 s for a query over millions: that is for tests.)
_LATE_OPTIMIZER = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:Tier4InvocationThreshold=30000",
    "-XX:Tier4MinInvocationThreshold=10000",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
# Spark's 200 cost a small query more than all else in it. With fewer than cores some would idle.
_LEAST_PARTITIONS = 4
# With two cores the parallel collectors' threads only compete with the tasks: 15 % less CPU.
_SMALL_MACHINE_CORES = 2
_SMALL_MACHINE_COLLECTOR = "-XX:+UseSerialGC"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """Where models are evaluated, in Spark's terms.

    Args:
        master: Spark's master URL; the session's driver is this process's own JVM.
        conf: Spark's own settings; they win over ours. Java options and class path of the driver
            and the SQL extensions are put behind ours instead of replacing them.
        remote: A Spark Connect URL (``sc://...``); then ``master`` is not used and the server's own
            configuration has the jars and the extensions.
    """

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    remote: str | None = field(default=None, repr=False)

    @property
    def local(self) -> bool:
        """Whether driver and executors are one JVM on this machine."""
        return self.remote is None and (self.master == "local" or self.master.startswith("local["))


def local_cores(master: str) -> int:
    """How many tasks run concurrently in a local session, such as ``local[*]`` or ``local[8,4]``.

    Those that Spark does not understand count as one: it says so itself.
    """
    threads = master.removeprefix("local").strip("[]").partition(",")[0].strip()
    if threads == "*":
        return os.cpu_count() or 1
    return int(threads) if threads.isascii() and threads.isdigit() else 1


def open_session(settings: SparkSettings, jars: Sequence[Path]) -> SparkSession:
    """Return this process's Spark session, started if there is none.

    Spark allows one per process: where one runs already, it is returned with the settings that can
    be changed at run time.

    Args:
        settings: Master or Spark Connect address, and Spark's own settings.
        jars: The jars that the session needs, as from ``resolve_jars``; not used over Connect.

    Raises:
        SetupError: There is no suitable Java, Spark does not start, or the server at the address
            cannot be used.
    """
    prepare_pyspark()
    if settings.remote is not None:
        return open_remote(settings.remote, {**DEFAULTS, **settings.conf, **PINNED})
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    if SparkContext._gateway is None:  # noqa: SLF001 - what SparkContext itself asks: is there a JVM?
        java = find_java()
        conf.setMaster(settings.master).setAll(list(_start_conf(settings, jars, java).items()))
        gateway = start_jvm(dict(conf.getAll()), environment_for(java, jars_cache() / "java_homes"))
        logging.getLogger().addFilter(_is_not_of_the_bridge)
        SparkContext(conf=conf, gateway=gateway)
    else:
        conf.setMaster(settings.master).setAll(list(_session_conf(settings, jars).items()))
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _is_not_of_the_bridge(record: logging.LogRecord) -> bool:
    """Whether a record is none of py4j's, which logs the traceback of what it raises anyway."""
    return Path(record.pathname).parent.name != "py4j"


def settle(session: SparkSession) -> None:
    """Make a session read texts and times as models mean them, whatever it was opened with.

    Args:
        session: Our own, or another one that evaluates models.
    """
    for key, value in PINNED.items():
        session.conf.set(key, value)


def settings_of(session: SparkSession) -> dict[str, str]:
    """What is set in a session, in a handful of questions to the JVM.

    pyspark asks for each setting by itself, which takes as long as a small query.
    """
    return dict(session.conf.getAll) if is_remote(session) else _read(session, _map_of(session))


def _map_of(session: SparkSession) -> object:
    """What is set in a session now: a Java map that does not change."""
    found: object = session.conf._jconf.getAllAsJava()  # noqa: SLF001 - what pyspark's `getAll` reads
    return found


def _read(session: SparkSession, found: object) -> dict[str, str]:
    from py4j.java_gateway import get_method

    jvm: Any = session._jvm  # noqa: SLF001 - pyspark has no other way to Java's own methods
    # The map's own methods: py4j has a `values` that fetches them one by one.
    keys, values = (
        str(jvm.java.lang.String.join(_BETWEEN, get_method(found, name)())).split(_BETWEEN)
        for name in ("keySet", "values")
    )
    if len(keys) != len(values):  # one has the separator in it
        return dict(cast("Mapping[str, str]", found))
    return dict(zip(keys, values, strict=True))


_BETWEEN: Final = "\0"


def result_settings(session: SparkSession) -> dict[str, str]:
    """The settings of a session that may change results, as far as they were set."""
    return {key: value for key, value in settings_of(session).items() if may_change_results(key)}


def restore(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Reset those settings of a session that may change results, and unset the others of them.

    Other users of the session may have changed it in between, so this is done once for each unit of
    work. Where nothing was changed since the last time, that takes two calls of the JVM.

    Args:
        session: One that evaluates models.
        settings: What `result_settings` said when it was opened and settled.
    """
    from py4j.java_gateway import get_method

    if is_remote(session):
        _restore(session, result_settings(session), settings)
        return
    found, (known, wanted) = _map_of(session), _RIGHT.get(session, (None, None))
    if wanted == settings and get_method(found, "equals")(known):
        return
    present = {key: each for key, each in _read(session, found).items() if may_change_results(key)}
    _restore(session, present, settings)
    _RIGHT[session] = _map_of(session), dict(settings)


_RIGHT: Final[WeakKeyDictionary[SparkSession, tuple[object, Mapping[str, str]]]] = (
    WeakKeyDictionary()
)
"""All that was set in a session when it had the wanted settings, which come second."""


def _restore(
    session: SparkSession, present: Mapping[str, str], settings: Mapping[str, str]
) -> None:
    from pyspark.errors import PySparkException

    for key in present.keys() - settings.keys():
        with suppress(PySparkException):  # one of the whole application, which nobody can change
            session.conf.unset(key)
    for key, value in settings.items():
        if present.get(key) != value:
            session.conf.set(key, value)


def add_catalog(session: SparkSession, own: str, name: str) -> None:
    """Let an open session read the views of an environment whose catalog has its name.

    Such a catalog is the project's own under another name: another key in the same database, with
    the same settings. If a user creates tables there, they get a folder of their own.

    Args:
        session: It knows the project's catalog.
        own: The project's catalog.
        name: The environment's, as ``lake__dev``.

    Raises:
        SetupError: The session does not know the project's catalog.
    """
    prefix, other = f"spark.sql.catalog.{own}", f"spark.sql.catalog.{name}"
    settings = {
        key.removeprefix(prefix): value
        for key, value in settings_of(session).items()
        if key == prefix or key.startswith(f"{prefix}.")
    }
    if "" not in settings:
        raise SetupError(
            f"the Spark session does not know the catalog {own!r}",
            advice=f"set spark.sql.catalog.{own} and its options in `spark.conf` of vde.yaml, or "
            "on the server",
        )
    for key, value in settings.items():
        folder = f"{value.rstrip('/')}/{name}" if key == ".warehouse" else value
        session.conf.set(f"{other}{key}", folder)


def _start_conf(settings: SparkSettings, jars: Sequence[Path], java: Java) -> dict[str, str]:
    """Return all settings of a new JVM, and set the environment that it inherits."""
    # The workers must run this Python: the system's own lacks pyarrow and everything else.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if settings.local:  # Spark looks its host name up otherwise, and fails where it has no address
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = _session_conf(settings, jars)
    options = [_quoted(f"-Dlog4j2.configurationFile={log_settings().as_uri()}"), level_option()]
    options.append(_ERRORS_OF_JAVA)
    if settings.local:
        options += _local_java_options(java, conf.get(_CLASS_PATH, ""))
    conf[JAVA_OPTIONS] = " ".join([*options, settings.conf.get(JAVA_OPTIONS, "")]).strip()
    return conf


def _session_conf(settings: SparkSettings, jars: Sequence[Path]) -> dict[str, str]:
    ours = {
        "spark.app.name": "vde_dagster",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        # Models that are evaluated concurrently have a pool each, which share tasks equally.
        "spark.scheduler.mode": "FAIR",
        # What Spark's logs of events, and its UI, have no values of.
        "spark.redaction.regex": PATTERN,
    }
    theirs = dict(settings.conf)
    if settings.local:
        partitions = max(_LEAST_PARTITIONS, local_cores(settings.master))
        ours |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(partitions),
        }
        # Jars on the class path are not copied to a scratch folder (0.5 s); the archive applies.
        _prepend(theirs, _CLASS_PATH, [str(each) for each in jars], os.pathsep)
    else:
        _prepend(theirs, "spark.jars", [str(each) for each in jars], ",")
    _prepend(theirs, _EXTENSIONS, [ICEBERG_EXTENSIONS], ",")
    return {**DEFAULTS, **ours, **theirs, **PINNED}


def _prepend(conf: dict[str, str], key: str, values: Sequence[str], separator: str) -> None:
    given = [each for each in conf.get(key, "").split(separator) if each and each not in values]
    if joined := separator.join([*values, *given]):
        conf[key] = joined


def _local_java_options(java: Java, class_path: str) -> list[str]:
    archives = jars_cache() / "class_archives"
    archive = archive_options(archives, java, spark_home(), class_path.split(os.pathsep))
    options = [*_LATE_OPTIMIZER, *map(_quoted, archive), "-Duser.timezone=UTC"]
    if (os.cpu_count() or 1) <= _SMALL_MACHINE_CORES:
        options.append(_SMALL_MACHINE_COLLECTOR)
    return options


def _quoted(option: str) -> str:
    """Quote an option for Spark's launcher, which splits at spaces that are not quoted."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if " " in option else option


def progress_of(session: object) -> EngineProgress | None:
    """The stages that run now; None if the session is remote, or is being stopped."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    if not isinstance(session, SparkSession):  # that of Spark Connect has no context
        return None
    try:
        context = session.sparkContext
        tracker = context.statusTracker()
        found = [tracker.getStageInfo(each) for each in sorted(tracker.getActiveStageIds())]
        address = context.uiWebUrl or ""
        waits_for = _waits_for(context) if found else ""
    except (Py4JError, OSError, AttributeError):  # the JVM has gone, or a user's code stopped it
        return None
    stages = [
        StageProgress(
            stage=each.stageId,
            tasks=each.numTasks,
            done=each.numCompletedTasks,
            failed=each.numFailedTasks,
        )
        for each in found
        if each is not None
    ]
    return EngineProgress(address=address, waits_for=waits_for, stages=tuple(stages))


def _waits_for(context: SparkContext) -> str:
    """What the stages that run wait for; empty where executors compute them."""
    master = context.master or ""
    if master.startswith("local"):
        return ""
    tracker = context._jsc.sc().statusTracker()  # noqa: SLF001 - pyspark's own tracker lists none
    present = len(tracker.getExecutorInfos()) - 1  # the driver is among them
    if present > 0:
        return ""
    return (
        f"executors: {master} has assigned none yet. Other applications may use all of its cores; "
        "check its web page"
    )
