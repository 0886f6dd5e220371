"""One model of each kind with rows, over the same events; each takes a day per interval.

They run in memory and on Spark alike.
"""

from __future__ import annotations

from typing import Final

_EVENTS_OF_THE_INTERVAL: Final = (
    "SELECT id AS id, at AS at, amount AS amount FROM raw.events "
    "WHERE at BETWEEN @start_dt AND @end_dt"
)
_BUCKETS: Final = (
    "SELECT id % 3 AS bucket, SUM(amount) AS amount FROM raw.events "
    "WHERE at BETWEEN @start_dt AND @end_dt GROUP BY id % 3"
)
_COLUMNS: Final = "columns (bucket bigint, amount bigint)"
BY_TIME_RANGE: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
UNMANAGED: Final = "INCREMENTAL_UNMANAGED"
UNIQUE_KEY: Final = "INCREMENTAL_BY_UNIQUE_KEY (unique_key bucket)"
BY_PARTITION: Final = "INCREMENTAL_BY_PARTITION"
FULL: Final = "FULL"

KINDS: Final = {
    "time_range": (BY_TIME_RANGE, "", _EVENTS_OF_THE_INTERVAL),
    "unmanaged": (UNMANAGED, "", _EVENTS_OF_THE_INTERVAL),
    "unique_key": (UNIQUE_KEY, f", {_COLUMNS}", _BUCKETS),
    "by_partition": (BY_PARTITION, f", partitioned_by bucket, {_COLUMNS}", _BUCKETS),
    "full": (FULL, "", "SELECT COUNT(*) AS events, SUM(amount) AS amount FROM raw.events"),
}


def model(kind: str, name: str = "") -> str:
    """The MODEL of a kind, under a name of schema ``kept``; the kind's own where none is given."""
    written, properties, query = KINDS[kind]
    return f"MODEL (name kept.{name or kind}, kind {written}, cron '@daily'{properties});\n{query}"
