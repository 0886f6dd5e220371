"""The engine in memory: Spark's SQL, transpiled by sqlglot and run by an in-process DuckDB."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, assert_never

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from vde_dagster.core.dsha import Column, RowSum, total
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.intervals import Interval
from vde_dagster.core.late_data import SourceOperation
from vde_dagster.core.layout import time_partition
from vde_dagster.core.names import TableName
from vde_dagster.core.seed_rows import seed_columns, seed_rows
from vde_dagster.core.work import (
    AddedBetween,
    AppendRows,
    AppendToIntervals,
    AsOf,
    CsvRows,
    Input,
    MergeRows,
    OverwriteIntervals,
    Part,
    PythonRows,
    ReplacePartitions,
    ReplaceTable,
    SqlRows,
    Staged,
    Staging,
    TimeAxisSpec,
)
from vde_dagster.memory.catalog import MemoryCatalog, Row, Table, instant_of

if TYPE_CHECKING:
    import duckdb

_ARROW: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


class MemoryEngine:
    """Implements `vde_dagster.ports.engine.Engine` over a `MemoryCatalog`.

    Queries may use what DuckDB has an equal for. Python models need Spark and are refused.

    Args:
        catalog: Holds the tables and the physical views.
    """

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work to the branch named after its work id; see the port."""
        name = staging.target.table
        head = staging.base
        sums: list[Mapping[Interval, RowSum]] = []
        with self._catalog.lock, _failures(str(staging.target)):
            for number, part in enumerate(staging.parts):
                found = self._rows(part, staging.columns)
                if number == 0:
                    self._prepare(name, staging, found.columns)
                table = self._catalog.tables[name]
                rows = _fitted(found, table.columns, name)
                head, written = self._write(name, part, rows, head)
                table.branches[staging.work_id] = head
                sums.append(written)
            return Staged(
                iceberg_snapshot_id=head,
                sums=tuple(sums),
                columns=self._catalog.tables[name].columns,
            )

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns; see the port."""
        del comment  # nobody reads it here
        with self._catalog.lock, _failures(str(name)):
            if name in self._catalog.tables:
                raise EvaluationFailed("this name is taken by a table")
            columns = self._query(sql, {}).columns
            self._catalog.queries[name] = sql
            return columns

    def fetch(
        self, sql: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows of a query, for people; see the port."""
        with self._catalog.lock, _failures("the query"):
            found = self._query(sql, {})
            return tuple(each.name for each in found.columns), list(found.rows[:limit])

    def _prepare(self, name: TableName, staging: Staging, columns: tuple[Column, ...]) -> None:
        if name not in self._catalog.tables:
            described = {key.lower(): text for key, text in staging.descriptions.items()}
            self._catalog.create_table(
                name,
                [
                    Column(
                        name=each.name,
                        type=each.type,
                        description=described.get(each.name.lower(), ""),
                    )
                    for each in columns
                ],
                partition_by=_partition_axis(staging),
                properties={
                    "vde.model": str(staging.target.model),
                    "vde.version": staging.target.version,
                },
            )

    def _write(
        self, name: TableName, part: Part, rows: tuple[Row, ...], head: int | None
    ) -> tuple[int, Mapping[Interval, RowSum]]:
        table = self._catalog.tables[name]
        held = table.rows_at(head)
        write = part.write
        match write:
            case ReplaceTable():
                kept: tuple[Row, ...] = ()
                sums = {write.interval: total(map(_row_sum, rows))}
            case OverwriteIntervals():
                rows = _inside(table, rows, write.intervals, write.axis)
                removed = set(map(id, _inside(table, held, write.intervals, write.axis)))
                kept = tuple(row for row in held if id(row) not in removed)
                sums = _sums(table, rows, write)
            case AppendToIntervals():
                rows = _inside(table, rows, write.intervals, write.axis)
                kept = held
                sums = _sums(table, rows, write)
            case AppendRows():
                kept = held
                sums = {write.interval: total(map(_row_sum, rows))}
            case MergeRows() | ReplacePartitions():
                raise EvaluationFailed("the engine in memory does not write this kind")
            case _:
                assert_never(write)
        appended = isinstance(write, AppendToIntervals | AppendRows)
        committed = self._catalog.commit(
            name,
            parent=head,
            operation=SourceOperation.APPEND if appended else SourceOperation.OVERWRITE,
            rows=(*kept, *rows),
            added=rows,
        )
        return committed, sums

    def _rows(self, part: Part, columns: tuple[Column, ...]) -> _Found:
        match part.rows:
            case SqlRows():
                inputs = {name: self._input(each) for name, each in part.inputs.items()}
                found = self._query(part.rows.sql, inputs)
                return found.declared(columns) if columns else found
            case CsvRows():
                declared = columns or seed_columns(part.rows.text)
                return _Found(declared, tuple(seed_rows(part.rows.text, declared)))
            case PythonRows():
                raise EvaluationFailed(
                    f"{part.rows.path}: a Python model returns a Spark DataFrame, and the engine "
                    "in memory has no Spark"
                )
            case _:
                assert_never(part.rows)

    def _input(self, wanted: Input) -> _Found:
        table = self._catalog.tables.get(wanted.table)
        if table is None:
            raise EvaluationFailed(f"{wanted.table} does not exist")
        match wanted:
            case AsOf():
                return _Found(table.columns, table.rows_at(wanted.iceberg_snapshot_id))
            case AddedBetween():
                rows: list[Row] = []
                for each in table.line(wanted.until):
                    if each.id == wanted.after:
                        return _Found(table.columns, tuple(rows))
                    if each.operation is SourceOperation.APPEND:
                        rows.extend(each.added)
                raise EvaluationFailed(
                    f"Iceberg snapshot {wanted.after} is no ancestor of {wanted.until}"
                )
            case _:
                assert_never(wanted)

    def _query(self, sql: str, inputs: Mapping[str, _Found]) -> _Found:
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": 1})
        try:
            connection.execute("SET TimeZone = 'UTC'")
            for name, found in inputs.items():
                connection.register(name, found.arrow())
            query = parse_one(sql, dialect="spark")
            self._register_tables(connection, query)
            for cast in list(query.find_all(exp.TryCast)):
                if not cast.args.get(
                    "safe"
                ):  # Spark's CAST fails in ANSI mode; sqlglot knows the old one
                    cast.replace(exp.Cast(**cast.args))
            result = connection.sql(query.sql(dialect="duckdb")).to_arrow_table()
        except SqlglotError as error:
            raise EvaluationFailed(f"the query cannot be parsed: {error}") from error
        finally:
            connection.close()
        return _Found.of(result)

    def _register_tables(self, connection: duckdb.DuckDBPyConnection, query: exp.Expr) -> None:
        """Put what two-part names stand for where DuckDB finds it, under one-part names."""
        for number, table in enumerate(list(query.find_all(exp.Table))):
            if not table.db:
                continue
            alias = table.alias_or_name
            registered = f"_catalog_{number}"
            name = TableName(table.db, table.name, table.catalog)
            connection.register(registered, self._named(name).arrow())
            table.replace(exp.to_table(registered).as_(alias))

    def _named(self, name: TableName) -> _Found:
        """All rows of a table or view, now."""
        if name in self._catalog.tables:
            table = self._catalog.tables[name]
            return _Found(table.columns, table.rows_at(table.head))
        view = self._catalog.view(name)
        if view is not None:
            return self._named(view.target).selected([each.name for each in view.columns])
        if name in self._catalog.queries:
            return self._query(self._catalog.queries[name], {})
        raise EvaluationFailed(f"{name} does not exist")


