"""Pre- and post-statements, and Python functions: what they see, and that theirs stays private."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tests.app.memory_world import bound, build
from tests.lakehouse.conftest import DAY, Lake
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.history import History
from vde_dagster.core.model.writes import KeepHistory
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH

pytestmark = pytest.mark.spark

EVENTS = {"events": {"id": "int", "at": "timestamp"}, "log": {"what": "string", "rows": "bigint"}}
BY_ID = History(
    key=("id",),
    updated_at=None,
    compared=("id",),
    from_epoch=True,
    closes_missing=False,
    valid_from=Column(name="valid_from", type="timestamp"),
    valid_to=Column(name="valid_to", type="timestamp"),
)
STATED = """MODEL (name {s}.stated, kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  start '2024-01-01');
SET spark.sql.shuffle.partitions = 3;
CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT COUNT(*) AS n FROM {s}.events WHERE at >= @start_dt;
INSERT INTO {s}.log SELECT CONCAT('before ', @start_ds), n FROM seen;
SELECT id, at FROM {s}.events WHERE at BETWEEN @start_dt AND @end_dt;
INSERT INTO {s}.log SELECT 'staged', COUNT(*) FROM {s}.stated;
INSERT INTO {s}.log SELECT 'seen again, ${spark.app.name} C:\\\\new', n FROM seen
"""
FUNCTION = """from vde_dagster import model

@model("{s}.made", kind="FULL", depends_on=["{s}.events"], columns={"name": "string", "n": "int"},
       start="2024-01-01", pre_statements=["CREATE TEMPORARY VIEW given AS SELECT 7 AS n"])
def made(context):
    spark = context.spark
    views = spark.sql("SHOW VIEWS").collect()
    leaked = [each.viewName for each in views if each.viewName == "seen"]
    told = ",".join([*leaked, spark.conf.get("spark.sql.shuffle.partitions")])
    return spark.sql("SELECT '" + told + " ${spark.app.name}' AS name, n FROM given")
"""


def prepared(lake: Lake) -> None:
    at = [datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2)]
    lake.source("events", id=pa.array([1, 2], pa.int32()), at=pa.array(at))
    lake.source("log", what=pa.array(["first"]), rows=pa.array([0], pa.int64()))
    lake.spark.conf.set("spark.sql.shuffle.partitions", "5")


@pytest.mark.full
def test_statements_run_around_the_write_in_a_session_that_nobody_else_has(lake: Lake) -> None:
    prepared(lake)
    try:
        done = build(lake.services(), lake.graph(EVENTS, a_stated=STATED, b_made=FUNCTION))
    finally:
        inherited = lake.spark.conf.get("spark.sql.shuffle.partitions")
        lake.spark.conf.unset("spark.sql.shuffle.partitions")
    assert {each.key.model.name: each.rows for each in done} == {"stated": 2, "made": 1}
    assert sorted(lake.rows(f"SELECT * FROM {lake.schema}.log WHERE what <> 'first'")) == [
        ("before 2024-01-01", 2),
        ("seen again, ${spark.app.name} C:\\new", 2),
        ("staged", 2),
    ]
    assert inherited == "5"
    assert lake.rows(f"SELECT name, n FROM {lake.schema}.made") == [("5 ${spark.app.name}", 7)]
    assert not lake.spark.catalog.tableExists("seen")
    assert not lake.spark.catalog.tableExists("given")


@pytest.mark.full
def test_a_statement_behind_the_query_that_fails_publishes_nothing(lake: Lake) -> None:
    prepared(lake)
    graph = lake.graph(EVENTS, stated=STATED)
    build(lake.services(), graph)
    failing = STATED.replace("SELECT 'staged', COUNT(*)", "SELECT 'staged', RAISE_ERROR('no')")
    before = lake.rows(f"SELECT id FROM {lake.schema}.stated ORDER BY id")
    other = lake.graph(EVENTS, stated=failing)
    with pytest.raises(EvaluationFailed, match=r"^models/stated\.sql:\d+: .*: statement 1 after "):
        build(lake.services(), other)
    assert lake.rows(f"SELECT id FROM {lake.schema}.stated ORDER BY id") == before
    audit = "start '2024-01-01', stamp 'other', audits (number_of_rows (threshold := 99))"
    audited = STATED.replace("start '2024-01-01'", audit)
    logged = lake.rows(f"SELECT COUNT(*) FROM {lake.schema}.log WHERE what = 'staged'")
    with pytest.raises(Exception, match="number_of_rows"):
        build(lake.services(), lake.graph(EVENTS, stated=audited))
    assert lake.rows(f"SELECT COUNT(*) FROM {lake.schema}.log WHERE what = 'staged'") == logged


@pytest.mark.full
def test_a_statement_reads_the_own_rows_as_they_are_published(lake: Lake) -> None:
    prepared(lake)
    text = """MODEL (name {s}.own, kind FULL, start '2024-01-01');
    INSERT INTO {s}.log SELECT 'before', COUNT(o.id) FROM {s}.own AS o;
    SELECT id FROM {s}.events;
    INSERT INTO {s}.log SELECT 'own', SUM(id) FROM {s}.own AS o"""
    build(lake.services(), lake.graph(EVENTS, own=text))
    binding = bound(lake.services())
    evaluate(lake.services(), binding, ModelName(lake.schema, "own"), DAY, force=True)
    logged = f"SELECT what, rows FROM {lake.schema}.log WHERE what <> 'first'"
    assert sorted(lake.rows(logged)) == [("before", 0), ("before", 2), ("own", 3), ("own", 3)]


def test_on_the_first_load_the_own_rows_are_none_with_the_columns_to_come(lake: Lake) -> None:
    before = (
        "CREATE TEMPORARY FUNCTION later() RETURNS INT RETURN 7",
        "SELECT ASSERT_TRUE(COUNT(id) = 0), MAX(valid_to) FROM own_rows",
    )
    staging = lake.staging(
        "SELECT later() AS id",
        write=KeepHistory(interval=DAY, history=BY_ID, execution_time=EPOCH, is_first=True),
        before=before,
        own_name="own_rows",
        path="models/alone.sql",
    )
    with pytest.raises(EvaluationFailed, match=r"(?s)alone\.sql: .*first load.*later.*`columns`"):
        lake.engine.stage(staging)
    assert lake.catalog.table(lake.key.table) is None
    lake.engine.stage(replace(staging, columns=(Column(name="id", type="int"),)))
    assert lake.catalog.table(lake.key.table) is not None
