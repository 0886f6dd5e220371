"""Which columns Iceberg can partition and sort by (its specification, *Partition Transforms*)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vde_dagster.core.errors import Finding
from vde_dagster.core.model.storage import PartitionField, Storage, Transform

_INSTANTS: Final = frozenset({"timestamp", "timestamp_ntz"})
_TIMES: Final = _INSTANTS | {"date"}
_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_TEXTS: Final = frozenset({"string", "char", "varchar"})
_TAKEN: Final[Mapping[Transform, frozenset[str]]] = {
    Transform.HOURS: _INSTANTS,
    Transform.DAYS: _TIMES,
    Transform.MONTHS: _TIMES,
    Transform.YEARS: _TIMES,
    Transform.BUCKET: _TIMES | _WHOLE | _TEXTS | {"decimal", "binary"},
    Transform.TRUNCATE: _WHOLE | _TEXTS | {"decimal", "binary"},
}
_NESTED: Final = frozenset({"struct", "array", "map", "variant"})
_ADVICE: Final = {
    Transform.HOURS: "Write days of a DATE, or make the column a TIMESTAMP.",
    Transform.DAYS: "Cast the column to DATE or TIMESTAMP.",
    Transform.MONTHS: "Cast the column to DATE or TIMESTAMP.",
    Transform.YEARS: "Cast the column to DATE or TIMESTAMP.",
}


def layout_problems(storage: Storage, types: Mapping[str, str]) -> tuple[Finding, ...]:
    """Why a table of these columns cannot have a layout; each with what to do.

    Args:
        storage: The layout.
        types: The table's columns by their names in lower case, with Spark's types; one of a type
            that is not known fits everywhere.
    """
    return (
        *_partition_problems(storage.partitioned_by, types),
        *_order_problems(storage.clustered_by, types),
    )


def _partition_problems(
    fields: Iterable[PartitionField], types: Mapping[str, str]
) -> Iterable[Finding]:
    for field in fields:
        found = types.get(field.column.lower())
        if found is None:
            message = f"it is partitioned by {field}, but has no column {field.column}"
            yield Finding(message=message, advice="")
            continue
        name = _base(found)
        taken = _TAKEN.get(field.transform)
        fits = name not in _NESTED if taken is None else name in taken
        if name not in ("", "unknown") and not fits:
            advice = _ADVICE.get(field.transform, "Choose another column or transform.")
            message = (
                f"Iceberg cannot partition by {field}, because {field.column} is of type {found}"
            )
            yield Finding(message=message, advice=advice)


def _order_problems(columns: Iterable[str], types: Mapping[str, str]) -> Iterable[Finding]:
    for column in columns:
        found = types.get(column.lower())
        if found is None:
            message = f"it is clustered by {column}, but has no such column"
            yield Finding(message=message, advice="")
        elif _base(found) in _NESTED:
            message = f"Iceberg cannot sort by {column}, which is of type {found}"
            yield Finding(message=message, advice="Cluster by a column of a simple type.")


def _base(written: str) -> str:
    """The name of a type, without its digits or fields."""
    name = written.strip().lower()
    for sign in ("(", "<", " "):
        name = name.partition(sign)[0]
    return _SPELLINGS.get(name, name)


_SPELLINGS: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "dec": "decimal",
    "numeric": "decimal",
    "timestamp_ltz": "timestamp",
}
