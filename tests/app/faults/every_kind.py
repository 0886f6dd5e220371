"""One model of each kind with rows, over the same events; each takes a day per interval.

They run in memory and on Spark alike, there also over so many copies of one event that the write
takes a while.
"""

from __future__ import annotations

from typing import Final

COPIED: Final = 7
"""The amount of the event that has copies."""
DELETED: Final = 5
"""The amount of an event that deletes its key, where keys are deleted."""

_OF_THE_INTERVAL: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
_EVENTS: Final = "id, at, amount"
_BY_ID: Final = "id % 3 + 3 * (COPY - 1) AS bucket, amount AS amount"
_BY_BUCKET: Final = "id % 3 AS bucket, amount + COPY - 1 AS amount"
_IN_ORDER: Final = f"sequence_by (at, id), delete_when amount = {DELETED}"
_COLUMNS: Final = "columns (bucket bigint, amount bigint)"


KINDS: Final = {
    "time_range": ("INCREMENTAL_BY_TIME_RANGE (time_column at)", "", _EVENTS, _OF_THE_INTERVAL),
    "unmanaged": ("INCREMENTAL_UNMANAGED", "", _EVENTS, _OF_THE_INTERVAL),
    "unique_key": (
        "INCREMENTAL_BY_UNIQUE_KEY (unique_key bucket)",
        f", {_COLUMNS}",
        _BY_ID,
        _OF_THE_INTERVAL,
    ),
    "in_order": (
        f"INCREMENTAL_BY_UNIQUE_KEY (unique_key bucket, {_IN_ORDER})",
        "",
        f"{_BY_ID}, id AS id, at AS at",
        _OF_THE_INTERVAL,
    ),
    "by_partition": (
        "INCREMENTAL_BY_PARTITION",
        f", partitioned_by bucket, {_COLUMNS}",
        _BY_BUCKET,
        _OF_THE_INTERVAL,
    ),
    "history": (
        "SCD_TYPE_2_BY_TIME (unique_key bucket, updated_at_name at, disable_restatement false)",
        "",
        f"{_BY_ID}, at AS at",
        _OF_THE_INTERVAL,
    ),
    "changes": (
        "SCD_TYPE_2_BY_TIME (unique_key bucket, sequence_by (at, id), disable_restatement false)",
        "",
        f"{_BY_ID}, id AS id, at AS at",
        _OF_THE_INTERVAL,
    ),
    "full": ("FULL", "", _EVENTS, "WHERE at <= @end_dt"),
}

WITHOUT_DAYS: Final = {"managed": ("MANAGED", "", _EVENTS, "")}
"""The kind that has no intervals, and is computed from all that has landed."""


def model(kind: str, name: str = "", *, copies: int = 1, source: str = "raw.events") -> str:
    """A MODEL of a kind.

    Args:
        kind: One of `KINDS` or `WITHOUT_DAYS`.
        name: Its name in the schema ``kept``; by default that of the kind.
        copies: How often the event of the amount `COPIED` is read; more than once only in Spark.
        source: What it reads.
    """
    written, properties, columns, where = (KINDS | WITHOUT_DAYS)[kind]
    cron = ", cron '@daily'" if kind in KINDS else ""
    head = f"MODEL (name kept.{name or kind}, kind {written}{cron}{properties});"
    copied = ""
    if copies > 1:
        numbers = f"EXPLODE(SEQUENCE(1, IF(amount = {COPIED}, {copies}, 1)))"
        copied = f"LATERAL VIEW {numbers} numbers AS copy"
    query = (
        f"SELECT {columns.replace('COPY', 'copy' if copied else '1')} FROM {source} "
        f"{copied} {where}"
    )
    return f"{head}\n{query}"


def rows_after_all_days(kind: str, copies: int = 1) -> str:
    """DuckDB's query of the rows of a model's table after all days; ``events`` has ``day``, too.

    Those that no reader sees are among them.
    """
    columns = (
        (KINDS | WITHOUT_DAYS)[kind][2].replace("at AS at", '"at"').replace(", at,", ', "at",')
    )  # a keyword
    copied = f"SELECT *, unnest(range(IF(amount = {COPIED}, {copies}, 1))) + 1 AS copy FROM events"
    every = f"SELECT {columns.replace('COPY', 'copy')}, day FROM ({copied})"
    if kind == "history":
        return (
            'SELECT bucket, amount, "at", IF(day = 0, TIMESTAMPTZ \'1970-01-01\', "at"),'
            f' LEAD("at") OVER (PARTITION BY bucket ORDER BY "at") FROM ({every})'
        )
    if kind == "changes":
        return (
            'SELECT bucket, amount, id, "at", "at", '
            f'LEAD("at") OVER (PARTITION BY bucket ORDER BY "at", id) FROM ({every})'
        )
    last = {
        **dict.fromkeys(
            ("unique_key", "by_partition"), "QUALIFY day = MAX(day) OVER (PARTITION BY bucket)"
        ),
        "in_order": "QUALIFY "
        'ROW_NUMBER() OVER (PARTITION BY bucket ORDER BY "at" DESC, id DESC) = 1',
    }.get(kind, "")
    return f"SELECT * EXCLUDE (day) FROM (SELECT * FROM ({every}) {last})"
