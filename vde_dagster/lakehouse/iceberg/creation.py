"""Creating the table of a version, and the empty branch that its first rows are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.manifest import ManifestFile, write_manifest_list
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    UpdateTableMetadata,
)
from pyiceberg.transforms import IdentityTransform, parse_transform
from pyiceberg.types import NestedField

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.faults import fault_of
from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.model.storage import PartitionField as Partition
from vde_dagster.core.model.storage import Transform
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.iceberg_types import iceberg_type
from vde_dagster.lakehouse.iceberg.publish import (
    LOST,
    branch_name,
    drop_branch,
    load,
    until_done,
)
from vde_dagster.lakehouse.iceberg.tables import simple_name, table_properties

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_FIRST_PARTITION: Final = 1000


Begin = Callable[[Transaction, str], UpdateTableMetadata[Any]]
"""What a branch of this name begins with, in a transaction of its table."""


def created_table(
    catalog: PyIcebergCatalog, staging: Staging, schema: StructType, begin: Begin | None = None
) -> Table:
    """The table of a version, which is created, with a branch, if there is none.

    Args:
        catalog: The catalog; the table's namespace exists.
        staging: The unit of work that writes its first rows.
        schema: The schema of these rows, which Iceberg can store.
        begin: What the branch begins with; without it no row.

    Raises:
        EvaluationFailed: It could not be created.
    """
    name = staging.target.table
    try:
        columns = _schema(schema, staging.descriptions)
        asked: dict[str, Any] = {
            "identifier": (name.namespace, name.name),
            "schema": columns,
            "partition_spec": _partitions(columns, staging.storage.partitioned_by),
            "sort_order": _order(columns, staging.storage.clustered_by),
            "properties": table_properties(staging)
            | ({"comment": staging.comment} if staging.comment else {}),
        }
        try:
            creation = catalog.create_table_transaction(**asked)
            (begin or _EmptyBranch)(creation, branch_name(staging.work_id)).commit()
            return creation.commit_transaction()
        except BadRequestError:  # a server may not create a table together with something
            return catalog.create_table(**asked)
    except (TableAlreadyExistsError, CommitFailedException, *LOST) as error:
        try:
            return load(catalog, name)  # another process was faster, or the answer was lost
        except NoSuchTableError:
            if fault_of(error) is not None:
                raise error from None
            raise _failed(name, error, advice="Retry.") from error
    except (ValueError, ValidationError, NoSuchNamespaceError) as error:
        raise _failed(name, error) from error


def _failed(name: TableName, error: Exception, advice: str = "") -> EvaluationFailed:
    first, *_ = str(error).splitlines() or [repr(error)]
    return EvaluationFailed(f"the table {name} could not be created: {first}", advice=advice)


def put_empty_branch(found: Table, name: TableName, work_id: str) -> None:
    """Put the branch of a unit of work on a table that has no Iceberg snapshot, without any row.

    Args:
        found: The table, as it was read.
        name: Its name.
        work_id: The unit of work: no other process changes its branch.

    Raises:
        TableMoved: The table does not exist any more.
        Conflict: Others change the table all the time.
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """
    branch = branch_name(work_id)
    if branch in found.metadata.refs:
        drop_branch(found.catalog, name, work_id)

    def act(table: Table) -> None:
        if branch not in table.metadata.refs:
            with table.transaction() as change:
                _EmptyBranch(change, branch).commit()

    until_done(found.catalog, name, act, what=f"the branch {branch} of {name}")


class _EmptyBranch(UpdateTableMetadata["_EmptyBranch"]):
    """A new branch of a table that has no rows: pyiceberg itself makes `main` alone there.

    Like Spark's `CREATE BRANCH` it begins with an Iceberg snapshot without files. It requires
    nothing: no other process changes the branch of a unit of work.
    """

    def __init__(self, transaction: Transaction, branch: str) -> None:
        super().__init__(transaction)
        self._branch = branch

    def _commit(self) -> tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]:
        counts = dict.fromkeys(_TOTALS, "0")
        schema_id = self._transaction.table_metadata.current_schema_id
        number = self._transaction.table_metadata.new_snapshot_id()
        return begin_branch(
            self._transaction, self._branch, number, counts=counts, schema_id=schema_id
        ), ()


def begin_branch(
    transaction: Transaction,
    branch: str,
    snapshot_id: int,
    *,
    manifests: Sequence[ManifestFile] = (),
    counts: Mapping[str, str],
    schema_id: int,
) -> tuple[TableUpdate, ...]:
    """A first Iceberg snapshot of these manifests, with a branch at it."""
    table, number = transaction._table, transaction.table_metadata.next_sequence_number()  # noqa: SLF001 - as pyiceberg's own updates do
    path = table.location_provider().new_metadata_location(f"snap-{snapshot_id}-0-{uuid4()}.avro")
    output = table.io.new_output(path)
    with write_manifest_list(2, output, snapshot_id, None, number, "deflate") as writer:
        writer.add_manifests([*manifests])
    begin = Snapshot.model_validate(
        {
            "snapshot-id": snapshot_id,
            "sequence-number": number,
            "manifest-list": path,
            "summary": Summary(Operation.APPEND, **counts),
            "schema-id": schema_id,
        }
    )
    at = SetSnapshotRefUpdate.model_validate(
        {"ref-name": branch, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot_id}
    )
    return (AddSnapshotUpdate(snapshot=begin), at)


_TOTALS: Final = (
    "total-records",
    "total-data-files",
    "total-files-size",
    "total-delete-files",
    "total-position-deletes",
    "total-equality-deletes",
)
"""What Iceberg counts in each summary, where the one before it has it."""


def _schema(of: StructType, descriptions: Mapping[str, str]) -> Schema:
    """Columns, which may all be NULL, and so may what is inside of them, in later rows."""
    described = {name.lower(): text for name, text in descriptions.items()}
    fields = [
        NestedField(
            number,
            each.name,
            iceberg_type(simple_name(each.dataType)),
            required=False,
            doc=described.get(each.name.lower()) or None,
        )
        for number, each in enumerate(of.fields, start=1)
    ]
    return assign_fresh_schema_ids(Schema(*fields))


def _partitions(schema: Schema, fields: Iterable[Partition]) -> PartitionSpec:
    """The partitions, under the names that Iceberg gives them.

    Raises:
        ValueError: Two would have the same name.
    """
    made: list[PartitionField] = []
    for each in fields:
        source = schema.find_field(each.column, case_sensitive=False)
        name = _partition_name(source.name, each.transform)
        if name in {other.name for other in made}:
            raise ValueError(f"two partition fields would have the name {name}")
        number = _FIRST_PARTITION + len(made)
        transform = parse_transform(_transform(each))
        made.append(PartitionField(source.field_id, number, transform, name))
    return PartitionSpec(*made)


def _transform(field: Partition) -> str:
    name = field.transform.value.removesuffix("s")
    return name if field.argument is None else f"{name}[{field.argument}]"


def _partition_name(column: str, transform: Transform) -> str:
    match transform:
        case Transform.IDENTITY:
            return column
        case Transform.TRUNCATE:
            return f"{column}_trunc"
        case _:
            return f"{column}_{transform.value.removesuffix('s')}"


def _order(schema: Schema, columns: Iterable[str]) -> SortOrder:
    return SortOrder(
        *(
            SortField(
                source_id=schema.find_field(each, case_sensitive=False).field_id,
                transform=IdentityTransform(),
                direction=SortDirection.ASC,
                null_order=NullOrder.NULLS_FIRST,
            )
            for each in columns
        )
    )
