"""One unit of work on Spark: checked as a whole, then written to a branch batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import (
    FrameRows,
    Input,
    PlannedWrite,
    PythonRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.writes import AppendToIntervals, OverwriteIntervals, hidden_by
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.digest import Figures
from vde_dagster.lakehouse.iceberg.iceberg_types import schemas_of
from vde_dagster.lakehouse.iceberg.tables import (
    columns_of,
    order_statements,
    partitions_of,
    quoted,
    simple_name,
)
from vde_dagster.lakehouse.spark.connect import named
from vde_dagster.lakehouse.staging.auditing import run_audits
from vde_dagster.lakehouse.staging.branch import Branch
from vde_dagster.lakehouse.staging.evaluation import (
    bound_rows,
    failed,
    first_useful_line,
    qualified,
)
from vde_dagster.lakehouse.staging.fitting import as_declared, check, declared_schema, new_columns
from vde_dagster.lakehouse.staging.storable import spark_schema
from vde_dagster.lakehouse.staging.stored_values import with_columns_of
from vde_dagster.lakehouse.staging.table_rows import (
    check_times,
    input_frame,
    rows_at,
    table_sql,
    with_times,
)
from vde_dagster.lakehouse.writes import completed, returned_columns, write_rows, written_columns
from vde_dagster.lakehouse.writes.history import ends_history
from vde_dagster.lakehouse.writes.intervals import RangeWrite, Written, rows_within, take_over

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession


class Stage:
    """One call of the engine's `stage`.

    Args:
        spark: The session in which the unit of work runs.
        catalog: The catalog's name in it.
        staging: The unit of work.
        create: Creates the table of the unit of work for rows of a schema, with its branch.
        load: Reads a table's metadata as it is now.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        staging: Staging,
        create: Callable[[Staging, StructType], Table],
        load: Callable[[TableName], Table],
    ) -> None:
        self._spark = spark
        self._catalog = catalog
        self._staging = staging
        self._create = create
        self._load = load

    def run(self) -> Staged:
        """Check all batches, then stage them in order.

        Raises:
            EvaluationFailed: See the port.
        """
        staging = self._staging
        if not staging.parts:
            raise EvaluationFailed("a unit of work without parts has nothing to stage")
        returned = returned_columns(staging)
        self._staging = replace(staging, columns=written_columns(staging))
        with ExitStack() as bound:
            bound.enter_context(named(self._spark, self._frames(staging.statement_inputs)))
            self._run_before(returned)
            if self._staging.shallow_copy_of is not None:
                return self._taken_over(returned)
            if self._staging.is_in_order:
                return self._written_in_order(returned)
            frames = [
                completed(bound.enter_context(self._rows(part, returned)), part.write)
                for part in staging.parts
            ]
            return self._written(frames)

    def _written(self, frames: Sequence[DataFrame]) -> Staged:
        """Stage the rows of all batches, once it is known that they fit."""
        staging = self._staging
        found = self._found()
        table = spark_schema(found.schema()) if found is not None else None
        check([each.schema for each in frames], staging, table)
        schemas = [declared_schema(each.schema, staging.columns) for each in frames]
        branch, schema = self._prepare(schemas, found, table)
        fitted = [
            self._fitted(frame, part, schema)
            for frame, part in zip(frames, staging.parts, strict=True)
        ]
        written = _write(branch, fitted, staging.parts)
        return self._ended(branch, schema, written, [each.sums for each in written])

    def _written_in_order(self, returned: tuple[Column, ...]) -> Staged:
        """Stage batches one after the other, each of which reads what those before it wrote.

        A batch that follows one whose rows came out as they were before is left out.
        """
        staging = self._staging
        found = self._found()
        table = spark_schema(found.schema()) if found is not None else None
        with self._bound(staging.parts[0], self._no_rows(returned), returned) as frame:
            check([frame.schema], staging, table)
            first = declared_schema(frame.schema, staging.columns)
            branch, schema = self._prepare([first], found, table)
        written: list[Written] = []
        sums: list[Mapping[Interval, RowSum]] = []
        moved = False
        for part in staging.parts:
            if part.follows and not moved:
                sums.append({})
                continue
            with self._bound(part, rows_within(branch.rows(), part.own_rows), returned) as frame:
                check([frame.schema], staging, schema)
                written += _write(branch, [self._fitted(frame, part, schema)], [part])
            sums.append(written[-1].sums)
            moved = part.is_moved(written[-1].sums)
        return self._ended(branch, schema, written, sums)

    def _taken_over(self, returned: tuple[Column, ...]) -> Staged:
        """Stage the files of another table, of whose rows it is known that they fit."""
        staging = self._staging
        (part,) = staging.parts
        with self._rows(part, returned) as frame:
            check([frame.schema], staging, None)
            schema = declared_schema(frame.schema, staging.columns)
        found = self._create(staging, schema)
        branch = Branch(self._spark, self._catalog, staging, self._load)
        branch.open(found)
        written = take_over(branch, part.write)
        return self._ended(branch, spark_schema(found.schema()), [written], [written.sums])

    def _ended(
        self,
        branch: Branch,
        schema: StructType,
        written: Sequence[Written],
        sums: Sequence[Mapping[Interval, RowSum]],
    ) -> Staged:
        """What was staged, once it is audited and the post-statements have run."""
        audits = self._audit(branch, written)
        merged = [each.merged for each in written if each.merged is not None]
        if not any(each.stops for each in audits):
            self._run(self._staging.after, lambda: self._shown(branch.rows()), "after")
        return Staged(
            iceberg_snapshot_id=branch.head,
            sums=tuple(sums),
            columns=columns_of(schema),
            audits=audits,
            ends_history=ends_history(branch),
            merged=reduce(add, merged) if merged else None,
        )

    def _fitted(self, frame: DataFrame, part: PlannedWrite, table: StructType) -> DataFrame:
        """The rows of a batch with the table's columns: those of a function are never rounded."""
        exactly = isinstance(part.rows, PythonRows | FrameRows)
        declared = as_declared(frame, self._staging.columns, exactly=exactly)
        return with_columns_of(declared, table)

    @contextmanager
    def _bound(
        self, part: PlannedWrite, own: DataFrame, returned: tuple[Column, ...]
    ) -> Iterator[DataFrame]:
        """The rows of a batch that reads rows of the table itself."""
        views = {name: own for name, each in part.inputs.items() if each is part.own_rows}
        with named(self._spark, views), self._rows(part, returned) as frame:
            yield frame

    def _rows(
        self, part: PlannedWrite, returned: tuple[Column, ...]
    ) -> AbstractContextManager[DataFrame]:
        """The rows of a batch, while what they read has its names; own rows are named before."""
        return bound_rows(
            self._spark,
            self._catalog,
            part.rows,
            {name: each for name, each in part.inputs.items() if each is not part.own_rows},
            returned,
            model=str(self._staging.target),
        )

    def _prepare(
        self, schemas: Sequence[StructType], found: Table | None, table: StructType | None
    ) -> tuple[Branch, StructType]:
        """Create the table or bring it up to date, and open the branch on it.

        Args:
            schemas: Those of the rows of all batches.
            found: The table as it is, if there is one.
            table: Its schema.

        Returns:
            The branch, and the schema that the table has now.
        """
        staging = self._staging
        name = table_sql(self._catalog, staging.target.table)
        if found is None or table is None:
            found = self._create(staging, schemas[0])
        elif self._add_columns(name, schemas, table):
            found = self._load(staging.target.table)
        for statement in order_statements(name, staging.storage, found):
            self._spark.sql(statement)
        # A kept version may have been created with other partitions: those count for writes.
        storage = replace(staging.storage, partitioned_by=partitions_of(found))
        branch = Branch(self._spark, self._catalog, replace(staging, storage=storage), self._load)
        branch.open(found)
        if staging.rebuilds:
            branch.clear()
        return branch, spark_schema(found.schema())

    def _add_columns(self, name: str, schemas: Iterable[StructType], table: StructType) -> bool:
        """Add the columns that the table lacks (rule R11), and say whether there were any.

        Readers name theirs and see no change.
        The types of the first batch with a column count; later batches are cast to them.
        """
        added = {
            each.name.lower(): each
            for schema in reversed(list(schemas))
            for each in new_columns(schema, table)
        }
        if added:
            listed = ", ".join(
                f"{quoted(each.name)} {simple_name(each.dataType)}" for each in added.values()
            )
            self._spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({listed})")
        return bool(added)

    def _audit(self, branch: Branch, written: Sequence[Written]) -> tuple[AuditResult, ...]:
        """What is found among the rows of all batches; of a table that is rebuilt, among all."""
        staging = self._staging
        findings = tuple(finding for each in written for finding in each.findings)
        if not staging.audits:
            return findings
        staged = [self._shown(branch.rows())] if staging.rebuilds else [e.rows() for e in written]
        rows = reduce(lambda left, right: left.unionByName(right), staged)
        with ExitStack() as views:
            inputs = {
                name: views.enter_context(
                    branch.view(input_frame(self._spark, self._catalog, each), f"audit_{number}")
                ).name
                for number, (name, each) in enumerate(staging.audit_inputs.items())
            }
            return (*run_audits(self._spark, rows, staging.audits, inputs), *findings)

    def _shown(self, rows: DataFrame) -> DataFrame:
        """Of rows of the table those that readers see."""
        hidden = hidden_by(self._staging.parts[0].write)
        return rows if hidden is None else rows.where(hidden.visible.sql("spark"))

    def _run_before(self, returned: tuple[Column, ...]) -> None:
        """Run the pre-statements; if they read the model itself, they see its published rows."""
        staging = self._staging

        def published() -> DataFrame:
            found = self._found()
            if found is None:
                return self._no_rows(returned)
            table, schemas = staging.target.table, schemas_of(found)
            return self._shown(rows_at(self._spark, self._catalog, table, schemas, staging.base))

        self._run(staging.before, published, "before")

    def _no_rows(self, returned: tuple[Column, ...]) -> DataFrame:
        """The model's own rows if it has no table yet: none, with the columns that it will have."""
        staging, first = self._staging, self._staging.parts[0]
        schema = declared_schema(StructType(), staging.columns)
        if not staging.columns:
            try:
                with self._rows(first, returned) as frame:
                    schema = completed(frame, first.write).schema
            except PySparkException as error:
                raise EvaluationFailed(
                    f"{staging.path}: a statement before the query reads the model's own rows. On "
                    "the first load there are none, and their columns are unknown until the "
                    f"statements have run: {first_useful_line(error)}",
                    advice="Declare the model's `columns`.",
                ) from error
        return self._spark.createDataFrame([], schema)

    def _run(
        self, statements: Sequence[str], own_rows: Callable[[], DataFrame], where: str
    ) -> None:
        staging = self._staging
        with ExitStack() as bound:
            if staging.own_name and any(staging.own_name in each for each in statements):
                bound.enter_context(named(self._spark, {staging.own_name: own_rows()}))
            for number, statement in enumerate(statements, start=1):
                try:
                    self._spark.sql(qualified(statement, self._catalog)).collect()
                except Exception as error:  # whatever Spark raises, it is a user's statement
                    failure = f"statement {number} {where} the query failed"
                    raise failed(error).within(failure) from error

    def _frames(self, inputs: Mapping[str, Input]) -> dict[str, DataFrame]:
        return {
            name: input_frame(self._spark, self._catalog, each) for name, each in inputs.items()
        }

    def _found(self) -> Table | None:
        """The target as it is; None where there is none yet."""
        try:
            return self._load(self._staging.target.table)
        except NoSuchTableError:
            return None


