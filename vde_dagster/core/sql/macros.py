"""Time macros: nodes of the syntax tree until they are replaced by literals.

``@start_*`` is the first instant of the range, ``@end_*`` the last microsecond before its
exclusive end, ``@execution_*`` when the run was asked for (seed 001, *INCREMENTAL_BY_TIME_RANGE*).
Each comes in the forms ds, date, dt, dtntz, ts, tstz, epoch, millis and hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from sqlglot import exp

from vde_dagster.core.time.intervals import EPOCH, Interval

E = TypeVar("E", bound=exp.Expr)

MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The instants that the macros stand for. Without an end, the whole day of ``start``."""

    start: datetime
    end: datetime | None
    execution_time: datetime

    @classmethod
    def of(cls, interval: Interval, *, execution_time: datetime) -> TimeRange:
        """The range of an interval that is evaluated at ``execution_time``."""
        return cls(start=interval.start, end=interval.end, execution_time=execution_time)

    @property
    def last(self) -> datetime:
        """The last microsecond of the range."""
        return (self.end or self.start + timedelta(days=1)) - MICROSECOND


EPOCH_DAY: Final = TimeRange(start=EPOCH, end=None, execution_time=EPOCH)
"""What the macros stand for if no range is given (seed 001, the output of ``render``)."""


def timestamp_literal(instant: datetime) -> exp.Cast:
    """An instant as a literal of type TIMESTAMP (with local time zone)."""
    text = instant.isoformat(sep=" ")
    return exp.cast(exp.Literal.string(text), exp.DataType.Type.TIMESTAMPTZ)


def timestamp_ntz_literal(instant: datetime) -> exp.Cast:
    """The UTC wall-clock time of an instant, as a literal without a zone."""
    text = instant.replace(tzinfo=None).isoformat(sep=" ")
    return exp.cast(exp.Literal.string(text), exp.DataType.Type.TIMESTAMPNTZ)


def date_literal(instant: datetime) -> exp.Cast:
    """The UTC date of an instant, as a literal of type DATE."""
    return exp.cast(exp.Literal.string(instant.date().isoformat()), exp.DataType.Type.DATE)


def _epoch_microseconds(instant: datetime) -> int:
    return (instant - datetime.fromtimestamp(0, tz=instant.tzinfo)) // MICROSECOND


class Form(NamedTuple):
    """A form in which macros write an instant: what it is, and its literal."""

    about: str
    literal: Callable[[datetime], exp.Expr]


FORMS: Final[Mapping[str, Form]] = {
    "ds": Form("text of the date", lambda at: exp.Literal.string(at.date().isoformat())),
    "date": Form("DATE", date_literal),
    "dt": Form("TIMESTAMP", timestamp_literal),
    "dtntz": Form("TIMESTAMP_NTZ", timestamp_ntz_literal),
    "ts": Form(
        "text of the time",
        lambda at: exp.Literal.string(at.isoformat(sep=" ").removesuffix("+00:00")),
    ),
    "tstz": Form(
        "text of the time with its offset", lambda at: exp.Literal.string(at.isoformat(sep=" "))
    ),
    "epoch": Form(
        "seconds since 1970", lambda at: exp.Literal.number(_epoch_microseconds(at) // 1_000_000)
    ),
    "millis": Form(
        "milliseconds since 1970", lambda at: exp.Literal.number(_epoch_microseconds(at) // 1_000)
    ),
    "hour": Form("hour of the day", lambda at: exp.Literal.number(at.hour)),
}
TIME_MACROS: Final = frozenset(
    f"{moment}_{form}" for moment in ("start", "end", "execution") for form in FORMS
)

_IN_TEXT: Final = re.compile(r"@\{?(\w+)")


def macros_in(query: exp.Expr) -> Iterator[tuple[str, exp.Parameter]]:
    """Every macro of a query with its lower-case name."""
    for node in query.find_all(exp.Parameter):
        yield node.name.lower(), node


def is_border(node: exp.Expr) -> bool:
    """Whether a node is a macro for the start or the end of an interval."""
    return isinstance(node, exp.Parameter) and node.name.lower() in _BORDERS


_BORDERS: Final = frozenset(each for each in TIME_MACROS if not each.startswith("execution_"))


def borders_in(query: exp.Expr) -> Iterator[tuple[str, exp.Parameter]]:
    """Every macro of a query for the start or the end of an interval, with its lower-case name."""
    return ((name, macro) for name, macro in macros_in(query) if is_border(macro))


def time_macro_in_text(text: str) -> str | None:
    """The first time macro that a text seems to mean, lower-case; no macro is filled in there."""
    words = (word.lower() for word in _IN_TEXT.findall(text))
    return next((word for word in words if word in TIME_MACROS), None)


def resolve_time_macros(query: E, times: TimeRange) -> E:
    """A copy of a query, or of a part of one, with each time macro replaced by its literal.

    Raises:
        KeyError: A macro is not time macro; the project's loader refuses those with their place.
    """
    resolved = query.copy()
    for name, node in list(macros_in(resolved)):
        node.replace(time_literal(name, times))
    return resolved


def time_literal(name: str, times: TimeRange) -> exp.Expr:
    """The literal that a time macro, by its name in lower case, stands for."""
    moment, form = name.rsplit("_", maxsplit=1)
    instant = {
        "start": times.start,
        "end": times.last,
        "execution": times.execution_time,
    }[moment]
    return FORMS[form].literal(instant)
