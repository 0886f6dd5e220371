"""The types of the parts of a query by sqlglot's rules, and of the columns of table functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema
from sqlglot.typing import EXPRESSION_METADATA

_Query = TypeVar("_Query", bound=exp.Expr)
_Type: Final = exp.DataType.Type
_Rules = dict[type[exp.Expr], Any]
_MAKING: Final[Sequence[type[exp.Expr]]] = (
    exp.Explode,
    *exp.Explode.__subclasses__(),
    *exp.Posexplode.__subclasses__(),
)
"""Functions that return the entries of an array or a map as rows."""


def with_types(query: _Query, *, schema: MappingSchema, dialect: str) -> _Query:
    """A query with the types of its parts noted in it; it is changed.

    sqlglot gives the columns of ``LATERAL VIEW explode(a)`` the type of ``a``: here they have that
    of its entries.
    """
    return annotate_types(
        query, schema=schema, dialect=dialect, expression_metadata=_rules(dialect)
    )


@cache
def _rules(dialect: str) -> _Rules:
    """The rules by which types are derived in Spark's SQL, with those of table functions.

    sqlglot would derive BIGINT from several INTs (Hive's rule), and does not know what
    many of its functions of time return.
    """
    known = Dialect.get_or_raise(dialect).EXPRESSION_METADATA
    making = {each: {"annotator": _annotate} for each in _MAKING}
    chosen: _Rules = {each: EXPRESSION_METADATA[each] for each in (exp.Coalesce, exp.If)}
    of_time: Sequence[type[exp.Expr]] = (exp.Anonymous, *_TIMES)
    times: _Rules = {each: {"annotator": _annotate_time} for each in of_time}
    by_value: _Rules = {each: {"annotator": _annotate_chosen} for each in (exp.ArgMax, exp.ArgMin)}
    return {**known, **chosen, **times, **by_value, **making}


_INSTANT: Final = "timestamp"
_RANGE: Final = "struct<start: timestamp, end: timestamp>"
_TIMES: Final[Mapping[type[exp.Expr], str]] = {
    exp.TimestampTrunc: _INSTANT,
    exp.DateTrunc: "date",
    exp.TimestampFromParts: _INSTANT,
    exp.UnixToTime: _INSTANT,
    exp.FromTimeZone: _INSTANT,
    exp.ConvertTimezone: "timestamp_ntz",
}
_TIMES_BY_NAME: Final[Mapping[str, str]] = {
    "convert_timezone": "timestamp_ntz",
    "make_date": "date",
    "make_timestamp": _INSTANT,
    "make_timestamp_ltz": _INSTANT,
    "make_timestamp_ntz": "timestamp_ntz",
    "now": _INSTANT,
    "session_window": _RANGE,
    "timestamp_micros": _INSTANT,
    "timestamp_millis": _INSTANT,
    "timestamp_seconds": _INSTANT,
    "to_timestamp_ltz": _INSTANT,
    "to_timestamp_ntz": "timestamp_ntz",
    "try_make_timestamp": _INSTANT,
    "try_to_date": "date",
    "try_to_timestamp": _INSTANT,
    "window": _RANGE,
    "window_time": _INSTANT,
}
"""What Spark's functions of time return, where sqlglot does not know it."""


def _annotate_time(_: object, function: exp.Expr) -> None:
    """Type one of Spark's functions of time; others stay unknown."""
    if isinstance(function, exp.Anonymous):
        found = _TIMES_BY_NAME.get(function.name.lower(), "unknown")
    else:
        found = _TIMES[type(function)]
    function.type = exp.DataType.build(found, dialect="spark")


def _annotate_chosen(_: object, function: exp.Expr) -> None:
    """Type MAX_BY or MIN_BY: one of its values."""
    function.type = function.this.type


def _annotate(_: object, function: exp.Expr) -> None:
    """Type a table function as a struct of its columns, which is how sqlglot looks them up."""
    kinds, lateral = _made_by(function), function.parent
    if isinstance(lateral, exp.Lateral):
        fields = [
            exp.ColumnDef(this=exp.to_identifier(name), kind=kind.copy())
            for name, kind in zip(lateral.alias_column_names, kinds, strict=False)
        ]
        function.type = exp.DataType(this=_Type.STRUCT, expressions=fields, nested=True)
    else:
        function.type = kinds[0] if len(kinds) == 1 else exp.DataType(this=_Type.UNKNOWN)


def _made_by(function: exp.Expr) -> Sequence[exp.DataType]:
    """The types of an array's entries, or a map's keys and values; with a position before."""
    kind = function.this.type
    is_known = kind is not None and kind.is_type(_Type.ARRAY, _Type.MAP)
    place = [exp.DataType(this=_Type.INT)] if isinstance(function, exp.Posexplode) else []
    return [*place, *(kind.expressions if is_known else ())]
