"""Whether rows fit the table that they are for, decided from schemas before anything is computed.

Seed 001 has a query validated before data is processed; here its analysed schema is compared with
what the model declares and with the table, and everything that is wrong is reported at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed, with_advice
from vde_dagster.core.ledger.stored_types import is_nested
from vde_dagster.core.model.column_rules import JudgedColumns, OnChange, judged_columns
from vde_dagster.core.model.partition_types import layout_problems
from vde_dagster.lakehouse.iceberg.tables import quoted, simple_name
from vde_dagster.lakehouse.staging.storable import (
    can_store,
    loses_values,
    may_lose_values,
    returned_of,
    stored_schema,
    stored_type,
    unstorable,
)
from vde_dagster.lakehouse.staging.stored_values import as_type, contains, is_alike

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from vde_dagster.core.ledger.unit_of_work import Staging

_LOG: Final = logging.getLogger(__name__)


def check(found: Sequence[StructType], staging: Staging, table: StructType | None) -> None:
    """Refuse rows that could not be written, before any of them is computed.

    What the model wants to be warned of is logged.

    Args:
        found: The schema of each batch's rows.
        staging: The unit of work.
        table: The table's schema; None if it is created now.

    Raises:
        EvaluationFailed: Something does not fit; the message lists all of it, with advice.
    """
    problems = list(
        dict.fromkeys(each for schema in found for each in _part_problems(schema, staging, table))
    )
    if not problems:
        for each in _judged(found, staging, table):
            _LOG.warning("%s", each.text)
        return
    place = f"{staging.path}: " if staging.path else ""
    listed = "".join(f"\n  {each}" for each in problems)
    raise EvaluationFailed(f"{place}its rows cannot be written; nothing was computed.{listed}")


def as_declared(
    frame: DataFrame, columns: tuple[Column, ...], *, exactly: bool = False
) -> DataFrame:
    """A frame that passed `check`, with exactly the declared columns, in their order and types.

    A query's values are rounded as Spark does when it stores them; where they have to be stored
    ``exactly``, the evaluation fails at a value that its declared type does not hold.
    """
    if not columns or is_alike(frame, declared_schema(frame.schema, columns)):
        return frame
    there = {each.name.lower(): each.dataType for each in frame.schema.fields}
    stored = []
    for each in columns:
        value, found, wanted = frame[quoted(each.name)], there[each.name.lower()], _type(each)
        if exactly and may_lose_values(found, wanted):
            stored.append(_exact_value(each.name, value, found, wanted).alias(each.name))
        else:
            stored.append(as_type(value, found, wanted).alias(each.name))
    return frame.select(*stored)


def _exact_value(name: str, value: SparkColumn, found: DataType, wanted: DataType) -> SparkColumn:
    """A column as another type; the evaluation fails at a value that this one does not hold."""
    nested = isinstance(found, StructType | ArrayType | MapType)
    stored = as_type(value, found, wanted) if nested else value.try_cast(wanted)
    back = as_type(stored, wanted, stored_type(simple_name(found)))  # its parts may be NULL
    text = value.cast("string")
    is_text = contains(found, MapType)  # Spark compares none
    same = back.cast("string").eqNullSafe(text) if is_text else back.eqNullSafe(value)
    problem = (
        F.lit(f"{name} ({wanted.simpleString()}): it cannot store the {found.simpleString()} "),
        text,
        F.lit("; round or cast it in the function, or declare another type in `columns`"),
    )
    return F.when(same, stored).otherwise(F.raise_error(F.concat(*problem)))


def new_columns(rows: StructType, table: StructType) -> StructType:
    """The columns of rows that passed `check` and that the table does not have yet."""
    known = {each.name.lower() for each in table.fields}
    return StructType([each for each in rows.fields if each.name.lower() not in known])


def declared_schema(found: StructType, columns: tuple[Column, ...]) -> StructType:
    """The schema that rows of a schema have once they are `as_declared`."""
    return stored_schema(columns) if columns else found


def _part_problems(found: StructType, staging: Staging, table: StructType | None) -> Iterator[str]:
    twice = [name for name, times in Counter(_names(found)).items() if times > 1]
    if twice:
        yield f"the column {', '.join(twice)} is returned more than once. Give each a name."
        return
    misfits = list(_declared_problems(found, staging.columns))
    yield from misfits
    if misfits:
        return
    wanted = declared_schema(found, staging.columns)
    yield from unstorable(wanted)
    if table is None:
        types = {each.name.lower(): simple_name(each.dataType) for each in wanted.fields}
        for each in layout_problems(staging.storage, types):
            yield with_advice(each.message, each.advice)
    else:
        yield from _table_problems(wanted, staging, table)


def _declared_problems(found: StructType, columns: tuple[Column, ...]) -> Iterator[str]:
    if not columns:
        return
    there = {each.name.lower(): each for each in found.fields}
    wanted = {each.name.lower(): each for each in columns}
    missing = [name for name in wanted if name not in there]
    extra = [name for name in there if name not in wanted]
    if missing:
        yield (
            f"the result lacks the declared columns {', '.join(missing)}. Return them, or remove "
            "them from `columns`."
        )
    if extra:
        yield (
            f"the result has the columns {', '.join(extra)}, which are not declared. Declare "
            "them in `columns`, or do not return them."
        )
    for name, column in wanted.items():
        field = there.get(name)
        if field is not None and not can_store(field.dataType, _type(column)):
            yield _no_cast(name, field, _type(column), "is declared as")


def _table_problems(wanted: StructType, staging: Staging, table: StructType) -> Iterator[str]:
    """The differences from the table that an evaluation may not remove (rule R11)."""
    there = {each.name.lower(): each for each in table.fields}
    names = _names(wanted)
    missing = [name for name in there if name not in names and name not in _dropped(staging, there)]
    extra = [name for name in names if name not in there and name not in staging.returned]
    if not staging.returned:
        judged = _judged([wanted], staging, table)
        yield from (each.text for each in judged if each.rule is OnChange.ERROR)
    elif missing or extra:
        yield (
            f"the result has the columns {', '.join(each.name for each in wanted.fields)}, but "
            f"the table {staging.target.table} has "
            f"{', '.join(each.name for each in table.fields)}. An input that it reads with `*` "
            "has changed: declare the columns of that input, or name them in the query."
        )
    for field in wanted.fields:
        kept = there.get(field.name.lower())
        if kept is None:
            continue
        returned = staging.returned.get(field.name.lower(), "")
        known = returned_of(kept.dataType, stored_type(returned)) if is_nested(returned) else None
        types = (field.dataType, known or kept.dataType)
        if not can_store(*types) or loses_values(*types):
            yield _no_cast(field.name, field, kept.dataType, "is in its table")


def _judged(
    found: Sequence[StructType], staging: Staging, table: StructType | None
) -> Iterator[JudgedColumns]:
    """What the model says of columns that are others than its table's, if it did not name its own.

    Nothing where they were known before: then the plan has asked.
    """
    if table is None or staging.returned:
        return
    there = _names(table)
    names = list(
        dict.fromkeys(
            name for each in found for name in _names(declared_schema(each, staging.columns))
        )
    )
    yield from judged_columns(
        staging.column_rules,
        model=str(staging.target.model),
        table=str(staging.target.table),
        missing=[name for name in there if name not in names],
        extra=[name for name in names if name not in there],
    )


def _dropped(staging: Staging, there: dict[str, StructField]) -> set[str]:
    """The columns of the table that the model is known not to return any more."""
    return {name for name in there if name not in staging.returned} if staging.returned else set()


def _no_cast(name: str, found: StructField, wanted: DataType, verb: str) -> str:
    written = wanted.simpleString()
    says = (
        f"the column {name} is {found.dataType.simpleString()} and {verb} {written}, which cannot "
        "store all such values."
    )
    if isinstance(wanted, StructType | ArrayType | MapType):
        return (
            f"{says} A plan adds declared fields of structs: declare the column's new type in "
            "`columns` of the model and of its sources, then plan. Or name the fields in the "
            "query, as in NAMED_STRUCT('a', s.a)."
        )
    return (
        f"{says} Cast it in the query, as in CAST({name} AS {written.upper()}), or give it another "
        "name or type."
    )


def _names(schema: StructType) -> list[str]:
    return [each.name.lower() for each in schema.fields]


def _type(column: Column) -> DataType:
    return stored_type(column.type)
