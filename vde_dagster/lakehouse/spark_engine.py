"""The engine on Spark: rows are staged on an Iceberg branch, then hashed as they lie there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from vde_dagster.core.dsha import Column, RowSum
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.intervals import Interval
from vde_dagster.core.names import TableName
from vde_dagster.core.work import Staged, Staging
from vde_dagster.ports.engine import Sought

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from vde_dagster.core.audits.values import AuditResult
    from vde_dagster.lakehouse.writes.written import Written


class SparkEngine:
    """Implements `vde_dagster.ports.engine.Engine`.

    Args:
        session_factory: Opens the session; called once, by the first call that needs it. The
            session's zone is UTC.
        catalog_name: The Iceberg catalog of all tables, as the session knows it.
        metadata: Opens the same catalog for reading metadata; called once, when it is needed.
    """

    def __init__(
        self,
        session_factory: Callable[[], SparkSession],
        catalog_name: str,
        metadata: Callable[[], PyIcebergCatalog],
    ) -> None:
        self._factory = session_factory
        self._catalog = catalog_name
        self._open_metadata = metadata
        self._metadata: PyIcebergCatalog | None = None
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
            return _Stage(
                self._spark(), self._catalog, staging, self._ensure_namespace, self._load
            ).run()

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns; see the port."""
        from vde_dagster.lakehouse.evaluation import failures, qualified, table_sql
        from vde_dagster.lakehouse.tables import columns_of

        with failures(str(name)):
            spark = self._spark()
            self._ensure_namespace(name)
            target = table_sql(self._catalog, name)
            told = f" COMMENT {exp.Literal.string(comment).sql('spark')}" if comment else ""
            query = qualified(sql, self._catalog)
            spark.sql(f"CREATE OR REPLACE VIEW {target}{told} AS {query}")
            return columns_of(spark.table(target).schema)

    def sums(self, sought: Sought, *, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of rows as they lie in a table; see the port."""
        from vde_dagster.lakehouse.evaluation import failures
        from vde_dagster.lakehouse.recomputing import sums_of

        with failures(str(sought.table)):
            return sums_of(self._spark(), self._catalog, sought, algorithm)

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

    def _load(self, name: TableName) -> Table:
        if self._metadata is None:
            self._metadata = self._open_metadata()
        return self._metadata.load_table((name.namespace, name.name))

    def _ensure_namespace(self, name: TableName) -> None:
        if name.namespace not in self._namespaces:
            namespace = exp.Table(
                this=exp.to_identifier(name.namespace, quoted=True),
                db=exp.to_identifier(self._catalog, quoted=True),
            ).sql("spark")
            self._spark().sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
            self._namespaces.add(name.namespace)


class _Stage:
    """One call of `stage`: a branch, and its parts one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        staging: Staging,
        ensure_namespace: Callable[[TableName], None],
        load: Callable[[TableName], Table],
    ) -> None:
        from vde_dagster.lakehouse.branch import Branch

        self._catalog = catalog
        self._staging = staging
        self._ensure_namespace = ensure_namespace
        self._branch = Branch(spark, catalog, staging, load)
        self._schema: StructType | None = None

    def run(self) -> Staged:
        """Stage all parts in order."""
        from vde_dagster.lakehouse.evaluation import bound_rows, declared_frame
        from vde_dagster.lakehouse.tables import columns_of, fitting
        from vde_dagster.lakehouse.writes import carry_out, completed

        staging, branch = self._staging, self._branch
        written: list[Written] = []
        with closing(branch):
            for part in staging.parts:
                with bound_rows(
                    branch.spark,
                    self._catalog,
                    part.rows,
                    part.inputs,
                    staging.columns,
                    model=str(staging.target),
                ) as rows:
                    frame = declared_frame(completed(rows, part.write), staging.columns)
                    if self._schema is None:
                        self._schema = self._prepare(frame.schema)
                    fitted = fitting(frame, self._schema, str(staging.target.table))
                    written.append(carry_out(branch, fitted, part.write))
            audits = self._audit([each.rows for each in written])
        if self._schema is None:
            raise EvaluationFailed("a unit of work without parts has nothing to stage")
        return Staged(
            iceberg_snapshot_id=branch.head,
            sums=tuple(each.sums for each in written),
            columns=columns_of(self._schema),
            audits=audits,
        )

    def _audit(self, staged: list[DataFrame]) -> tuple[AuditResult, ...]:
        """What the audits find among the rows of all parts."""
        from vde_dagster.lakehouse.auditing import run_audits
        from vde_dagster.lakehouse.evaluation import input_frame

        staging, branch = self._staging, self._branch
        if not staging.audits:
            return ()
        rows = reduce(lambda left, right: left.unionByName(right), staged)
        with ExitStack() as views:
            inputs = {
                name: views.enter_context(
                    branch.view(input_frame(branch.spark, self._catalog, each), f"audit_{number}")
                ).name
                for number, (name, each) in enumerate(staging.audit_inputs.items())
            }
            return run_audits(branch.spark, rows, staging.audits, inputs)

    def _prepare(self, schema: StructType) -> StructType:
        """Make the table where it is missing, and an empty attempt of the branch."""
        from vde_dagster.lakehouse.tables import table_definition

        branch = self._branch
        if not branch.spark.catalog.tableExists(branch.table):
            self._ensure_namespace(self._staging.target.table)
            branch.spark.sql(table_definition(branch.table, self._staging, schema))
        branch.open()
        if self._staging.anew:
            branch.clear()
        return branch.spark.table(branch.table).schema
