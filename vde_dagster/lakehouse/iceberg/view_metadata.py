"""The metadata files of views and tables, as the JSON that Iceberg's specification says.

Only what views need of them is read: pyiceberg would also check all Iceberg snapshots of a table,
which takes a hundred times as long.

Structs of a table may be selected field by field: Spark reads a view only if its structs have as
many fields as those of what it selects. A view that names the fields can be read before and after
its table gets another one, at any depth.
"""

from __future__ import annotations

import gzip
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.stored_types import same_type, shown_as
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.iceberg_types import iceberg_type, spark_type
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.physical_layer import STATE

ROWS = "vde_rows"
"""The name of the table in the query, since a table may be called as a column of structs is."""


def selected_by_field(name: str, kind: object) -> str:
    """A column with exactly these fields of its structs, in this order.

    Args:
        name: The column's.
        kind: Its type with the fields that are selected, as Iceberg's specification writes it.
    """
    column = quoted(name)
    value = _value(f"{ROWS}.{column}", kind, 0)
    return f"{value} AS {column}"


def quoted(name: str) -> str:
    """A name as Spark's SQL quotes it."""
    return "`" + name.replace("`", "``") + "`"


def _value(value: str, kind: object, depth: int) -> str:
    """The value of a type, or of what is inside of one; ``depth`` counts the lambdas around it."""
    match kind:
        case {"type": "struct", "fields": fields}:
            parts = ", ".join(_field(value, each, depth) for each in fields)
            return f"IF({value} IS NULL, NULL, NAMED_STRUCT({parts}))"
        case {"type": "list", "element": element} if _has_struct(element):
            inner = _value(f"e{depth}", element, depth + 1)
            return f"TRANSFORM({value}, e{depth} -> {inner})"
        case {"type": "map", "value": entry} if _has_struct(entry):
            inner = _value(f"e{depth}", entry, depth + 1)
            return f"TRANSFORM_VALUES({value}, (k{depth}, e{depth}) -> {inner})"
        case _:
            return value


def _field(struct: str, field: Mapping[str, Any], depth: int) -> str:
    name = field["name"]
    value = _value(f"{struct}.{quoted(name)}", field["type"], depth)
    return f"{exp.Literal.string(name).sql('spark')}, {value}"


def _has_struct(kind: object) -> bool:
    """Whether a type has fields that a table may get more of: those in keys of maps stay."""
    match kind:
        case {"type": "struct"}:
            return True
        case {"type": "list", "element": inner} | {"type": "map", "value": inner}:
            return _has_struct(inner)
        case _:
            return False


TARGET: Final = "vde.target"
"""Where a view says which table or physical view it shows."""
_ENGINE: Final = "Spark 4.1"
_AT_ONCE: Final = 8
_Value = TypeVar("_Value")

Json = dict[str, Any]
Fields = Sequence[Json]
"""The columns of a schema, each as the specification's ``struct`` field."""


class MetadataFiles:
    """Reads and writes the metadata files of a catalog; its properties open them.

    One way of opening files is kept for each scheme (``file``, ``s3``), since making it takes
    longer than reading a file.
    """

    def __init__(self, catalog: PyIcebergCatalog) -> None:
        self._properties = catalog.properties
        self._opened: dict[str, FileIO] = {}

    def read(self, location: str) -> Json:
        """The metadata in a file.

        Raises:
            FileNotFoundError: There is no such file.
        """
        with self._io(location).new_input(location).open() as stream:
            content = stream.read()
        if location.endswith(".gz.metadata.json"):
            content = gzip.decompress(content)
        return cast(Json, json.loads(content))

    def is_missing(self, location: str) -> bool:
        """Whether a file of this machine is missing; False of any other, which is not asked."""
        path = location.removeprefix("file://").removeprefix("file:")
        return path.startswith("/") and not Path(path).exists()

    def write(self, location: str, metadata: Json) -> None:
        """Write metadata to a new file."""
        content = json.dumps(metadata).encode()
        try:
            self._create(location, content)
        except FileNotFoundError:  # its folder was empty, and was removed just then
            self._create(location, content)

    def _create(self, location: str, content: bytes) -> None:
        # No other file has its name, which is made for it: nobody has to look.
        with self._io(location).new_output(location).create(overwrite=True) as stream:
            stream.write(content)

    def _io(self, location: str) -> FileIO:
        scheme = location.partition(":")[0] if ":" in location else ""
        if scheme not in self._opened:
            self._opened[scheme] = load_file_io(self._properties, location)
        return self._opened[scheme]


