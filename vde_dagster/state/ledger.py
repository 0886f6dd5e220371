"""The ledger of versions, what it adds up to, and last looks. Functions of one transaction each.

What all entries of a ledger add up to, and what was not computed again, the database sums up. No
database has integers of 128 bits. Each half of a sum is a text of decimal digits; its last nine
digits and those before them are summed apart, which fits into 64 bits for 500 million entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Float, Row, Select, bindparam, delete, func, select

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import MODULUS, RowSum, dsha
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerDigests,
    LedgerEntry,
    LedgerSum,
    Trace,
    loaded_dsha,
)
from vde_dagster.core.ledger.entries import outdate as outdated
from vde_dagster.core.ledger.holdings import NOTHING, Holding, holding_changed
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.ledger.schema_changes import newest_columns
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, version_resource
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, sql_function, upsert
from vde_dagster.state.pairs import is_of, key_of, of_version, of_versions, pairs

_ledger = schema.ledger
_holdings = schema.holdings
_looks = schema.last_looks

_BY: Final = (_ledger.c.model, _ledger.c.version)
_LEDGERS: Final = select(_ledger).where(pairs(*_BY)).order_by(*_BY, _ledger.c.interval_start)
_DIGESTS: Final = _LEDGERS.with_only_columns(*_BY, _ledger.c.digest)
_HOLDINGS: Final = select(_holdings).where(pairs(_holdings.c.model, _holdings.c.version))
_LOOKS: Final = select(_looks).where(pairs(_looks.c.model, _looks.c.version))
_LEDGER: Final = select(_ledger).where(
    _ledger.c.model == bindparam("model"), _ledger.c.version == bindparam("version")
)
_LAST_ENTRY: Final = _LEDGER.order_by(_ledger.c.interval_start.desc()).limit(1)
_NEWEST_COMPUTED: Final = (
    _LEDGER.where(_ledger.c.status == EntryStatus.COMPUTED.value)
    .order_by(_ledger.c.interval_start.desc())
    .limit(bindparam("most"))
)
_CHANGED: Final = _LEDGER.where(_ledger.c.number > bindparam("after")).order_by(
    _ledger.c.interval_start
)
# Entries never overlap, so of those that began before only the last one can reach into a time.
# Without it as a lower bound, all earlier ones would be read to see when they end.
_last_before = _ledger.alias("last_before")
_BEGAN_BEFORE: Final = (
    select(_last_before.c.interval_start)
    .where(
        _last_before.c.model == bindparam("model"),
        _last_before.c.version == bindparam("version"),
        _last_before.c.interval_start <= bindparam("since"),
    )
    .order_by(_last_before.c.interval_start.desc())
    .limit(1)
    .scalar_subquery()
)
_WITHIN: Final = _LEDGER.where(
    _ledger.c.interval_start >= func.coalesce(_BEGAN_BEFORE, bindparam("since")),
    _ledger.c.interval_start < bindparam("until"),
    _ledger.c.interval_end > bindparam("since"),
).order_by(_ledger.c.interval_start)


def entries_of(
    connection: Connection, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[LedgerEntry, ...]]:
    """The ledgers of these versions, sorted by interval."""
    found: dict[VersionKey, tuple[LedgerEntry, ...]] = {}
    rows = of_versions(connection, _LEDGERS, keys)
    for (model, version), entries in groupby(rows, key=lambda row: (row.model, row.version)):
        key = VersionKey(codec.decode_model(model), version)
        found[key] = tuple(map(decode_entry, entries))
    return found


def holdings(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, Holding]:
    """The summaries of these versions' ledgers; absent if a version has no entry."""
    return {key: each for key, each in _summaries(connection, keys).items() if each.recorded}


def _summaries(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, Holding]:
    return {
        key_of(row): codec.decode_holding(row.holding_json, row.number, row.removed)
        for row in of_versions(connection, _HOLDINGS, keys)
    }


def changed_since(connection: Connection, key: VersionKey, number: int) -> tuple[LedgerEntry, ...]:
    """The entries that later changes wrote, sorted by interval."""
    rows = connection.execute(_CHANGED, {**of_version(key), "after": number}).all()
    return tuple(map(decode_entry, rows))


def entries_within(
    connection: Connection, key: VersionKey, times: Sequence[Interval] | None
) -> tuple[LedgerEntry, ...]:
    """The entries that overlap some merged times, sorted by interval; all of them for None."""
    if times is None:
        return entries_of(connection, [key]).get(key, ())
    found: dict[Interval, LedgerEntry] = {}
    for each in times:
        since, until = codec.encode_instant(each.start), codec.encode_instant(each.end)
        times_of_key = {**of_version(key), "since": since, "until": until}
        rows = connection.execute(_WITHIN, times_of_key).all()
        found |= {entry.interval: entry for entry in map(decode_entry, rows)}
    return tuple(found.values())


def digests(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, LedgerDigests]:
    """The D-SHAs of all entries of each of these versions, in the order of their times."""
    found: dict[VersionKey, list[str]] = {}
    for row in of_versions(connection, _DIGESTS, keys):
        found.setdefault(key_of(row), []).append(row.digest)
    return {
        key: LedgerDigests(digests=tuple(each), last=last_entry(connection, key))
        for key, each in found.items()
    }


def last_entry(connection: Connection, key: VersionKey) -> LedgerEntry:
    """The last of at least one entry of a version."""
    return decode_entry(connection.execute(_LAST_ENTRY, of_version(key)).one())


