"""How rows differ, for people: row by row, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from vde_dagster.core.unit_tests.comparison import ChangedRow, Difference

MOST_ROWS: Final = 10
"""How many rows of each sort are shown; the others are counted."""
_WIDEST: Final = 40


def difference_lines(difference: Difference, *, most: int = MOST_ROWS) -> Iterator[str]:
    """A difference as lines: what it is in one sentence, then the rows.

    Args:
        difference: What differs.
        most: How many rows of each sort are shown.
    """
    yield _sentence(difference)
    for changed in difference.changed[:most]:
        yield from _changed(changed)
    yield from _beyond(len(difference.changed), most, "other rows differ")
    missing = [each.values for each in difference.missing]
    if missing:
        yield "missing:"
        yield from _table(missing[:most])
        yield from _beyond(len(missing), most, "more are missing")
    if difference.unexpected:
        yield "unexpected:"
        yield from _table(difference.unexpected[:most])
        yield from _beyond(len(difference.unexpected), most, "more are unexpected")


def _sentence(difference: Difference) -> str:
    if difference.absent:
        one = len(difference.absent) == 1
        return (
            f"the column{'' if one else 's'} {', '.join(difference.absent)} "
            f"{'is' if one else 'are'} expected, but missing"
        )
    came = (
        f"{difference.actual} {_rows(difference.actual)} returned, {difference.expected} expected"
    )
    if difference.reordered:
        return f"{came}: the same rows, but not in the order of the query's ORDER BY"
    counts = (
        (len(difference.changed), "with other values"),
        (len(difference.missing), "missing"),
        (len(difference.unexpected), "unexpected"),
    )
    return f"{came}: {', '.join(f'{count} {what}' for count, what in counts if count)}"


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def _beyond(count: int, most: int, what: str) -> Iterator[str]:
    if count > most:
        yield f"  {count - most} {what}"


def _changed(row: ChangedRow) -> Iterator[str]:
    key = ", ".join(f"{name}={shown(value)}" for name, value in row.same.items())
    where = f" ({key})" if key else ""
    yield f"the row in line {row.place.line}{where}:"
    cells = [
        {"column": each.column, "expected": each.expected, "actual": each.actual}
        for each in row.cells
    ]
    yield from _table(cells, plain=("column",))


def _table(rows: Sequence[Mapping[str, object]], *, plain: Sequence[str] = ()) -> Iterator[str]:
    """Rows below the names of their columns, each column as wide as its widest value."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [
        [
            str(row[name]) if name in plain else shown(row[name]) if name in row else ""
            for name in names
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    for line in (names, *cells):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield f"  {padded}".rstrip()


def shown(value: object) -> str:
    """A value as a file would write it, in one line; texts in quotes where they need them."""
    text = _text(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _text(value: object) -> str:
    match value:
        case None:
            text = "null"
        case bool():
            text = str(value).lower()
        case str() if not value or value != value.strip() or "\n" in value:
            text = repr(value)
        case datetime():
            text = _time(value)
        case bytes():
            text = value.hex()
        case Mapping():
            text = f"{{{', '.join(f'{_text(k)}: {_text(v)}' for k, v in value.items())}}}"
        case list() | tuple():
            text = f"[{', '.join(map(_text, value))}]"
        case _:
            text = str(value)
    return text


def _time(value: datetime) -> str:
    local = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return local.isoformat(sep=" ")
