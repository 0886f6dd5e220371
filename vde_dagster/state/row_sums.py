"""What all entries of a ledger add up to, summed by the database. Functions of one transaction.

No database has integers of 128 bits. Each half of a sum is a text of decimal digits; its last nine
digits and those before them are summed apart, which fits into 64 bits for 500 million entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Row, Select, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from vde_dagster.core.ledger.dsha import MODULUS, RowSum, dsha
from vde_dagster.core.ledger.entries import LedgerEntry, LedgerSum, loaded_dsha
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.ledger import entries_of, last_entry
from vde_dagster.state.pairs import of_pairs, pairs

_ledger = schema.ledger
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
