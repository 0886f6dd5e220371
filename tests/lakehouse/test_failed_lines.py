"""The line of an author's file in what real Spark says of a query that fails."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.projects import Folder
from vde_dagster.core.errors import EvaluationFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BY_HOUR: Final = "kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'"
MODELS: Final = {
    # Where rows are computed, in an executor.
    "m.divided": f"""MODEL (name m.divided, {BY_HOUR});
SELECT
  at,
  amount  -- amount / (id - 1)
    + amount / (id - 1) AS share
FROM raw.events
WHERE at BETWEEN @start_ts AND @end_ts
""",
    # Where the query is analysed.
    "m.mixed": """MODEL (name m.mixed, kind FULL);
SELECT
  id,
  amount + ARRAY(1) AS amount
FROM raw.events
""",
    "m.shown": """MODEL (name m.shown, kind VIEW);
SELECT
  id,
  id AS other,
  amount + ARRAY(1) AS amount
FROM raw.events
""",
    "m.stated": """MODEL (name m.stated, kind FULL);
SET spark.sql.shuffle.partitions = 1;
CREATE OR REPLACE TABLE raw.made USING iceberg AS SELECT
  CAST('x' AS INT) AS n;
SELECT id FROM raw.events
""",
    # What ran has more of the same text: which line it is of is not known.
    "m.plain": """MODEL (name m.plain, kind VIEW);
SELECT id, amount / (id - 1) AS n FROM raw.events
""",
    "m.through": """MODEL (name m.through, kind FULL);
SELECT id,
  1 AS k,
  n AS amount
FROM m.plain
""",
}
FUNCTION: Final = """from vde_dagster import model


@model("m.called", kind="FULL", depends_on=["raw.events"], columns={"id": "bigint"})
def called(context):
    events = context.table("raw.events")
    return events.select("idd")
"""


def test_the_line_of_what_fails_is_named(tmp_path: Path, spark: SparkSession) -> None:
    del spark  # it is there, and the engine finds it
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", MODELS)
    (folder.path / "models/m.called.py").write_text(FUNCTION, encoding="utf-8")
    folder.land([(1, 1, 10), (2, 2, 20)], until=24)
    with pytest.raises(EvaluationFailed) as failed:
        folder.apply()
    said = failed.value.message.splitlines()
    places = {
        "models/m.divided.sql:3: ": "[DIVIDE_BY_ZERO]",  # its text stands there twice
        "models/m.mixed.sql:4: ": "[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES]",
        "models/m.shown.sql:5: ": "[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES]",
        "models/m.stated.sql:4: ": "statement 2 before the query failed: [CAST_INVALID_INPUT]",
        "models/m.through.sql:2: ": "[DIVIDE_BY_ZERO]",
        "models/m.called.py:7: ": "[UNRESOLVED_COLUMN",
    }
    for place, words in places.items():
        assert [line for line in said if place in line and words in line], (place, said)
