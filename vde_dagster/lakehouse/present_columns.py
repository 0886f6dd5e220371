"""Rows of an earlier Iceberg snapshot with the columns that their table has now.

Columns are matched by what Iceberg knows them by, and not by their names, as it reads files itself
(`vde_dagster.core.ledger.earlier_schemas`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_present_columns(rows: DataFrame, columns: Sequence[PresentColumn]) -> DataFrame:
    """Rows with these columns, in their order; as they are if there are none.

    Args:
        rows: All columns of a table at an Iceberg snapshot.
        columns: What they are now, see `present_columns`.
    """
    if not columns:
        return rows
    return rows.select(
        *[
            _value(None if each.former is None else rows[quoted(each.former)], each).alias(
                each.name
            )
            for each in columns
        ]
    )


def _value(former: Column | None, wanted: PresentColumn) -> Column:
    """The value of a column or of a field inside of one; its default where it was not there."""
    if former is None:
        return F.lit(wanted.default).cast(wanted.type)
    if not wanted.fields:
        return former.cast(wanted.type)
    if wanted.type.startswith("array<"):
        (element,) = wanted.fields
        return F.transform(former, lambda each: _value(each, element))
    if wanted.type.startswith("map<"):
        _, value = wanted.fields  # the fields of a key never change
        return F.transform_values(former, lambda _, each: _value(each, value))
    return F.when(former.isNotNull(), F.struct(*[_field(former, each) for each in wanted.fields]))


def _field(struct: Column, wanted: PresentColumn) -> Column:
    """A field of a struct under its present name."""
    former = None if wanted.former is None else struct.getField(wanted.former)
    return _value(former, wanted).alias(wanted.name)
