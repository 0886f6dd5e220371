"""Every place in which an author writes SQL runs it as it is written (rule R13), on real Spark.

Each place asks for what sqlglot takes away when it prints: ``PARSE_JSON`` and the type VARIANT.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import sqlglot

from tests.lakehouse.kinds.projects import Folder
from vde_dagster.cli.looks.query import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

AS_WRITTEN: Final = "TYPEOF(PARSE_JSON('1')) = 'variant'"
"""True in Spark; printed by sqlglot it is false."""
MODELS: Final = {
    "m.picked": f"MODEL (name m.picked, kind FULL);\nSELECT id FROM raw.events WHERE {AS_WRITTEN}",
    "m.shown": f"MODEL (name m.shown, kind VIEW);\nSELECT id FROM raw.events WHERE {AS_WRITTEN}",
    "m.below": "MODEL (name m.below, kind FULL);\nSELECT id FROM m.shown",
    "m.updated": f"""MODEL (
  name m.updated,
  kind INCREMENTAL_BY_UNIQUE_KEY (
    unique_key id,
    when_matched (WHEN MATCHED AND {AS_WRITTEN} THEN UPDATE SET target.amount = source.amount),
    merge_filter {AS_WRITTEN}
  )
);
SELECT id, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
""",
    "m.stated": f"""MODEL (name m.stated, kind FULL);
CREATE TEMPORARY FUNCTION asked() RETURNS STRING RETURN IF({AS_WRITTEN}, 'as written', 'printed');
SELECT asked() AS said;
CREATE OR REPLACE TABLE raw.behind USING iceberg AS
SELECT IF({AS_WRITTEN}, 'as written', 'printed') AS said
""",
    "m.declared": """MODEL (
  name m.declared, kind FULL, columns (id bigint, who struct<userId: bigint>)
);
SELECT id, named_struct('userid', id) AS who FROM raw.events
""",
    "m.audited": f"""MODEL (
  name m.audited, kind FULL, audits (own_text, forall (criteria := (id > 0 AND {AS_WRITTEN})))
);
SELECT id FROM raw.events
""",
}
OWN_AUDIT: Final = f"AUDIT (name own_text);\nSELECT id FROM @this_model WHERE NOT {AS_WRITTEN}\n"


def project(path: Path) -> Folder:
    """One model is loaded with the first day: the second one is merged into it."""
    updated = {"m.updated": MODELS["m.updated"]}
    made = Folder.make(path, f"lake_{uuid.uuid4().hex[:8]}", updated)
    made.land([(1, 1, 10), (2, 2, 20)], until=24)
    made.apply()
    for name, text in MODELS.items():
        (made.path / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
    (made.path / "audits").mkdir()
    (made.path / "audits" / "own_text.sql").write_text(OWN_AUDIT, encoding="utf-8")
    return made


def test_what_is_asked_for_everywhere_is_lost_when_it_is_printed() -> None:
    printed = sqlglot.parse_one(AS_WRITTEN, read="spark").sql("spark")
    assert "PARSE_JSON" not in printed


@pytest.mark.full
def test_every_place_runs_what_is_written(tmp_path: Path, spark: SparkSession) -> None:
    del spark  # it is there, and the engine finds it
    folder = project(tmp_path / "project")
    folder.land([(1, 25, 11), (3, 26, 30)], until=48)
    folder.apply()
    assert folder.rows("m.picked") == [(1,), (1,), (2,), (3,)], "a query"
    assert folder.rows("m.below") == [(1,), (1,), (2,), (3,)], "a view inside of a query"
    assert folder.rows("m.updated") == [(1, 11), (2, 20), (3, 30)], "the clauses of a merge"
    assert folder.rows("m.stated") == [("as written",)], "a statement in front of the query"
    assert folder.rows("m.audited") == [(1,), (1,), (2,), (3,)], "audits"
    opened = folder.project()
    answer = ask(opened, f"SELECT id FROM m.shown WHERE {AS_WRITTEN}", environment="prod", limit=9)
    assert sorted(answer.rows) == [(1,), (1,), (2,), (3,)], "a view, and a query of `vde query`"
    declared = ask(
        opened, "SELECT TO_JSON(who) FROM m.declared WHERE id = 2", environment="prod", limit=1
    )
    assert declared.rows == [('{"userId":2}',)], "the fields of a declared type"
    shifted = ask(opened, "SELECT -8 >>> 60 AS n, X '4F' AS b;;", environment="prod", limit=1)
    assert shifted.rows == [(15, b"O")], "Spark's own operators in a query of `vde query`"
    behind = opened.iceberg_catalog().load_table("raw.behind").scan().to_arrow().to_pylist()
    assert behind == [{"said": "as written"}], "a statement behind the query"
