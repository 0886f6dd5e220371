"""Time columns of text or whole numbers: how they write an instant (seed 001, *Time column*).

A format serves as an axis only where what it writes is ordered like time, since a column is
compared with what the format makes of an interval's borders: the units come from the largest to the
smallest without a gap, each with all its digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.time import format_time

from vde_dagster.core.errors import Finding
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import IntervalUnit

ISO_DATE: Final = "%Y-%m-%d"
"""How a text column writes a date unless the model says otherwise (seed 001)."""

_UNITS: Final[Mapping[str, tuple[Grain, int]]] = {
    "%Y": (Grain.YEAR, 4),
    "%m": (Grain.MONTH, 2),
    "%d": (Grain.DAY, 2),
    "%H": (Grain.HOUR, 2),
    "%M": (Grain.MINUTE, 2),
    "%S": (Grain.SECOND, 2),
    "%f": (Grain.MICROSECOND, 6),
}
"""The codes that a format may have, in the order of time, with their numbers of digits."""
_PARTS: Final = [grain.name.lower() for grain, _ in _UNITS.values()]
"""What Python names them."""
_TOKEN: Final = re.compile(r"%-?.|[^%]+|%", re.DOTALL)
_ADVICE: Final = "write year, month, day, hour... in this order with all digits, such as yyyyMMdd"


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """How a column writes instants: codes of Python's ``strftime`` and texts between them.

    Raises:
        ValueError: What it writes is not ordered like time; the text says why.
    """

    pattern: str

    def __post_init__(self) -> None:
        why = _why_unordered(self._tokens())
        if why is not None:
            raise ValueError(f"the time format {self.pattern!r} {why}; {_ADVICE}")

    @property
    def grain(self) -> Grain:
        """The smallest unit that it writes."""
        return _UNITS[[each for each in self._tokens() if each in _UNITS][-1]][0]

    @property
    def is_digits(self) -> bool:
        """Whether it writes nothing but digits, so that a number can hold it."""
        return all(each in _UNITS for each in self._tokens())

    @property
    def expression(self) -> str:
        """The regular expression of what it writes, for Python and for Spark."""
        parts = [
            f"([0-9]{{{_UNITS[each][1]}}})" if each in _UNITS else re.escape(each)
            for each in self._tokens()
        ]
        return "".join(parts)

    def write(self, instant: datetime) -> str:
        """What stands in the column for the unit of time that ``instant`` lies in."""
        # strftime does not pad years before 1000 on every platform.
        values = {
            "%Y": f"{instant.year:04}",
            "%m": f"{instant.month:02}",
            "%d": f"{instant.day:02}",
            "%H": f"{instant.hour:02}",
            "%M": f"{instant.minute:02}",
            "%S": f"{instant.second:02}",
            "%f": f"{instant.microsecond:06}",
        }
        return "".join(values.get(each, each) for each in self._tokens())

    def read(self, text: str) -> datetime | None:
        """The instant that is written as ``text``; None where this format writes none so."""
        found = re.fullmatch(self.expression, text, re.ASCII)
        if found is None:
            return None
        numbers = dict(zip(_PARTS, map(int, found.groups()), strict=False))
        try:
            return datetime.min.replace(**numbers, tzinfo=UTC)
        except ValueError:
            return None

    def position(self, text: str) -> tuple[datetime, bool] | None:
        """The unit of time after whose text ``text`` is ordered, and whether it is that very text.

        None where that is not known, which includes texts before all that the format writes.
        """
        length = sum(_UNITS[each][1] if each in _UNITS else len(each) for each in self._tokens())
        instant = self.read(text[:length])
        return None if instant is None else (instant, len(text) == length)

    def _tokens(self) -> list[str]:
        return _TOKEN.findall(self.pattern)


def first_written(instant: datetime, pattern: str) -> str:
    """The first text of a format that does not stand for a time before an instant."""
    written = TimeFormat(pattern)
    return written.write(written.grain.ceil(instant))


def iso_day(text: str) -> datetime | None:
    """The day that a text begins with; None where it begins with none, as "2024-1-5" does."""
    found = TimeFormat(ISO_DATE).position(text)
    return None if found is None else found[0]


def _why_unordered(tokens: Sequence[str]) -> str | None:
    codes = [each for each in tokens if each.startswith("%")]
    unknown = [each for each in codes if each not in _UNITS]
    if unknown:
        return f"has {unknown[0]}, which is not a unit of time with a fixed number of digits"
    if not codes or codes != list(_UNITS)[: len(codes)]:
        return "writes texts that do not sort like time"
    return None


def format_of(converted: str) -> TimeFormat | None:
    """The format of a call such as ``DATE_FORMAT``, as sqlglot converts it; None for any other.

    Letters that are not code, and quotes, are patterns of Spark that Python has no code for.
    """
    pattern = re.sub("(%.)strict", r"\1", converted)
    if re.search("[A-Za-z'\"]", re.sub("%.", "", pattern)):
        return None
    try:
        return TimeFormat(pattern)
    except ValueError:
        return None


def python_format(written: str, dialect: str) -> str:
    """A time format as a model's dialect writes it, in the codes of Python's ``strftime``.

    Where a dialect's own formats have no ``%``, a format with ``%`` is taken for Python's.

    Args:
        written: Such as ``yyyyMMdd`` for Spark, ``YYYYMMDD`` for Postgres, ``%Y%m%d`` for BigQuery.
        dialect: sqlglot's name of the model's dialect.

    Raises:
        ValueError: It cannot be converted, or does not order like time; the text says why.
    """
    mapping = dict(Dialect.get_or_raise(dialect).TIME_MAPPING)
    if "%" in written:
        codes = {key: code for key, code in mapping.items() if key.startswith("%")}
        converted = _converted(written, codes)
        quotes = set(written) & set("'\"`")
        why = f"contains {min(quotes)}, which is not part of a time" if quotes else None
    else:
        parts = _QUOTED.split(written)  # every second one stood in quotes, and means itself
        parts[::2] = [_converted(each, mapping) for each in parts[::2]]
        converted = "".join(parts)
        why = _why_unread(parts[::2], dialect)
    why = why or _why_unordered(_TOKEN.findall(converted))
    if why is not None:
        raise ValueError(f"the time format {written!r} {why}; {_ADVICE}")
    return converted


def _converted(text: str, mapping: dict[str, str]) -> str:
    found = format_time(text, mapping) if text and mapping else text
    return re.sub("(%.)strict", r"\1", found or "")


def _why_unread(parts: Sequence[str], dialect: str) -> str | None:
    """Letters are units of time in such a dialect; one that is left is none that is known."""
    found = re.search("[A-Za-z]", re.sub("%-?.", "", "".join(parts)))
    return f"has {found[0]!r}, which the dialect {dialect!r} does not know" if found else None


_QUOTED: Final = re.compile(r"""['"]([^'"]*)['"]""")


def axis_type(column_type: str) -> str:
    """The one of ``date, timestamp, timestamp_ntz, string, bigint`` that a column compares as.

    ``unknown`` for a type that could not be inferred, empty for types that hold no time.

    Args:
        column_type: As Spark writes it, such as ``varchar(8)``.
    """
    name = column_type.strip().lower().split("(", maxsplit=1)[0].strip()
    return _AXIS_TYPES.get(name, "")


_AXIS_TYPES: Final[Mapping[str, str]] = {
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "string": "string",
    "varchar": "string",
    "char": "string",
    "int": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
    "long": "bigint",
    "unknown": "unknown",
}


def why_no_axis(
    column_type: str, time_format: str, unit: IntervalUnit, *, written: str = ""
) -> Finding | None:
    """Why a column of this type cannot tell one interval from another, or None where it can.

    The message goes on after "the time column `x`".

    Args:
        column_type: As Spark writes it.
        time_format: In Python's codes; empty where the model gives none.
        unit: The model's interval unit.
        written: The format as the model has it, for people.
    """
    known = axis_type(column_type)
    match known:
        case "":
            message = f"is of type {column_type}, which is not a time"
            advice = "Choose a column of type DATE or TIMESTAMP, or CAST it in the query."
            return Finding(message=message, advice=advice)
        case "unknown":
            message = "has a time format, but no known type"
            return Finding(message=message, advice="Declare its type.") if time_format else None
        case "timestamp" | "timestamp_ntz":
            return None
        case "date":
            grain, named = Grain.DAY, "is a DATE"
        case _:
            if known == "bigint" and not (time_format and TimeFormat(time_format).is_digits):
                advice = "Say how it writes a date in digits, such as 'yyyyMMdd'."
                return Finding(message="is a number", advice=advice)
            grain = TimeFormat(time_format or ISO_DATE).grain
            named = f"is written as {(written or time_format or ISO_DATE)!r}"
    if grain <= unit.grain:
        return None
    message = f"{named}, which cannot tell one {unit.value} from another"
    return Finding(message=message, advice="Use a timestamp, or a coarser cron.")
