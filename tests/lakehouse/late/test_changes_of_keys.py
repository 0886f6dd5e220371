"""Who reads a keyed table sees no delete marker, by whatever way: on Spark, with real parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa
import pytest

from tests.app.memory_world import bound, build
from tests.lakehouse.conftest import Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.local_answers import LocalAnswer, answer_locally
from vde_dagster.app.inspect.user_reads import arrow_of, user_read
from vde_dagster.app.inspect.verify import verify
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.unit_of_work import MergedChanges
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import late_or_changed
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries
from vde_dagster.orchestration.assets.metadata import merged_metadata

pytestmark = pytest.mark.spark

DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS: Final = {"id": "int", "at": "timestamp", "op": "string"}
MODELS: Final = {
    "current": """MODEL (name {s}.current, start '2024-01-01',
  audits (forall (criteria (op <> 'D'))),
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at, delete_when (op = 'D')),
  late_data (mode stateless, sources ({s}.changes)));
SELECT id, at, op FROM {s}.changes""",
    "seen": "MODEL (name {s}.seen, kind VIEW); SELECT id, op FROM {s}.current AS c",
    "lives": """MODEL (name {s}.lives, start '2024-01-01',
  kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns *, sequence_by at, delete_when (op = 'D')),
  late_data (mode stateless, sources ({s}.changes)));
