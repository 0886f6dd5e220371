"""Maintaining tables on Spark: files are rewritten, and nothing looks as if rows had changed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from tests.app.memory_world import bound, build, plan
from tests.lakehouse.conftest import DAY, Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.clean_up.maintaining import Maintained, maintain
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.compaction import compaction
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.unit_of_work import Staged
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import AppendRows
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.ports.engine import Sought

pytestmark = pytest.mark.spark

MB: Final = 1_000_000
LATER: Final = timedelta(days=30)
"""How long after all commits tables are maintained."""
DAILY: Final = """MODEL (name {s}.daily, start '2024-01-01', end '2024-01-02', cron '@daily',
  kind INCREMENTAL_BY_TIME_RANGE (time_column day));
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM {s}.rows
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY 1"""
TOTAL: Final = """MODEL (name {s}.total, kind FULL, start '2024-01-01', end '2024-01-02');
SELECT SUM(amount) AS amount FROM {s}.daily"""


def appended(lake: Lake, count: int, **more: Storage) -> Staged:
    """As many files: each unit of work appends one. What the last one staged."""
    return [
        lake.publish(f"SELECT {number} AS id, 'a' AS name", write=AppendRows(interval=DAY), **more)
        for number in range(count)
    ][-1]


def test_files_are_rewritten_in_a_commit_that_changes_no_row(lake: Lake) -> None:
    staged = appended(lake, 3)
    name, columns = lake.key.table, staged.columns
    wanted = compaction(lake.catalog.data_files(name), least=3, file_size=128 * MB)
    assert wanted is not None
    before = lake.catalog.table(name)
    assert before is not None
    head = before.iceberg_snapshot_id

    def sums(at: int | None) -> object:
        sought = Sought(table=name, iceberg_snapshot_id=at, columns=columns)
        return lake.engine.sums(sought, algorithm="xxhash64x2")

    recorded = sums(head)
    done = lake.engine.compact(name, wanted)
    assert (done.files, done.files_after) == (3, 1)
    after = lake.catalog.table(name)
    assert after is not None
    assert after.iceberg_snapshot_id != head
    assert after.iceberg_snapshot_id is not None
    assert lake.catalog.origin(name, after.iceberg_snapshot_id) == head
    assert len(lake.files()) == 1
    assert sums(after.iceberg_snapshot_id) == recorded == sums(head)
    assert lake.rows("SELECT id FROM {own} ORDER BY id") == [(0,), (1,), (2,)]
    assert compaction(lake.catalog.data_files(name), least=2, file_size=128 * MB) is None


def test_others_expire_nothing_of_a_table_of_ours(lake: Lake) -> None:
    """Which Iceberg snapshots are needed stands in the state, of which Iceberg knows nothing."""
    appended(lake, 3)
    before = lake.table().snapshots()
    assert len(before) == 4  # the empty table is one, too
    procedure = f"{lake.iceberg.name}.system.expire_snapshots"
    for older in ("", ", older_than => TIMESTAMP '2100-01-01 00:00:00'"):
        lake.spark.sql(f"CALL {procedure}(table => '{lake.key.table}'{older})").collect()
    assert lake.table().snapshots() == before


def test_a_table_whose_files_are_sorted_is_sorted_again(lake: Lake) -> None:
    storage = Storage(clustered_by=("id",))
    for low in (2, 0):
        rows = f"SELECT id, 'a' AS name FROM VALUES ({low + 1}), ({low}) AS t(id)"
        lake.publish(rows, write=AppendRows(interval=DAY), storage=storage)
    name = lake.key.table
    wanted = compaction(lake.catalog.data_files(name), least=2, file_size=128 * MB)
    assert wanted is not None
    lake.engine.compact(name, wanted)
    (path,) = lake.files()
    import pyarrow.parquet as pq

    assert pq.read_table(path.removeprefix("//")).column("id").to_pylist() == [0, 1, 2, 3]


def services_later(lake: Lake) -> Services:
    """The ports after all commits, by the state's clock."""
    lake.clock.advance(datetime.now(UTC) + LATER - lake.clock.now())
    return lake.services()


def graph_over_rows(lake: Lake) -> Graph:
    lake.source(
        "rows",
        id=pa.array([1, 2]),
        at=pa.array([datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2)]),
        amount=pa.array([10, 20]),
    )
    source = {"id": "bigint", "at": "timestamp", "amount": "bigint"}
    return lake.graph({"rows": source}, daily=DAILY, total=TOTAL)


def restate(services: Services, graph: Graph, model: str) -> None:
    options = PlanOptions(restate=(model,))
    apply_plan(services, plan_environment(services, graph, "prod", options), lambda _: None)


@pytest.mark.full
def test_maintained_tables_have_the_same_d_shas_and_nothing_to_do_and_can_be_read_as_of_traces(
    lake: Lake,
) -> None:
    graph = graph_over_rows(lake)
    services = lake.services()
    build(services, graph)
    for _ in range(2):
        restate(services, graph, f"{lake.schema}.*")
    late = datetime(2024, 1, 2, 9, tzinfo=UTC)
    more = pa.table({"id": [3], "at": pa.array([late], pa.timestamp("us", "UTC")), "amount": [5]})
    lake.iceberg.load_table((lake.schema, "rows")).append(more)
    build(services, graph)  # the second day alone: the first one is as it was written before
    binding = bound(services)
    daily, total = (ModelName(lake.schema, each) for each in ("daily", "total"))
    keys = [binding.key(each) for each in (daily, total)]
    ledger = services.state.ledger(keys)
    named = {each.interval: each.iceberg_snapshot_id for each in ledger[keys[0]]}
    assert len(set(named.values())) == 2
    folder = Path(lake.table(keys[1].table).metadata.location.removeprefix("file:"))
    stray, young = (folder / "data" / f"{each}.parquet" for each in ("stray", "young"))
    for path, age in ((stray, timedelta(days=9)), (young, timedelta(days=2))):
        path.write_bytes(b"x")
        at = (datetime.now(UTC) + LATER - age).timestamp()
        os.utime(path, (at, at))

    services = services_later(lake)
    found = maintain(services, Times(), Upkeep(small_files=2), models=[f"{lake.schema}.*"])
    assert found.busy == ()
    assert found.left == ()
    done: dict[object, Maintained] = {
        each.target.model: each for each in found.done if not each.target.stored.is_view
    }
    assert done[total].compacted is None
    assert len(done[total].expired) > 0
    assert done[total].expired_files.count > 0
    assert done[total].strays.count == 1
    assert (stray.exists(), young.exists()) == (False, True)

    assert services.state.ledger(keys) == ledger
    assert all(each.holds for each in verify(services, binding, [daily, total]))
    assert plan(services, graph).is_up_to_date
    own = keys[0].table
    rows = {
        at: lake.rows(f"SELECT amount FROM {own} VERSION AS OF {at} ORDER BY day")
        for at in named.values()
    }
    assert sorted(rows.values()) == [[(10,), (20,)], [(10,), (25,)]]
    assert lake.rows(f"SELECT amount FROM {keys[1].table}") == [(35,)]
    again = maintain(services, Times(), Upkeep(small_files=2), models=[f"{lake.schema}.*"])
    assert not any(each.is_changed for each in again.done)
    restate(services, graph, f"{lake.schema}.*")
    assert lake.rows(f"SELECT amount FROM {own} ORDER BY day") == [(10,), (25,)]
