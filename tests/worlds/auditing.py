"""Audits of staged rows in memory: each audit's query of failing rows, run by DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.worlds.duck import answered, in_duck
from tests.worlds.frames import Frame
from vde_dagster.core.audits.queries import failing_rows, sql_of
from vde_dagster.core.audits.results import failed, passed
from vde_dagster.core.audits.values import SAMPLE_ROWS, Audit, AuditResult
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.spark.reading import read_spark

_STAGED = "vde_audited"


def run_audits(
    rows: Frame, audits: Sequence[Audit], inputs: Mapping[ModelName, Frame]
) -> tuple[AuditResult, ...]:
    """What some audits find among staged rows, in their order.

    Args:
        rows: Exactly what was processed.
        audits: The audits.
        inputs: The other tables that they read.

    Raises:
        KeyError: An audit reads a table that is not among the inputs.
    """
    names = {name: f"vde_audit_{number}" for number, name in enumerate(inputs)}
    frames = {_STAGED: rows, **{names[name]: frame for name, frame in inputs.items()}}
    tables = {name: TableName("", view) for name, view in names.items()}
    results: list[AuditResult] = []
    for audit in audits:
        sql = sql_of(failing_rows(audit), rows=TableName("", _STAGED), tables=tables)
        found = answered(in_duck(read_spark(sql)), frames)
        columns = [each.name for each in found.columns]
        count = len(found.rows)
        sample = found.rows[:SAMPLE_ROWS]
        results.append(failed(audit, count, columns, sample) if count else passed(audit))
    return tuple(results)
