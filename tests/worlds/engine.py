"""The engine in memory: Spark's SQL, transpiled by sqlglot and run by an in-process DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import assert_never

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tests.worlds.auditing import run_audits
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.duck import answered, failures, text_in_duck
from tests.worlds.frames import Frame, UserRows, sum_of
from tests.worlds.histories import ends, with_validity
from tests.worlds.python_rows import python_rows
from tests.worlds.tables import Row
from tests.worlds.writes import Written, inside, requested, shown, unit_sums, written
from vde_dagster.core.clean_up.compaction import Compaction
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.damage import Original
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.late.history import SourceOperation
from vde_dagster.core.ledger.schema_changes import ColumnAdded
from vde_dagster.core.ledger.unit_of_work import (
    AddedBetween,
    AsOf,
    CsvRows,
    FrameRows,
    Input,
    OwnRows,
    PlannedWrite,
    PythonRows,
    RowSource,
    RowsWithin,
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.column_rules import OnChange, judged_columns
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.seed_rows import seed_columns, seed_rows
from vde_dagster.core.model.writes import KeepHistory, TimeAxisSpec, hidden_by
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.question import QueryOverRows, Question
from vde_dagster.ports.engine import Compacted, EngineProgress, Sought, TableRows
from vde_dagster.ports.physical_layer import STATE


class MemoryEngine:
    """Implements `vde_dagster.ports.engine.Engine` over a `MemoryCatalog`.

    Queries may use what DuckDB has an equal for, and functions of Python models are given frames
    that have `toArrow` alone of what Spark's have.

    Args:
        catalog: Has the tables and the physical views.
        state: The id of the state whose tables and views are made.
    """

    def __init__(self, catalog: MemoryCatalog, state: str = "") -> None:
        self._catalog = catalog
        self._state = state

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work to the branch named after its work id; see the port."""
        name, columns = staging.target.table, staging.columns
        done: list[Written] = []
        with self._catalog.lock, failures(str(staging.target)):
            if staging.before or staging.after:
                raise EvaluationFailed("the engine in memory runs no pre- and post-statements")
            sums: list[Mapping[Interval, RowSum]] = []
            moved = False
            for number, part in enumerate(staging.parts):
                if part.follows and not moved:
                    sums.append({})
                    continue
                new = self._rows(part, columns, staging)
                if number == 0:
                    self._prepare(name, staging, new.columns)
                done.append(self._write(name, staging, part, self._evolved(name, staging, new)))
                sums.append(done[-1].sums)
                moved = part.is_moved(done[-1].sums)
            table = self._catalog.tables[name]
            processed = [row for each in done for row in each.processed]
            if staging.rebuilds:  # a table that is rebuilt in batches is audited when it is whole
                whole = Frame(table.columns, table.rows_at(table.branches[staging.work_id]))
                processed = list(shown(whole, hidden_by(staging.parts[0].write)).rows)
            inputs = {name: self._input(each) for name, each in staging.audit_inputs.items()}
            return Staged(
                iceberg_snapshot_id=table.branches[staging.work_id],
                sums=tuple(sums),
                columns=table.columns,
                audits=run_audits(Frame(table.columns, processed), staging.audits, inputs),
                ends_history=ends(table, staging),
            )

    def compact(self, name: TableName, wanted: Compaction) -> Compacted:
        """Rewrite the small files of a table; see the port. All of its files become one."""
        with self._catalog.lock, failures(str(name)):
            self._catalog.compact(name)
            return Compacted(files=wanted.files, files_after=wanted.files_after)

    def sums(self, sought: Sought, *, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of stored rows; see the port. All algorithms are the same here."""
        del algorithm
        with self._catalog.lock, failures(str(sought.table)):
            pinned = AsOf(table=sought.table, iceberg_snapshot_id=sought.iceberg_snapshot_id)
            asked = [each.name for each in sought.columns]
            rows = self._input(pinned)
            if sought.axis is not None and sought.intervals is not None:
                rows = inside(rows, sought.axis, sought.intervals)
            rows = shown(rows, sought.hidden_rows).selected(asked).declared(sought.columns)
            if sought.axis is None:
                return {None: sum_of(rows.rows)}
            return unit_sums(rows, sought.axis)

    def columns_of(self, rows: SqlRows, inputs: Mapping[str, Input]) -> tuple[Column, ...]:
        """The columns that a query returns; see the port."""
        with self._catalog.lock, failures("the query"):
            return self._query(
                rows.sql, {name: self._input(of) for name, of in inputs.items()}
            ).columns

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns; see the port."""
        del comment  # nobody reads it here
        with self._catalog.lock, failures(str(name)):
            if name in self._catalog.tables:
                raise EvaluationFailed("this name is taken by a table")
            columns = self._query(sql, {}).columns
            self._catalog.create_physical_view(name, sql, state=self._state)
            return columns

    def read(self, wanted: TableRows) -> UserRows:
        """Rows for a user's own code; see the port. They are fetched at once."""
        with self._catalog.lock, failures(str(wanted.table)):
            found = (
                self._named(wanted.table)
                if wanted.iceberg_snapshot_id is None
                else self._input(
                    AsOf(table=wanted.table, iceberg_snapshot_id=wanted.iceberg_snapshot_id)
                )
            )
            return UserRows(requested(found, wanted))

    def sharing(self, name: str) -> AbstractContextManager[None]:
        """Threads wait for each other, whatever they compute; see the port."""
        del name
        return nullcontext()

    def interrupt(self) -> None:
        """Nothing takes so long that somebody would interrupt it; see the port."""

    def progress(self) -> EngineProgress | None:
        """Nothing is known of a query that runs; see the port."""
        return None

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
        with self._catalog.lock, failures(model):
            match rows:
                case SqlRows():
                    found = self._query(
                        rows.sql, {name: self._input(each) for name, each in inputs.items()}
                    )
                case CsvRows():
                    declared = columns or seed_columns(rows.text)
                    found = Frame(declared, seed_rows(rows.text, declared))
                case _:
                    raise EvaluationFailed("the engine in memory runs no Python models")
            return tuple(each.name for each in found.columns), list(found.rows[:limit])

    def answer(self, question: Question, *, subject: str) -> Answer:
        """The rows that a query returns over given rows; see the port."""
        with failures(subject):
            if not isinstance(question, QueryOverRows):
                raise EvaluationFailed("the engine in memory runs no Python models")
            tables = {
                name: Frame(each.columns, each.rows) for name, each in question.tables.items()
            }
            found = self._query(question.rows.sql, tables)
            return Answer(columns=found.columns, rows=found.rows)

    def fetch(
        self, sql: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows of a query, for people; see the port."""
        with self._catalog.lock, failures("the query"):
            found = self._query(sql, {})
            return tuple(each.name for each in found.columns), list(found.rows[:limit])

    def _prepare(self, name: TableName, staging: Staging, columns: tuple[Column, ...]) -> None:
        """Create the table if it is missing, and an empty branch."""
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
                    STATE: self._state,
                    **_original(staging),
                },
            )
        head = staging.base
        if head is None or staging.rebuilds:
            head = self._catalog.commit(
                name, parent=head, operation=SourceOperation.DELETE, rows=(), added=()
            )
        self._catalog.tables[name].branches[staging.work_id] = head

    def _evolved(self, name: TableName, staging: Staging, new: Frame) -> Frame:
        """Add the columns that the table lacks, and NULL for those that are not returned (R11)."""
        table = self._catalog.tables[name]
        known = {each.name.lower() for each in table.columns}
        there = {each.name.lower() for each in new.columns}
        if not staging.returned:
            _judge(staging, missing=sorted(known - there), extra=sorted(there - known))
        returned = set(staging.returned) or there
        added = [
            ColumnAdded(column=each.name, type=each.type)
            for each in new.columns
            if each.name.lower() in returned - known
        ]
        if added:
            self._catalog.evolve(name, added)
        gone = [each for each in table.columns if each.name.lower() not in {*returned, *there}]
        nothing = (None,) * len(gone)
        return Frame((*new.columns, *gone), [(*row, *nothing) for row in new.rows])

    def _write(self, name: TableName, staging: Staging, part: PlannedWrite, new: Frame) -> Written:
        """Write the rows of one part to the branch."""
        table = self._catalog.tables[name]
        head = table.branches[staging.work_id]
        done = written(
            Frame(table.columns, table.rows_at(head)),
            new.fitted(table.columns, str(name)),
            part.write,
            layout=staging.storage.partitioned_by,
        )
        adds = SourceOperation.APPEND if done.only_adds else SourceOperation.OVERWRITE
        table.branches[staging.work_id] = self._catalog.commit(
            name, parent=head, operation=adds, rows=done.rows, added=done.processed
        )
        return done

    def _rows(self, part: PlannedWrite, columns: tuple[Column, ...], staging: Staging) -> Frame:
        match part.rows:
            case SqlRows():
                inputs = {
                    name: self._own(staging, each)
                    if isinstance(each, OwnRows)
                    else self._input(each)
                    for name, each in part.inputs.items()
                }
                found = self._query(part.rows.sql, inputs)
                if not isinstance(part.write, KeepHistory):
                    return found.declared(columns) if columns else found
                own = part.write.history.without_validity(columns)
                return with_validity(found.declared(own) if own else found, part.write.history)
            case CsvRows():
                declared = columns or seed_columns(part.rows.text)
                return Frame(declared, seed_rows(part.rows.text, declared))
            case FrameRows(frame=frame):
                arrow = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame)
                found = Frame.of(arrow)
                return found.declared(columns) if columns else found
            case PythonRows():
                tables = {name: self._input(each) for name, each in part.inputs.items()}
                return python_rows(part.rows, tables).declared(columns)
            case _:
                assert_never(part.rows)

    def _own(self, staging: Staging, wanted: OwnRows) -> Frame:
        """Rows of the table that is written, as they are on the branch; none before it is made."""
        table = self._catalog.tables.get(wanted.table)
        if table is None:
            return Frame(staging.columns, [])
        head = table.branches.get(staging.work_id, staging.base)
        rows = Frame(table.columns, list(table.rows_at(head)))
        return inside(rows, wanted.axis, [wanted.interval])

    def _input(self, wanted: Input) -> Frame:
        table = self._catalog.tables.get(wanted.table)
        if table is None:
            raise EvaluationFailed(f"{wanted.table} does not exist")
        match wanted:
            case AsOf():
                self._refuse_lost(wanted.table, wanted.iceberg_snapshot_id)
                found = Frame(table.columns, table.rows_at(wanted.iceberg_snapshot_id))
                return shown(found, wanted.hidden_rows)
            case AddedBetween():
                rows: list[Row] = []
                for each in table.line(wanted.until):
                    if each.id == wanted.after:
                        return Frame(table.columns, rows)
                    if each.operation is SourceOperation.APPEND:
                        rows.extend(each.added)
                    if each.parent == wanted.after:  # it may have expired
                        return Frame(table.columns, rows)
                raise EvaluationFailed(
                    f"Iceberg snapshot {wanted.after} is no ancestor of {wanted.until}"
                )
            case RowsWithin():
                found = Frame(table.columns, list(table.rows_at(wanted.iceberg_snapshot_id)))
                return inside(found, wanted.axis, wanted.intervals)
            case OwnRows():
                raise AssertionError("own rows are read while they are written")
            case _:
                assert_never(wanted)

    def _refuse_lost(self, name: TableName, snapshot: int | None) -> None:
        """Fail as Spark does where a snapshot or a data file is not there any more."""
        if snapshot is not None and snapshot not in self._catalog.tables[name].snapshots:
            raise EvaluationFailed(f"Cannot find snapshot with ID {snapshot}")
        gone = self._catalog.missing_files(name, snapshot) if snapshot is not None else ()
        if gone:
            raise EvaluationFailed(f"Cannot open file, does not exist: /{gone[0]}")

    def _query(self, sql: str, inputs: Mapping[str, Frame]) -> Frame:
        try:
            text, tables = _over_frames(sql)
        except SqlglotError as error:
            raise EvaluationFailed(f"the query cannot be parsed: {error}") from error
        named = {registered: self._named(name) for registered, name in tables.items()}
        return answered(text_in_duck(text), {**inputs, **named})

    def _named(self, name: TableName) -> Frame:
        """All rows of a table or view, now."""
        if name in self._catalog.tables:
            table = self._catalog.tables[name]
            return Frame(table.columns, table.rows_at(table.head))
        view = self._catalog.view(name)
        if view is not None:
            rows = self._named(view.target)
            if view.visible:
                rows = self._query(f"SELECT * FROM {view.target} WHERE {view.visible}", {})
            return rows.selected([each.name for each in view.columns])
        if name in self._catalog.queries:
            return self._query(self._catalog.queries[name], {})
        raise EvaluationFailed(f"{name} does not exist")


@lru_cache(maxsize=4096)
def _over_frames(sql: str) -> tuple[str, Mapping[str, TableName]]:
    """A query over frames of one-part names instead of tables of two-part names, and these."""
    query = parse_one(sql, dialect="spark")
    tables: dict[str, TableName] = {}
    for number, table in enumerate(list(query.find_all(exp.Table))):
        if table.db:
            registered = f"_catalog_{number}"
            tables[registered] = TableName(table.db, table.name, table.catalog)
            table.replace(exp.to_table(registered).as_(table.alias_or_name))
    return query.sql("spark", identify=True), tables


def _judge(staging: Staging, *, missing: list[str], extra: list[str]) -> None:
    """Refuse columns that the model's rules refuse; see `vde_dagster.lakehouse.staging.fitting`."""
    judged = judged_columns(
        staging.column_rules,
        model=str(staging.target.model),
        table=str(staging.target.table),
        missing=missing,
        extra=extra,
    )
    refused = [each.text for each in judged if each.rule is OnChange.ERROR]
    if refused:
        raise EvaluationFailed("\n".join(refused))


def _original(staging: Staging) -> Mapping[str, str]:
    """What says that a table is a shallow copy: in memory its rows are copied all the same."""
    source = staging.shallow_copy_of
    if source is None or source.iceberg_snapshot_id is None:
        return {}
    return Original(table=source.table, iceberg_snapshot_id=source.iceberg_snapshot_id).written


def _partition_axis(staging: Staging) -> TimeAxisSpec | None:
    """The time by which the table is partitioned, if a time column alone does that."""
    axes = [axis for part in staging.parts if (axis := getattr(part.write, "axis", None))]
    partitions = staging.storage.partitioned_by
    return next((axis for axis in axes if time_partition(axis) in partitions), None)
