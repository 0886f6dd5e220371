"""A project of ours in SQLMesh, on the same Spark and the same Iceberg catalog.

SQLMesh reads the same files of models. Its state is in DuckDB, as in `peer`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measuring import Step, measured
from benchmarks.peer import TOOLS, VERSION, install

if TYPE_CHECKING:
    from vde_dagster.composition import VdeProject

NAME: Final = "SQLMesh"
_ROOT: Final = Path(__file__).parent.parent
_AN_ERROR: Final = re.compile(r"^ *([\w.]*(?:Error|Exception)):\s+(\S.*)$", re.MULTILINE)
"""The last line of a traceback, or what SQLMesh says of a model: its message may begin below."""
_LONGEST: Final = 300


def why_not(trial: Callable[[], Step]) -> str:
    """Install SQLMesh and try it; what prevents it, or nothing if it runs."""
    try:
        install()
        trial()
    except (SystemExit, subprocess.CalledProcessError) as error:
        # The first one in a chain of tracebacks is the cause of the others.
        found = _AN_ERROR.search(str(error))
        reason = ": ".join(found.groups()) if found else str(error).strip().splitlines()[-1]
        return f"{NAME} {VERSION} on Spark: does not run: {reason.strip()[:_LONGEST]}"
    return ""


def run_theirs(
    project: VdeProject, start: str, at_once: int, name: str, *, plain: bool = False
) -> Step:
    """Apply the first plan of a project in SQLMesh, and sum up ``amount`` of a model in it.

    Args:
        project: Ours, with its source and nothing computed.
        start: The default start of its models, as a date.
        at_once: Its `concurrent_tasks`.
        name: The model.
        plain: Whether Spark has its own defaults, and not the settings that we give it.
    """
    conf, environment = plain_spark(project) if plain else _spark(project)
    folder = project.configuration.folder / "theirs"
    folder.mkdir()
    shutil.copy(project.configuration.folder / "external_models.yaml", folder)
    shutil.copytree(project.configuration.folder / "models", folder / "models")
    # JSON is YAML, and its process reads Spark's settings from it.
    (folder / "config.yaml").write_text(json.dumps(_config(folder, conf, start, at_once)))
    paths = (_pyspark(folder), _ROOT)
    environment["PYTHONPATH"] = os.pathsep.join(str(each) for each in paths)
    command = [
        str(TOOLS / "bin" / "python"),
        "-m",
        "benchmarks.spark_peer_steps",
        str(folder),
        name,
    ]
    return measured(command, environment=environment, folder=folder)


def _spark(project: VdeProject) -> tuple[dict[str, str], dict[str, str]]:
    """The settings that our own JVM would have, and the environment with its Java."""
    from vde_dagster.composition import spark_conf, spark_jars
    from vde_dagster.lakehouse.spark.jars import jars_cache, spark_home
    from vde_dagster.lakehouse.spark.java import environment_for, find_java
    from vde_dagster.lakehouse.spark.session import SparkSettings, _start_conf

    configuration, java = project.configuration, find_java()
    settings = SparkSettings(master=configuration.spark.master, conf=spark_conf(configuration))
    conf = _start_conf(settings, spark_jars(configuration), java)
    environment = environment_for(java, jars_cache() / "java_homes")
    # By its own path, else the JVM has another class path than that of the archive of its classes.
    return conf | _place(project), environment | {"SPARK_HOME": str(spark_home())}


def plain_spark(project: VdeProject) -> tuple[dict[str, str], dict[str, str]]:
    """The same for a Spark to which nothing is told but where the catalog and its jars are."""
    from vde_dagster.composition import spark_conf, spark_jars
    from vde_dagster.lakehouse.spark.jars import ICEBERG_EXTENSIONS

    configuration = project.configuration
    conf = {
        **spark_conf(configuration),
        "spark.jars": ",".join(map(str, spark_jars(configuration))),
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
    }
    return conf | _place(project), _spark(project)[1]


def _place(project: VdeProject) -> dict[str, str]:
    """Where Spark runs, and the catalog of names that name none."""
    configuration = project.configuration
    return {
        "spark.master": configuration.spark.master,
        "spark.sql.defaultCatalog": configuration.catalog.name,
    }


def _config(
    folder: Path, conf: Mapping[str, str], start: str, at_once: int
) -> Mapping[str, object]:
    # Its own `catalog` would be set in threads in which Spark 4.1 does not know it yet
    # ([CATALOG_NOT_FOUND]); Spark's default catalog has the same effect.
    connection = {"type": "spark", "concurrent_tasks": at_once, "config": conf}
    state = {"type": "duckdb", "database": str(folder / "state.duckdb")}
    return {
        "gateways": {"spark": {"connection": connection, "state_connection": state}},
        "default_gateway": "spark",
        "disable_anonymized_analytics": True,
        "model_defaults": {"dialect": "spark", "start": start, "table_format": "iceberg"},
    }


def _pyspark(folder: Path) -> Path:
    """A folder with links to our own pyspark, so that both sides run the same files.

    It is no second download of 400 MB; in the virtual environment of SQLMesh itself it would be
    imported in the benchmark on DuckDB, too.
    """
    import py4j
    import pyspark

    links = folder / "python"
    links.mkdir()
    for package in (pyspark, py4j):
        place = Path(str(package.__file__)).parent
        (links / place.name).symlink_to(place)
    return links
