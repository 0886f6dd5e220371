"""The engine on Spark: rows are staged on an Iceberg branch, then hashed as they lie there."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, assert_never

from sqlglot import exp

from vde_dagster.core.dsha import Column, RowSum, total
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.intervals import EPOCH, Interval, IntervalUnit, merge
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.work import (
    AppendToIntervals,
    OverwriteIntervals,
    Part,
    ReplaceTable,
    Staged,
    Staging,
    TimeAxisSpec,
    Write,
)
from vde_dagster.lakehouse.publish import branch_name

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
    from pyspark.sql.types import StructType

_WORK: Final = "vde.work-id"
_ATTEMPT: Final = "vde.attempt"
_PROPERTIES: Final = {
    "format-version": "2",
    # One task, and so one file, per partition; within a task rows are sorted by partition.
    "write.distribution-mode": "hash",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "25",
}
_SECONDS: Final = {
    IntervalUnit.FIVE_MINUTE: 300,
    IntervalUnit.QUARTER_HOUR: 900,
    IntervalUnit.HALF_HOUR: 1800,
    IntervalUnit.HOUR: 3600,
    IntervalUnit.DAY: 86400,
}


class SparkEngine:
    """Implements `vde_dagster.ports.engine.Engine`.

    Args:
        session_factory: Opens the session; called once, by the first call that needs it. The
            session's zone is UTC.
        catalog_name: The Iceberg catalog of all tables, as the session knows it.
    """

    def __init__(self, session_factory: Callable[[], SparkSession], catalog_name: str) -> None:
        self._factory = session_factory
        self._catalog = catalog_name
        self._session: SparkSession | None = None
        self._lock = threading.RLock()
        self._namespaces: set[str] = set()

    @property
    def started(self) -> bool:
        """Whether a session was needed so far."""
        return self._session is not None

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work to the branch named after its work id; see the port."""
        from vde_dagster.lakehouse.evaluation import failures

        # Temporary views belong to the session: two units of work must not meet in their names.
        with self._lock, failures(str(staging.target)):
            return _Stage(self._spark(), self._catalog, staging, self._ensure_namespace).run()

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns; see the port."""
        from vde_dagster.lakehouse.evaluation import failures, qualified, table_sql

        with failures(str(name)):
            spark = self._spark()
            self._ensure_namespace(name)
            target = table_sql(self._catalog, name)
            told = f" COMMENT {exp.Literal.string(comment).sql('spark')}" if comment else ""
            query = qualified(sql, self._catalog)
            spark.sql(f"CREATE OR REPLACE VIEW {target}{told} AS {query}")
            return _columns(spark.table(target).schema)

    def fetch(
        self, sql: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows of a query, for people; see the port."""
        from vde_dagster.lakehouse.evaluation import failures, qualified

        with failures("the query"):
            frame = self._spark().sql(qualified(sql, self._catalog))
            rows = frame.limit(limit).collect()
            instants = [each.dataType.typeName() == "timestamp" for each in frame.schema.fields]
            return tuple(frame.columns), [
                tuple(
                    # PySpark returns an instant as the wall-clock time of this process's zone.
                    value.astimezone(UTC) if instant and value is not None else value
                    for value, instant in zip(row, instants, strict=True)
                )
                for row in rows
            ]

    def stop(self) -> None:
        """End the session, where one was started."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _spark(self) -> SparkSession:
        with self._lock:
            if self._session is None:
                self._session = self._factory()
                self._session.conf.set("spark.sql.session.timeZone", "UTC")
            return self._session

    def _ensure_namespace(self, name: TableName) -> None:
        if name.namespace not in self._namespaces:
            namespace = exp.Table(
                this=exp.to_identifier(name.namespace, quoted=True),
                db=exp.to_identifier(self._catalog, quoted=True),
            ).sql("spark")
            self._spark().sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
            self._namespaces.add(name.namespace)


class _Stage:
    """One call of `stage`: the branch, and its head after each part."""

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        staging: Staging,
        ensure_namespace: Callable[[TableName], None],
    ) -> None:
        from vde_dagster.lakehouse.evaluation import table_sql

        self._spark = spark
        self._catalog = catalog
        self._staging = staging
        self._ensure_namespace = ensure_namespace
        self._name = staging.target.table
        self._table = table_sql(catalog, self._name)
        self._branch = branch_name(staging.work_id)
        self._attempt = uuid.uuid4().hex
        self._head = staging.base
        self._schema: StructType | None = None

    def run(self) -> Staged:
        """Stage all parts in order."""
        from vde_dagster.lakehouse.evaluation import bound_rows, declared_frame

        staging = self._staging
        sums: list[Mapping[Interval, RowSum]] = []
        for number, part in enumerate(staging.parts):
            with bound_rows(
                self._spark,
                self._catalog,
                part.rows,
                part.inputs,
                staging.columns,
                model=str(staging.target),
            ) as rows:
                frame = declared_frame(rows, staging.columns)
                if self._schema is None:
                    self._schema = self._prepare(frame.schema)
                sums.append(self._write(number, part, self._fitting(frame, self._schema)))
        if self._schema is None:
            raise EvaluationFailed("a unit of work without parts has nothing to stage")
        return Staged(
            iceberg_snapshot_id=self._head, sums=tuple(sums), columns=_columns(self._schema)
        )

    def _prepare(self, schema: StructType) -> StructType:
        """Make the table where it is missing, and an empty attempt of the branch."""
        if not self._spark.catalog.tableExists(self._table):
            self._ensure_namespace(self._name)
            self._spark.sql(self._definition(schema))
        quoted = exp.to_identifier(self._branch, quoted=True).sql("spark")
        if self._staging.base is None:
            # A table without any snapshot refuses to replace a branch.
            self._spark.sql(f"ALTER TABLE {self._table} DROP BRANCH IF EXISTS {quoted}")
            self._spark.sql(f"ALTER TABLE {self._table} CREATE BRANCH {quoted}")
        else:
            self._spark.sql(
                f"ALTER TABLE {self._table} CREATE OR REPLACE BRANCH {quoted} "
                f"AS OF VERSION {self._staging.base:d}"
            )
        return self._spark.table(self._table).schema

    def _definition(self, schema: StructType) -> str:
        untyped = [each.name for each in schema.fields if each.dataType.typeName() == "void"]
        if untyped:
            raise EvaluationFailed(
                f"column {', '.join(untyped)} is NULL without a type; cast it, as in "
                "CAST(NULL AS STRING)"
            )
        from pyspark.sql.types import StructField, StructType

        described = {name.lower(): text for name, text in self._staging.descriptions.items()}
        fields = []
        for each in schema.fields:
            comment = described.get(each.name.lower())
            metadata = {"comment": comment} if comment else {}
            fields.append(StructField(each.name, each.dataType, nullable=True, metadata=metadata))
        properties = {
            **_PROPERTIES,
            "vde.model": str(self._staging.target.model),
            "vde.version": self._staging.target.version,
        }
        listed = ", ".join(
            f"{_literal(key)} = {_literal(text)}" for key, text in properties.items()
        )
        axis = self._staging.partition_by
        partitioned = f" PARTITIONED BY ({_partition(axis)})" if axis else ""
        ddl = StructType(fields).toDDL()
        return (
            f"CREATE TABLE IF NOT EXISTS {self._table} ({ddl}) USING iceberg{partitioned} "
            f"TBLPROPERTIES ({listed})"
        )

    def _fitting(self, frame: DataFrame, schema: StructType) -> DataFrame:
        """The frame's columns in the table's order."""
        there = {name.lower() for name in frame.columns}
        wanted = [each.name.lower() for each in schema.fields]
        if there != set(wanted) or len(frame.columns) != len(wanted):
            raise EvaluationFailed(
                f"the result has the columns {', '.join(frame.columns)}, but the table "
                f"{self._name} has {', '.join(wanted)}"
            )
        return frame.select(*[frame[_quoted(name)] for name in wanted])

    def _write(self, number: int, part: Part, frame: DataFrame) -> Mapping[Interval, RowSum]:
        from pyspark.sql import functions as F  # noqa: N812

        write = part.write
        requested = _requested(write)
        token = f"{self._attempt}-{number}"
        before = self._head
        written: DataFrame | None = None
        match write:
            case ReplaceTable():
                self._writer(frame, token).overwrite(F.lit(True))
                committed = self._committed(token)
                written = self._at_head()
            case OverwriteIntervals():
                scope = self._scope(write)
                self._writer(self._replacing(frame, write, scope), token).overwrite(scope)
                committed = self._committed(token)
                written = self._at_head()
                written = None if written is None else written.where(scope)
            case AppendToIntervals():
                rows = frame.where(_in(write.axis, write.intervals))
                self._writer(rows, token).append()
                committed = self._committed(token)
                written = self._added_since(before) if committed else None
            case _:
                assert_never(write)
        sums = _sums(written, write)
        counted = total(sums.values()).rows
        if counted != committed:
            raise EvaluationFailed(
                f"part {number + 1} wrote {committed} rows, but {counted} are found on the "
                "branch; nothing was published"
            )
        return {interval: sums.get(interval, RowSum()) for interval in requested}

    def _writer(self, frame: DataFrame, token: str) -> DataFrameWriterV2:
        branch = exp.to_identifier(f"branch_{self._branch}", quoted=True).sql("spark")
        return (
            frame.writeTo(f"{self._table}.{branch}")
            .option(f"snapshot-property.{_WORK}", self._staging.work_id)
            .option(f"snapshot-property.{_ATTEMPT}", token)
        )

    def _scope(self, write: OverwriteIntervals) -> SparkColumn:
        """The whole partitions in which the intervals lie: Iceberg replaces whole files."""
        from pyspark.sql import functions as F  # noqa: N812

        axis = self._staging.partition_by
        if axis is None:
            return F.lit(True)
        grain = _grain(axis)
        return _in(write.axis, [grain.widen(each) for each in write.intervals])

    def _replacing(
        self, frame: DataFrame, write: OverwriteIntervals, scope: SparkColumn
    ) -> DataFrame:
        """The new rows of the intervals, with what their partitions hold beside them."""
        inside = _in(write.axis, write.intervals)
        rows = frame.where(inside)
        axis = self._staging.partition_by
        held = self._at_head()
        whole = axis is not None and merge(write.intervals) == merge(
            _grain(axis).widen(each) for each in write.intervals
        )
        if whole or held is None:
            return rows
        return rows.unionByName(held.where(scope).where(~inside | inside.isNull()))

    def _committed(self, token: str) -> int:
        """Move the head to the Iceberg snapshot that a write made; return how many rows it added.

        A write that changes nothing may make none.
        """
        from pyspark.sql import functions as F  # noqa: N812

        summary = F.col("summary")
        rows = (
            self._spark.table(f"{self._table}.snapshots")
            .where(summary[_ATTEMPT] == token)
            .select("snapshot_id", summary["added-records"].alias("added"))
            .collect()
        )
        if not rows:
            return 0
        (row,) = rows
        self._head = row["snapshot_id"]
        return int(row["added"] or 0)

    def _at_head(self) -> DataFrame | None:
        """The rows on the branch; None where it has no Iceberg snapshot of ours or of `main`'s."""
        if self._head is None:
            return None
        return self._spark.read.option("versionAsOf", str(self._head)).table(self._table)

    def _added_since(self, before: int | None) -> DataFrame | None:
        if before is None:
            return self._at_head()
        return (
            self._spark.read.format("iceberg")
            .option("start-snapshot-id", str(before))
            .option("end-snapshot-id", str(self._head))
            .load(self._table)
        )


