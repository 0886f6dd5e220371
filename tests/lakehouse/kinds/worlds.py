"""Tables of a few columns that each write is tried on: on Spark and in memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _pytest.mark import ParameterSet

from tests.lakehouse.digest.reference import xxhash64x2
from tests.lakehouse.digest.rows import Digits, Plain, Type
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.engine import MemoryEngine
from tests.worlds.frames import sum_of
from vde_dagster.core.ledger.dsha import MODULUS, RowSum, total
from vde_dagster.core.ledger.unit_of_work import (
    Input,
    PlannedWrite,
    RowSource,
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import Catalog
from vde_dagster.ports.engine import Engine

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
Values = tuple[object, ...]


def hours(first: float, last: float) -> Interval:
    """From one hour after the start to another."""
    return Interval(START + timedelta(hours=first), START + timedelta(hours=last))


def days(first: int, last: int | None = None) -> Interval:
    """One day (the first is 0), or those before ``last``."""
    return hours(24 * first, 24 * (first + 1 if last is None else last))


def field(column: str, transform: str = "identity", argument: int | None = None) -> PartitionField:
    """A field of a partitioning."""
    return PartitionField(column=column, transform=Transform(transform), argument=argument)


def literal(value: object, kind: str) -> str:
    """A value as Spark writes it."""
    match value:
        case None:
            return f"CAST(NULL AS {kind})"
        case datetime():
            instant = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return f"CAST('{instant.isoformat(sep=' ')}' AS {kind})"
        case bool():
            return str(value)
        case int():
            return f"CAST({value} AS {kind})"
        case _:
            text = value.isoformat() if isinstance(value, date) else str(value)
            return f"CAST('{text}' AS {kind})"


def query(types: dict[str, str], rows: Sequence[Values]) -> SqlRows:
    """A query that returns these rows; none needs a type from them."""
    reported = ", ".join(
        f"({', '.join(map(literal, row, types.values()))})"
        for row in rows or [(None,) * len(types)]
    )
    names = ", ".join(f"`{name}`" for name in types)
    nothing = "" if rows else " WHERE FALSE"
    return SqlRows(sql=f"SELECT * FROM VALUES {reported} AS _rows({names}){nothing}")


@dataclass(kw_only=True)
class World:
    """One adapter pair, and a table of its own. ``types`` are those of its columns."""

    catalog: Catalog
    engine: Engine
    types: dict[str, str]
    storage: Storage
    key: VersionKey
    iceberg: PyIcebergCatalog | None = None

    def part(
        self, rows: Sequence[Values] | RowSource, write: Write, **inputs: Input
    ) -> PlannedWrite:
        """A write of these rows."""
        asked = query(self.types, rows) if isinstance(rows, Sequence) else rows
        return PlannedWrite(rows=asked, inputs=inputs, write=write)

    def staging(self, *parts: PlannedWrite, **more: Any) -> Staging:
        """A unit of work on the table as it is now."""
        unit = Staging(
            work_id=uuid.uuid4().hex,
            target=self.key,
            base=self.head(),
            parts=parts,
            storage=self.storage,
        )
        return replace(unit, **more)

    def publish(self, staging: Staging) -> Staged:
        """Stage a unit of work, and publish it."""
        staged = self.engine.stage(staging)
        assert staged.iceberg_snapshot_id is not None
        self.catalog.publish(self.key.table, base=staging.base, staged=staged.iceberg_snapshot_id)
        self.catalog.drop_branch(self.key.table, staging.work_id)
        return staged

    def write(self, rows: Sequence[Values] | RowSource, write: Write, **inputs: Input) -> Staged:
        """Publish one write."""
        return self.publish(self.staging(self.part(rows, write, **inputs)))

    def head(self) -> int | None:
        """The published Iceberg snapshot."""
        table = self.catalog.table(self.key.table)
        return table.iceberg_snapshot_id if table else None

    def rows(self) -> list[Values]:
        """What readers see; NULL comes first. On Iceberg, that is a reader without Spark."""
        if self.iceberg is not None:
            return ordered(tuple(each.values()) for each in self._stored().to_pylist())
        _, found = self.engine.fetch(f"SELECT * FROM {self.key.table}", limit=100_000)
        return ordered(found)

    def sum_of_all(self) -> RowSum:
        """The sum of the table's rows, computed in another way than while they were written.

        On Iceberg, another implementation hashes what a reader without Spark sees. In memory, it is
        the sum of a table that gets all rows at once.
        """
        if self.iceberg is not None:
            return self.sum_of([tuple(each.values()) for each in self._stored().to_pylist()])
        other = World(
            catalog=self.catalog,
            engine=self.engine,
            types=self.types,
            storage=Storage(),
            key=_key(),
        )
        copied = SqlRows(sql=f"SELECT * FROM {self.key.table}")
        staged = other.engine.stage(
            other.staging(other.part(copied, ReplaceTable(interval=days(0))))
        )
        return total(staged.sums[0].values())

    def sum_of(self, rows: Sequence[Values]) -> RowSum:
        """The sum of some rows of the table, likewise."""
        if self.iceberg is None:
            return sum_of(rows)
        table = self.catalog.table(self.key.table)
        assert table is not None
        types = [_plain(each.type) for each in table.columns]
        hashes = [xxhash64x2(list(zip(types, row, strict=True))) for row in rows]
        return RowSum(rows=len(hashes), sum=sum(hashes) % MODULUS)

    def append(self, rows: Sequence[Values]) -> None:
        """Publish more rows without Spark, in a file for each partition; only on Iceberg."""
        table = self._table()
        named = [dict(zip(self.types, row, strict=True)) for row in rows]
        table.append(pa.Table.from_pylist(named, schema=table.schema().as_arrow()))

    def _stored(self) -> pa.Table:
        """What the table on Iceberg has."""
        return self._table().scan().to_arrow()

    def _table(self) -> Table:
        assert self.iceberg is not None
        return self.iceberg.load_table((self.key.table.namespace, self.key.table.name))

    def files(self) -> dict[str, list[Values]]:
        """The rows of each data file that is published, by the file's path; only on Iceberg."""
        found = {}
        for task in self._table().scan().plan_files():
            path = task.file.file_path.removeprefix("file://").removeprefix("file:")
            read = pq.read_table(path, partitioning=None).select(list(self.types)).to_pylist()
            found[path] = ordered(tuple(each.values()) for each in read)
        return found


