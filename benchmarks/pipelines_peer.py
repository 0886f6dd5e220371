"""The tables of a project of ours as one declarative pipeline of Spark's own, in the same catalog.

`spark-pipelines run` starts Spark, analyses all queries and makes a materialized view of each. That
is one command, which is timed as a whole; of its CPU time nothing is known, since the processes
that it starts are nobody's children when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.measuring import Step

NAME: Final = "Spark's pipelines"
NAMESPACE: Final = "default"
"""What a pipeline calls its default: it has to be there."""
_AT_ONCE: Final = "spark.sql.pipelines.execution.maxConcurrentFlows"


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
    (folder / "views.sql").write_text(
        "\n".join(f"CREATE MATERIALIZED VIEW {name} USING iceberg AS\n{q};" for name, q in views)
    )
    specification = {
        "name": "bench",
        "storage": (folder / "storage").as_uri(),
        "catalog": catalog,
        "database": NAMESPACE,
        "libraries": [{"glob": {"include": "views.sql"}}],
        "configuration": {_AT_ONCE: str(at_once)},
    }
    written = folder / "spark-pipeline.yml"
    written.write_text(json.dumps(specification))  # JSON is YAML
    # It starts a second JVM, for Spark Connect, which reads no other settings.
    defaults = "".join(f"{key} {value}\n" for key, value in conf.items())
    (folder / "spark-defaults.conf").write_text(defaults)
    program = Path(environment["SPARK_HOME"]) / "bin" / "spark-pipelines"
    command = [str(program), "run", "--spec", str(written)]
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    own = {**environment, **python, "SPARK_CONF_DIR": str(folder)}
    started = time.perf_counter()
    answer = subprocess.run(
        command, env=own, cwd=folder, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - started
    if answer.returncode:
        raise SystemExit(f"spark-pipelines failed:\n{answer.stdout}{answer.stderr}")
    return {"wall": wall}