def _sums(written: DataFrame | None, write: Write) -> dict[Interval, RowSum]:
    """The sums of the rows that lie on the branch, by the interval that each row belongs to."""
    from vde_dagster.lakehouse.row_hash import row_sums

    if written is None:
        return {}
    if isinstance(write, ReplaceTable):
        return {write.interval: total(row_sums(written).values())}
    sums: dict[Interval, RowSum] = {}
    for micros, rows in row_sums(written, _cell_start(write.axis)).items():
        if not isinstance(micros, int):
            raise EvaluationFailed(f"{rows.rows} rows have no {write.axis.column}")
        start = EPOCH + timedelta(microseconds=micros)
        sums[Interval(start, write.axis.unit.following(start))] = rows
    return sums


def _requested(write: Write) -> list[Interval]:
    if isinstance(write, ReplaceTable):
        return [write.interval]
    try:
        return [cell for each in write.intervals for cell in write.axis.unit.cells(each)]
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error


def _in(axis: TimeAxisSpec, intervals: Iterable[Interval]) -> SparkColumn:
    """The condition that a row's time lies in one of the intervals."""
    from pyspark.sql import functions as F  # noqa: N812

    column = exp.column(axis.column, quoted=True)
    ranges = [within(column, each, time_type=axis.type) for each in merge(intervals)]
    return F.expr(exp.or_(*ranges).sql("spark")) if ranges else F.lit(False)


