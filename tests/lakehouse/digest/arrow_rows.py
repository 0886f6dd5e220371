"""Values of `rows` as Arrow arrays, and as columns of Spark that are made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from tests.lakehouse.digest.rows import STRING, Array, Digits, Map, Plain, Struct, Type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "string collate UTF8_LCASE": pa.string(),
    "char(8)": pa.string(),
    "varchar(8)": pa.large_string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "America/New_York"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": pa.string(),
}
_UNPACKED: Final = "spark.sql.execution.arrow.localRelationThreshold"
_TEXTS: Final = ("char(8)", "varchar(8)", "variant")


def arrow(of: Type) -> pa.DataType:
    """The type in which Spark hands a column to Python; of a variant its JSON text."""
    match of:
        case Plain(name):
            return _PLAIN[name]
        case Digits(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow(element))
        case Map(key, item):
            return pa.map_(arrow(key), arrow(item))
        case Struct():
            named = zip(of.names, of.fields, strict=True)
            return pa.struct([pa.field(name, arrow(each)) for name, each in named])


def frame(spark: SparkSession, rows: pa.Table, types: Mapping[str, Type]) -> DataFrame:
    """The rows of an Arrow table as Spark has them, with columns of these types in their order.

    Types that only tables declare (CHAR, VARCHAR) are STRING.
    """
    ddl = ", ".join(f"`{name}` {_without_variants(of).ddl}" for name, of in types.items())
    # Else the driver unpacks all rows and puts them into the plan, for three times the CPU.
    spark.conf.set(_UNPACKED, "1b")
    try:
        made = spark.createDataFrame(rows.select(list(types)), schema=ddl)
    finally:
        spark.conf.unset(_UNPACKED)
    return made.select(*[_parsed(F.col(f"`{name}`"), of).alias(name) for name, of in types.items()])


def among_nulls(of: Type, found: Sequence[object], before: int, after: int) -> pa.ChunkedArray:
    """Values after some NULLs and before others."""
    kind = arrow(of)
    return pa.chunked_array([pa.nulls(before, kind), pa.array(found, kind), pa.nulls(after, kind)])


def _without_variants(of: Type) -> Type:
    match of:
        case Array(element):
            return Array(_without_variants(element))
        case Map(key, item):
            return Map(key, _without_variants(item))
        case Struct(fields, prefix):
            return Struct(tuple(map(_without_variants, fields)), prefix)
        case Plain(name) if name in _TEXTS:
            return STRING
        case _:
            return of


def _parsed(found: Column, of: Type) -> Column:
    """A column with the JSON texts of variants as variants, at any depth."""
    if _without_variants(of) == of:
        return found
    match of:
        case Plain("variant"):
            return F.parse_json(found)
        case Array(element):
            return F.transform(found, lambda each: _parsed(each, element))
        case Map(_, item):
            return F.transform_values(found, lambda _, each: _parsed(each, item))
        case Struct():
            fields = [
                _parsed(found.getField(name), each).alias(name)
                for name, each in zip(of.names, of.fields, strict=True)
            ]
            return F.when(found.isNotNull(), F.struct(*fields))
        case _:
            return found
