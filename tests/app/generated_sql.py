"""Generated models in SQL: the queries and kinds of their forms, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_WITHIN: Final = "{at} BETWEEN @start_dt AND @end_dt"
QUERIES: Final[Mapping[str, str]] = {
    "COPY": "SELECT id, at, amount FROM {p} WHERE " + _WITHIN,
    "CHANCE": "SELECT id, at, amount + CAST(RAND() * 0 AS BIGINT) AS amount FROM {p} WHERE "
    + _WITHIN,
    "RECENT": "SELECT a.id, a.at, SUM(b.amount) AS amount FROM {p} AS a JOIN {p} AS b "
    "ON b.at <= a.at AND b.at > a.at - INTERVAL {n} HOURS "
    "WHERE a.at BETWEEN @start_dt AND @end_dt "
    "AND b.at BETWEEN @start_dt - INTERVAL {n} HOURS AND @end_dt GROUP BY a.id, a.at",
    "AHEAD": "SELECT a.id, a.at, SUM(b.amount) AS amount FROM {p} AS a JOIN {p} AS b "
    "ON b.at >= a.at AND b.at < a.at + INTERVAL 1 HOUR "
    "WHERE a.at BETWEEN @start_dt AND @end_dt "
    "AND b.at BETWEEN @start_dt AND @end_dt + INTERVAL 1 HOUR GROUP BY a.id, a.at",
    "SUMS": "SELECT COUNT(*) AS id, DATE_TRUNC('{unit}', at) AS at, SUM(amount) AS amount "
    "FROM {p} WHERE " + _WITHIN + " GROUP BY DATE_TRUNC('{unit}', at)",
    "JOIN": "SELECT a.id, a.at, a.amount + COALESCE(b.amount, 0) AS amount FROM {p} AS a "
    "LEFT JOIN (SELECT DATE_TRUNC('HOUR', at) AS h, SUM(amount) AS amount FROM {q} WHERE "
    + _WITHIN
    + " GROUP BY DATE_TRUNC('HOUR', at)) AS b ON DATE_TRUNC('HOUR', a.at) = b.h "
    "WHERE a.at BETWEEN @start_dt AND @end_dt",
    "UNION": "SELECT id, at, amount FROM {p} WHERE "
    + _WITHIN
    + " UNION ALL SELECT id, at, amount FROM {q} WHERE "
    + _WITHIN,
    "LOOKUP": "SELECT a.id, a.at, a.amount + COALESCE(b.amount, 0) AS amount FROM {p} AS a "
    "LEFT JOIN (SELECT id % 3 AS third, SUM(amount % 7) AS amount FROM {q} GROUP BY id % 3) AS b "
    "ON a.id % 3 = b.third "
    "WHERE a.at BETWEEN @start_dt AND @end_dt",
    "RUNNING": "SELECT CAST(1 AS BIGINT) AS id, CAST(@start_dt AS TIMESTAMP) AS at, "
    "COALESCE(SUM(amount), 0) AS amount FROM (SELECT amount FROM {p} WHERE "
    + _WITHIN
    + " UNION ALL SELECT amount FROM {own} WHERE at BETWEEN @start_dt - INTERVAL 1 {unit} "
    "AND @end_dt - INTERVAL 1 {unit}) AS so_far",
    "FULL": "SELECT id, at, amount FROM {p}",
    "FULL_UNTIL": "SELECT id, at, amount FROM {p} WHERE at <= @end_dt",
    **dict.fromkeys(("VIEW", "EMBEDDED"), "SELECT id, at, amount * 2 AS amount FROM {p}"),
    "BY_KEY": "SELECT NULLIF(id % 3, 0) AS id, MAX(at) AS at, SUM(amount) AS amount FROM {p} "
    "WHERE " + _WITHIN + " GROUP BY NULLIF(id % 3, 0)",
    **dict.fromkeys(
        ("HISTORY", "HISTORY_BY_TIME"),
        "SELECT id % 3 AS id, MAX(at) AS at, SUM(amount) AS amount FROM {p} GROUP BY id % 3",
    ),
    **dict.fromkeys(
        ("CHANGES", "VERSIONS", "VERSIONS_BY_TIME"),
        "SELECT id % 3 AS id, at, amount, id AS number, amount % 3 AS size, amount % 4 = 0 AS gone "
        "FROM {p} WHERE " + _WITHIN,
    ),
}
_ORDER: Final = "unique_key id, sequence_by (at, number), delete_when gone"
KINDS: Final[Mapping[str, str]] = {
    "FULL": "FULL",
    "FULL_UNTIL": "FULL",
    "VIEW": "VIEW",
    "EMBEDDED": "EMBEDDED",
    "BY_KEY": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1{options})",
    "BY_PARTITION": "INCREMENTAL_BY_PARTITION",
    "UNMANAGED": "INCREMENTAL_UNMANAGED",
    "ADDED_LATE": "INCREMENTAL_UNMANAGED",
    "HISTORY": "SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount))",
    "HISTORY_BY_TIME": "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)",
    "CHANGES": f"INCREMENTAL_BY_UNIQUE_KEY ({_ORDER})",
    "VERSIONS": f"SCD_TYPE_2_BY_COLUMN ({_ORDER}, columns (size), disable_restatement false)",
    "VERSIONS_BY_TIME": f"SCD_TYPE_2_BY_TIME ({_ORDER}, disable_restatement false)",
}
