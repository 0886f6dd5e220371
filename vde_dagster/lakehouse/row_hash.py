"""The row encoding `xx2/1`: what a row is hashed to, and the exact sums of many rows.

Each of the two lanes of a row is one `xxhash64` chain that starts with the lane's salt. Every
column, in order, adds a flag and its value. Spark's hash functions skip NULLs; the flag says at
which position one was, so that ``('a', NULL)`` and ``(NULL, 'a')`` differ. By type:

- numbers, booleans, dates, timestamps: Spark's own hash of the value. -0.0 is 0.0, and all NaN are
  one. Timestamps are instants (microseconds), whatever the session's zone. Decimals are hashed by
  value at the column's scale; the digest of a D-SHA holds the scale with the schema.
- text and binary: the bytes as stored, padding included.
- struct: a chain of its own over its fields, each with its flag.
- array: a chain of its own over length and elements, each with its flag.
- map: as an array of (key, value) hashes in the order of these hashes, so entries have no order.
- variant: its JSON text.

A change of this encoding gets a new name in `vde_dagster.core.dsha.ALGORITHM`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

from vde_dagster.core.dsha import LANE, RowSum

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_SALTS: Final = (0x7664_655F_6869_6768, 0x7664_655F_6C6F_775F)  # "vde_high", "vde_low_"
_LIMB: Final = 1 << 32
_HALF_LIMB: Final = 1 << 31


def row_sums(frame: DataFrame, group: Column | None = None) -> Mapping[object, RowSum]:
    """The sums of all rows of a frame, or of each group of rows, in one query.

    A lane's 64 bits are summed as two limbs around zero, so that sums under ANSI mode overflow
    only past 2**32 equal rows in one group (and then fail; they never wrap around).

    Args:
        frame: The rows. All columns count, in order.
        group: What to group by. Without it there is one sum, under the key None.
    """
    fields = frame.schema.fields
    values = [frame[_quoted(field.name)] for field in fields]
    types = [field.dataType for field in fields]
    lanes = [
        _chain(salt, list(zip(values, types, strict=True))).alias(f"lane{number}")
        for number, salt in enumerate(_SALTS)
    ]
    key = (F.lit(None).cast("bigint") if group is None else group).alias("key")
    sums = [
        each
        for number in range(len(_SALTS))
        for each in (
            F.sum(F.shiftright(F.col(f"lane{number}"), 32)).alias(f"upper{number}"),
            F.sum(F.col(f"lane{number}").bitwiseAND(F.lit(_LIMB - 1)) - F.lit(_HALF_LIMB)).alias(
                f"lower{number}"
            ),
        )
    ]
    rows = (
        frame.select(key, *lanes).groupBy("key").agg(F.count(F.lit(1)).alias("rows"), *sums)
    ).collect()
    found: dict[object, RowSum] = {
        row["key"]: RowSum(
            rows=row["rows"],
            high=_lane(row["rows"], row["upper0"], row["lower0"]),
            low=_lane(row["rows"], row["upper1"], row["lower1"]),
        )
        for row in rows
    }
    return found or ({None: RowSum()} if group is None else {})


def _lane(rows: int, upper: int, lower: int) -> int:
    return (upper * _LIMB + lower + rows * _HALF_LIMB) % LANE


def _chain(salt: int, values: list[tuple[Column, DataType]]) -> Column:
    """One hash over values, each with a flag that says whether it is NULL and where it stands."""
    parts: list[Column] = [F.lit(salt)]
    for position, (value, of) in enumerate(values):
        flag = F.when(value.isNull(), F.lit(2 * position + 1)).otherwise(F.lit(2 * position))
        parts += [flag, _hashable(salt, value, of)]
    return F.xxhash64(*parts)


def _hashable(salt: int, value: Column, of: DataType) -> Column:
    """A value in a form that `xxhash64` tells apart from every other value of its type."""
    match of:
        case StructType():
            fields = [(value.getField(each.name), each.dataType) for each in of.fields]
            return F.when(value.isNotNull(), _chain(salt, fields))
        case ArrayType():
            element = of.elementType
            hashes = F.transform(value, lambda each: _chain(salt, [(each, element)]))
            return F.when(value.isNotNull(), F.xxhash64(F.lit(salt), F.size(value), hashes))
        case MapType():
            key, item = of.keyType, of.valueType
            entries = F.transform(
                F.map_entries(value),
                lambda each: _chain(
                    salt, [(each.getField("key"), key), (each.getField("value"), item)]
                ),
            )
            chain = F.xxhash64(F.lit(salt), F.size(value), F.array_sort(entries))
            return F.when(value.isNotNull(), chain)
        case VariantType():
            return F.to_json(value)
        case _:
            return value


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
