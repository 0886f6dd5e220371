"""CSV files that SQLMesh reads by pandas, as the plain CSV of a SEED."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from io import StringIO
from typing import Any, Final

_NULLS: Final = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)
"""What pandas reads as missing by default."""
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")


def plain_csv(text: str, settings: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    """A file with commas and double quotes, whose empty cells are NULL.

    Cells that SQLMesh reads as missing are empty, times with a zone are in UTC without one, and
    whole numbers have no ``.0``. A text of which all is so comes back as it is.

    Args:
        text: The file.
        settings: The options ``csv_settings`` of SQLMesh.
        columns: The types of the columns in Spark.
    """
    rows = list(csv.reader(StringIO(text, newline=""), **_format(settings)))
    if not rows:
        return text
    names = rows[0]
    kinds = [columns.get(name.strip().lower(), "string") for name in names]
    nulls = [_nulls(settings, name) for name in names]
    changed = [
        [
            _cell(cell, kinds[at], nulls[at]) if at < len(names) else cell
            for at, cell in enumerate(row)
        ]
        for row in rows[1:]
    ]
    if changed == rows[1:] and not _format(settings):
        return text
    written = StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows([names, *changed])
    return written.getvalue()


def _format(settings: Mapping[str, Any]) -> dict[str, Any]:
    known = ("delimiter", "quotechar", "doublequote", "escapechar", "skipinitialspace")
    return {key: settings[key] for key in known if settings.get(key) is not None}


def _nulls(settings: Mapping[str, Any], column: str) -> frozenset[str]:
    """The texts of a column that stand for nothing."""
    default = _NULLS if settings.get("keep_default_na") is not False else frozenset[str]()
    given: Any = settings.get("na_values") or ()
    own: Sequence[object] = given.get(column, ()) if isinstance(given, Mapping) else given
    return default | {str(each) for each in own}


def _cell(text: str, kind: str, nulls: frozenset[str]) -> str:
    if text in nulls:
        return ""
    if kind in _WHOLE:
        return text.removesuffix(".0")
    with suppress(ValueError):
        if kind == "date":
            return _time(text).date().isoformat()
        if kind == "timestamp_ntz":
            found = _time(text)
            return text if found.tzinfo is None else _naive(found)
    return text


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if len(text) > len(date.min.isoformat()) else found.replace(tzinfo=None)


def _naive(instant: datetime) -> str:
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
