"""The types of the parts of a query, as sqlglot tells them, and of what table functions make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema
from sqlglot.typing import EXPRESSION_METADATA

from vde_dagster.core.sql.dialects import is_spark

_Query = TypeVar("_Query", bound=exp.Expr)
_Type: Final = exp.DataType.Type
_MAKING: Final[Sequence[type[exp.Expr]]] = (
    exp.Explode,
    *exp.Explode.__subclasses__(),
    *exp.Posexplode.__subclasses__(),
)
"""Functions that make rows of the entries of an array or a map."""


def with_types(query: _Query, *, schema: MappingSchema, dialect: str) -> _Query:
    """A query whose parts have their types; it is changed.

    sqlglot gives the columns of ``LATERAL VIEW explode(a)`` the type of ``a``: here they have that
    of its entries.
    """
    return annotate_types(
        query, schema=schema, dialect=dialect, expression_metadata=_rules(dialect)
    )


@cache
def _rules(dialect: str) -> dict[type[exp.Expr], Any]:
    """How types are told in a dialect, with those of table functions.

    Of Spark, sqlglot takes one of several INTs for a BIGINT (Hive's rule).
    """
    known = Dialect.get_or_raise(dialect).EXPRESSION_METADATA
    chosen: dict[type[exp.Expr], Any] = {
        each: EXPRESSION_METADATA[each] for each in (exp.Coalesce, exp.If)
    }
    making = {each: {"annotator": _annotate} for each in _MAKING}
    return {**known, **(chosen if is_spark(dialect) else {}), **making}


def _annotate(_: object, function: exp.Expr) -> None:
    """A struct of the columns that a table function makes, which is how sqlglot looks them up."""
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
    """Of an array its entries, of a map its keys and values; in front of them their place."""
    kind = function.this.type
    is_known = kind is not None and kind.is_type(_Type.ARRAY, _Type.MAP)
    place = [exp.DataType(this=_Type.INT)] if isinstance(function, exp.Posexplode) else []
    return [*place, *(kind.expressions if is_known else ())]
