"""Whether Spark sees what is committed to a table that it has read: ``python -m ... FOLDER``.

The project in FOLDER has a Spark Connect server that knows its catalog by settings of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.spark.connect import require_catalog


def published(project: VdeProject) -> None:
    """A session of the project sees it; one that is opened without its settings does not."""
    name, remote = project.configuration.catalog.name, project.configuration.spark.remote
    assert remote is not None
    iceberg = project.iceberg_catalog()
    iceberg.create_namespace("raw")
    row = pa.table({"id": [1]})
    table = iceberg.create_table("raw.one", row.schema)
    ours = project.open_spark()
    theirs = SparkSession.builder.remote(remote.reveal()).create()
    for count in range(1, 4):
        table.append(row)
        assert ours.table(f"{name}.raw.one").count() == count
        assert theirs.table(f"{name}.raw.one").count() == 1, "so the setting is needed"
    with pytest.raises(SetupError, match="caches the tables of the catalog"):
        require_catalog(theirs, name)
    theirs.stop()


if __name__ == "__main__":
    published(VdeProject.load(Path(sys.argv[1])))
