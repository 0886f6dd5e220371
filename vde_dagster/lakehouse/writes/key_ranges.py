"""The ranges of the keys of changes, so that Iceberg skips the files of other keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql import types as t
from sqlglot import exp

from vde_dagster.core.model.merge_statement import KeyRange
from vde_dagster.core.sql.text import key_expression
from vde_dagster.lakehouse.iceberg.tables import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ORDERED: Final = (t.IntegralType, t.DecimalType, t.DateType, t.TimestampType, t.TimestampNTZType)
"""Types that Spark and Iceberg order alike, and whose texts are exact: FLOAT has NaN and -0.0."""


def count_and_ranges(changes: DataFrame, key: Sequence[str]) -> tuple[int, tuple[KeyRange, ...]]:
    """How many changes there are, and the ranges of those parts of their key that are columns.

    A range of texts has ASCII at both ends. Where others, in the same file, are not valid UTF-8,
    Iceberg's statistics have other characters instead, which keep their order to ASCII alone.
    """
    columns = [each for each in key if isinstance(key_expression(each), exp.Column)]
    values = [F.expr(key_expression(each).sql("spark")) for each in columns]
    types = [each.dataType for each in changes.select(*values).schema]
    ranged = [
        (column, value, kind.simpleString())
        for column, value, kind in zip(columns, values, types, strict=True)
        if isinstance(kind, _ORDERED) or kind == t.StringType()  # with no other collation
    ]
    ends = [end(value).cast("string") for _, value, _ in ranged for end in (F.min, F.max)]
    found = changes.agg(F.count(F.lit(1)), *ends).first()
    assert found is not None, "an aggregate of all rows has one"
    came, *texts = found
    pairs = zip(ranged, texts[::2], texts[1::2], strict=True)
    return came, tuple(
        KeyRange(
            key=column,
            least=f"CAST({literal(least)} AS {kind})",
            greatest=f"CAST({literal(greatest)} AS {kind})",
        )
        for (column, _, kind), least, greatest in pairs
        if came and f"{least}{greatest}".isascii()
    )


def within(ranges: Sequence[KeyRange]) -> str:
    """The condition of the rows whose key is in all ranges, in Spark's SQL."""
    conditions = (each.condition(key_expression(each.key)) for each in ranges)
    return exp.and_("TRUE", *conditions).sql("spark")
