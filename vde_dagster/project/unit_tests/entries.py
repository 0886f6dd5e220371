"""The parts of a unit test as its YAML has them: rows, values, times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.written import written_end, written_instant
from vde_dagster.core.unit_tests.cells import Raw
from vde_dagster.core.unit_tests.definition import Expected, ExpectedRow
from vde_dagster.project.yaml_document import Entry, Reader

ROWS_ADVICE: Final = "Write a list of rows, each as `- column: value`, or [] for none."


def raw_of(entry: Entry) -> Raw:
    """A value as it is written, all single values as texts."""
    if entry.tag == "map":
        return {key: raw_of(child) for key, child in entry.children.items()}
    if entry.tag == "seq":
        return [raw_of(each) for each in entry.items]
    return entry.value if isinstance(entry.value, str) else None


def rows_of(entry: Entry, reader: Reader) -> Iterator[Entry]:
    """The rows of a list, each a mapping; what is none is reported, and columns given twice."""
    if entry.tag not in ("seq", "null"):
        reader.add(entry.place, "rows are a list", ROWS_ADVICE)
        return
    for each in entry.items:
        if each.tag == "map":
            names = [key.lower() for key in each.children]
            for name in dict.fromkeys(name for name in names if names.count(name) > 1):
                reader.add(each.place, f"the column {name} is given twice", "Remove one of them.")
            yield each
        else:
            reader.add(each.place, "a row is a mapping of columns to values", ROWS_ADVICE)


def expected_of(entry: Entry, reader: Reader, *, partial: bool, where: str) -> Expected:
    """Expected rows: a list of them, or a mapping with ``rows`` and perhaps ``partial``."""
    rows = entry
    if entry.tag == "map":
        reader.known(entry, ("partial", "rows"), where)
        partial = reader.flag(entry.children.get("partial"), default=partial)
        found = entry.children.get("rows")
        if found is None:
            reader.add(entry.place, f"{where} has no `rows`", ROWS_ADVICE)
            return Expected(rows=(), place=entry.place, partial=partial)
        rows = found
    written = [
        ExpectedRow(
            values={key: raw_of(child) for key, child in row.children.items()}, place=row.place
        )
        for row in rows_of(rows, reader)
    ]
    return Expected(rows=tuple(written), place=entry.place, partial=partial)


TIMES: Final = ("start", "end", "execution_time")
"""The names among ``vars`` that are no variables of the project."""


def times_of(
    given: Mapping[str, Entry], place: Place, reader: Reader
) -> tuple[Interval | None, datetime | None]:
    """The interval and the execution time that ``vars`` give; a date as an end is the whole day."""
    start = _instant(given.get("start"), reader, written_instant)
    end = _instant(given.get("end"), reader, written_end)
    execution = _instant(given.get("execution_time"), reader, written_instant)
    if start is None or end is None:
        if ("start" in given) != ("end" in given):
            advice = "Give both: the range of rows that is computed. A date as an end is its day."
            reader.add(place, "one of `start` and `end` is given without the other", advice)
        return None, execution
    if end <= start:
        reader.add(place, "`end` is not after `start`", "Give a later end.")
        return None, execution
    return Interval(start, end), execution


def _instant(
    entry: Entry | None, reader: Reader, read: Callable[[str], datetime]
) -> datetime | None:
    if entry is None:
        return None
    try:
        return read(reader.text(entry, ""))
    except ValueError as error:
        reader.add(entry.place, str(error), "Times without an offset are UTC.")
        return None
