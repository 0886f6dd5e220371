"""What the ledger says of rows that were not computed again, summed up by the database alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Float, Select, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.pairs import of_pairs, pairs

_ledger = schema.ledger
_work = schema.work


class TraceSeconds(FunctionElement[float]):
    """The seconds in a trace's JSON text; NULL if there is no trace."""

    type = Float()
    inherit_cache = True


@compiles(TraceSeconds, "sqlite")
def _sqlite_seconds(element: TraceSeconds, compiler: SQLCompiler, **options: object) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$.seconds')"


@compiles(TraceSeconds, "postgresql")
def _postgres_seconds(element: TraceSeconds, compiler: SQLCompiler, **options: object) -> str:
    trace = compiler.process(element.clauses, **options)
    return f"CAST(CAST({trace} AS JSON) ->> 'seconds' AS DOUBLE PRECISION)"


def loaded(
    connection: Connection, keys: Iterable[VersionKey], *, before: datetime | None = None
) -> dict[VersionKey, dict[str, Saved]]:
    """The rows of versions that count as computed, by the environment that computed them."""
    by = (_ledger.c.model, _ledger.c.version, _work.c.environment)
    query: Select[Any] = (
        select(
            *by,
            func.count().label("intervals"),
            func.sum(_ledger.c.interval_end - _ledger.c.interval_start).label("time_covered"),
            func.sum(_ledger.c.row_count).label("row_count"),
            func.sum(TraceSeconds(_ledger.c.trace_json)).label("seconds"),
        )
        .join(_work, _work.c.work_id == _ledger.c.work_id)
        .where(
            pairs(_ledger.c.model, _ledger.c.version),
            _ledger.c.status == EntryStatus.COMPUTED.value,
        )
        .group_by(*by)
    )
    if before is not None:
        query = query.where(_work.c.finished_at < codec.encode_instant(before))
    found: dict[VersionKey, dict[str, Saved]] = {}
    for row in of_pairs(connection, query, codec.encode_keys(keys)):
        key = VersionKey(codec.decode_model(row.model), row.version)
        found.setdefault(key, {})[row.environment] = Saved(
            intervals=row.intervals,
            time=timedelta(microseconds=int(row.time_covered)),  # Postgres gives decimals
            rows=int(row.row_count),
            seconds=row.seconds,
        )
    return found
