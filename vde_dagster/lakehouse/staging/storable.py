"""Which Spark types an Iceberg table can store, and which columns take values of another type.

Both are decided from schemas, so that no row is computed that could not be written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema
from pyspark.sql import types as t

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.stored_types import holds
from vde_dagster.lakehouse.iceberg.tables import simple_name
from vde_dagster.lakehouse.staging.stored_values import inside

_ATOMIC: Final = (
    t.BooleanType,
    t.ByteType,
    t.ShortType,
    t.IntegerType,
    t.LongType,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
    t.StringType,
    t.CharType,
    t.VarcharType,
    t.BinaryType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
)
_NESTED: Final = (t.StructType, t.ArrayType, t.MapType)
_TEXTS: Final = (t.StringType, t.CharType, t.VarcharType)
_TIMES: Final = (t.DateType, t.TimestampType, t.TimestampNTZType)
_FLOAT_DIGITS: Final = 149
"""The most digits behind the point of a 32-bit fraction; more than any decimal has."""
_NAMELESS: Final = re.compile("[<,]``:")
_INTERVAL_ADVICE: Final = "Iceberg has no intervals; store a number of seconds, days or months"
_ADVICE: Final = {
    "void": "it is NULL without a type; cast it, as in CAST(NULL AS STRING)",
    "interval": _INTERVAL_ADVICE,
    "variant": "tables of Iceberg's format 2 have no VARIANT; store it as a text with TO_JSON",
    "time": "Spark has no TIME in Iceberg tables; store a text, or the seconds of the day",
}


def unstorable(schema: t.StructType) -> Iterator[str]:
    """Why columns cannot be stored in an Iceberg table: one message for each."""
    for field in schema.fields:
        if _NAMELESS.search(simple_name(field.dataType)):
            yield (
                f"the column {field.name} has a field without a name, which Spark's SQL cannot "
                "read. Give it one."
            )
        for path, found in _leaves(field.name, field.dataType):
            if not isinstance(found, _ATOMIC):
                written = found.simpleString()
                advice = _ADVICE.get(written.partition(" ")[0].partition("(")[0])
                message = advice or "Iceberg has no such type; cast it to a type that Iceberg has"
                yield f"the column {path} is of type {written}: {message}"


def _leaves(path: str, of: t.DataType) -> Iterator[tuple[str, t.DataType]]:
    for name, part in inside(of):
        yield from _leaves(f"{path}.{name}", part)
    if not isinstance(of, _NESTED):
        yield path, of


def can_store(found: t.DataType, wanted: t.DataType) -> bool:
    """Whether values of one type may be stored as another one (ANSI store assignment in Spark).

    A number that is too large for a narrower type fails when it is written. See `loses_values` for
    what is rounded. Structs need the same fields, in any order.
    """
    for sort in (t.NumericType, _TIMES):
        if isinstance(found, sort) and isinstance(wanted, sort):
            return True
    if isinstance(found, t.NullType):
        return True
    if isinstance(wanted, _TEXTS):
        return not isinstance(found, (*_NESTED, t.VariantType))
    if type(found) is not type(wanted) or _names(found) != _names(wanted):
        return False
    return all(can_store(*pair) for pair in _pairs(found, wanted))


def loses_values(found: t.DataType, wanted: t.DataType) -> bool:
    """Whether a type that `can_store` lets pass would silently round or cut values.

    If a table has another type than the new rows, something that the model reads has changed, and
    no one asked for rounding. Numbers that are too large differ: their write fails.
    """
    return any(_loses(*pair) for pair in _leaf_pairs(found, wanted))


def may_lose_values(found: t.DataType, wanted: t.DataType) -> bool:
    """Whether a type that `can_store` lets pass has values that the other one does not hold.

    A FLOAT is the nearest one of a DOUBLE, wherever it is written.
    """
    return any(_may_lose(*pair) for pair in _leaf_pairs(found, wanted))


def _loses(found: t.DataType, wanted: t.DataType) -> bool:
    if isinstance(found, t.NumericType) and isinstance(wanted, t.NumericType):
        return _digits_behind(found) > _digits_behind(wanted)
    return isinstance(wanted, t.DateType) and not isinstance(found, t.DateType | t.NullType)


def _may_lose(found: t.DataType, wanted: t.DataType) -> bool:
    if isinstance(found, t.DoubleType) and isinstance(wanted, t.FloatType):
        return False
    if isinstance(found, t.NumericType) and isinstance(wanted, t.NumericType):
        return not holds(wanted.simpleString(), found.simpleString())
    return _loses(found, wanted)


def _leaf_pairs(found: t.DataType, wanted: t.DataType) -> Iterator[tuple[t.DataType, t.DataType]]:
    """The types without parts in two types that `can_store` lets pass, in the same places."""
    if isinstance(wanted, _NESTED) and type(found) is type(wanted):
        for pair in _pairs(found, wanted):
            yield from _leaf_pairs(*pair)
    else:
        yield found, wanted


def _names(of: t.DataType) -> list[str]:
    return sorted(name.lower() for name, _ in inside(of))


def _pairs(found: t.DataType, wanted: t.DataType) -> Iterator[tuple[t.DataType, t.DataType]]:
    """The parts of one name."""
    types = {name.lower(): part for name, part in inside(found)}
    return ((types[name.lower()], part) for name, part in inside(wanted))


def returned_of(kept: t.DataType, returned: t.DataType) -> t.DataType:
    """A table's type without the fields of structs that a model is known not to return any more."""
    match kept, returned:
        case (t.StructType(), t.StructType()):
            own = {each.name.lower(): each.dataType for each in returned.fields}
            return t.StructType(
                [
                    t.StructField(each.name, returned_of(each.dataType, own[each.name.lower()]))
                    for each in kept.fields
                    if each.name.lower() in own
                ]
            )
        case (t.ArrayType(), t.ArrayType()):
            return t.ArrayType(returned_of(kept.elementType, returned.elementType))
        case (t.MapType(), t.MapType()):
            return t.MapType(kept.keyType, returned_of(kept.valueType, returned.valueType))
        case _:
            return kept


