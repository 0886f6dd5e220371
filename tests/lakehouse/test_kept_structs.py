"""Tables that are kept while the structs in their columns get fields (rule R11), on Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa
import pytest
from pyiceberg.types import IntegerType

from tests.app.memory_world import bound, build, plan
from tests.lakehouse.conftest import DAY, WHOLE, Lake
from tests.lakehouse.test_views_of_models import ReadAroundChanges
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evolution import evolve_tables
from vde_dagster.app.inspect.verify import verify
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, total
from vde_dagster.core.ledger.schema_changes import ColumnWidened
from vde_dagster.core.model.writes import AppendRows, MergeRows, ReplacePartitions, Write
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.engine import Sought

pytestmark = pytest.mark.spark

NEXT: Final = replace(DAY, start=DAY.end, end=DAY.end + timedelta(days=1))
GROWTH: Final = (
    ColumnWidened(column="s", before="struct<a:int>", after="struct<b:string,a:bigint>"),
    ColumnWidened(
        column="l", before="array<struct<x:int>>", after="array<struct<x:int,y:struct<z:int>>>"
    ),
)
FIRST: Final = """SELECT id, named_struct('a', id) AS s, array(named_struct('x', id), NULL) AS l
    FROM VALUES (1), (2) AS t(id)"""
THEN: Final = """SELECT id, named_struct('b', 'n', 'a', CAST(id AS BIGINT)) AS s,
    array(named_struct('x', id, 'y', named_struct('z', id))) AS l FROM VALUES (2), (3) AS t(id)"""
OLD: Final = '{{"a":{0},"b":null}} [{{"x":{0},"y":null}},null]'
NEW: Final = '{{"a":{0},"b":"n"}} [{{"x":{0},"y":{{"z":{0}}}}}]'


@pytest.mark.full
@pytest.mark.parametrize(
    "write,rows",
    [
        (AppendRows(interval=NEXT), [(1, OLD), (2, OLD), (2, NEW), (3, NEW)]),
        (MergeRows(interval=NEXT, key=("id",)), [(1, OLD), (2, NEW), (3, NEW)]),
        (ReplacePartitions(interval=NEXT), [(2, NEW), (3, NEW)]),
    ],
    ids=["appended", "by key", "by partition"],
)
def test_rows_are_stored_by_the_names_of_fields_and_their_sums_add_up(
    lake: Lake, write: Write, rows: list[tuple[int, str]]
) -> None:
    first = lake.publish(FIRST, write=AppendRows(interval=DAY))
    head = lake.catalog.table(lake.key.table).iceberg_snapshot_id  # type: ignore[union-attr]
    lake.catalog.evolve(lake.key.table, GROWTH)
    then = lake.publish(THEN, write=write)
    options = "map('ignoreNullFields', 'false')"
    shown = f"concat(to_json(s, {options}), ' ', to_json(l, {options})) AS shown"
    found = lake.rows(f"SELECT id, {shown} FROM {{own}} ORDER BY id, shown DESC")
    assert found == [(id_, text.format(id_)) for id_, text in rows]

    def sum_of(snapshot: int | None, staged: object) -> object:
        sought = Sought(
            table=lake.key.table,
            iceberg_snapshot_id=snapshot,
            columns=staged.columns,  # type: ignore[attr-defined]
        )
        return total(lake.engine.sums(sought, algorithm=DEFAULT_ALGORITHM).values())

    now = lake.catalog.table(lake.key.table).iceberg_snapshot_id  # type: ignore[union-attr]
    assert sum_of(head, first) == total(first.sums[0].values())
    changes = total(then.sums[0].values())
    assert sum_of(head, then) + changes == sum_of(now, then)  # type: ignore[operator]


@pytest.mark.full
@pytest.mark.parametrize(
    "returned,planned",
    [
        pytest.param("'a', 1, 'b', 2, 'c', 3", "struct<a:int,b:int>", id="a field is unknown"),
        pytest.param("'a', 1", "struct<a:int,b:int>", id="a field is missing"),
        pytest.param("'a', 1", "", id="a field is missing, and nobody knows the type"),
        pytest.param("'a', 1, 'b', 'x'", "struct<a:int,b:string>", id="another type"),
    ],
)
def test_fields_that_come_and_go_unplanned_are_refused_before_a_row_is_computed(
    lake: Lake, returned: str, planned: str
) -> None:
    lake.publish("SELECT 1 AS id, named_struct('a', 1, 'b', 2) AS s", write=WHOLE)
    with pytest.raises(EvaluationFailed) as refused:
        lake.publish(
            f"SELECT 1 AS id, named_struct({returned}) AS s",
            write=AppendRows(interval=NEXT),
            returned={"id": "int", "s": planned},
        )
    assert "is in its table struct<a:int,b:int>" in str(refused.value)
    assert "declare the column's new type" in str(refused.value)
    assert lake.rows("SELECT s.b FROM {own}") == [(2,)]


def test_a_field_that_a_model_does_not_return_any_more_is_null(lake: Lake) -> None:
    """So it is after a rollback, as with columns."""
    lake.publish("SELECT 1 AS id, named_struct('b', 2, 'a', 1) AS s", write=WHOLE)
    lake.publish(
        "SELECT 2 AS id, named_struct('a', 3) AS s",
        write=AppendRows(interval=NEXT),
        returned={"id": "int", "s": "struct<a:int>"},
    )
    found = lake.rows("SELECT id, s.a, s.b FROM {own} ORDER BY id")
    assert found == [(1, 1, 2), (2, 3, None)]


SOURCE: Final = {"rows": {"id": "int", "at": "timestamp"}}
BEFORE: Final = """MODEL (name {s}.kept, start '2024-01-01', kind
  INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true),
  columns (id int, at timestamp, s struct<a:int>));
