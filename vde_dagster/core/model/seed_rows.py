"""Rows of a CSV text, typed by declared columns.

An empty cell is NULL, and an empty text stands in quotes, as `vde query --format csv` writes it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed, Finding

if TYPE_CHECKING:
    from _csv import Reader

Cell = bool | int | float | Decimal | date | datetime | str | None

_RANGES: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_ALIASES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "decimal": "decimal(10,0)",
    "numeric": "decimal(10,0)",
}
_DECIMAL: Final = re.compile(r"(?:decimal|numeric)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_TEXT: Final = re.compile(r"string|(?:var)?char\(\s*\d+\s*\)")
_TRUTH: Final = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False, "f": False, "no": False, "n": False, "0": False
}  # fmt: skip


_MOST: Final = 20
"""How many problems of one file are reported; the others are counted."""


def seed_columns(text: str) -> tuple[Column, ...]:
    """The columns that a CSV text without declared columns has: its header's names, as text."""
    return _texts(next(_reader(text), []))


def seed_rows(text: str, columns: Sequence[Column]) -> list[tuple[Cell, ...]]:
    """The typed rows of a CSV text with a header, in the order of ``columns``.

    Header names are compared without case. A timestamp without an offset is UTC.

    Raises:
        EvaluationFailed: The header has not exactly these columns, a line has another number of
            cells, or a cell does not fit its column; the text names line and column.
    """
    rows: list[tuple[Cell, ...]] = []
    for each in _read(text, columns):
        if isinstance(each, Finding):
            where = f"line {each.line}: " if each.line is not None else ""
            raise EvaluationFailed(f"{where}{each.message}", advice=each.advice)
        rows.append(each)
    return rows


def seed_findings(text: str, columns: Sequence[Column]) -> list[Finding]:
    """Why a CSV text cannot be read: all problems, or the first ones and a count.

    Args:
        text: The whole file.
        columns: The declared ones; empty where the header names them.
    """
    wrong = (each for each in _read(text, columns) if isinstance(each, Finding))
    found = list(islice(wrong, _MOST))
    beyond = next(wrong, None)
    if beyond is not None:
        more = 1 + sum(1 for _ in wrong)
        message = f"{more} more cell{'s do' if more > 1 else ' does'} not fit from here on"
        found.append(replace(beyond, message=message, advice="Correct those above first."))
    return found


def seed_lines(text: str) -> tuple[list[str], list[list[str]]]:
    """The header of a CSV text and its other lines, cell by cell, in no order of the file.

    Sorted by their cells from the left, so that edits to the right of a key leave them in order.
    What is not a CSV is one cell.
    """
    try:
        reader = _reader(text)
        header = next(filter(None, reader), [])
        lines = [cells for cells in (_cells(row, len(header)) for row in reader) if cells]
    except csv.Error:
        return [], [[text]]
    return header, sorted(lines)


_EMPTY_TEXT: Final = "\ufdd0"
"""An empty text in quotes as a cell; a character that no text has (Unicode, noncharacters)."""
_FIELD: Final = re.compile(r'(\A|[,\r\n])("(?:[^"]|"")*"(?=[,\r\n]|\Z)|[^,\r\n]*)')


def _reader(text: str) -> Reader:
    def marked(field: re.Match[str]) -> str:  # csv tells no empty cell from an empty text
        return f"{field[1]}{_EMPTY_TEXT}" if field[2] == '""' else field[0]

    plain = text.removeprefix("\ufeff")
    return csv.reader(io.StringIO(_FIELD.sub(marked, plain), newline=""), strict=True)


def _cells(row: list[str], width: int) -> list[str]:
    """The cells of a line. An empty line is one NULL if there is one column, else it is none."""
    return row or ([""] if width == 1 else [])


def _texts(header: Sequence[str]) -> tuple[Column, ...]:
    names = [name.replace(_EMPTY_TEXT, "").strip() for name in header]
    return tuple(Column(name=name, type="string") for name in names)


def _read(text: str, declared: Sequence[Column]) -> Iterator[tuple[Cell, ...] | Finding]:
    """The rows that can be read, and what is wrong with the others."""
    reader, line = _reader(text), 1
    try:
        header = next(reader, [])
        columns = declared or _texts(header)
        names = [each.name.lower() for each in _texts(header)]
        if not any(names):
            advice = "Write the names of the columns in the first line."
            yield Finding(message="the file does not name its columns", advice=advice, line=1)
            return
        yield from _wrong_header(names, columns)
        cells = _Cells(names, columns)
        yield from cells.unreadable
        line = reader.line_num + 1
        for row in reader:
            if texts := _cells(row, len(names)):
                yield from cells.read(texts, line)
            line = reader.line_num + 1
    except csv.Error as error:
        yield Finding(
            message=f"this is not a valid CSV: {error}",
            advice='Put a text with a comma, a quote or a line break in quotes: "a ""b"", c".',
            line=line,
        )


