"""Every query of TPC-H and TPC-DS as a model has the rows that plain Spark has."""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
import pytest
import yaml

from tests.lakehouse.kinds.projects import Folder
from tests.tpc.texts import SETS, Benchmarks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.full, pytest.mark.spark]

CONFIGURATION: Final = """\
name: tpc
catalog:
  name: {catalog}
spark:
  conf:
    spark.sql.shuffle.partitions: "1"
"""
STORED: Final = {"tinyint": "int"}
"""Types that Iceberg has not, with those that take their values; names are in lower case."""


def test_models_have_the_rows_of_plain_spark(
    benchmarks: Benchmarks, tmp_path: Path, spark: SparkSession
) -> None:
    catalog = f"lake_{uuid.uuid4().hex[:8]}"
    folder = project(tmp_path / "project", catalog, benchmarks)
    folder.apply()
    spark.sql(f"USE {catalog}")
    wrong: list[tuple[object, ...]] = []
    with_rows = 0
    for name, text in benchmarks.queries.items():
        built, plain = spark.table(f"{catalog}.{name}"), spark.sql(text)
        types = [(column.lower(), STORED.get(kind, kind)) for column, kind in plain.dtypes]
        if built.dtypes != types:
            wrong.append((name, built.dtypes, types))
        if (rows := counted(built)) != (expected := counted(plain)):
            wrong.append((name, rows - expected, expected - rows))
        with_rows += bool(expected)
    assert Counter(name.partition("_")[0] for name in benchmarks.queries) == SETS
    print(f"{len(benchmarks.queries)} queries, of which {with_rows} have rows")
    assert not wrong
    assert with_rows >= 100


def project(path: Path, catalog: str, benchmarks: Benchmarks) -> Folder:
    """A FULL model for each query, and the sources with their rows."""
    (path / "models").mkdir(parents=True)
    (path / "vde.yaml").write_text(CONFIGURATION.format(catalog=catalog), encoding="utf-8")
    sources = [{"name": name, "columns": of} for name, of in benchmarks.columns().items()]
    (path / "external_models.yaml").write_text(yaml.safe_dump(sources), encoding="utf-8")
    for name, text in benchmarks.queries.items():
        model = f"MODEL (name {name}, kind FULL);\n{text}\n"
        (path / "models" / f"{name}.sql").write_text(model, encoding="utf-8")
    folder = Folder(path)
    iceberg = folder.project().iceberg_catalog()
    for name in SETS:
        iceberg.create_namespace(name)
    for name, file in benchmarks.tables.items():
        rows = pq.read_table(file)
        iceberg.create_table(name, rows.schema).append(rows)
    return folder


def counted(frame: DataFrame) -> Counter[tuple[object, ...]]:
    """The rows, with how often each is there."""
    return Counter(map(tuple, frame.collect()))