def _plain(kind: str) -> Type:
    """A type without parts, as the other implementation has it."""
    if kind.startswith("decimal("):
        precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
        return Digits(int(precision), int(scale))
    assert "<" not in kind, kind
    return Plain(kind)


def ordered(rows: Iterable[Sequence[object]]) -> list[Values]:
    """Rows in a fixed order, whatever their types."""
    return sorted(map(tuple, rows), key=lambda row: [(each is not None, str(each)) for each in row])


def _key() -> VersionKey:
    return VersionKey(ModelName(f"k{uuid.uuid4().hex[:8]}", "kept"), uuid.uuid4().hex)


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """Makes tables in one pair of adapters. ``spark`` is None in memory."""

    catalog: Catalog
    engine: Engine
    iceberg: PyIcebergCatalog | None = None
    spark: SparkSession | None = None

    def table(self, types: dict[str, str], *partitioned_by: PartitionField) -> World:
        """A table that is made by its first write."""
        return World(
            catalog=self.catalog,
            engine=self.engine,
            iceberg=self.iceberg,
            types=types,
            storage=Storage(partitioned_by=partitioned_by),
            key=_key(),
        )


def both_worlds(cases: Mapping[str, object], *, short: Collection[str]) -> list[ParameterSet]:
    """Parameters `worlds` (a fixture) and `case`: each case in memory and on Spark.

    Args:
        cases: The cases by their names.
        short: Those that the short form tries on Spark, too.
    """
    assert set(short) <= set(cases)
    spark, full = pytest.mark.spark, pytest.mark.full
    return [
        pytest.param(world, case, id=f"{world}-{name}", marks=marks)
        for name, case in cases.items()
        for world, marks in (
            ("memory", []),
            ("spark", [spark] if name in short else [spark, full]),
        )
    ]


SPARK_IN_FULL_FORM: Final = pytest.mark.parametrize(
    "worlds",
    ["memory", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.full])],
    indirect=True,
)
"""For tests that the short form has in memory; what they say of Spark, other tests say there."""


def worlds_in_memory() -> Worlds:
    """The adapters in memory."""
    catalog = MemoryCatalog()
    return Worlds(catalog=catalog, engine=MemoryEngine(catalog))


def worlds_on_spark(spark: SparkSession, lake: SparkLake) -> Worlds:
    """The adapters of Spark and Iceberg."""
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog
    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

    catalog = lake.iceberg()
    engine = SparkEngine(lambda: spark, lake.catalog, lambda: catalog)
    return Worlds(catalog=IcebergCatalog(catalog), engine=engine, iceberg=catalog, spark=spark)
