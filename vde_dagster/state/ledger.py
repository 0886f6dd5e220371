"""The ledger and last looks of versions. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, select

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerDigests, LedgerEntry, Trace
from vde_dagster.core.ledger.entries import outdate as outdated
from vde_dagster.core.ledger.holdings import NOTHING, Holding, holding_changed
from vde_dagster.core.ledger.schema_changes import newest_columns
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, version_resource
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, upsert
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