class NewestFiles(Generic[_Value]):
    """What the newest metadata files of tables or views say.

    A file never changes, so a process reads it once; several are read concurrently.

    Args:
        files: Reads metadata files.
        value: What a file says, by the name that it belongs to.
    """

    def __init__(self, files: MetadataFiles, value: Callable[[TableName, Json], _Value]) -> None:
        self._files, self._value = files, value
        self._known: dict[TableName, tuple[str, _Value]] = {}

    def of(self, locations: Mapping[TableName, str]) -> dict[TableName, _Value]:
        """What files say; those that are lost are left out."""
        there = [name for name, at in locations.items() if not self._files.is_missing(at)]
        old = [name for name in there if self._known.get(name, ("",))[0] != locations[name]]
        if old:
            with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
                [*pool.map(self._read, old, (locations[name] for name in old))]
        known = {name: self._known.get(name) for name in there}
        return {n: each[1] for n, each in known.items() if each and each[0] == locations[n]}

    def _read(self, name: TableName, location: str) -> None:
        with suppress(FileNotFoundError):
            self._known[name] = location, self._value(name, self._files.read(location))


def target_of(metadata: Json) -> TableName | None:
    """What a view shows; None for a view of another program."""
    written = current_version(metadata)["summary"].get(TARGET)
    return None if written is None else TableName(*written.split("."))


def current_version(metadata: Json) -> Json:
    """The version of a view that readers see."""
    current = metadata["current-version-id"]
    return cast(Json, next(e for e in metadata["versions"] if e["version-id"] == current))


def view_fields(metadata: Json) -> Fields:
    """The columns of a view."""
    return _fields_of(metadata, current_version(metadata)["schema-id"])


def table_fields(metadata: Json) -> Fields:
    """The columns of a table."""
    return _fields_of(metadata, metadata["current-schema-id"])


def _fields_of(metadata: Json, wanted: int) -> Fields:
    found = next(each for each in metadata["schemas"] if each.get("schema-id", 0) == wanted)
    return cast(Fields, found["fields"])


def columns_of_fields(fields: Fields) -> tuple[Column, ...]:
    """The columns under the names that Spark gives their types."""
    return tuple(
        Column(name=each["name"], type=_spark_type(each), description=each.get("doc") or "")
        for each in fields
    )


def shown_field(field: Json, wanted: Column) -> Json:
    """A target's column in a view's schema: Spark casts it to a wider type, never to another.

    Its structs lack the fields that those of the wanted type lack.
    """
    new = dict(field)
    if wanted.description:
        new["doc"] = wanted.description
    type_ = shown_as(_spark_type(field), wanted.type)
    if not same_type(type_, _spark_type(field)):
        new["type"] = _with_type(field["type"], iceberg_type(type_))
    return new


def _with_type(kind: object, wanted: IcebergType) -> object:
    """A type in metadata that is wider, or lacks fields; what stays keeps its ids."""
    match kind, wanted:
        case {"fields": fields, **rest}, StructType():
            types = {each.name: each.field_type for each in wanted.fields}
            kept = [
                {**each, "type": _with_type(each["type"], types[each["name"]]), "required": False}
                for each in fields
                if each["name"] in types
            ]
            return {**rest, "fields": kept}
        case {"element": element, **rest}, ListType(element_type=inner):
            return {**rest, "element": _with_type(element, inner), "element-required": False}
        case {"value": value, **rest}, MapType(value_type=inner):
            return {**rest, "value": _with_type(value, inner), "value-required": False}
        case _:
            return json.loads(wanted.model_dump_json())


def _spark_type(field: Json) -> str:
    return _spark_type_of(json.dumps(field["type"]))


