"""The catalog in memory: tables are lists of snapshots with their rows, views are definitions."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa

from tests.worlds.changes import (
    added_to,
    change_of,
    instants_of,
    mark_of,
    snapshots_after,
    times_of,
)
from tests.worlds.clock import ManualClock
from tests.worlds.frames import Frame
from tests.worlds.maintenance import MemoryMaintenance
from tests.worlds.physical_layer import MemoryPhysicalLayer
from tests.worlds.tables import Row, Snapshot, Table
from tests.worlds.writes import requested
from vde_dagster.core.clean_up.expiry import REPAIR_TAG
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.damage import LostMetadata, TableHead
from vde_dagster.core.ledger.earlier_schemas import PresentColumn, uuid_of
from vde_dagster.core.ledger.late.history import SourceHistory, SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.schema_changes import ColumnWidened, InPlace
from vde_dagster.core.ledger.stored_types import fits, grown, is_nested, same_type, shown_as
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName, TableName, is_another_models
from vde_dagster.core.time.intervals import END_OF_TIME
from vde_dagster.ports.catalog import RowChange, TableMoved, TableState, TableText, ViewDefinition
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.engine import TableRows


class MemoryCatalog(MemoryMaintenance, MemoryPhysicalLayer):
    """Implements `vde_dagster.ports.catalog.Catalog` in memory, for one process.

    The methods beyond the port land and change source rows, as other writers would. ``clock`` gives
    the times of commits.
    """

    def __init__(self) -> None:
        self.clock: Clock = ManualClock()
        self.lock = threading.RLock()
        self.tables: dict[TableName, Table] = {}
        self.queries: dict[TableName, str] = {}
        """Physical views: their queries in Spark's dialect."""
        self.made: dict[TableName, tuple[str, str]] = {}
        self.lost_files: set[int] = set()
        """Snapshots whose file of rows somebody deleted."""
        self.lost_metadata: set[TableName] = set()
        """Tables whose metadata file somebody deleted."""
        self._views: dict[TableName, ViewDefinition] = {}
        self.view_files: dict[TableName, datetime] = {}
        self._ids = itertools.count(1)

    def copied(self) -> MemoryCatalog:
        """The same tables and views once more; what is done to one does nothing to the other."""
        with self.lock:
            made, reached = MemoryCatalog(), next(self._ids)
            self._ids, made._ids = itertools.count(reached), itertools.count(reached)
            made.clock, made.queries, made._views = (
                self.clock,
                dict(self.queries),
                dict(self._views),
            )
            made.made = dict(self.made)
            made.view_files = dict(self.view_files)
            made.lost_files = set(self.lost_files)
            made.lost_metadata = set(self.lost_metadata)
            made.tables = {name: each.copied() for name, each in self.tables.items()}
            return made

    # The port

    def table(self, name: TableName) -> TableState | None:
        """The current state of a table; None if there is none of this name."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                return None
            return TableState(
                name=name,
                uuid=table.uuid,
                iceberg_snapshot_id=table.head,
                columns=table.columns,
                properties=dict(table.properties),
                rows_of=None if table.head is None else self.origin(name, table.head),
                schemas=table.schemas,
                changed_at=table.changed_at,
            )

    def table_heads(
        self, names: Collection[TableName]
    ) -> dict[TableName, TableHead | LostMetadata]:
        """The current state of those of these names that are tables; see the port."""
        with self.lock:
            return {
                name: LostMetadata(file=f"{name}/metadata.json")
                if name in self.lost_metadata
                else self.tables[name].head_state()
                for name in names
                if name in self.tables
            }

    def view(self, name: TableName) -> ViewDefinition | None:
        """A view that `swap_views` created; None if there is none of this name."""
        with self.lock:
            return self._views.get(name)

    def views(self, names: Collection[TableName]) -> dict[TableName, ViewDefinition]:
        """The views among these names that `swap_views` created."""
        with self.lock:
            return {name: self._views[name] for name in names if name in self._views}

    def present(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Those of these names that a table or a view has, whoever created it."""
        with self.lock:
            there = self.tables.keys() | self.queries.keys() | self._views.keys()
            return frozenset(names) & there

    def taken(self, names: Collection[TableName]) -> tuple[TableName, ...]:
        """Those of these names that are used by something that `swap_views` did not create."""
        with self.lock:
            return tuple(name for name in names if name in self.tables or name in self.queries)

    @property
    def swaps_at_once(self) -> bool:
        """Views move in one transaction here."""
        return True

    def swap_views(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int = 0,
        again: bool = False,
    ) -> None:
        """Create or replace all of these views, and drop the others, at once; see the port."""
        with self.lock:
            for name in self.taken([each.name for each in views]):
                raise Refused(
                    f"{name} is a table, so no view can be created there; nothing was changed"
                )
            made = {each.name: self._fitting(each) for each in views}
            for each in views:
                before = self._views.get(each.name)
                if before is not None and is_another_models(before.target, each.target):
                    raise Refused(f"{each.name} shows {before.target}; nothing was changed")
            for name in drops:
                self._views.pop(name, None)
            self._views |= made
            self.view_files |= dict.fromkeys(made, self.clock.now())

    def publish(self, name: TableName, *, base: int | None, staged: int) -> None:
        """Move a table from the snapshot ``base`` to ``staged``; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                raise TableMoved(f"{name} no longer exists")
            passed = staged != base and staged in (each.id for each in table.line(table.head))
            if table.head == staged or passed:
                return
            if table.head != base:
                raise TableMoved(
                    f"{name} moved from Iceberg snapshot {base} to {table.head} while {staged} was "
                    "staged; nothing was published"
                )
            line = table.line(staged)
            parents = [each.parent for each in line]
            if base not in parents:
                raise TableMoved(
                    f"the staged Iceberg snapshot {staged} of {name} is missing or does not "
                    f"descend from {base}; nothing was published"
                )
            branch = next((work for work, at in table.branches.items() if at == staged), None)
            if branch is None:
                raise TableMoved(
                    f"no branch of {name} points to the staged Iceberg snapshot {staged} any "
                    "more: its unit of work was given up; nothing was published"
                )
            table.move(staged, self.clock.now())
            del table.branches[branch]

    def restore(self, name: TableName, *, found: int | None, recorded: int) -> None:
        """Make a recorded snapshot the current one of a table again; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                raise TableMoved(f"{name} no longer exists")
            is_as_recorded = not table.head_state().lost_columns(recorded)
            if table.head == recorded and is_as_recorded:
                return
            if table.head != found:
                raise TableMoved(
                    f"{name} moved to the Iceberg snapshot {table.head}; nothing was changed"
                )
            if recorded not in table.snapshots:
                raise TableMoved(
                    f"the Iceberg snapshot {recorded} of {name} has expired; nothing was changed"
                )
            if found is not None and found not in (each.id for each in table.line(recorded)):
                table.tags[f"{REPAIR_TAG}{found}"] = found
            if not is_as_recorded:
                table.put_columns_back()
            table.move(recorded, self.clock.now())

    def missing_files(self, name: TableName, iceberg_snapshot_id: int) -> tuple[str, ...]:
        """The files that `lose_file` took away; see the port."""
        with self.lock:
            table = self.tables.get(name)
            found = []
            for each in table.line(iceberg_snapshot_id) if table is not None else ():
                if each.id in self.lost_files:
                    found.append(f"{name}/{each.id}.parquet")
                if each.operation is not SourceOperation.APPEND:
                    break  # it has all rows in a file of its own
            return tuple(sorted(found))

    def evolve(self, name: TableName, changes: Sequence[InPlace]) -> None:
        """Add columns to a table and widen others (rule R11); see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                raise Conflict(f"{name} no longer exists")
            there = {each.name.lower(): each for each in table.columns}
            for each in changes:
                found = there.get(each.column.lower())
                if isinstance(each, ColumnWidened):
                    if (
                        found is not None
                        and is_nested(found.type)
                        and not fits(found.type, each.after)
                    ):
                        raise Refused(
                            f"{name} already has the column {each.column} of type {found.type}, "
                            f"so it cannot become {each.after}",
                            advice="give it another name. Nothing was changed",
                        )
                    if found is not None:
                        after = grown(found.type, each.after)
                        there[found.name.lower()] = replace(found, type=after)
                elif found is None:
                    there[each.column.lower()] = Column(name=each.column, type=each.type)
                elif not same_type(found.type, each.type):
                    raise Refused(
                        f"{name} already has the column {each.column} of type {found.type}, so it "
                        f"cannot be added as {each.type}",
                        advice="give it another name. Nothing was changed",
                    )
            table.widen(tuple(there.values()))

    def describe(self, name: TableName, text: TableText) -> None:
        """Set the comments of a table and its columns from its model; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                raise Conflict(f"{name} no longer exists")
            table.columns = tuple(
                replace(each, description=text.columns.get(each.name.lower(), ""))
                for each in table.columns
            )
            kept = {key: value for key, value in table.properties.items() if key != "comment"}
            table.properties = kept | ({"comment": text.comment} if text.comment else {})

    def branches(self, name: TableName) -> Collection[str]:
        """The units of work that have a branch of a table; none if there is no table."""
        with self.lock:
            return tuple(self.tables[name].branches) if name in self.tables else ()

    def drop_branch(self, name: TableName, work_id: str) -> None:
        """Remove the branch that a unit of work staged on; no error if there is none."""
        with self.lock:
            if name in self.tables:
                self.tables[name].branches.pop(work_id, None)

    def origin(self, name: TableName, iceberg_snapshot_id: int) -> int:
        """The snapshot that gave a table the rows that it has at a given one; see the port."""
        with self.lock:
            table = self.tables.get(name)
            for each in table.line(iceberg_snapshot_id) if table is not None else ():
                if each.operation is not SourceOperation.REPLACE or each.parent is None:
                    return each.id
                iceberg_snapshot_id = each.parent
            return iceberg_snapshot_id

    def columns_at(
        self, name: TableName, iceberg_snapshot_id: int
    ) -> tuple[PresentColumn, ...] | None:
        """How a table's present columns are read at a snapshot; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None or iceberg_snapshot_id not in table.snapshots:
                return None
            return table.schemas.columns(iceberg_snapshot_id)

    def line(self, name: TableName) -> tuple[int, ...]:
        """A table's current snapshot and its retained ancestors, newest first."""
        with self.lock:
            table = self.tables.get(name)
            return () if table is None else tuple(each.id for each in table.line(table.head))

    def row_changes(
        self, name: TableName, *, after: int | None, column: str
    ) -> tuple[RowChange, ...]:
        """What a table's snapshots after one did to its rows, newest first; see the port."""
        with self.lock:
            table = self.tables.get(name)
            line = [] if table is None else table.line(table.head)
            newer = itertools.takewhile(lambda each: each.id != after, line)
            return tuple(
                RowChange(
                    iceberg_snapshot_id=each.id,
                    committed_at=each.committed_at,
                    times=times_of(table, each, column),
                    added=added_to(table, each),
                )
                for each in newer
                if table is not None
            )

    def earliest(self, name: TableName, column: str) -> datetime | None:
        """The first time of a column among a table's rows; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                return None
            found = instants_of(table, table.rows_at(table.head), column)
            return None if found is None else min(found, default=END_OF_TIME)

    def latest(self, name: TableName, column: str) -> datetime | None:
        """The last time of a column among a table's rows; see the port."""
        with self.lock:
            table = self.tables.get(name)
            found = instants_of(table, table.rows_at(table.head), column) if table else None
            return max(found) + timedelta(microseconds=1) if found else None

    def history(self, source: ModelName, since: HighWaterMark | None) -> SourceHistory:
        """A source's head and its changes after a mark."""
        with self.lock:
            table = self.tables.get(TableName(source.schema, source.name, source.catalog))
            if table is None:
                return SourceHistory(status=SourceStatus.MISSING, head=None)
            head = mark_of(source, table)
            if since is None:
                return SourceHistory(status=SourceStatus.INITIAL, head=head)
            if table.uuid != uuid_of(since.table_uuid):
                return SourceHistory(status=SourceStatus.RECREATED, head=head)
            found = snapshots_after(table, since)
            if isinstance(found, SourceStatus):
                return SourceHistory(status=found, head=head)
            if table.schemas.identity(table.uuid, since.iceberg_snapshot_id) != since.table_uuid:
                return SourceHistory(status=SourceStatus.OTHER_COLUMNS, head=head)
            status = SourceStatus.CHANGED if found else SourceStatus.UNCHANGED
            changes = tuple(change_of(table, each) for each in found)
            return SourceHistory(status=status, head=head, changes=changes)

    def view_query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """None: only the engine in memory knows the columns of a view; see the port."""
        return None

    def weight(self, name: TableName, iceberg_snapshot_id: int | None) -> int | None:
        """Some bytes for each row; see the port."""
        with self.lock:
            table = self.tables.get(name)
            known = table is not None and iceberg_snapshot_id in (None, *table.snapshots)
            return len(table.rows_at(iceberg_snapshot_id)) * 8 if table and known else None

    def read(self, wanted: TableRows) -> pa.Table:
        """Rows of a table for a user's own code; see the port."""
        with self.lock:
            table = self.tables.get(wanted.table)
            if table is None:
                raise Refused(f"the table {wanted.table} does not exist in the catalog")
            at = wanted.iceberg_snapshot_id or table.head
            return requested(Frame(table.columns, table.rows_at(at)), wanted).arrow()

    # What other writers do

    def create_table(
        self,
        name: TableName,
        columns: Sequence[Column],
        *,
        partition_by: TimeAxisSpec | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Create an empty table."""
        with self.lock:
            if name in self.tables or name in self._views or name in self.queries:
                raise Refused(f"{name} exists already")
            self.tables[name] = Table(
                columns=tuple(columns),
                properties=dict(properties or {}),
                partition_by=partition_by,
            )

    def drop_table(self, name: TableName) -> None:
        """Drop a table with all of its rows."""
        with self.lock:
            del self.tables[name]
            self.lost_metadata.discard(name)

    def drop_view(self, name: TableName) -> None:
        """Drop a view, of an environment or a physical one."""
        with self.lock:
            self._views.pop(name, None)
            self.queries.pop(name, None)

    def turn_view(self, name: TableName, target: TableName) -> None:
        """Let a view of an environment show something else."""
        with self.lock:
            self._views[name] = replace(self._views[name], target=target)

    def rename_column(self, name: TableName, column: str, new: str) -> None:
        """Rename a column, without a snapshot."""
        with self.lock:
            self.tables[name].change_columns({column: new}, self.clock.now())

    def drop_column(self, name: TableName, column: str) -> None:
        """Drop a column, without a snapshot."""
        with self.lock:
            self.tables[name].change_columns({column: None}, self.clock.now())

    def set_property(self, name: TableName, key: str, value: str) -> None:
        """Set a property of a table."""
        with self.lock:
            self.tables[name].properties[key] = value

    def replace_column(self, name: TableName, column: str) -> None:
        """Drop a column and add another one of its name and type, without a snapshot."""
        with self.lock:
            self.tables[name].replace_column(column, self.clock.now())

    def append(self, name: TableName, rows: Iterable[Row]) -> int:
        """Add rows to `main`; returns the new snapshot."""
        added = tuple(rows)
        with self.lock:
            table = self.tables[name]
            return self._move(
                name, SourceOperation.APPEND, (*table.rows_at(table.head), *added), added
            )

    def overwrite(self, name: TableName, rows: Iterable[Row]) -> int:
        """Replace all rows on `main`; returns the new snapshot."""
        added = tuple(rows)
        return self._move(name, SourceOperation.OVERWRITE, added, added)

    def delete(self, name: TableName, kept: Iterable[Row]) -> int:
        """Remove all rows but these from `main`; returns the new snapshot."""
        return self._move(name, SourceOperation.DELETE, tuple(kept), ())

    def compact(self, name: TableName) -> int:
        """Rewrite a table's files without changing its rows; returns the new snapshot."""
        with self.lock:
            table = self.tables[name]
            return self._move(name, SourceOperation.REPLACE, table.rows_at(table.head), ())

    def roll_back(self, name: TableName, snapshot_id: int) -> None:
        """Move `main` back to an older snapshot."""
        with self.lock:
            table = self.tables[name]
            table.move(table.snapshots[snapshot_id].id, self.clock.now())

    def expire(self, name: TableName) -> None:
        """Forget every snapshot but the head of `main`."""
        with self.lock:
            table = self.tables[name]
            table.snapshots = {
                key: each for key, each in table.snapshots.items() if key == table.head
            }
            table.branches.clear()

    def lose_file(self, name: TableName) -> str:
        """Delete the file that the last snapshot wrote; returns its path."""
        with self.lock:
            head = self.tables[name].head
            assert head is not None
            self.lost_files.add(head)
            return f"{name}/{head}.parquet"

    # For the engine

    def commit(
        self,
        name: TableName,
        *,
        parent: int | None,
        operation: SourceOperation,
        rows: tuple[Row, ...],
        added: tuple[Row, ...],
    ) -> int:
        """Add a snapshot to a table without moving `main`."""
        with self.lock:
            table = self.tables[name]
            table.sequence += 1
            snapshot = Snapshot(
                id=next(self._ids) * 1_000_003,
                parent=parent,
                sequence=table.sequence,
                operation=operation,
                rows=rows,
                added=added,
                committed_at=self.clock.now(),
            )
            table.snapshots[snapshot.id] = snapshot
            return snapshot.id

    def _move(
        self,
        name: TableName,
        operation: SourceOperation,
        rows: tuple[Row, ...],
        added: tuple[Row, ...],
    ) -> int:
        with self.lock:
            table = self.tables[name]
            moved = self.commit(
                name, parent=table.head, operation=operation, rows=rows, added=added
            )
            table.move(moved, self.clock.now())
            return moved

    def _fitting(self, view: ViewDefinition) -> ViewDefinition:
        table = self.tables.get(view.target)
        if table is None:
            if view.target not in self.queries:
                raise Refused(
                    f"the view {view.name} selects from {view.target}, which does not exist; "
                    "nothing was changed"
                )
            return view
        known = {each.name.lower(): each.type for each in table.columns}
        missing = [each.name for each in view.columns if each.name.lower() not in known]
        if missing or not view.columns:
            raise Refused(
                f"the view {view.name} wants {', '.join(missing) or 'no column at all'}; "
                "nothing was changed"
            )
        columns = tuple(_shown(known[each.name.lower()], each) for each in view.columns)
        return replace(view, columns=columns)


def _shown(stored: str, wanted: Column) -> Column:
    """A table's column as a view shows it: wider than it is, or without some of its fields."""
    return replace(wanted, type=shown_as(stored, wanted.type))