SELECT id, at, STRUCT(id AS a) AS s FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""
AFTER: Final = BEFORE.replace("<a:int>", "<fresh:string,a:bigint>").replace(
    "STRUCT(id AS a)", "STRUCT('n' AS fresh, CAST(id AS BIGINT) AS a)"
)
READS: Final = "MODEL (name {s}.reads, kind FULL); SELECT id, s.a AS a FROM {s}.kept"


def prepared(lake: Lake) -> None:
    lake.source(
        "rows",
        id=pa.array([1, 2, 3], pa.int32()),
        at=pa.array([datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2, 3)]),
    )


@pytest.mark.full
def test_a_reader_sees_the_old_rows_or_the_new_ones_while_a_struct_gets_a_field(
    lake: Lake,
) -> None:
    prepared(lake)
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE, reads=READS))
    key = bound(lake.services()).key(ModelName(lake.schema, "kept"))
    ledger = lake.state.ledger([key])[key]
    view, reader = f"lake.{lake.schema}.kept", lake.spark.newSession()
    watched = ReadAroundChanges(lake, reader, view, "id, s.a, s IS NULL")
    lake.clock.advance(timedelta(days=1))
    services = replace(lake.services(), catalog=watched)  # type: ignore[arg-type]
    made = plan(services, lake.graph(SOURCE, kept=AFTER, reads=READS))
    (change,) = (each for each in made.changes if each.name == key.model)
    assert change.version == key.version
    apply_plan(services, made, lambda _: None)
    old, new = [[(n, n, False) for n in range(1, last + 1)] for last in (2, 3)]
    assert len(watched.seen) >= 4
    assert all(each in (old, new) for each in watched.seen)
    assert watched.seen[-1] == new
    shown = lake.rows(f"SELECT id, s.a, s.fresh FROM {lake.schema}.kept ORDER BY id")
    assert shown == [(1, 1, None), (2, 2, None), (3, 3, "n")]
    assert lake.rows(f"SELECT * FROM {lake.schema}.reads ORDER BY id") == [(1, 1), (2, 2), (3, 3)]
    after_ledger = lake.state.ledger([key])[key]
    assert after_ledger[: len(ledger)] == ledger
    fresh = lake.services()
    checked = verify(fresh, bound(fresh), [ModelName(lake.schema, "kept")])
    assert [(each.rows, each.mismatches) for each in checked] == [(3, ())] or all(
        not each.mismatches for each in checked
    )


@dataclass(frozen=True, kw_only=True)
class PromotedMeanwhile:
    """The catalog of a lake in which somebody makes a view just before a table changes."""

    lake: Lake
    made: ViewDefinition

    def __getattr__(self, name: str) -> object:
        return getattr(self.lake.catalog, name)

    def evolve(self, *given: object) -> None:
        self.lake.catalog.swap_views([self.made], ())
        self.lake.catalog.evolve(*given)  # type: ignore[arg-type]


@pytest.mark.full
def test_a_view_that_was_made_just_before_a_field_is_added_is_read_after(lake: Lake) -> None:
    prepared(lake)
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE))
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE), "dev")
    view = lake.catalog.view(TableName(f"{lake.schema}__dev", "kept"))
    assert view is not None
    meanwhile = PromotedMeanwhile(lake=lake, made=view)
    services = replace(lake.services(), catalog=meanwhile)  # type: ignore[arg-type]
    added = ColumnWidened(column="s", before="struct<a:int>", after="struct<a:int,b:int>")
    evolve_tables(services, bound(services), [(ModelName(lake.schema, "kept"), [added])])
    assert lake.table(view.target).schema().find_type("s.b") == IntegerType()
    assert fields(lake, "dev") == ["a"]
    assert fields(lake) == ["a"]


def fields(lake: Lake, environment: str = "") -> list[str]:
    """The fields of the struct that a view shows to who reads it now."""
    schema = f"{lake.schema}__{environment}" if environment else lake.schema
    rows = lake.spark.newSession().table(f"lake.{schema}.kept")
    rows.collect()
    return rows.select("s.*").columns


THROUGH: Final = """MODEL (name {s}.through, start '2024-01-01', kind
  INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true));
SELECT id, at, ARRAY(s) AS l, to_json(s) AS j FROM {s}.kept
WHERE at BETWEEN @start_dt AND @end_dt"""


def test_a_kept_table_downstream_gets_the_field_of_a_struct_that_it_reads(lake: Lake) -> None:
    prepared(lake)
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE, through=THROUGH))
    key = bound(lake.services()).key(ModelName(lake.schema, "through"))
    lake.clock.advance(timedelta(days=1))
    build(lake.services(), lake.graph(SOURCE, kept=AFTER, through=THROUGH))
    assert bound(lake.services()).key(key.model) == key
    found = lake.rows(f"SELECT id, l[0].a, l[0].fresh, j FROM {lake.schema}.through ORDER BY id")
    assert found == [
        (1, 1, None, '{"a":1}'),
        (2, 2, None, '{"a":2}'),
        (3, 3, "n", '{"a":3,"fresh":"n"}'),
    ]
    fresh = lake.services()
    assert not any(each.mismatches for each in verify(fresh, bound(fresh), [key.model]))
