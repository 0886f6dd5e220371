"""Shallow copies: a version's table begins with the data files of another table, without a copy.

The table is its own, with its own folder, metadata files and manifests; two tables never share any
of these (ADR 26). Its columns have the field ids of the original, because that is how data files
name them, and no column that is added later gets an id that the original has used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import ResolveError
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, promote
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    TableRequirement,
    TableUpdate,
    UpdateTableMetadata,
)
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    MapType,
    NestedField,
    PrimitiveType,
    StructType,
)

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.damage import Original
from vde_dagster.core.ledger.unit_of_work import AsOf, Staging
from vde_dagster.core.listing import plural
from vde_dagster.core.model.writes import OverwriteIntervals
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.creation import begin_branch, created_table
from vde_dagster.lakehouse.iceberg.iceberg_types import iceberg_type, schemas_of, spark_type
from vde_dagster.lakehouse.iceberg.publish import branch_name, load, until_done
from vde_dagster.lakehouse.iceberg.row_changes import entries_of, has_rows, times_of
from vde_dagster.lakehouse.iceberg.tables import simple_name

if TYPE_CHECKING:
    from pyspark.sql.types import StructType as SparkStruct

_MAPPING: Final = "schema.name-mapping.default"
"""Says that files have columns without ids: those that were Parquet's or Hive's."""
_LAST_ID: Final = "_vde_last_column_id"
_FILES_IN_A_MANIFEST: Final = 10_000


def shallow_copy(
    catalog: PyIcebergCatalog, staging: Staging, schema: SparkStruct, source: AsOf
) -> Table:
    """The table of a version, whose branch has the data files of another table.

    Rows of other times than those that are written may be in these files.

    Args:
        catalog: The catalog of both; the namespace of the version's table exists.
        staging: The unit of work that begins with these rows.
        schema: The columns that the version's table has.
        source: The other table, at one Iceberg snapshot.

    Raises:
        EvaluationFailed: The files cannot be shared, with all reasons. Or the version's table is
            there already, and has other columns or rows.
    """
    original = load(catalog, source.table)
    copied = _copied(original, staging, schema, source)
    name, branch = staging.target.table, branch_name(staging.work_id)
    bare = replace(staging.storage, partitioned_by=(), clustered_by=())
    begin = partial(_ShallowCopy, copied)
    found = created_table(catalog, replace(staging, storage=bare), schema, begin)

    def act(table: Table) -> None:
        if branch not in table.metadata.refs:
            _check_unused(table, name, copied)
            with table.transaction() as change:
                begin(change, branch).commit()

    until_done(catalog, name, act, what=f"the branch {branch} of {name}", found=found)
    return load(catalog, name)


def _check_unused(table: Table, name: TableName, copied: _Copied) -> None:
    """Refuse a table with rows, or of which a branch is read by other field ids."""
    metadata = table.metadata
    is_same = table.schema().fields == copied.schema.fields
    is_bare = not metadata.refs and not table.spec().fields
    if metadata.current_snapshot_id is not None or not (is_same or is_bare):
        raise EvaluationFailed(
            f"the version already has the table {name}, and only a new table can be a shallow copy",
            advice="Give --copy instead of --shallow.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copied:
    """What a shallow copy has: its columns, partitions, files by partition spec and properties.

    ``last_id`` is the highest field id that the original has ever used.
    """

    schema: Schema
    last_id: int
    specs: Mapping[int, PartitionSpec]
    default_spec: int
    files: Mapping[int, Sequence[DataFile]]
    properties: Mapping[str, str]

    @property
    def counts(self) -> dict[str, str]:
        """What Iceberg counts in the summary of a commit."""
        files = [each for some in self.files.values() for each in some]
        counted = {
            "records": sum(each.record_count for each in files),
            "data-files": len(files),
            "files-size": sum(each.file_size_in_bytes for each in files),
        }
        totals = {f"total-{what}": str(count) for what, count in counted.items()}
        added = {f"added-{what}": str(count) for what, count in counted.items()}
        none = ("delete-files", "position-deletes", "equality-deletes")
        return {**totals, **added, **{f"total-{what}": "0" for what in none}}


def _copied(original: Table, staging: Staging, schema: SparkStruct, source: AsOf) -> _Copied:
    """What the version's table gets of the original.

    Raises:
        EvaluationFailed: See `shallow_copy`.
    """
    snapshot = original.metadata.snapshot_by_id(source.iceberg_snapshot_id or 0)
    if snapshot is None:
        raise EvaluationFailed(f"{source.table} no longer has any rows to copy")
    if schemas_of(original).columns(snapshot.snapshot_id) != source.columns:
        raise EvaluationFailed(
            f"the columns of {source.table} have changed", advice="Run the command again."
        )
    fields, problems = _fields(original.schema(), schema, staging.descriptions)
    files: dict[int, list[DataFile]] = defaultdict(list)
    deletes = encrypted = 0
    times = _times(original, staging)
    for manifest, entry in entries_of(original, snapshot):
        file = entry.data_file
        deletes += not has_rows(file)
        encrypted += file.key_metadata is not None
        if times(file):
            files[manifest.partition_spec_id].append(file)
    if deletes:
        problems.append(f"it has {plural(deletes, 'delete file')} {_DELETES}")
    if _MAPPING in original.properties:
        problems.append(
            "its files were imported from Parquet or Hive and have no column ids, so a column "
            "added later could show their values"
        )
    if encrypted:
        problems.append(f"it has {plural(encrypted, 'encrypted file')}")
    default = original.metadata.default_spec_id
    specs = {number: original.specs()[number] for number in {*files, default}}
    ids = {each.field_id for each in fields}
    foreign = {p.name for each in specs.values() for p in each.fields if p.source_id not in ids}
    if foreign:
        problems.append(f"it is partitioned by {', '.join(sorted(foreign))}, but the model is not")
    if problems:
        raise EvaluationFailed(
            f"the files of {source.table} cannot be shared: {'; '.join(problems)}",
            advice="Give --copy instead of --shallow.",
        )
    named = Original(table=source.table, iceberg_snapshot_id=snapshot.snapshot_id)
    return _Copied(
        schema=Schema(*fields),
        last_id=original.metadata.last_column_id,
        specs=specs,
        default_spec=default,
        files=files,
        properties={
            **named.written,
            "gc.enabled": "false",  # Iceberg's own procedures would delete the original's files
        },
    )


_DELETES: Final = "(merge-on-read), which `rewrite_data_files` removes"


def _times(original: Table, staging: Staging) -> Callable[[DataFile], bool]:
    """Whether a file may have rows of the times that are written."""
    write = staging.parts[0].write
    if not isinstance(write, OverwriteIntervals):
        return lambda _: True
    known = times_of(original, write.axis.column)

    def may_have(file: DataFile) -> bool:
        found = known(file)
        return found is None or any(
            found.start < each.end and each.start < found.end for each in write.intervals
        )

    return may_have


def _fields(
    original: Schema, wanted: SparkStruct, descriptions: Mapping[str, str]
) -> tuple[list[NestedField], list[str]]:
    """The version's columns with the original's ids, and why some of them cannot be read so."""
    known = {each.name.lower(): each for each in original.fields}
    described = {name.lower(): text for name, text in descriptions.items()}
    fields, problems = [], []
    for each in wanted.fields:
        found, needed = known.get(each.name.lower()), iceberg_type(simple_name(each.dataType))
        if found is None:
            problems.append(f"it no longer has the column {each.name}")
            continue
        read_as = _read_as(found.field_type, needed)
        if read_as is None:
            problems.append(
                f"its column {found.name} is {spark_type(found.field_type)}, but the model's is "
                f"{spark_type(needed)}"
            )
        elif any(_has_default(each) for each in (found, *_inside(found.field_type))):
            problems.append(f"its column {found.name} has a default for older rows")
        doc = described.get(each.name.lower()) or None
        type_ = read_as or found.field_type
        fields.append(NestedField(found.field_id, each.name, type_, required=False, doc=doc))
    return fields, problems


def _has_default(field: NestedField) -> bool:
    return field.initial_default is not None


def _inside(of: IcebergType) -> Iterator[NestedField]:
    """The fields inside of a type, at all depths."""
    match of:
        case StructType():
            own: tuple[NestedField, ...] = of.fields
        case ListType():
            own = (of.element_field,)
        case MapType():
            own = (of.key_field, of.value_field)
        case _:
            own = ()
    for each in own:
        yield each
        yield from _inside(each.field_type)


def _read_as(found: IcebergType, wanted: IcebergType) -> IcebergType | None:
    """The type with the original's ids by which Iceberg reads its files; None for none."""
    if not isinstance(found, PrimitiveType):
        return _optional(found) if spark_type(found) == spark_type(wanted) else None
    if found == wanted:
        return found
    if not isinstance(found, IntegerType | FloatType | DecimalType):
        return None
    try:
        return promote(found, wanted)
    except ResolveError:
        return None


