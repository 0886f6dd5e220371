"""The tables of a project of ours as one declarative pipeline of Spark's own, in the same catalog.

`spark-pipelines run` is timed as a whole, since its start of Spark, its analysis of all queries and
its run are one command: one materialized view for each table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.measuring import Step
from benchmarks.processes import timed

NAME: Final = "Spark's pipelines"
_AT_ONCE: Final = "spark.sql.pipelines.execution.maxConcurrentFlows"
_AT_START: Final = ("spark.master", "spark.driver.memory", "spark.driver.extraClassPath")
"""What the JVM needs before the pipeline's own settings are read."""


def run_pipeline(
    folder: Path,
    views: Iterable[tuple[str, str]],
    conf: Mapping[str, str],
    environment: Mapping[str, str],
    *,
    catalog: str,
    at_once: int,
) -> Step:
    """Make all views of a pipeline.

    Args:
        folder: What takes its files; made here.
        views: Their names, whose namespaces are there, and their queries.
        conf: Spark's settings, with those of the catalog.
        environment: That of the process, with Java and Spark's home.
        catalog: The catalog's name.
        at_once: How many views are made at once.
    """
    folder.mkdir()
    written = (f"CREATE MATERIALIZED VIEW {name} USING iceberg AS\n{query};" for name, query in views)
    (folder / "views.sql").write_text("\n".join(written))
    given = {key: value for key, value in conf.items() if key not in _AT_START}
    specification = {
        "name": "bench",
        "storage": (folder / "storage").as_uri(),
        "catalog": catalog,
        "database": "default",
        "libraries": [{"glob": {"include": "views.sql"}}],
        "configuration": {_AT_ONCE: str(at_once)},
    }
    (folder / "spark-pipeline.yml").write_text(json.dumps(specification))  # JSON is YAML
    defaults = "".join(f"{key} {value}\n" for key, value in conf.items())
    (folder / "spark-defaults.conf").write_text(defaults)
    command = [
        str(Path(environment["SPARK_HOME"]) / "bin" / "spark-pipelines"),
        "run",
        "--spec",
        str(folder / "spark-pipeline.yml"),
    ]
    python = {"SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    import resource, time
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    answer = subprocess.run(command, env={**environment, **python}, cwd=folder, capture_output=True, text=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode:
        raise SystemExit(f"{answer.stdout[-4000:]}\n{answer.stderr[-4000:]}")
    return {"CPU": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "wall": wall}
