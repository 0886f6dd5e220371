"""The bounds of a column that a Parquet file itself has at its end, where Iceberg was told none.

Iceberg's writers record bounds of the first hundred columns of a table only, and of none with the
table property ``write.metadata.metrics.default=none``. Parquet's writers record them in any case.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from pyiceberg.manifest import DataFile, FileFormat

from vde_dagster.core.time.intervals import EPOCH

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile
    from pyiceberg.io import FileIO

Bounds = tuple[int | str, int | str]
"""The least and the greatest value: days or microseconds since 1970, or texts."""

_FIELD_ID: Final = b"PARQUET:field_id"
_MOST: Final = 100_000
_READ: Final[dict[tuple[str, int], Bounds | None]] = {}
"""What was read already: a data file never changes."""


def footer_bounds(io: FileIO, file: DataFile, field_id: int) -> Bounds | None:
    """The bounds of a column of dates, times or texts; None where the file does not say.

    Nor does one that has a row without a value, or that cannot be read.
    """
    if file.file_format != FileFormat.PARQUET:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    key = (file.file_path, field_id)
    if key not in _READ:
        if len(_READ) >= _MOST:
            _READ.clear()
        try:
            with io.new_input(file.file_path).open() as opened:
                _READ[key] = _read(pq.ParquetFile(opened), field_id)
        except (OSError, pa.ArrowInvalid):  # it is gone or damaged: whoever reads its rows says so
            return None
        except (ValueError, OverflowError):  # a time that Python has no date for
            _READ[key] = None
    return _READ[key]


def _read(file: ParquetFile, field_id: int) -> Bounds | None:
    wanted = str(field_id).encode()
    named = [
        each.name for each in file.schema_arrow if (each.metadata or {}).get(_FIELD_ID) == wanted
    ]
    columns = [number for number, each in enumerate(file.schema) if each.path in named]
    if len(columns) != 1:
        return None
    lows: list[int | str] = []
    highs: list[int | str] = []
    for number in range(file.metadata.num_row_groups):
        found = file.metadata.row_group(number).column(columns[0]).statistics
        if found is None or not found.has_min_max or found.null_count != 0:
            return None
        low, high = _stored(found.min), _stored(found.max)
        if low is None or high is None:
            return None
        lows.append(low)
        highs.append(high)
    return (min(lows), max(highs)) if lows else None


def _stored(value: object) -> int | str | None:
    """A value as Iceberg stores it."""
    match value:
        case datetime():
            at = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            return (at - EPOCH) // _MICROSECOND
        case date():
            return (value - EPOCH.date()).days
        case str():
            return value
        case _:
            return None


_MICROSECOND: Final = datetime.resolution
