"""The engine on Spark: rows are staged on an Iceberg branch and hashed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from vde_dagster.core.clean_up.compaction import SMALL, Compaction
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.unit_of_work import (
    FrameRows,
    Input,
    PythonRows,
    RowSource,
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.question import FunctionOverRows, Question
from vde_dagster.lakehouse.spark.lanes import Lane, Lanes
from vde_dagster.lakehouse.spark.session import add_catalog, restore, result_settings, settle
from vde_dagster.ports.engine import Compacted, EngineProgress, Sought, TableRows
from vde_dagster.runtime.spans import span

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class SparkEngine:
    """Implements `vde_dagster.ports.engine.Engine`.

    Threads that share it have a session each; others use the main session, one at a time.

    Args:
        session_factory: Opens the session; called once, by the first call that needs it.
            Settings that may change results are pinned, and reset before each unit of work
            (`vde_dagster.lakehouse.spark.session`).
        catalog_name: The Iceberg catalog of all tables, as the session knows it.
        metadata: Opens the same catalog for reading metadata; called once, when it is needed.
        state: The id of the state whose tables and views are made.
    """

    def __init__(
        self,
        session_factory: Callable[[], SparkSession],
        catalog_name: str,
        metadata: Callable[[], PyIcebergCatalog],
        state: Callable[[], str] = str,
    ) -> None:
        self._factory = session_factory
        self._catalog = catalog_name
        self._open_metadata = metadata
        self._state = state
        self._metadata: PyIcebergCatalog | None = None
        self._session_now: SparkSession | None = None
        self._settings: Mapping[str, str] = {}
        self._main: Lane | None = None
        self._lanes = Lanes()
        self._using_main = threading.RLock()
        self._starting = threading.Lock()
        self._opening = threading.Lock()
        self._namespaces: set[str] = set()

    @property
    def started(self) -> bool:
        """Whether a session was needed so far."""
        return self._session_now is not None

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work to the branch named after its work id; see the port."""
        from vde_dagster.lakehouse.staging.evaluation import failures
        from vde_dagster.lakehouse.staging.staged_work import Stage

        with failures(str(staging.target)), self._session_for(staging) as spark:
            staging = replace(staging, state=self._state())
            return Stage(spark, self._catalog, staging, self._create, self._load).run()

    def columns_of(self, rows: SqlRows, inputs: Mapping[str, Input]) -> tuple[Column, ...]:
        """The columns that a query returns, without computing a row; see the port."""
        from vde_dagster.lakehouse.iceberg.tables import columns_of
        from vde_dagster.lakehouse.staging.evaluation import bound_rows

        with (
            self._session("the query") as spark,
            bound_rows(spark, self._catalog, rows, inputs, (), model="") as frame,
        ):
            return columns_of(frame.schema)

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns; see the port."""
        from vde_dagster.lakehouse.iceberg.tables import columns_of, literal, made_by
        from vde_dagster.lakehouse.staging.evaluation import qualified, unsubstituted
        from vde_dagster.lakehouse.staging.table_rows import table_sql

        with self._session(str(name)) as spark:
            self._ensure_namespace(name)
            target = table_sql(self._catalog, name)
            clause = f" COMMENT {literal(comment)}" if comment else ""
            query = unsubstituted(qualified(sql, self._catalog))
            spark.sql(f"CREATE OR REPLACE VIEW {target}{clause}{made_by(self._state())} AS {query}")
            return columns_of(spark.table(target).schema)

    def compact(self, name: TableName, wanted: Compaction) -> Compacted:
        """Rewrite the small files of a table; see the port.

        Iceberg's own procedure commits it as one replacement, or not at all.
        """
        from vde_dagster.lakehouse.iceberg.tables import literal, quoted

        options = {
            "target-file-size-bytes": wanted.file_size,
            "min-file-size-bytes": int(wanted.file_size * SMALL),
            "min-input-files": wanted.least,
        }
        given = ", ".join(
            f"{literal(key)}, {literal(str(value))}" for key, value in options.items()
        )
        procedure = ".".join(map(quoted, (self._catalog, "system", "rewrite_data_files")))
        table = literal(f"{quoted(name.namespace)}.{quoted(name.name)}")
        with self._session(str(name)) as spark:
            is_sorted = bool(self._load(name).sort_order().fields)
            strategy = literal("sort" if is_sorted else "binpack")
            (row,) = spark.sql(
                f"CALL {procedure}(table => {table}, strategy => {strategy}, "
                f"options => map({given}))"
            ).collect()
        return Compacted(
            files=int(row["rewritten_data_files_count"]),
            files_after=int(row["added_data_files_count"]),
        )

    def sums(self, sought: Sought, *, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of a table's rows; see the port."""
        from pyiceberg.exceptions import NoSuchTableError

        from vde_dagster.lakehouse.iceberg.iceberg_types import schemas_of
        from vde_dagster.lakehouse.staging.table_rows import rows_at, sums_of

        table, at = sought.table, sought.iceberg_snapshot_id
        with self._session(str(table)) as spark:
            try:
                schemas = schemas_of(self._load(table))
            except NoSuchTableError as error:
                raise EvaluationFailed("its table no longer exists") from error
            rows = rows_at(spark, self._catalog, table, schemas, at)
            return sums_of(rows, sought, algorithm)

    def read(self, wanted: TableRows) -> DataFrame:
        """Rows for a user's own code, in the session of users' assets; see the port."""
        from vde_dagster.lakehouse.spark.lanes import session_for_users
        from vde_dagster.lakehouse.staging.evaluation import failures
        from vde_dagster.lakehouse.staging.table_rows import rows_for_users

        with failures(str(wanted.table)):
            main = self._spark()
            if wanted.table.catalog:
                add_catalog(main, self._catalog, wanted.table.catalog)
            return rows_for_users(session_for_users(main), self._catalog, wanted)

    def progress(self) -> EngineProgress | None:
        """What Spark is doing now; None over Spark Connect, which does not say. See the port."""
        from vde_dagster.lakehouse.spark.session import progress_of

        session = self._session_now
        return progress_of(session) if session is not None else None

    def sharing(self, name: str) -> AbstractContextManager[None]:
        """Compute in this thread beside others; see the port."""
        return self._lanes.sharing(name)

    def interrupt(self) -> None:
        """End what threads that share the engine compute now; see the port."""
        self._lanes.interrupt()

    def fetch(
        self, sql: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows of a query, for people; see the port."""
        from vde_dagster.lakehouse.staging.evaluation import qualified

        with self._session("the query") as spark:
            return _fetched(spark.sql(qualified(sql, self._catalog)), limit)

    def preview(
        self,
        rows: RowSource,
        inputs: Mapping[str, Input],
        columns: tuple[Column, ...],
        *,
        model: str,
        limit: int,
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows that a model would return; see the port."""
        from vde_dagster.lakehouse.staging.evaluation import bound_rows

        with (
            self._session(model, apart=isinstance(rows, PythonRows)) as spark,
            bound_rows(spark, self._catalog, rows, inputs, columns, model=model) as frame,
        ):
            return _fetched(frame, limit)

    def answer(self, question: Question, *, subject: str) -> Answer:
        """The rows that a query or function returns over given rows; see the port."""
        from vde_dagster.lakehouse.staging.declared_rows import answered

        by_function = isinstance(question, FunctionOverRows)
        with self._session(subject, apart=by_function) as spark:
            return answered(spark, question, subject=subject)

    def stop(self) -> None:
        """End the session, where one was started, and those beside it."""
        from vde_dagster.lakehouse.spark.connect import end

        main, self._main = self._main, None
        if main is not None:
            main.own.end()
        self._lanes.end()
        if self._session_now is not None:
            end(self._session_now)
            self._session_now = None

    @contextmanager
    def _session_for(self, staging: Staging) -> Iterator[SparkSession]:
        """Where a unit of work runs: in a session of its own where a user's code may change it."""
        given = [part.rows.frame for part in staging.parts if isinstance(part.rows, FrameRows)]
        for frame in given:
            if hasattr(frame, "sparkSession"):  # it can be written in its own session only
                with self._using_main:
                    yield frame.sparkSession
                return
        by_function = any(isinstance(part.rows, PythonRows) for part in staging.parts)
        apart = by_function or bool(staging.before or staging.after)
        with self._session(str(staging.target), apart=apart) as spark:
            yield spark

    @contextmanager
    def _session(self, subject: str, *, apart: bool = False) -> Iterator[SparkSession]:
        """A session that no other thread uses meanwhile, with the settings that models need.

        Args:
            subject: What fails, for messages.
            apart: Whether it is for a user's code, which may change it.
        """
        from vde_dagster.lakehouse.staging.evaluation import failures

        with failures(subject), self._lane() as lane:
            if not apart:
                yield lane.session
                return
            with lane.own.lent() as spark:
                yield spark

    @contextmanager
    def _lane(self) -> Iterator[Lane]:
        """The lane of this thread, whatever others changed in its sessions."""
        share = self._lanes.share
        if share is not None:
            share.stop_if_interrupted()  # before Spark is started for nobody
        with span("start Spark"):  # or another thread is at it
            main = self._spark()
        with span("Spark"):
            if share is None:
                with self._using_main:
                    restore(main, self._settings)
                    if self._main is None:
                        self._main = Lane(main)
                    yield self._main
                return
            with self._lanes.lent(share, main) as lane:
                restore(lane.session, self._settings)
                yield lane

    def _spark(self) -> SparkSession:
        """The main session. Its use does not block callers that only have to know it."""
        with self._starting:
            if self._session_now is None:
                session = self._factory()
                settle(session)
                self._settings = result_settings(session)
                self._session_now = session
            return self._session_now

    def _load(self, name: TableName) -> Table:
        from vde_dagster.lakehouse.iceberg.publish import load

        with span("catalog load"):
            return load(self._opened(), name)

    def _create(self, staging: Staging, schema: StructType) -> Table:
        from vde_dagster.lakehouse.iceberg.creation import created_table
        from vde_dagster.lakehouse.iceberg.shallow_copies import shallow_copy

        self._ensure_namespace(staging.target.table)
        source = staging.shallow_copy_of
        with span("create table"):
            if source is not None:
                return shallow_copy(self._opened(), staging, schema, source)
            return created_table(self._opened(), staging, schema)

    def _opened(self) -> PyIcebergCatalog:
        with self._opening:
            if self._metadata is None:
                self._metadata = self._open_metadata()
            return self._metadata

    def _ensure_namespace(self, name: TableName) -> None:
        from vde_dagster.lakehouse.iceberg.tables import quoted
        from vde_dagster.lakehouse.staging.evaluation import failures

        if name.namespace not in self._namespaces:
            namespace = f"{quoted(self._catalog)}.{quoted(name.namespace)}"
            statement = f"CREATE NAMESPACE IF NOT EXISTS {namespace}"
            try:
                with failures(name.namespace):
                    self._spark().sql(statement)
            except EvaluationFailed:  # another process has just made it; else this says why not
                self._spark().sql(statement)
            self._namespaces.add(name.namespace)


def _fetched(frame: DataFrame, limit: int) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
    """The names of the columns, and the first rows as Python values."""
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
