"""A table and a view that are made to see whether a catalog, its storage and Spark work together.

They are in a namespace of their own, whose name is unique, and are removed with it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnauthorizedError,
)

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog
from vde_dagster.lakehouse.upkeep.reachable import Folder
from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP, ViewDefinition
from vde_dagster.runtime.secrets import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX: Final = "vde_doctor_"
_ROW: Final = 1
_ROW_OF_SPARK: Final = 2
_COLUMN: Final = Column(name="id", type="bigint")
_CERTAIN: Final = (ForbiddenError, UnauthorizedError)
"""After these a catalog has made nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAt:
    """When a storage says that a file was written, and this machine's time before and after."""

    before: datetime
    said: datetime
    after: datetime


class Trial:
    """What one trial makes in a catalog. `remove` takes away whatever of it was made.

    Args:
        catalog: The project's, as pyiceberg opened it.
        token: What no other trial is called: letters and digits.

    ``may_be_there`` is whether anything may have been made: after an error that is not certain.
    """

    def __init__(self, catalog: PyIcebergCatalog, token: str) -> None:
        self.may_be_there = False
        self._has_namespace = False
        self._catalog = catalog
        self.namespace = f"{_PREFIX}{token}"
        self._table = TableName(self.namespace, "trial")
        self._view = TableName(self.namespace, "shown")
        self._location = ""
        self._shown = False

    def make_table(self) -> StoredAt | None:
        """Make a table, write a row and read it again; when the storage says that it was written.

        None where the storage tells no times.

        Raises:
            Refused: Another row was read.
        """
        self.may_be_there = True
        try:
            self._catalog.create_namespace(self.namespace)
        except _CERTAIN:
            self.may_be_there = False
            raise
        self._has_namespace = True
        schema = pa.schema([pa.field(_COLUMN.name, pa.int64())])
        before = datetime.now(UTC)
        table = self._catalog.create_table((self.namespace, self._table.name), schema=schema)
        after = datetime.now(UTC)
        self._location, first = table.location(), table.metadata_location
        table.append(pa.table({_COLUMN.name: [_ROW]}, schema=schema))
        self._expect([_ROW])
        said = self._written_at(first)
        return None if said is None else StoredAt(before=before, said=said, after=after)

    def make_view(self) -> None:
        """Make a view of the table and read it, as the views of environments are made.

        In a catalog where they move one by one it is replaced, too, as promotions do.

        Raises:
            Refused: This catalog has no views that can be swapped, or the view is missing.
        """
        catalog = IcebergCatalog(self._catalog)
        view = ViewDefinition(name=self._view, target=self._table, columns=(_COLUMN,))
        self._shown = True
        try:
            catalog.swap_views([view], [])
        except (Refused, Conflict):  # it was not made; after any other error that is not certain
            self._shown = False
            raise
        catalog.swap_views([view], [], number=NUMBERS_OF_A_SWAP, again=True)
        if catalog.view(self._view) != view:
            raise Refused(
                f"the view {self._view} was created, but is missing",
                advice="Make sure that nothing else writes to this catalog's tables.",
            )

    def try_spark(self, session: SparkSession) -> None:
        """Read the table, and the view if there is one, write a row, and read that without Spark.

        Raises:
            Refused: Spark and pyiceberg do not have the same rows: they have other catalogs.
        """
        name = self._catalog.name
        for each in (self._table, *([self._view] if self._shown else [])):
            rows = [row[0] for row in session.table(f"`{name}`.{each}").collect()]
            if rows != [_ROW]:
                raise _other_rows(f"Spark reads {rows} from {each}, but [{_ROW}] was written")
        row = session.range(_ROW_OF_SPARK, _ROW_OF_SPARK + 1).toDF(_COLUMN.name)
        row.writeTo(f"`{name}`.{self._table}").append()
        self._expect([_ROW, _ROW_OF_SPARK])

    def remove(self) -> None:
        """Remove the view, the table, the namespace and all files, as far as they are there.

        Raises:
            Refused: Something could not be removed; the text says what.
        """
        failed = []
        for what, step in (
            (f"the view {self._view}", self._remove_view),
            (f"the table {self._table}", self._remove_table),
            (f"the namespace {self.namespace}", self._remove_namespace),
            (f"the files in {self._folder()}", self._remove_files),
        ):
            try:
                step()
            except Exception as error:  # the others are removed all the same
                why = without_secrets(str(error)).strip().split("\n", 1)[0]
                failed.append(f"{what} ({type(error).__name__}: {why})")
        if failed:
            made = (
                "objects that the trial created could not be removed"
                if self._has_namespace
                else "the trial may have created objects, which were not removed"
            )
            raise Refused(
                f"{made}: {'; '.join(failed)}",
                advice=f"If the namespace {self.namespace} exists, drop it by hand: nothing else "
                "is in it.",
            )

    def _expect(self, wanted: list[int]) -> None:
        table = self._catalog.load_table((self.namespace, self._table.name))
        found = sorted(table.scan().to_arrow()[_COLUMN.name].to_pylist())
        if found != wanted:
            raise _other_rows(f"{self._table} has the rows {found}, but {wanted} were written")

    def _written_at(self, location: str) -> datetime | None:
        """When the storage says that a metadata file was written."""
        folder = Folder(location.rpartition("/")[0], self._catalog.properties)
        path = folder.path_of(location)
        times = [each.mtime for each in folder.files() if each.path == path]
        return times[0].astimezone(UTC) if times and times[0] is not None else None

    def _remove_view(self) -> None:
        if self._shown:
            IcebergCatalog(self._catalog).swap_views([], [self._view])

    def _remove_table(self) -> None:
        with suppress(NoSuchTableError, NoSuchNamespaceError):
            self._catalog.purge_table((self.namespace, self._table.name))

    def _remove_namespace(self) -> None:
        with suppress(NoSuchNamespaceError):
            self._catalog.drop_namespace(self.namespace)

    def _remove_files(self) -> None:
        if folder := self._folder():
            own = Folder(folder, self._catalog.properties)
            own.delete([str(each.path) for each in own.files()])
            own.remove_empty()

    def _folder(self) -> str:
        """The folder of the namespace where it is its own by name, else that of the table."""
        above = self._location.rstrip("/").rpartition("/")[0]
        return above if self.namespace in PurePosixPath(above).name else self._location


def answer_of(session: SparkSession) -> int:
    """What Spark answers to the smallest query."""
    found: int = session.sql("SELECT 1 + 1 AS two").collect()[0].two
    return found


def clock_of(session: SparkSession) -> datetime:
    """What Spark's clock says, in UTC."""
    micros = session.sql("SELECT unix_micros(current_timestamp()) AS now").collect()[0].now
    return datetime.fromtimestamp(micros / 1_000_000, UTC)


def python_of_workers(session: SparkSession) -> str:
    """The release of the Python that carries out users' functions, as ``3.12``.

    Spark refuses one that is not this process's.
    """
    from pyspark.sql.functions import udf

    def release(_number: int) -> str:  # in here, since workers need not have this package
        import sys

        return f"{sys.version_info.major}.{sys.version_info.minor}"

    asked = udf(release, "string")
    there: str = session.range(1).select(asked("id").alias("python")).collect()[0].python
    return there


def _other_rows(what: str) -> Refused:
    return Refused(
        what,
        advice="Point Spark and pyiceberg to the same catalog: compare `catalog.properties` with "
        "`spark.sql.catalog.<name>...` under `spark.conf` in vde.yaml.",
    )
