"""The algorithm `xxhash64x2`: what a row is hashed to, in Spark's own compiled expressions.

Each half of a row's hash is one chain of `xxhash64` over the row, started with the half's salt. All
values enter both chains, so a collision of rows needs both at once.

A *chain* over values (the columns of a row, the fields of a struct, the element of an array, the
key and value of a map) hashes, in this order:

1. its salt,
2. one or more *words of flags*, each a bigint: bit i is set where value i (of these 62) is NULL.
   Spark's hash functions skip NULLs; the flags say where one was, so that ``('a', NULL)``,
   ``(NULL, 'a')`` and ``('a', '')`` differ, at any depth,
3. the values that are not NULL.

By type a value enters as

- numbers, booleans, dates, timestamps, times, intervals: Spark's own hash of the value. -0.0 is 0.0
  and all NaN are one. A TIMESTAMP is an instant and a TIMESTAMP_NTZ a reading of the clock, both as
  microseconds, whatever the session's zone. Decimals are hashed by value at the column's scale; the
  digest of a D-SHA contains the scale with the schema.
- text and binary: the bytes as stored, padding included, whatever the collation.
- struct: a chain of its own over its fields.
- array: its length, then a chain of its own for each element.
- map: its length, then a chain of its own for each entry's key and value, sorted by what they hash
  to, so that entries have no order.
- variant: its JSON text with instants in UTC, and its schema, which distinguishes a date from its
  text.

A change of this encoding gets a new name in `vde_dagster.core.ledger.dsha`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import ArrayType, MapType, StringType, StructType, VariantType

from vde_dagster.lakehouse.iceberg.tables import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_SALTS: Final = (0x7664_655F_6869_6768, 0x7664_655F_6C6F_775F)  # "vde_high", "vde_low_"
_FLAGS: Final = 62

_Value = tuple[str, "DataType"]
"""An expression in Spark's SQL, and its type: made of columns it takes a hundred times as long."""


def halves(frame: DataFrame, *, apart: Collection[str] = ()) -> tuple[Column, Column]:
    """The upper and the lower 64 bits of each row's hash, over all columns in order.

    Columns ``apart`` are left out.
    """
    fields = [each for each in frame.schema.fields if each.name not in apart]
    values = [(quoted(each.name), each.dataType) for each in fields]
    upper, lower = (F.expr(_chain(salt, values)) for salt in _SALTS)
    return upper, lower


def _chain(salt: int, values: Sequence[_Value], depth: int = 0) -> str:
    """One hash over values, which starts with flags of those that are NULL."""
    words = (values[at : at + _FLAGS] for at in range(0, len(values), _FLAGS))
    hashed = (_hashable(salt, value, of, depth) for value, of in values)
    return f"xxhash64({', '.join([f'{salt}L', *map(_flags, words), *hashed])})"


def _flags(values: Sequence[_Value]) -> str:
    return " | ".join(
        f"CASE WHEN {value} IS NULL THEN {1 << number}L ELSE 0L END"
        for number, (value, _) in enumerate(values)
    )


def _hashable(salt: int, value: str, of: DataType, depth: int) -> str:
    """A value in a form that `xxhash64` distinguishes from every other value of its type.

    ``depth`` counts the lambdas around it.
    """
    inner = f"x{depth}"
    match of:
        case StructType():
            # By a subscript: `a`.`b` is first the column b of a table that the query calls a.
            fields = [(f"{value}[{literal(each.name)}]", each.dataType) for each in of.fields]
            return f"CASE WHEN {value} IS NOT NULL THEN {_chain(salt, fields, depth)} END"
        case ArrayType():
            element = _chain(salt, [(inner, of.elementType)], depth + 1)
            return _listed(salt, value, f"transform({value}, {inner} -> {element})")
        case MapType():
            parts = [(f"{inner}.key", of.keyType), (f"{inner}.value", of.valueType)]
            entry = _chain(salt, parts, depth + 1)
            entries = f"transform(map_entries({value}), {inner} -> {entry})"
            return _listed(salt, value, f"sort_array({entries})")
        case VariantType():
            return f"struct(to_json({value}, map('timeZone', 'UTC')), schema_of_variant({value}))"
        case StringType() if not of.isUTF8BinaryCollation():
            return f"collate({value}, 'UTF8_BINARY')"
        case _:
            return value


def _listed(salt: int, value: str, hashes: str) -> str:
    return f"CASE WHEN {value} IS NOT NULL THEN xxhash64({salt}L, size({value}), {hashes}) END"