def _cell_start(axis: TimeAxisSpec) -> SparkColumn:
    """The start of the unit that a row's time lies in, in microseconds (session in UTC)."""
    from pyspark.sql import functions as F  # noqa: N812

    instant = F.col(_quoted(axis.column)).cast("timestamp")
    if axis.unit in _SECONDS:
        micros = F.unix_micros(instant)
        return micros - F.pmod(micros, F.lit(_SECONDS[axis.unit] * 1_000_000))
    return F.unix_micros(F.date_trunc(axis.unit.value, instant))


def _grain(axis: TimeAxisSpec) -> IntervalUnit:
    """The unit of a table's partitions: not finer than an hour, or a day for dates."""
    if axis.unit in (IntervalUnit.DAY, IntervalUnit.MONTH, IntervalUnit.YEAR):
        return axis.unit
    return IntervalUnit.DAY if axis.type.lower() == "date" else IntervalUnit.HOUR


def _partition(axis: TimeAxisSpec) -> str:
    grain = _grain(axis)
    column = exp.to_identifier(axis.column, quoted=True).sql("spark")
    if grain is IntervalUnit.DAY and axis.type.lower() == "date":
        return column
    return f"{grain.value}s({column})"


def _columns(schema: StructType) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=each.name,
            type=each.dataType.simpleString(),
            description=(each.metadata or {}).get("comment", ""),
        )
        for each in schema.fields
    )


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql("spark")


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")
