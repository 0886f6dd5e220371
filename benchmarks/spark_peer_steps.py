"""40 models in SQLMesh on Spark; run by its Python, so nothing of vde_dagster is imported.

`python -m benchmarks.spark_peer_steps FOLDER NAME`: apply the first plan of the project in FOLDER,
then print what that took, and the sum of a column of NAME, as JSON.
"""

import json
import logging
import sys
import warnings
from pathlib import Path

from benchmarks.processes import timed


def main(folder: Path, name: str) -> None:
    """Start Spark and apply a plan, with a clock; load and plan in between, without one."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from pyspark import SparkConf
    from pyspark.sql import SparkSession
    from sqlmesh import Context
    from sqlmesh.core.console import configure_console

    configure_console(ignore_warnings=True)
    connection = json.loads((folder / "config.yaml").read_text())["gateways"]["spark"]["connection"]
    conf = SparkConf().setAll(list(connection["config"].items()))
    # What SQLMesh does itself while it loads, which is not measured: it then finds this session.
    builder = SparkSession.builder.config(conf=conf).enableHiveSupport()
    started = timed(builder.getOrCreate)
    context = Context(paths=[folder])
    plan = context.plan_builder("prod", skip_tests=True).build()
    applied = timed(lambda: context.apply(plan))
    (row,) = builder.getOrCreate().sql(f"SELECT SUM(amount) FROM {name}").collect()
    print(json.dumps({key: started[key] + applied[key] for key in started} | {"amount": row[0]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
