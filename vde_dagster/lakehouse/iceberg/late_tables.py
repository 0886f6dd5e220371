"""The tables of sessions and high-water marks in the Iceberg catalog, written without Spark.

Each commit is made on the Iceberg snapshot that was looked at before, or fails: pyiceberg's retries
are switched off for these tables. So a session is never there twice, even if two processes write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from typing import Any, Final, get_args, get_origin, get_type_hints

import pyarrow as pa
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata

from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.late.listed import ListedMark, ListedSession
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import TableName
from vde_dagster.ports.late_tables import KEPT

_KIND: Final = "vde.kind"
_LISTED: Final = "vde.sessions"
"""In an Iceberg snapshot's summary: the ids of the sessions that it added."""
_PROPERTIES: Final = {
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}

_ATOMIC: Final = {
    str: pa.string(),
    int: pa.int64(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _columns(of: object) -> dict[str, pa.DataType]:
    """The columns of a table, or fields of a struct, by the fields of a dataclass."""
    found = {name: _type(each) for name, each in get_type_hints(of).items()}
    hours = {name: pa.int32() for name in found if name.endswith("_hour")}
    return {**found, **hours}


def _type(of: Any) -> pa.DataType:  # noqa: ANN401 - an annotation
    if is_dataclass(of):
        return pa.struct(_columns(of))
    inner = get_args(of)  # of tuple[X, ...] and of X | None
    if get_origin(of) is tuple:
        return pa.list_(_type(inner[0]))
    return _type(inner[0]) if inner else _ATOMIC[of]


_SESSIONS: Final = pa.schema(_columns(ListedSession))
_MARKS: Final = pa.schema(_columns(ListedMark))


class IcebergLateTables:
    """Implements `vde_dagster.ports.late_tables.LateTables` over pyiceberg.

    Args:
        catalog: Opens the project's catalog.
        sessions: The table of sessions, partitioned by process name.
        marks: The table of marks, partitioned by process name and version.
    """

    def __init__(
        self, catalog: Callable[[], PyIcebergCatalog], *, sessions: TableName, marks: TableName
    ) -> None:
        self._catalog = catalog
        self._sessions = sessions
        self._marks = marks

    @property
    def names(self) -> tuple[TableName, ...]:
        """The names of both tables."""
        return self._sessions, self._marks

    def create(self) -> None:
        """Create both tables where there are none yet; see the port."""
        self._of_sessions()
        self._of_marks()

    def add_sessions(self, sessions: Sequence[ListedSession]) -> None:
        """Add sessions that the table does not have yet; see the port."""
        if not sessions:
            return
        table = self._of_sessions()
        known = _added_before(table)
        new = {each.session_id: each for each in sessions if each.session_id not in known}
        if not new:
            return
        rows = pa.Table.from_pylist([asdict(each) for each in new.values()], schema=_SESSIONS)
        with _committing(self._sessions):
            with _Change(table) as change:
                change.append(rows, snapshot_properties={_LISTED: ",".join(new)})
            _expire(table)

    def set_marks(
        self, keys: Collection[VersionKey], read: Callable[[], Sequence[ListedMark]]
    ) -> None:
        """Replace the marks of some versions; see the port."""
        if not keys:
            return
        table = self._of_marks()
        rows = pa.Table.from_pylist([asdict(each) for each in read()], schema=_MARKS)
        # The parts of a version are plain identifiers.
        own = " OR ".join(
            f"(process_name = '{key.model}' AND version = '{key.version}')" for key in keys
        )
        is_there = any(True for _ in table.scan(row_filter=own).plan_files())
        with _committing(self._marks):
            with _Change(table) as change:
                if is_there and rows.num_rows:
                    change.overwrite(rows, overwrite_filter=own)
                elif is_there:
                    change.delete(own)
                elif rows.num_rows:
                    change.append(rows)
            _expire(table)

    def _of_sessions(self) -> Table:
        return self._opened(self._sessions, "sessions", _SESSIONS, ["process_name"])

    def _of_marks(self) -> Table:
        return self._opened(self._marks, "high-water marks", _MARKS, ["process_name", "version"])

    def _opened(
        self, name: TableName, what: str, schema: pa.Schema, partitions: Sequence[str]
    ) -> Table:
        """One of the tables, which is created if there is none.

        Raises:
            Refused: Another program has a table of this name.
        """
        catalog, identifier = self._catalog(), (name.namespace, name.name)
        properties = {**_PROPERTIES, _KIND: what}
        try:
            table = catalog.load_table(identifier)
        except NoSuchTableError:
            catalog.create_namespace_if_not_exists(name.namespace)
            with suppress(TableAlreadyExistsError):  # another process was faster
                _create(catalog, identifier, schema, partitions, properties)
            table = catalog.load_table(identifier)
        if table.metadata.properties.get(_KIND) != what:
            raise Refused(
                f"{name} is a table of another program, so {what} cannot be listed there",
                advice="Choose another name under `late_data` in vde.yaml.",
            )
        return table


class _Change(Transaction):
    """A transaction that works out once for each step what the table becomes.

    pyiceberg does so, and copies all metadata, whenever it asks; nothing changes what it gets.
    """

    _known: tuple[object, object, TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table with what was staged so far."""
        known = self._known
        if known is None or known[0] is not self._table.metadata or known[1] is not self._updates:
            known = self._table.metadata, self._updates, super().table_metadata
            self._known = known
        return known[2]


def _create(
    catalog: PyIcebergCatalog,
    identifier: tuple[str, str],
    schema: pa.Schema,
    partitions: Sequence[str],
    properties: Mapping[str, str],
) -> None:
    made = catalog.create_table_transaction(identifier, schema, properties=dict(properties))
    with made, made.update_spec() as spec:
        for column in partitions:
            spec.add_identity(column)


def _added_before(table: Table) -> frozenset[str]:
    """The sessions that the retained Iceberg snapshots added.

    A process that adds sessions adds all that are not listed: one that was added before, and whose
    answer was lost, is among those of the newest snapshots.
    """
    summaries = (each.summary for each in table.metadata.snapshots if each.summary is not None)
    added = (each.additional_properties.get(_LISTED) or "" for each in summaries)
    return frozenset(each for ids in added for each in ids.split(","))


def _expire(table: Table) -> None:
    """Let the oldest Iceberg snapshots go, many at once."""
    snapshots = sorted(table.metadata.snapshots, key=lambda each: each.sequence_number or 0)
    if len(snapshots) > 2 * KEPT:  # pyiceberg copies all of them in each commit
        old = [each.snapshot_id for each in snapshots[:-KEPT]]
        table.maintenance.expire_snapshots().by_ids(old).commit()


@contextmanager
def _committing(name: TableName) -> Iterator[None]:
    """A commit to one of the tables: another change meanwhile wins."""
    try:
        yield
    except CommitFailedException as error:
        raise Conflict(f"another process changed {name} in the meantime") from error