def _optional(of: IcebergType) -> IcebergType:
    """A type in which anything may be NULL, as in all tables of versions."""
    match of:
        case StructType():
            fields = of.fields
            return StructType(
                *[
                    NestedField(e.field_id, e.name, _optional(e.field_type), required=False)
                    for e in fields
                ]
            )
        case ListType():
            inner = _optional(of.element_type)
            return ListType(of.element_id, inner, element_required=False)
        case MapType():
            key, value = _optional(of.key_type), _optional(of.value_type)
            return MapType(of.key_id, key, of.value_id, value, value_required=False)
        case _:
            return of


class _ShallowCopy(UpdateTableMetadata["_ShallowCopy"]):
    """The columns, partitions and files of a shallow copy, in one commit with its branch."""

    def __init__(self, copied: _Copied, transaction: Transaction, branch: str) -> None:
        super().__init__(transaction)
        self._copied, self._branch = copied, branch

    def _commit(self) -> tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]:
        copied, metadata = self._copied, self._transaction.table_metadata
        schema_id, schemas = self._schemas()
        numbers, specs = self._specs()
        snapshot_id = metadata.new_snapshot_id()
        manifests = [
            self._manifest(specs[spec], files[at : at + _FILES_IN_A_MANIFEST], snapshot_id)
            for spec, files in copied.files.items()
            for at in range(0, len(files), _FILES_IN_A_MANIFEST)
        ]
        begun = begin_branch(
            self._transaction,
            self._branch,
            snapshot_id,
            manifests=manifests,
            counts=copied.counts,
            schema_id=schema_id,
        )
        default = specs[copied.default_spec].spec_id
        return (
            *schemas,
            SetCurrentSchemaUpdate.model_validate({"schema-id": schema_id}),
            *numbers,
            SetDefaultSpecUpdate.model_validate({"spec-id": default}),
            SetPropertiesUpdate(updates={**copied.properties}),
            *begun,
        ), ()

    def _schemas(self) -> tuple[int, list[TableUpdate]]:
        """The id of the columns' schema, and what adds it unless the table has it already.

        Where the original has had more columns, a schema comes first that is never the current one,
        and whose only field has the last id.
        """
        metadata, wanted = self._transaction.table_metadata, self._copied.schema
        new, added = max(each.schema_id for each in metadata.schemas) + 1, list[Schema]()
        if self._copied.last_id > max(metadata.last_column_id, wanted.highest_field_id):
            last = NestedField(self._copied.last_id, _LAST_ID, BooleanType(), required=False)
            added.append(Schema(last, schema_id=new))
        same = (each.schema_id for each in metadata.schemas if each.fields == wanted.fields)
        found = next(same, None)
        if found is None:
            found = new + len(added)
            added.append(Schema(*wanted.fields, schema_id=found))
        return found, [AddSchemaUpdate.model_validate({"schema": each}) for each in added]

    def _specs(self) -> tuple[list[TableUpdate], dict[int, PartitionSpec]]:
        """The original's partition specs as the table numbers them, and what adds the new ones."""
        there = list(self._transaction.table_metadata.partition_specs)
        added: list[TableUpdate] = []
        found: dict[int, PartitionSpec] = {}
        for number, wanted in sorted(self._copied.specs.items()):
            same = [each for each in there if each.fields == wanted.fields]
            if not same:
                new = max(each.spec_id for each in there) + 1
                same = [PartitionSpec(*wanted.fields, spec_id=new)]
                there += same
                added.append(AddPartitionSpecUpdate.model_validate({"spec": same[0]}))
            found[number] = same[0]
        return added, found

    def _manifest(
        self, spec: PartitionSpec, files: Sequence[DataFile], snapshot_id: int
    ) -> ManifestFile:
        table = self._transaction._table  # noqa: SLF001 - as pyiceberg's own updates do
        path = table.location_provider().new_metadata_location(f"{uuid4()}-m0.avro")
        output, schema = table.io.new_output(path), self._copied.schema
        with write_manifest(2, spec, schema, output, snapshot_id, "deflate") as writer:
            for each in files:
                entry = ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=snapshot_id,
                    data_file=_again(each, spec.spec_id),
                )
                writer.add_entry(entry)
        return writer.to_manifest_file()


_KEPT: Final = (
    "file_path",
    "file_format",
    "partition",
    "record_count",
    "file_size_in_bytes",
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
    "split_offsets",
)


def _again(file: DataFile, spec_id: int) -> DataFile:
    """A data file as an entry of another table, whatever the original's format version."""
    said = {each: getattr(file, each) for each in _KEPT}
    kept = DataFile.from_args(content=DataFileContent.DATA, **said)
    kept.spec_id = spec_id
    return kept