SELECT id, at, op FROM {s}.changes""",
    "counted": "MODEL (name {s}.counted, kind FULL, start '2024-01-01'); "
    "SELECT COUNT(*) AS n FROM {s}.current JOIN {s}.seen USING (id)",
}
MERGED: Final = {
    "current": MergedChanges(inserted=1, hidden=1, without_effect=3),
    "lives": MergedChanges(inserted=2, hidden=3),
}
"""What becomes of the late changes."""
Change = tuple[int, int, str]
"""An id, the hour of the change, and what it does."""


def columns_of(changes: list[Change]) -> dict[str, pa.Array]:
    return {
        "id": pa.array([each[0] for each in changes], pa.int32()),
        "at": pa.array([DAY + timedelta(hours=each[1]) for each in changes]),
        "op": pa.array([each[2] for each in changes]),
    }


def check(lake: Lake, graph: Graph, wanted: list[tuple[int, str]]) -> None:
    """All readers see these ids, each with what its last change does."""
    schema, services = lake.schema, lake.services()
    binding, current = bound(services), ModelName(schema, "current")
    views = {ModelName(schema, each): TableName(schema, each) for each in MODELS}
    for name in ("current", "seen"):
        query = f"SELECT id, op FROM {schema}.{name} ORDER BY id"
        assert lake.rows(query) == wanted
        local = answer_locally(
            services,
            DuckDbQueries(),
            query,
            catalog="lake",
            views=views,
            limit=100,
            whole=services.catalog.views(views.values()),
        )
        assert isinstance(local, LocalAnswer), local
        assert [tuple(each) for each in local.rows] == wanted
    assert lake.rows(f"SELECT n FROM {schema}.counted") == [(len(wanted),)]
    read = user_read(services, binding, current, None, columns=("op", "id"))
    in_memory = arrow_of(services, read).to_pylist()
    on_spark = [each.asDict() for each in lake.engine.read(read.rows).collect()]
    for rows in (in_memory, on_spark):
        assert sorted((each["id"], each["op"]) for each in rows) == wanted
    assert all(each.holds for each in verify(services, binding))


HOURLY: Final = "start '2024-01-01', cron '@hourly', end '2024-01-01 04:00:00'"
STAGED: Final = {
    "staged": f"""MODEL (name {{s}}.staged, {HOURLY},
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  late_data (mode stateless, sources ({{s}}.changes)));
SELECT id, at, op FROM {{s}}.changes WHERE at BETWEEN @start_ts AND @end_ts""",
    "merged": f"""MODEL (name {{s}}.merged, {HOURLY},
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at, delete_when (op = 'D')));
SELECT id, at, op FROM {{s}}.staged WHERE at BETWEEN @start_ts AND @end_ts""",
}


def lives(lake: Lake) -> list[tuple[object, ...]]:
    """When each id was there, in hours of the day."""
    hours = "CAST((unix_seconds({}) - unix_seconds(TIMESTAMP '2024-01-01')) / 3600 AS INT)"
    since, until = hours.format("valid_from"), hours.format("valid_to")
    return lake.rows(f"SELECT id, {since}, {until} FROM {lake.schema}.lives ORDER BY id, 2")


def test_no_reader_sees_a_delete_marker_and_none_is_forgotten(lake: Lake) -> None:
    lake.source("changes", **columns_of([(1, 1, "I"), (2, 2, "I"), (3, 3, "D"), (2, 4, "D")]))
    graph = lake.graph({"changes": COLUMNS}, **MODELS)
    build(lake.services(), graph)
    check(lake, graph, [(1, "I")])
    assert lives(lake) == [(1, 1, None), (2, 2, 4)]
    late: list[Change] = [(3, 2, "I"), (2, 3, "U"), (1, 0, "D"), (4, 9, "I"), (5, 9, "D")]
    lake.table(TableName(lake.schema, "changes")).append(pa.table(columns_of(late)))
    services = lake.services()
    for name, merged in MERGED.items():
        done = catch_up(services, bound(services), ModelName(lake.schema, name))
        assert isinstance(done, Evaluated)
        assert done.merged == merged
        found = merged_metadata([done, done])
        assert found["vde/rows_inserted"] == 2 * merged.inserted
        assert found["vde/changes_without_effect"] == 2 * merged.without_effect
    build(services, graph)
    check(lake, graph, [(1, "I"), (4, "I")])
    assert lives(lake) == [(1, 1, None), (2, 2, 4), (3, 2, 3), (4, 9, None)]
    services = lake.services()
    for name in MERGED:
        catch_up(services, bound(services), ModelName(lake.schema, name), reload=True)
    check(lake, graph, [(1, "I"), (4, "I")])
    assert lives(lake) == [(1, 1, None), (2, 2, 4), (3, 2, 3), (4, 9, None)]
    lake.table(TableName(lake.schema, "changes")).append(pa.table(columns_of([(4, 10, "D")])))
    done = catch_up(services, bound(services), ModelName(lake.schema, "current"))
    assert isinstance(done, Evaluated)
    assert (done.rows, done.merged) == (0, MergedChanges(hidden=1))  # and not a row less


def _changed(plan: Plan, name: ModelName) -> list[str]:
    (change,) = (each for each in plan.changes if each.name == name)
    return list(late_or_changed(plan, change))


def test_a_table_over_a_staged_feed_merges_what_that_gains_and_is_rebuilt_where_it_loses(
    lake: Lake,
) -> None:
    lake.source("changes", **columns_of([(1, 1, "I"), (2, 2, "I"), (3, 2, "D"), (2, 3, "D")]))
    graph = lake.graph({"changes": COLUMNS}, **STAGED)
    build(lake.services(), graph)
    merged = f"SELECT id, op, hour(at) FROM {lake.schema}.merged ORDER BY id"
    assert lake.rows(merged) == [(1, "I", 1)]
    late: list[Change] = [(3, 1, "I"), (2, 1, "I"), (1, 2, "U"), (4, 3, "I")]
    lake.table(TableName(lake.schema, "changes")).append(pa.table(columns_of(late)))
    services, name = lake.services(), ModelName(lake.schema, "merged")
    catch_up(services, bound(services), ModelName(lake.schema, "staged"))
    plan = plan_run(services, "prod", Wanted.DUE_AND_STALE)
    (_, how) = _changed(plan, name)
    assert how == (
        f"merged by key: {lake.schema}.staged only gained rows, at most 4 rows for these times"
    )
    (done,) = apply_plan(services, plan, lambda _: None)
    assert done.merged == MergedChanges(inserted=1, updated=1, without_effect=2)
    assert lake.rows(merged) == [(1, "U", 2), (4, "I", 3)]
    lake.spark.sql(f"DELETE FROM lake.{lake.schema}.changes WHERE id = 1 AND op = 'U'")
    services = lake.services()
    catch_up(services, bound(services), ModelName(lake.schema, "staged"), reload=True)
    plan = plan_run(services, "prod", Wanted.DUE_AND_STALE)
    (_, how) = _changed(plan, name)
    assert how == f"rebuilt whole, 2 rows: rows of {lake.schema}.staged were replaced or deleted"
    apply_plan(services, plan, lambda _: None)
    assert lake.rows(merged) == [(1, "I", 1), (4, "I", 3)]
    assert all(each.holds for each in verify(services, bound(services)))