def _digits_behind(of: t.NumericType) -> float:
    """How many digits a number may have behind its point; binary fractions have any number."""
    match of:
        case t.DecimalType():
            return of.scale
        case t.FloatType():
            return _FLOAT_DIGITS
        case t.DoubleType():
            return math.inf
        case _:
            return 0


def stored_type(written: str) -> t.DataType:
    """The type of a declared column as an Iceberg table has it: CHAR and VARCHAR are texts."""
    return _stored(t.DataType.fromDDL(written))


def stored_schema(columns: Iterable[Column]) -> t.StructType:
    """The schema of declared columns as an Iceberg table has it."""
    return t.StructType([t.StructField(each.name, stored_type(each.type)) for each in columns])


def _stored(of: t.DataType) -> t.DataType:
    match of:
        case t.CharType() | t.VarcharType():
            return t.StringType()
        case t.StructType():
            return t.StructType([t.StructField(each.name, _stored(each.dataType)) for each in of])
        case t.ArrayType():
            return t.ArrayType(_stored(of.elementType))
        case t.MapType():
            return t.MapType(_stored(of.keyType), _stored(of.valueType))
        case _:
            return of


_READ_AS: Final[Mapping[type[iceberg.IcebergType], t.DataType]] = {
    iceberg.BooleanType: t.BooleanType(),
    iceberg.IntegerType: t.IntegerType(),
    iceberg.LongType: t.LongType(),
    iceberg.FloatType: t.FloatType(),
    iceberg.DoubleType: t.DoubleType(),
    iceberg.DateType: t.DateType(),
    iceberg.TimestampType: t.TimestampNTZType(),
    iceberg.TimestamptzType: t.TimestampType(),
    iceberg.StringType: t.StringType(),
    iceberg.UUIDType: t.StringType(),
    iceberg.BinaryType: t.BinaryType(),
    iceberg.FixedType: t.BinaryType(),
    iceberg.UnknownType: t.NullType(),
}


def spark_schema(of: Schema) -> t.StructType:
    """The schema that Spark gives an Iceberg table, without asking it.

    Raises:
        EvaluationFailed: A column has a type that Spark does not read.
    """
    return _fields(of.fields)


def _fields(fields: Iterable[iceberg.NestedField]) -> t.StructType:
    return t.StructType(
        [
            t.StructField(
                each.name,
                _read_as(each.field_type),
                nullable=not each.required,
                metadata={"comment": each.doc} if each.doc else None,
            )
            for each in fields
        ]
    )


def _read_as(of: iceberg.IcebergType) -> t.DataType:
    match of:
        case iceberg.StructType():
            return _fields(of.fields)
        case iceberg.ListType():
            return t.ArrayType(_read_as(of.element_type), not of.element_required)
        case iceberg.MapType():
            value = _read_as(of.value_type)
            return t.MapType(_read_as(of.key_type), value, not of.value_required)
        case iceberg.DecimalType():
            return t.DecimalType(of.precision, of.scale)
    found = _READ_AS.get(type(of))
    if found is None:
        raise EvaluationFailed(f"Spark cannot read columns of Iceberg's type {of}")
    return found
