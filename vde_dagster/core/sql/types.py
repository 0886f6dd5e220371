"""The types of the parts of a query by sqlglot's rules, and of the columns of table functions."""

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
def _rules(dialect: str) -> dict[type[exp.Expr], Any]:
    """The rules by which types are derived in a dialect, with those of table functions.

    For Spark, sqlglot would derive BIGINT from several INTs (Hive's rule).
    """
    known = Dialect.get_or_raise(dialect).EXPRESSION_METADATA
    chosen: dict[type[exp.Expr], Any] = {
        each: EXPRESSION_METADATA[each] for each in (exp.Coalesce, exp.If)
    }
    making = {each: {"annotator": _annotate} for each in _MAKING}
    return {**known, **(chosen if is_spark(dialect) else {}), **making}


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
