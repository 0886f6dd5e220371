"""Changes are merged without reading files of keys before their first and behind their last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import World, Worlds, days
from vde_dagster.core.ledger.unit_of_work import SqlRows
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import Write

pytestmark = pytest.mark.spark

TYPES: Final = {"id": "int", "at": "timestamp", "name": "string"}
KEYED: Final = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at)"
HISTORY: Final = "SCD_TYPE_2_BY_COLUMN (unique_key id, columns name, sequence_by at)"
OTHER: Final = range(1, 4)
CHANGED: Final = range(4, 7)


def write_changes(table: World, write: Write, day: int, keys: Sequence[int]) -> None:
    table.write([(key, days(day).start, f"{key} of {day}") for key in keys], write)


@contextmanager
def without(paths: Sequence[Path]) -> Iterator[None]:
    """Files are not there."""
    for each in paths:
        each.rename(f"{each}.gone")
    yield
    for each in paths:
        Path(f"{each}.gone").rename(each)


@pytest.mark.parametrize(
    "kind, mode",
    [
        (KEYED, "merge-on-read"),
        (KEYED, "copy-on-write"),
        (HISTORY, "merge-on-read"),
        pytest.param(HISTORY, "copy-on-write", marks=pytest.mark.full),
    ],
)
def test_files_of_other_keys_are_not_read(on_spark: Worlds, kind: str, mode: str) -> None:
    write = write_of(kind, TYPES, days(1))
    storage = Storage(properties=(("write.merge.mode", mode),))
    table = replace(on_spark.table(TYPES), storage=storage)
    for keys in OTHER, CHANGED:
        write_changes(table, write, 1, keys)
    others = [Path(path) for path, rows in table.files().items() if rows[0][0] in OTHER]
    with without(others):
        write_changes(table, write, 2, CHANGED)
    stay = [(1, key) for key in (*OTHER, *(CHANGED if kind == HISTORY else ()))]
    names = [f"{key} of {day}" for day, key in [*stay, *((2, key) for key in CHANGED)]]
    assert others
    assert sorted(str(row[2]) for row in table.rows()) == sorted(names)


KEY: Final = {
    "exact": "decimal(38,18)",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "big": "bigint",
    "part": "double",
    "text": "string",
}
LAST_DAY: Final = "9999-12-31 23:59:59.999999"
KEYS: Final = [
    ("-" + "9" * 20, "0001-01-01", "0001-01-01", "0001-01-01", -(2**63), "-Infinity", b""),
    ("-1e-18", "1582-10-15", "1883-11-18 12:03:57.9", "1969-12-31", -1, "-1", b"\0 ${user.name}"),
    ("0", "1970-01-01", "1969-12-31 23:59:59.999999", "1970-01-01", 0, "0", b"'; --\n\\'\\\\%"),
    ("1e-18", "2024-02-29", "2024-10-27 01:30:00", "2024-10-27 01:30:00", 1, "1", b"a" * 40),
    ("1", "9999-12-31", LAST_DAY, LAST_DAY, 2**62, "2", b"a\x80"),  # Iceberg: a\xef\xbf\xbd
    ("9" * 20, "+10000-01-01", "+10000-01-01", "+10000-01-01", 2**63 - 1, "NaN", "aé".encode()),
]
"""Each is greater than the one before in all its parts."""
WRITTEN: Final = {"number": "int", "no": "int", **KEY}


def rows_of(numbers: Sequence[int], no: int) -> SqlRows:
    """Changes of keys by their numbers."""
    rows = [
        [f"{number}", f"{no}"]
        + [
            f"CAST({f'X{each.hex()!r}' if isinstance(each, bytes) else repr(str(each))} AS {kind})"
            for each, kind in zip(KEYS[number], KEY.values(), strict=True)
        ]
        for number in numbers
    ]
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    return SqlRows(sql=f"SELECT * FROM VALUES {values} AS _rows({', '.join(WRITTEN)})")


@pytest.mark.parametrize(
    "key", [", ".join(KEY), *(pytest.param(each, marks=pytest.mark.full) for each in KEY)]
)
def test_rows_are_found_at_both_ends_of_a_range(on_spark: Worlds, key: str) -> None:
    kind = f"INCREMENTAL_BY_UNIQUE_KEY (unique_key ({key}), sequence_by no)"
    write = write_of(kind, WRITTEN, days(1))
    table = on_spark.table(WRITTEN)
    wanted = dict.fromkeys(range(len(KEYS)), 0)
    for numbers in [0, 1, 2, 3], [4, 5]:
        table.write(rows_of(numbers, 0), write)
    for no, numbers in enumerate([[0, 1], [2, 3], [4], [5]], start=1):
        wanted |= dict.fromkeys(numbers, no)
        table.write(rows_of(numbers, no), write)
    _, found = table.engine.fetch(f"SELECT number, no FROM {table.key.table}", limit=100)
    assert sorted(found) == sorted(wanted.items())