def _wrong_header(names: Sequence[str], columns: Sequence[Column]) -> Iterator[Finding]:
    """What is wrong with the first line, given its names in lower case."""
    for name in dict.fromkeys(each for each in names if names.count(each) > 1 or not each):
        message = f"the header has several columns named {name!r}"
        message = message if name else "a column of the header has no name"
        yield Finding(message=message, advice="Give each column its own name.", line=1)
    wanted = [column.name.lower() for column in columns]
    if set(wanted) != set(names):
        yield Finding(
            message=f"the header has {', '.join(names)}; declared are {', '.join(wanted)}",
            advice=(
                "Declare exactly the columns of the header, or none, which makes all of "
                "them strings."
            ),
            line=1,
        )


class _Cells:
    """How the cells of a line become a row of these columns, given the header in lower case."""

    def __init__(self, names: Sequence[str], columns: Sequence[Column]) -> None:
        self._width = len(names)
        self._columns = [each for each in columns if names.count(each.name.lower()) == 1]
        self._positions = [names.index(each.name.lower()) for each in self._columns]
        self._parsers = [cell_parser(each.type) for each in self._columns]

    @property
    def unreadable(self) -> Iterator[Finding]:
        """Columns of types that no text is read as."""
        for column, parser in zip(self._columns, self._parsers, strict=True):
            if parser is None:
                yield Finding(
                    message=f"column {column.name}: a CSV cell cannot be read as {column.type}",
                    advice="Declare a number, boolean, date, timestamp or string.",
                )

    def read(self, texts: Sequence[str], line: int) -> Iterator[tuple[Cell, ...] | Finding]:
        """The row of one line, or what is wrong with it."""
        if len(texts) != self._width:
            message = f"there are {len(texts)} cells, and the header has {self._width}"
            advice = "Write one cell for each column; put a cell with a comma in quotes."
            yield Finding(message=message, advice=advice, line=line)
            return
        row: list[Cell] = []
        for position, parse, column in zip(
            self._positions, self._parsers, self._columns, strict=True
        ):
            text = texts[position]
            try:
                row.append(_cell(text, parse))
            except (ValueError, ArithmeticError, KeyError):
                yield _misfit(text, column, line)
        yield tuple(row)


def _cell(text: str, parse: Callable[[str], Cell] | None) -> Cell:
    """The value of a cell. An empty text is NULL where the column has no texts."""
    if not text or parse is None:
        return None
    if text == _EMPTY_TEXT:
        return "" if parse is str else None
    return parse(text)


def _misfit(text: str, column: Column, line: int) -> Finding:
    shown = text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."
    return Finding(
        message=f"column {column.name}: {shown!r} is not of type {column.type}",
        advice="Write it as that type, leave the cell empty for NULL, or declare another type.",
        line=line,
    )


_WIDEST: Final = 60


def cell_parser(kind: str) -> Callable[[str], Cell] | None:
    """How a text is read as a value of one of Spark's types; None where no text is of that type.

    What it returns raises ValueError, ArithmeticError or KeyError for a text that does not fit.
    """
    spelled = kind.strip().lower()
    name = _ALIASES.get(spelled, spelled)
    if bits := _RANGES.get(name):
        return lambda text: _integer(text, bits)
    if decimal := _DECIMAL.fullmatch(name):
        precision, scale = int(decimal[1]), int(decimal[2] or 0)
        return lambda text: _decimal(text, precision, scale)
    if _TEXT.fullmatch(name):
        return str
    plain: dict[str, Callable[[str], Cell]] = {
        "boolean": lambda text: _TRUTH[text.strip().lower()],
        "float": lambda text: float(text.strip()),
        "double": lambda text: float(text.strip()),
        "date": lambda text: date.fromisoformat(text.strip()),
        "timestamp": _instant,
        "timestamp_ntz": _wall_clock,
    }
    return plain.get(name)


def _integer(text: str, bits: int) -> int:
    value = int(text.strip())
    if "_" in text or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(text)
    return value


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    value = Decimal(text.strip())
    if not value.is_finite():
        raise ValueError(text)
    exact = value.quantize(Decimal(1).scaleb(-scale))
    if exact != value or len(exact.as_tuple().digits) > precision:
        raise ValueError(text)
    return exact


def _instant(text: str) -> datetime:
    value = datetime.fromisoformat(text.strip())
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _wall_clock(text: str) -> datetime:
    value = datetime.fromisoformat(text.strip())
    if value.tzinfo is not None:
        raise ValueError(text)
    return value