def newest_computed(
    connection: Connection, key: VersionKey, *, limit: int
) -> tuple[LedgerEntry, ...]:
    """The last computed entries, sorted by interval."""
    rows = connection.execute(_NEWEST_COMPUTED, {**of_version(key), "most": limit}).all()
    return tuple(map(decode_entry, reversed(rows)))


def last_looks(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, LastLook]:
    """The last look at each of these versions that was looked at."""
    rows = of_versions(connection, _LOOKS, keys)
    return {key_of(row): codec.decode(LastLook, row.look_json) for row in rows}


def record_looks(connection: Connection, looks: Mapping[VersionKey, LastLook]) -> None:
    """Store looks at versions, in place of earlier ones."""
    rows = [
        {**of_version(key), "look_json": codec.encode(LastLook, each)}
        for key, each in looks.items()
    ]
    upsert(connection, _looks, rows)


def outdate(
    connection: Connection,
    times: Mapping[VersionKey, Sequence[Interval]],
    *,
    reason: str,
    lease: Lease,
    rebuilt: Collection[VersionKey] = (),
) -> None:
    """Mark the entries of versions at these times as to be evaluated again, all or none.

    Raises:
        LeaseLost: The lease was taken over.
        LeaseHeld: Another process writes one of the versions right now.
    """
    leases.check(connection, lease)
    leases.keep_free(connection, sorted(map(version_resource, times)))
    for key, before in entries_of(connection, times).items():
        after = outdated(before, times[key], reason=reason, rebuilt=key in rebuilt)
        write_difference(connection, key, before, after)


def write_difference(
    connection: Connection,
    key: VersionKey,
    before: Sequence[LedgerEntry],
    after: Sequence[LedgerEntry],
) -> None:
    """Replace all entries that a change overlaps, and update the ledger's summary."""
    old = {entry.interval.start: entry for entry in before}
    new = {entry.interval.start: entry for entry in after}
    whole = _summaries(connection, [key]).get(key, NOTHING)
    for chunk in chunks(codec.encode_instant(start) for start in old if start not in new):
        connection.execute(
            delete(_ledger).where(is_of(_ledger, key), _ledger.c.interval_start.in_(chunk))
        )
    changed = [entry for start, entry in new.items() if old.get(start) != entry]
    if changed or not old.keys() <= new.keys():
        number = whole.number + 1
        upsert(connection, _ledger, [_encode_entry(key, entry, number) for entry in changed])
        columns = _columns_after(connection, key, whole, before, after)
        whole = holding_changed(whole, before, after, columns)
        text = codec.encode(Holding, whole)
        numbers = {"number": whole.number, "removed": whole.removed}
        upsert(connection, _holdings, [{**of_version(key), **numbers, "holding_json": text}])


def _columns_after(
    connection: Connection,
    key: VersionKey,
    whole: Holding,
    before: Sequence[LedgerEntry],
    after: Sequence[LedgerEntry],
) -> tuple[Column, ...]:
    """The columns of a version's table after some of its entries were changed."""
    is_more = {each.interval for each in before} <= {each.interval for each in after}
    if is_more and all(_are_alike(each.columns, whole.columns) for each in (*before, *after)):
        columns = last_entry(connection, key).columns
        if _are_alike(columns, whole.columns):
            return columns
    query = (
        select(_ledger.c.columns_json)
        .where(is_of(_ledger, key))
        .group_by(_ledger.c.columns_json)
        .order_by(func.max(_ledger.c.interval_start))
    )
    schemas = [codec.decode_columns(each) for each in connection.execute(query).scalars()]
    return newest_columns(schemas) if schemas else ()


def _are_alike(left: Sequence[Column], right: Sequence[Column]) -> bool:
    """Whether columns are equal apart from their comments."""
    return [(each.name, each.type) for each in left] == [(each.name, each.type) for each in right]


def _encode_entry(key: VersionKey, entry: LedgerEntry, number: int) -> dict[str, object]:
    upper, lower = entry.rows.halves
    return {
        **of_version(key),
        "interval_start": codec.encode_instant(entry.interval.start),
        "interval_end": codec.encode_instant(entry.interval.end),
        "row_count": entry.rows.rows,
        "high": str(upper),
        "low": str(lower),
        "columns_json": codec.encode(tuple[Column, ...], entry.columns),
        "digest": entry.digest,
        "work_id": entry.work_id,
        "iceberg_snapshot_id": entry.iceberg_snapshot_id,
        "status": entry.status.value,
        "reason": entry.reason,
        "algorithm": entry.algorithm,
        "trace_json": codec.encode(Trace, entry.trace) if entry.trace else None,
        "number": number,
    }


def decode_entry(row: Row[Any]) -> LedgerEntry:
    """The entry in a row of ``schema.ledger``."""
    return LedgerEntry(
        interval=Interval(
            codec.decode_instant(row.interval_start), codec.decode_instant(row.interval_end)
        ),
        rows=RowSum.of_halves(row.row_count, int(row.high), int(row.low)),
        columns=codec.decode_columns(row.columns_json),
        digest=row.digest,
        work_id=row.work_id,
        iceberg_snapshot_id=row.iceberg_snapshot_id,
        status=EntryStatus(row.status),
        reason=row.reason,
        algorithm=row.algorithm,
        trace=codec.decode_trace(row.trace_json),
    )


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