def _partition_axis(staging: Staging) -> TimeAxisSpec | None:
    """The time by which the table is partitioned, where a time column does it by itself."""
    axes = [axis for part in staging.parts if (axis := getattr(part.write, "axis", None))]
    partitions = staging.storage.partitioned_by
    return next((axis for axis in axes if time_partition(axis) in partitions), None)


class _Found:
    """Rows with their columns."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        self.columns = tuple(columns)
        self.rows = tuple(rows)

    @classmethod
    def of(cls, table: pa.Table) -> _Found:
        columns = [Column(name=each.name, type=_spark_type(each.type)) for each in table.schema]
        arrays = [array.to_pylist() for array in table.columns]
        return cls(columns, [tuple(each) for each in zip(*arrays, strict=True)])

    def arrow(self) -> pa.Table:
        arrays = [
            pa.array([row[position] for row in self.rows], type=_arrow_type(column.type))
            for position, column in enumerate(self.columns)
        ]
        return pa.table(arrays, names=[each.name for each in self.columns])

    def selected(self, names: Sequence[str]) -> _Found:
        known = [each.name.lower() for each in self.columns]
        order = [known.index(name.lower()) for name in names]
        return _Found(
            [self.columns[position] for position in order],
            [tuple(row[position] for position in order) for row in self.rows],
        )

    def declared(self, columns: Sequence[Column]) -> _Found:
        """These rows with exactly the declared columns and types."""
        _same_columns(self.columns, columns, "declared are")
        ordered = self.selected([each.name for each in columns]).arrow()
        schema = pa.schema([(each.name, _arrow_type(each.type)) for each in columns])
        found = _Found.of(ordered.cast(schema))
        return _Found(columns, found.rows)


def _fitted(found: _Found, columns: tuple[Column, ...], name: TableName) -> tuple[Row, ...]:
    _same_columns(found.columns, columns, f"the table {name} has")
    return found.selected([each.name for each in columns]).rows


def _same_columns(found: Sequence[Column], wanted: Sequence[Column], told: str) -> None:
    if sorted(each.name.lower() for each in found) != sorted(each.name.lower() for each in wanted):
        raise EvaluationFailed(
            f"the result has the columns {', '.join(each.name for each in found)}; {told} "
            f"{', '.join(each.name for each in wanted)}"
        )


def _instants(table: Table, rows: Sequence[Row], axis: TimeAxisSpec) -> list[datetime | None]:
    names = [each.name.lower() for each in table.columns]
    position = names.index(axis.column.lower())
    return [instant_of(row[position]) for row in rows]


def _inside(
    table: Table, rows: Sequence[Row], intervals: Sequence[Interval], axis: TimeAxisSpec
) -> tuple[Row, ...]:
    return tuple(
        row
        for row, at in zip(rows, _instants(table, rows, axis), strict=True)
        if at is not None and any(each.start <= at < each.end for each in intervals)
    )


def _sums(
    table: Table, rows: Sequence[Row], write: OverwriteIntervals | AppendToIntervals
) -> dict[Interval, RowSum]:
    unit = write.axis.unit
    try:
        sums = {cell: RowSum() for each in write.intervals for cell in unit.cells(each)}
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error
    for row, at in zip(rows, _instants(table, rows, write.axis), strict=True):
        assert at is not None  # rows without a time are in no interval
        start = unit.floor(at)
        sums[Interval(start, unit.following(start))] += _row_sum(row)
    return sums


def _row_sum(row: Row) -> RowSum:
    digest = hashlib.sha256(repr(tuple(map(_canonical, row))).encode()).digest()
    return RowSum(rows=1, sum=int.from_bytes(digest[:16], "big"))


def _canonical(value: Any) -> object:  # noqa: ANN401 - rows hold whatever DuckDB returns
    match value:
        case float():
            return "nan" if math.isnan(value) else value + 0.0
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case Decimal():
            return ("decimal", str(value))
        case dict():
            return ("struct", tuple((key, _canonical(each)) for key, each in value.items()))
        case list():
            return ("list", tuple(map(_canonical, value)))
        case _:
            return value


def _arrow_type(spark: str) -> pa.DataType:
    name = spark.strip().lower()
    if name in _ARROW:
        return _ARROW[name]
    parsed = exp.DataType.build(name, dialect="spark")
    if parsed.is_type("decimal"):
        sizes = [int(each.name) for each in parsed.expressions] or [10]
        return pa.decimal128(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if parsed.is_type("array"):
        return pa.list_(_arrow_type(parsed.expressions[0].sql("spark")))
    if parsed.is_type("struct"):
        return pa.struct(
            [
                (each.name, _arrow_type(each.args["kind"].sql("spark")))
                for each in parsed.expressions
            ]
        )
    if parsed.is_type("char", "varchar", "text"):
        return pa.string()
    raise EvaluationFailed(f"the engine in memory has no type {spark}")


def _spark_type(arrow: pa.DataType) -> str:
    for name, known in _ARROW.items():
        if known == arrow:
            return name
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz else "timestamp_ntz"
    if pa.types.is_list(arrow):
        return f"array<{_spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return f"struct<{','.join(f'{each.name}:{_spark_type(each.type)}' for each in arrow)}>"
    if pa.types.is_null(arrow):
        raise EvaluationFailed("a column is NULL without a type; cast it")
    return str(arrow)


@contextmanager
def _failures(subject: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except EvaluationFailed as error:
        raise EvaluationFailed(f"{subject}: {error}") from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise EvaluationFailed(f"{subject}: {str(error).splitlines()[0]}") from error