def _write(
    branch: Branch, frames: Sequence[DataFrame], parts: Sequence[PlannedWrite]
) -> Sequence[Written]:
    """Write the rows of some batches."""
    timed = [_timed(frame, part) for frame, part in zip(frames, parts, strict=True)]
    written = write_rows(branch, [rows for rows, _ in timed], [part.write for part in parts])
    return [
        _with_findings(each, part, times)
        for each, part, (_, times) in zip(written, parts, timed, strict=True)
    ]


def _timed(rows: DataFrame, part: PlannedWrite) -> tuple[DataFrame, Figures | None]:
    """The rows of a batch, and what will be known of the times that a function returned."""
    if isinstance(part.rows, PythonRows | FrameRows) and isinstance(part.write, RangeWrite):
        return with_times(rows, part.write.axis)
    return rows, None


def _with_findings(written: Written, part: PlannedWrite, times: Figures | None) -> Written:
    """The same, with what is found of rows of a function that are all outside of its intervals."""
    match part:
        case PlannedWrite(
            rows=PythonRows(place=place) | FrameRows(place=place),
            write=OverwriteIntervals(intervals=intervals, axis=axis)
            | AppendToIntervals(intervals=intervals, axis=axis),
        ) if times is not None and not total(written.sums.values()).rows:
            return replace(written, findings=check_times(times, axis, intervals, place=place))
        case _:
            return written
