"""Creating the table of a version: once, whoever else does it, and whatever answer is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import BadRequestError
from pyspark.sql.types import LongType, StructField, StructType
from sqlalchemy.exc import OperationalError

from tests.lakehouse.test_publish_contract import InterruptedSql, in_sql, lost, sqlite
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import AsOf, PlannedWrite, SqlRows, Staging
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.model.writes import ReplaceTable
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.lakehouse.iceberg.creation import created_table, put_empty_branch
from vde_dagster.lakehouse.iceberg.publish import branch_name
from vde_dagster.lakehouse.iceberg.shallow_copies import shallow_copy

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
SCHEMA = StructType([StructField("id", LongType())])


def unit(work_id: str) -> Staging:
    key = VersionKey(ModelName("mart", "sales"), "a" * 32)
    return Staging(work_id=work_id, target=key, base=None, parts=())


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InterruptedSql]:
    opened = in_sql(sqlite(tmp_path), tmp_path)
    opened.before, opened.after = [], []
    opened.create_namespace(unit("").target.table.namespace)
    yield opened
    opened.engine.dispose()


def heads(catalog: SqlCatalog) -> dict[str, int]:
    """How many rows each branch has, by its name."""
    name = unit("").target.table
    table = catalog.load_table((name.namespace, name.name))
    return {
        ref: len(table.scan(snapshot_id=at.snapshot_id).to_arrow())
        for ref, at in table.metadata.refs.items()
    }


def test_a_table_is_made_with_the_empty_branch_of_its_first_unit_of_work(
    catalog: InterruptedSql,
) -> None:
    made = created_table(catalog, unit("one"), SCHEMA)
    assert heads(catalog) == {branch_name("one"): 0}
    assert made.metadata.current_snapshot_id is None
    assert len(made.metadata.metadata_log) == 0


def test_who_comes_second_finds_the_table_and_begins_a_branch_of_its_own(
    catalog: InterruptedSql,
) -> None:
    first = created_table(catalog, unit("one"), SCHEMA)
    found = created_table(catalog, unit("two"), SCHEMA)
    assert found.metadata.table_uuid == first.metadata.table_uuid
    put_empty_branch(found, unit("").target.table, "two")
    assert heads(catalog) == {branch_name("one"): 0, branch_name("two"): 0}


def test_rows_of_an_earlier_attempt_are_gone_from_the_branch(catalog: InterruptedSql) -> None:
    made = created_table(catalog, unit("one"), SCHEMA)
    made.append(pa.table({"id": [1]}), branch=branch_name("one"))
    assert heads(catalog) == {branch_name("one"): 1}
    name = unit("").target.table
    put_empty_branch(catalog.load_table((name.namespace, name.name)), name, "one")
    assert heads(catalog) == {branch_name("one"): 0}


def test_a_table_is_there_though_the_answer_was_lost(catalog: InterruptedSql) -> None:
    catalog.after.append(lost)
    created_table(catalog, unit("one"), SCHEMA)
    assert heads(catalog) == {branch_name("one"): 0}


@pytest.mark.parametrize("column, named", [("id", "id_bucket"), ("id_bucket", "exists")])
def test_partitions_that_iceberg_does_not_take_are_named(
    catalog: InterruptedSql, column: str, named: str
) -> None:
    schema = StructType([*SCHEMA, *([StructField(column, LongType())] if column != "id" else [])])
    buckets = [PartitionField(column="id", transform=Transform.BUCKET, argument=n) for n in (4, 8)]
    wanted = buckets if column == "id" else buckets[:1]
    staging = replace(unit("one"), storage=Storage(partitioned_by=tuple(wanted)))
    with pytest.raises(EvaluationFailed, match=named):
        created_table(catalog, staging, schema)


def test_a_server_that_creates_tables_alone_gets_the_branch_afterwards(
    catalog: InterruptedSql,
) -> None:
    def refused() -> None:
        raise BadRequestError("Stage create is not supported")

    catalog.before.append(refused)
    made = created_table(catalog, unit("one"), SCHEMA)
    assert heads(catalog) == {}
    put_empty_branch(made, unit("").target.table, "one")
    assert heads(catalog) == {branch_name("one"): 0}


@pytest.mark.parametrize(
    "said, raised, named",
    [
        ("database is locked", OperationalError, "locked"),  # with advice, where it is caught
        ("no such thing", EvaluationFailed, r"could not be created: .* thing. Retry"),
    ],
)
def test_a_table_that_cannot_be_made_is_an_error(
    catalog: InterruptedSql, said: str, raised: type[Exception], named: str
) -> None:
    def refused() -> None:
        raise OperationalError("commit", None, sqlite3.OperationalError(said))

    catalog.before.append(refused)
    with pytest.raises(raised, match=named):
        created_table(catalog, unit("one"), SCHEMA)
    created_table(catalog, unit("one"), SCHEMA)
    assert heads(catalog) == {branch_name("one"): 0}


@pytest.mark.parametrize("how", ["whole", "refused", "lost"])
def test_a_shallow_copy_has_the_files_whatever_the_server_does(
    catalog: InterruptedSql, how: str
) -> None:
    original = catalog.create_table(
        (unit("").target.table.namespace, "old"), pa.schema([("note", pa.string()), *ROWS.schema])
    )
    original.append(ROWS.add_column(0, "note", pa.array(["a", "b"])))
    source = AsOf(
        table=TableName(unit("").target.table.namespace, "old"),
        iceberg_snapshot_id=original.metadata.current_snapshot_id,
    )
    staging = replace(
        unit("one"),
        parts=(
            PlannedWrite(
                rows=SqlRows(sql=""),
                inputs={},
                write=ReplaceTable(interval=Interval(EPOCH, END_OF_TIME)),
            ),
        ),
    )

    def refused() -> None:
        raise BadRequestError("Stage create is not supported")

    if how == "refused":
        catalog.before.append(refused)
    elif how == "lost":
        catalog.after.append(lost)
    made = shallow_copy(catalog, staging, SCHEMA, source)
    head = made.metadata.refs[branch_name("one")].snapshot_id
    assert made.scan(snapshot_id=head).to_arrow().to_pydict() == ROWS.to_pydict()
    assert made.metadata.last_column_id == 2
    own = Path(made.location().removeprefix("file:"))
    assert not list(own.rglob("*.parquet"))
