"""Audits of staged rows on Spark: one query counts the failing rows of all audits.

Only if one fails, a second query gets some of its rows (docs/reference/audits.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql import types as t

from vde_dagster.core.audits.queries import counting, failing_rows, sql_of
from vde_dagster.core.audits.results import failed, passed
from vde_dagster.core.audits.values import MOST_SAMPLE_ROWS, SAMPLE_ROWS, Audit, AuditResult
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.lakehouse.spark.connect import named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from sqlglot import exp

_KEPT: Final = (t.BooleanType, t.DoubleType, t.FloatType, t.IntegralType, t.StringType)
"""Types whose values come to Python unchanged; the others come as the text that Spark writes."""


def run_audits(
    spark: SparkSession,
    rows: DataFrame,
    audits: Sequence[Audit],
    inputs: Mapping[ModelName, str],
    *,
    sample_rows: int = SAMPLE_ROWS,
) -> tuple[AuditResult, ...]:
    """What audits find among staged rows. Nothing is run if there are no audits.

    Args:
        spark: The session in which ``rows`` and the temporary views are.
        rows: Exactly the rows that were processed, read from the branch.
        audits: In the order of the results.
        inputs: The temporary views of what else the audits read (`Audit.reads`).
        sample_rows: How many failing rows are kept of each audit, at most `MOST_SAMPLE_ROWS`.

    Raises:
        PySparkException: An audit's query fails.
        KeyError: An audit reads what is not among the inputs.
    """
    if not 0 <= sample_rows <= MOST_SAMPLE_ROWS:
        raise ValueError(f"an audit keeps 0 to {MOST_SAMPLE_ROWS} rows, not {sample_rows}")
    if not audits:
        return ()
    tables = {name: TableName("", view) for name, view in inputs.items()}
    staged = f"vde_audited_{uuid4().hex}"  # which no other thread of the session has
    with named(spark, {staged: rows}):

        def frame(query: exp.Query) -> DataFrame:
            return spark.sql(sql_of(query, rows=TableName("", staged), tables=tables))

        count = counting(audits)
        counts = count.counts([(part, list(each)) for part, each in frame(count.query).collect()])
        return tuple(
            _failed(audit, failing, frame, sample_rows) if failing else passed(audit)
            for audit, failing in zip(audits, counts, strict=True)
        )


def _failed(
    audit: Audit, failing: int, frame: Callable[[exp.Query], DataFrame], sample_rows: int
) -> AuditResult:
    if not sample_rows:
        return failed(audit, failing, (), ())
    found = frame(failing_rows(audit))
    shown = [_shown(index, each.dataType) for index, each in enumerate(found.schema)]
    numbered = found.limit(sample_rows).toDF(*[f"c{index}" for index in range(len(shown))])
    sample = numbered.select(*shown).collect()
    return failed(audit, failing, found.columns, [tuple(each) for each in sample])


def _shown(index: int, data_type: t.DataType) -> Column:
    """A column's values as Python can have them; by number, since names may be there twice."""
    column = F.col(f"c{index}")
    if isinstance(data_type, _KEPT):
        return column
    if isinstance(data_type, t.BinaryType):
        return F.lower(F.hex(column))
    return column.cast("string")
