"""The branch of one unit of work: rows are written to it, and read from it, before anyone sees it.

A branch is written through its own identifier (``table.branch_<name>``), so that no setting of the
session redirects what else is read (rule R3). What a write did is read from the table's metadata,
not by a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.errors import Conflict, EvaluationFailed, OutcomeUnknown
from vde_dagster.core.ledger.earlier_schemas import SAME
from vde_dagster.lakehouse.iceberg.creation import put_empty_branch
from vde_dagster.lakehouse.iceberg.iceberg_types import schemas_of
from vde_dagster.lakehouse.iceberg.publish import branch_name, put_branch
from vde_dagster.lakehouse.iceberg.row_changes import entries_of
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.spark.connect import named
from vde_dagster.lakehouse.staging.table_rows import rows_at, table_sql

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession

    from vde_dagster.core.ledger.unit_of_work import Staging
    from vde_dagster.core.names import TableName

WORK_ID: Final = "vde.work-id"
_SNAPSHOT_PROPERTY: Final = f"spark.sql.iceberg.snapshot-property.{WORK_ID}"
CHANGE_TYPE: Final = "_change_type"
INSERTED: Final = "INSERT"
_CHANGE_COLUMNS: Final = (CHANGE_TYPE, "_change_ordinal", "_commit_snapshot_id")


class Branch:
    """The branch of a unit of work on an Iceberg table that exists.

    Args:
        spark: The session.
        catalog: The catalog's name in it.
        staging: The unit of work.
        load: Reads the table's metadata as it is now.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        staging: Staging,
        load: Callable[[TableName], Table],
    ) -> None:
        self.spark = spark
        self.staging = staging
        self.head: int | None = staging.base
        self.loaded: int | None = None
        """How many rows the branch has; None if that is not known from its metadata alone."""
        self._in_files: int | None = None
        self._name = branch_name(staging.work_id)
        self._catalog = catalog
        self._load = load
        self._schemas = SAME
        self.table = table_sql(catalog, staging.target.table)
        """The table's quoted name for Spark."""

    @property
    def is_empty(self) -> bool:
        """Whether the branch is known to have no rows."""
        return self._in_files == 0

    @property
    def target(self) -> exp.Table:
        """The branch as a table that statements may write."""
        # What Iceberg finds behind a table's name: a branch, or a table of metadata.
        *parent, own = exp.to_table(self.table, dialect="spark").parts
        child = exp.to_identifier(f"branch_{self._name}", quoted=True)
        return exp.Table(this=exp.Dot.build([own, child]), db=parent[1], catalog=parent[0])

    def open(self, found: Table) -> None:
        """Begin an attempt: put the branch at the base, whatever an earlier attempt left.

        That of a shallow copy has its rows already.

        Args:
            found: The table as it is; no other process changes a branch of this unit of work.

        Raises:
            EvaluationFailed: The table was dropped, or others change it all the time.
        """
        self._schemas = schemas_of(found)
        if self.staging.shallow_copy_of is not None:
            self._stand_at(self._head_of(found))
            return
        if self.staging.base is not None:
            self._put(found, self.staging.base)
            return
        start = self._head_of(found)
        if start is None or start.parent_snapshot_id or _counted(start, "total-records") != 0:
            with _as_failures():
                put_empty_branch(found, self.staging.target.table, self.staging.work_id)
            self._look()
        else:
            self._stand_at(start)

    def go_back(self, snapshot_id: int) -> None:
        """Put the branch back on an earlier Iceberg snapshot; this changes metadata alone.

        Raises:
            EvaluationFailed: The table was dropped, or others change it all the time.
        """
        self._put(self._load(self.staging.target.table), snapshot_id)

    def _put(self, found: Table, snapshot_id: int) -> None:
        with _as_failures():
            put_branch(found, self.staging.target.table, self.staging.work_id, snapshot_id)
        self._stand_at(found.metadata.snapshot_by_id(snapshot_id))

    def clear(self) -> None:
        """Remove all rows; a commit of metadata alone."""
        if not self.is_empty:
            self.writer(self.rows().limit(0)).overwrite(F.lit(True))
            self.committed()

    def writer(self, frame: DataFrame) -> DataFrameWriterV2:
        """Writes a frame, whose columns are the table's in order, to the branch."""
        return frame.writeTo(self.target.sql("spark")).option(
            f"snapshot-property.{WORK_ID}", self.staging.work_id
        )

    def run(self, statement: str) -> None:
        """Run a MERGE or DELETE that writes to the branch."""
        conf = self.spark.conf
        conf.set(_SNAPSHOT_PROPERTY, self.staging.work_id)
        try:
            self.spark.sql(statement)
        finally:
            conf.unset(_SNAPSHOT_PROPERTY)

    def committed(self) -> int:
        """Move the head to what was written last, and return how many rows were added.

        A write that changes nothing may commit none.

        Raises:
            EvaluationFailed: It was committed more than once, so that rows may be there twice. A
                client of Spark Connect sends a request again whose answer was lost.
        """
        before = self.head
        snapshot = self._look()
        if self.head == before:
            return 0
        if snapshot is None or snapshot.parent_snapshot_id != before:  # None: it was dropped
            raise EvaluationFailed(
                "a write was committed more than once; nothing was published",
                advice="Retry: the next attempt starts from the published rows.",
            )
        return _counted(snapshot, "added-records") or 0

    def adds_null(self, column: str) -> bool:
        """Whether files that the last commit wrote are known to have rows without a value."""
        table = self._load(self.staging.target.table)
        snapshot = self._head_of(table)
        field = table.schema().find_field(column, case_sensitive=False).field_id
        if snapshot is None:
            return False
        return any(
            (entry.data_file.null_value_counts or {}).get(field)
            for _, entry in entries_of(table, snapshot, (snapshot.snapshot_id,))
        )

    def rows(self) -> DataFrame:
        """The rows on the branch."""
        return self.at(self.head)

    def at(self, snapshot_id: int | None) -> DataFrame:
        """The table's rows at an Iceberg snapshot, with its present columns; no rows for None."""
        table = self.staging.target.table
        return rows_at(self.spark, self._catalog, table, self._schemas, snapshot_id)

    def added_between(self, before: int | None, until: int | None) -> DataFrame:
        """The rows that were appended after an Iceberg snapshot, up to another one."""
        if before is None:
            return self.at(until)
        return self.at(None) if before == until else self._between(self.table, before, until)

    def _between(self, table: str, after: int, until: int | None) -> DataFrame:
        """What Iceberg reads of a table, or of its metadata, between two Iceberg snapshots."""
        read = self.spark.read.option("start-snapshot-id", str(after))
        return read.option("end-snapshot-id", str(until)).table(table)

    def changes_since(self, before: int, until: int | None = None) -> DataFrame:
        """The rows of all files that commits added and removed after an Iceberg snapshot.

        They end with the snapshot ``until``, or with the branch's head.

        Besides the table's columns there is `CHANGE_TYPE`, which is `INSERTED` for rows of added
        files. Rows that a commit only moved from one file to another occur twice, once each way.
        Do not filter by the column itself: Iceberg would take it for a column of the table.
        """
        changes = self._between(f"{self.table}.{quoted('changes')}", before, until or self.head)
        return changes.drop(*_CHANGE_COLUMNS[1:])

    def inserted_since(self, before: int, until: int | None = None) -> DataFrame:
        """The rows of the files that commits added after an Iceberg snapshot."""
        return self._changed_since(before, lambda kind: kind == INSERTED, until)

    def removed_since(self, before: int) -> DataFrame:
        """The rows of the files that commits removed after an Iceberg snapshot."""
        return self._changed_since(before, lambda kind: kind != INSERTED)

    def _changed_since(
        self, before: int, wanted: Callable[[Column], Column], until: int | None = None
    ) -> DataFrame:
        if before == (until or self.head):
            return self.rows().where(F.lit(False))
        kind = F.concat(F.col(CHANGE_TYPE), F.lit(""))  # see `changes_since`
        return self.changes_since(before, until).where(wanted(kind)).drop(CHANGE_TYPE)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame, computed now and once, however often they are read.

        They are the same each time, even if the query would not return the same rows again:
        statements treat the result as deterministic. Spark frees them with the frame.
        """
        return frame.localCheckpoint(eager=True)

    @contextmanager
    def view(self, frame: DataFrame, name: str) -> Iterator[exp.Table]:
        """A frame under a name for statements; the name ends with this unit of work's id."""
        full = f"vde_{self.staging.work_id}_{name}"
        with named(self.spark, {full: frame}):
            yield exp.table_(full, quoted=True)

    def _look(self) -> Snapshot | None:
        """Find out where the branch is according to the table's metadata."""
        snapshot = self._head_of(self._load(self.staging.target.table))
        self._stand_at(snapshot)
        return snapshot

    def _stand_at(self, snapshot: Snapshot | None) -> None:
        # A commit that adds no rows has no such total; other writers may leave out any total.
        self._in_files = 0 if snapshot is None else _counted(snapshot, "total-records")
        without_deletes = snapshot is None or _counted(snapshot, "total-delete-files") == 0
        self.loaded = self._in_files if without_deletes or self.is_empty else None
        self.head = None if snapshot is None else snapshot.snapshot_id

    def _head_of(self, table: Table) -> Snapshot | None:
        ref = table.metadata.refs.get(self._name)
        return None if ref is None else table.metadata.snapshot_by_id(ref.snapshot_id)


@contextmanager
def _as_failures() -> Iterator[None]:
    try:
        yield
    except (Conflict, OutcomeUnknown) as error:
        raise EvaluationFailed(error.message, advice=error.advice) from error


def _counted(snapshot: Snapshot, what: str) -> int | None:
    """What the summary of a commit has counted."""
    found = snapshot.summary[what] if snapshot.summary is not None else None
    return None if found is None else int(found)