@lru_cache(maxsize=1024)
def _spark_type_of(written: str) -> str:
    """Spark's name of a type in a metadata file; tables have few types, and repeat them."""
    field = {"id": 1, "name": "x", "required": False, "type": json.loads(written)}
    return spark_type(NestedField.model_validate(field).field_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What a view selects of its target, and the comment: its own, or the target's.

    With ``by_field`` structs are selected field by field.
    """

    fields: Fields
    comment: str
    by_field: bool


def new_metadata(
    view: ViewDefinition,
    selected: Selected,
    before: Json | None,
    *,
    catalog: str,
    location: str,
    state: str = "",
) -> Json:
    """The metadata of a view (Iceberg's view spec, format version 1), with one version.

    ``state`` is the id of the state that makes it; empty where that is not known.
    """
    fields, comment = selected.fields, selected.comment
    query = query_of(fields, view.target, catalog, by_field=selected.by_field)
    query += f"{_WHERE}{view.visible}" if view.visible else ""
    version = before["current-version-id"] + 1 if before else 1
    now = int(time.time() * 1000)
    return {
        "view-uuid": before["view-uuid"] if before else str(uuid.uuid4()),
        "format-version": 1,
        "location": before["location"] if before else location,
        "properties": {
            "provider": "iceberg",
            "create_engine_version": _ENGINE,
            "engine_version": _ENGINE,
            "spark.query-column-names": ",".join(each["name"] for each in fields),
            **({"comment": comment} if comment else {}),
            **({STATE: state} if state else {}),
        },
        "schemas": [
            {"type": "struct", "fields": fields, "schema-id": 0, "identifier-field-ids": []}
        ],
        "current-version-id": version,
        "versions": [
            {
                "version-id": version,
                "timestamp-ms": now,
                "schema-id": 0,
                "summary": {
                    "engine-name": "spark",
                    "engine-version": _ENGINE,
                    TARGET: str(view.target),
                },
                "default-catalog": catalog,
                "default-namespace": [view.name.namespace],
                "representations": [{"type": "sql", "sql": query, "dialect": "spark"}],
            }
        ],
        "version-log": [{"version-id": version, "timestamp-ms": now}],
    }


_WHERE: Final = " WHERE "


def shown_rows(metadata: Json, target: TableName, catalog: str) -> str | None:
    """Which rows of its target a view of ours has, as `ViewDefinition.visible` says it.

    None for a view that selects something else.
    """
    fields, queries = view_fields(metadata), queries_of(metadata)
    for by_field in (False, True):
        whole = query_of(fields, target, catalog, by_field=by_field)
        if queries == [whole]:
            return ""
        if len(queries) == 1 and queries[0].startswith(whole + _WHERE):
            return queries[0].removeprefix(whole + _WHERE)
    return None


def queries_of(metadata: Json) -> list[str]:
    """What a view selects in Spark's dialect."""
    return [
        each["sql"]
        for each in current_version(metadata)["representations"]
        if each.get("dialect", "").lower() == "spark"
    ]


def query_of(fields: Fields, target: TableName, catalog: str, *, by_field: bool) -> str:
    """What a view selects, in Spark's dialect; with ``by_field`` it names the fields of structs."""
    table = ".".join(map(quoted, (catalog, target.namespace, target.name)))
    if by_field:
        columns = ", ".join(selected_by_field(each["name"], each["type"]) for each in fields)
        return f"SELECT {columns} FROM {table} AS {ROWS}"  # noqa: S608 - all quoted
    columns = ", ".join(quoted(each["name"]) for each in fields)
    return f"SELECT {columns} FROM {table}"  # noqa: S608 - names alone, all quoted


def is_same_view(before: Json, after: Json) -> bool:
    """Whether two views' metadata are equal apart from their time and version number."""
    old, new = current_version(before), current_version(after)
    return (
        old["representations"] == new["representations"]
        and target_of(before) == target_of(after)
        and view_fields(before) == view_fields(after)
        and before["properties"].get("comment") == after["properties"].get("comment")
    )
