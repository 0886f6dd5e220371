"""What all entries of a ledger add up to, summed by the database. Functions of one transaction.

No database has integers of 128 bits. Each half of a sum is a text of decimal digits; its last nine
digits and those before them are summed apart, which fits into 64 bits for 500 million entries.

What the ledger says of rows that were not computed again, summed up by the database alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Float, Row, Select, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from vde_dagster.core.ledger.dsha import MODULUS, RowSum, dsha
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry, LedgerSum, loaded_dsha
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.ledger import entries_of, last_entry
from vde_dagster.state.pairs import of_pairs, pairs

_ledger = schema.ledger
_work = schema.work
_TAIL: Final = 10**9


class LastDigits(FunctionElement[int]):
    """The last nine digits of a text of digits, as a number."""

    type = BigInteger()
    inherit_cache = True


class FirstDigits(FunctionElement[int]):
    """The digits before the last nine, as a number; 0 if there are none."""

    type = BigInteger()
    inherit_cache = True


@compiles(LastDigits, "sqlite")
def _sqlite_last(element: LastDigits, compiler: SQLCompiler, **options: object) -> str:
    return f"CAST(substr({compiler.process(element.clauses, **options)}, -9) AS INTEGER)"


@compiles(LastDigits, "postgresql")
def _postgres_last(element: LastDigits, compiler: SQLCompiler, **options: object) -> str:
    return f"CAST(right({compiler.process(element.clauses, **options)}, 9) AS BIGINT)"


@compiles(FirstDigits, "sqlite")
def _sqlite_first(element: FirstDigits, compiler: SQLCompiler, **options: object) -> str:
    digits = compiler.process(element.clauses, **options)
    return f"CAST(substr({digits}, 1, max(length({digits}) - 9, 0)) AS INTEGER)"


@compiles(FirstDigits, "postgresql")
def _postgres_first(element: FirstDigits, compiler: SQLCompiler, **options: object) -> str:
    digits = compiler.process(element.clauses, **options)
    first = f"left({digits}, greatest(length({digits}) - 9, 0))"
    return f"CAST(coalesce(nullif({first}, ''), '0') AS BIGINT)"


_BY: Final = (_ledger.c.model, _ledger.c.version)
_SUMS: Final[Select[Any]] = (
    select(
        *_BY,
        _ledger.c.algorithm,
        func.count().label("entries"),
        func.sum(_ledger.c.row_count).label("row_count"),
        func.sum(FirstDigits(_ledger.c.high)).label("first_of_high"),
        func.sum(LastDigits(_ledger.c.high)).label("last_of_high"),
        func.sum(FirstDigits(_ledger.c.low)).label("first_of_low"),
        func.sum(LastDigits(_ledger.c.low)).label("last_of_low"),
    )
    .where(pairs(*_BY))
    .group_by(*_BY, _ledger.c.algorithm)
    .order_by(*_BY)
)


def sums(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, LedgerSum]:
    """What the entries of each of these versions add up to; absent if it has none."""
    found: dict[VersionKey, LedgerSum] = {}
    rows = of_pairs(connection, _SUMS, codec.encode_keys(keys))
    for (model, version), parts in groupby(rows, key=lambda row: (row.model, row.version)):
        key = VersionKey(codec.decode_model(model), version)
        found[key] = _sum(connection, key, list(parts))
    return found


def _sum(connection: Connection, key: VersionKey, parts: Sequence[Row[Any]]) -> LedgerSum:
    last = last_entry(connection, key)
    return LedgerSum(
        entries=sum(int(each.entries) for each in parts),
        rows=sum(int(each.row_count) for each in parts),
        last=last,
        dsha=_dsha(connection, key, parts, last),
    )


def _dsha(
    connection: Connection, key: VersionKey, parts: Sequence[Row[Any]], last: LedgerEntry
) -> str:
    if len(parts) > 1:  # sums of several algorithms do not add up
        return loaded_dsha(entries_of(connection, [key])[key])
    (part,) = parts
    high = int(part.first_of_high) * _TAIL + int(part.last_of_high)
    low = int(part.first_of_low) * _TAIL + int(part.last_of_low)
    rows = RowSum(rows=int(part.row_count), sum=((high << 64) + low) % MODULUS)
    return dsha(rows, last.columns, algorithm=last.algorithm)


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
