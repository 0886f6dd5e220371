"""The algorithm `murmur3_128` as Spark runs it: MurmurHash3 x64 128 of each row's canonical bytes.

Spark has no such hash, so the rows go to Python workers as Arrow batches; see `murmur_rows` for the
bytes and `murmur_hash` for the hash. Most of its cost is sending the rows there.

Executors need what every Arrow function of Spark needs: the driver's minor version of Python with
numpy and pyarrow. They do not need this package: its code is shipped with the tasks. If they have
``mmh3``, rows of many kilobytes are hashed much faster, to the same values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql import types as t

from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.lakehouse.digest import murmur_batches, murmur_rows
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.staging.stored_values import contains

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_Function = TypeVar("_Function")
_UTC: Final = {"timeZone": "UTC"}


def murmur_sums(
    frame: DataFrame, group: Column | None = None, *, apart: Collection[str] = ()
) -> Mapping[object, RowSum]:
    """The sums of all rows of a frame, or of each group of rows, in one Spark job.

    Only sums leave the workers: one for each group in each task.

    Args:
        frame: The rows. All columns count, in order, except ``apart``.
        group: What to group by, of an atomic type. Without it there is one sum, under the key None.
        apart: Columns that are not part of the rows, and that ``group`` may look at.
    """
    key = (F.lit(None).cast("bigint") if group is None else group).alias("key")
    rows = frame.select(key, *_columns(frame, apart))
    result = t.StructType(
        [
            t.StructField("key", rows.schema["key"].dataType),
            t.StructField("rows", t.LongType()),
            t.StructField("sum", t.BinaryType()),
        ]
    )
    found: dict[object, RowSum] = {}
    for row in rows.mapInArrow(travelling(murmur_batches.group_sums), result).collect():
        each = RowSum(rows=row["rows"], sum=int.from_bytes(row["sum"], "little"))
        found[row["key"]] = found.get(row["key"], RowSum()) + each
    return found or ({None: RowSum()} if group is None else {})


def halves(frame: DataFrame) -> tuple[Column, Column]:
    """The upper and the lower 64 bits of each row's hash, as two columns of type bigint.

    Spark calls the function once for both. The hash is the digest that MurmurHash3 x64 128 gives
    with seed 0, read as a little-endian number.
    """
    function = F.arrow_udf(  # type: ignore[attr-defined] # it is public
        travelling(murmur_batches.halves), "struct<upper: bigint, lower: bigint>"
    )
    both = function(*_columns(frame))
    return both.getField("upper"), both.getField("lower")


def travelling(function: _Function) -> _Function:
    """A function of `murmur_batches` that goes to the executors as code, not by its name."""
    for module in (murmur_batches, murmur_rows):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call] # it has none
    return function


def _columns(frame: DataFrame, apart: Collection[str] = ()) -> list[Column]:
    fields = [each for each in frame.schema.fields if each.name not in apart]
    return [
        _readable(frame[quoted(each.name)], each.dataType).alias(f"column{number}")
        for number, each in enumerate(fields)
    ]


def _readable(value: Column, of: DataType) -> Column:
    """A value without variants: each as its JSON text and its schema, at any depth."""
    if not contains(of, t.VariantType):
        return value
    match of:
        case t.StructType():
            fields = [
                _readable(value.getField(each.name), each.dataType).alias(each.name)
                for each in of.fields
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
        case t.ArrayType():
            element = of.elementType
            return F.transform(value, lambda each: _readable(each, element))
        case t.MapType():
            item = of.valueType
            return F.transform_values(value, lambda _, each: _readable(each, item))
        case _:
            text = F.struct(F.to_json(value, _UTC), F.schema_of_variant(value))
            return F.when(value.isNotNull(), text)
