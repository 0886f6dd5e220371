"""An engine for processes that are killed: DuckDB computes, pyiceberg stages, and no JVM starts.

It has what FULL models need that read each other.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles

from tests.worlds.duck import connected, result_of
from tests.worlds.frames import Frame, sum_of
from vde_dagster.core.clean_up.compaction import Compaction
from vde_dagster.core.ledger.unit_of_work import AsOf, Input, SqlRows, Staged, Staging
from vde_dagster.core.model.writes import ReplaceTable
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.lakehouse.iceberg.iceberg_types import columns_of
from vde_dagster.lakehouse.iceberg.publish import branch_name
from vde_dagster.ports.engine import Compacted
from vde_dagster.ports.physical_layer import STATE

_PROPERTIES: Final = {"format-version": "2"}


class ArrowEngine:
    """Implements what FULL models need of `vde_dagster.ports.engine.Engine`.

    Args:
        iceberg: The catalog.
        state: The id of the state whose tables are made.
    """

    def __init__(self, iceberg: PyIcebergCatalog, state: str) -> None:
        self._iceberg = iceberg
        self._state = state

    def stage(self, staging: Staging) -> Staged:
        """Replace all rows, on the branch of a unit of work; see the port."""
        (part,) = staging.parts
        assert isinstance(part.rows, SqlRows)
        assert isinstance(part.write, ReplaceTable)
        rows = self._rows(part.rows, {**part.inputs})
        table = self._opened(staging.target.table, rows.schema)
        branch = branch_name(staging.work_id)
        if staging.base is None:  # pyiceberg lets a table begin on its main branch only
            branch = MAIN_BRANCH
            table.append(rows[:1])
        else:
            table.manage_snapshots().create_branch(staging.base, branch).commit()
            table.overwrite(rows[:1], branch=branch)
        if rows.num_rows > 1:  # in a file of its own
            table.append(rows[1:], branch=branch)
        table = self._load(staging.target.table)
        return Staged(
            iceberg_snapshot_id=table.metadata.refs[branch].snapshot_id,
            sums=({part.write.interval: sum_of(Frame.of(rows).rows)},),
            columns=columns_of(table.schema()),
        )

    def progress(self) -> None:
        """Nothing is known of what it is doing; see the port."""

    def compact(self, name: TableName, wanted: Compaction) -> Compacted:
        """Rewrite all files as one in a commit that changes no row; see the port."""
        table = self._load(name)
        rows, files = table.scan().to_arrow(), [task.file for task in table.scan().plan_files()]
        with (
            table.transaction() as transaction,
            _Rewrite(operation=Operation.REPLACE, transaction=transaction, io=table.io) as rewrite,
        ):
            for each in files:
                rewrite.delete_data_file(each)
            for each in _dataframe_to_data_files(table.metadata, rows, table.io):
                rewrite.append_data_file(each)
        return Compacted(files=wanted.files, files_after=wanted.files_after)

    def _rows(self, rows: SqlRows, inputs: dict[str, Input]) -> pa.Table:
        frames: dict[str, Frame] = {}
        for view, each in inputs.items():
            assert isinstance(each, AsOf)
            scan = self._load(each.table).scan(snapshot_id=each.iceberg_snapshot_id)
            frames[view] = Frame.of(scan.to_arrow())
        with connected(frames) as connection:
            return result_of(connection, read_spark(rows.sql)).arrow()

    def _opened(self, name: TableName, schema: pa.Schema) -> Table:
        if self._iceberg.table_exists((name.namespace, name.name)):
            return self._load(name)
        self._iceberg.create_namespace_if_not_exists(name.namespace)
        properties = {**_PROPERTIES, STATE: self._state}
        return self._iceberg.create_table(
            (name.namespace, name.name), schema, properties=properties
        )

    def _load(self, name: TableName) -> Table:
        return self._iceberg.load_table((name.namespace, name.name))


class _Rewrite(_OverwriteFiles):
    """Replaces files by others that have the same rows, which pyiceberg has no name for."""

    def _summary(self, snapshot_properties: dict[str, str] = {}) -> Summary:  # noqa: B006
        return Summary(Operation.REPLACE, **snapshot_properties)
