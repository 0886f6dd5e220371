"""An archive of Spark's classes before the first session of the tests.

Without one each JVM of the tests writes its own as it ends, and is 13 s slower for that: the
sessions, and the processes that die, fail or build a project. Here one JVM writes it, once for each
installation of pyspark: ``python -m tests.class_archive``.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from vde_dagster.lakehouse.spark.jars import archive_options, jars_cache, resolve_jars, spark_home
from vde_dagster.lakehouse.spark.java import find_java
from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf

_PATIENCE: Final = 300.0
_STATEMENTS: Final = """
CREATE NAMESPACE lake.a;
CREATE TABLE lake.a.rows (id BIGINT, at TIMESTAMP, t STRING) USING iceberg
PARTITIONED BY (days(at));
INSERT INTO lake.a.rows SELECT id, TIMESTAMP '2024-01-01', CAST(id AS STRING) FROM RANGE(10);
ALTER TABLE lake.a.rows CREATE BRANCH other;
MERGE INTO lake.a.rows AS a USING (SELECT * FROM lake.a.rows) AS b ON a.id = b.id
WHEN MATCHED THEN UPDATE SET t = 'x' WHEN NOT MATCHED THEN INSERT *;
CREATE VIEW lake.a.shown AS SELECT t, COUNT(*) AS n FROM lake.a.rows GROUP BY t;
SELECT a.t, b.n FROM lake.a.rows AS a JOIN lake.a.shown AS b ON a.t = b.t ORDER BY a.id
"""
"""What loads most of the classes that tests load."""


def write_class_archive() -> None:
    """Have the archive written where there is none; whoever comes meanwhile waits for it."""
    jars = [str(each) for each in resolve_jars()]
    cache = jars_cache() / "class_archives"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        options = archive_options(cache, find_java(), spark_home(), jars)
        if options and options[0].startswith("-XX:ArchiveClassesAtExit"):
            _write()


def _write() -> None:
    """Run this module, and wait until its JVM, which writes the archive as it ends, is gone."""
    command = [sys.executable, "-m", "tests.class_archive"]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(command, cwd=root, start_new_session=True)
    assert process.wait(timeout=_PATIENCE) == 0
    deadline = time.monotonic() + _PATIENCE
    while _lives(process.pid):
        assert time.monotonic() < deadline, "the JVM does not end"
        time.sleep(0.2)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        warehouse.mkdir()
        conf = embedded_catalog_conf("lake", Path(folder) / "lake.db", warehouse)
        conf["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
        session = open_session(SparkSettings(conf=conf), resolve_jars())
        for each in _STATEMENTS.split(";"):
            session.sql(each).collect()
        session.stop()


if __name__ == "__main__":
    main()
