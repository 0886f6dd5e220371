"""Texts that are compared with the text of a day are looked at in their table, on real Spark."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.projects import Folder
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READER: Final = """MODEL (
  name m.days, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'
);
SELECT id, CAST(t AS TIMESTAMP) AS at FROM m.texts WHERE t BETWEEN @start_ds AND @end_ds
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "form, missed",
    [
        ("yyyy-MM-dd", ""),
        ("yyyy-MM-dd'T'HH:mm:ss", "2024-01-02T05:00:00"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 05:00:00"),
        ("yyyyMMdd", "20240102"),
    ],
)
def test_a_model_whose_bounds_would_miss_a_text_is_not_computed(
    form: str, missed: str, tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there, and the engine finds it
    query = f'SELECT id, DATE_FORMAT(at, "{form}") AS t FROM raw.events'
    models = {"m.texts": f"MODEL (name m.texts, kind FULL);\n{query}", "m.days": READER}
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", models)
    folder.land([(1, 29, 10)], until=48)
    if not missed:
        folder.apply()
        assert [row[0] for row in folder.rows("m.days")] == [1]
        return
    with pytest.raises(Refused, match=f"m.texts has '{missed}'") as refused:
        folder.apply()
    assert "models/m.days.sql:4" in str(refused.value)
    assert "CAST(DATE_ADD(@end_date, 1) AS STRING)" in str(refused.value)
