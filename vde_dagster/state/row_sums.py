"""What all entries of a ledger add up to, summed by the database. Functions of one transaction.

No database has integers of 128 bits. Each half of a sum is a text of decimal digits; its last nine
digits and those before them are summed apart, which fits into 64 bits for 500 million entries.

So is what the ledger says of rows that were not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Float, Row, Select, func, select

from vde_dagster.core.ledger.dsha import MODULUS, RowSum, dsha
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry, LedgerSum, loaded_dsha
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.database import sql_function
from vde_dagster.state.ledger import entries_of, last_entry
from vde_dagster.state.pairs import key_of, of_versions, pairs

_ledger = schema.ledger
_work = schema.work
_TAIL: Final = 10**9


LastDigits: Final = sql_function(
    BigInteger(),
    on_sqlite="CAST(substr({0}, -9) AS INTEGER)",
    on_postgres="CAST(right({0}, 9) AS BIGINT)",
)
"""The last nine digits of a text of digits, as a number."""
FirstDigits: Final = sql_function(
    BigInteger(),
    on_sqlite="CAST(substr({0}, 1, max(length({0}) - 9, 0)) AS INTEGER)",
    on_postgres="CAST('0' || left({0}, greatest(length({0}) - 9, 0)) AS BIGINT)",
)
"""The digits before the last nine, as a number; 0 if there are none."""


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
    for key, parts in groupby(of_versions(connection, _SUMS, keys), key=key_of):
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


TraceSeconds: Final = sql_function(
    Float(),
    on_sqlite="json_extract({0}, '$.seconds')",
    on_postgres="CAST(CAST({0} AS JSON) ->> 'seconds' AS DOUBLE PRECISION)",
)
"""The seconds in a trace's JSON text; NULL if there is no trace."""


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
    for row in of_versions(connection, query, keys):
        found.setdefault(key_of(row), {})[row.environment] = Saved(
            intervals=row.intervals,
            time=timedelta(microseconds=int(row.time_covered)),  # Postgres gives decimals
            rows=int(row.row_count),
            seconds=row.seconds,
        )
    return found
