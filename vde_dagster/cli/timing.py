"""The options --start, --end and --since: a date as an end means the whole day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

import click

from vde_dagster.cli.options import Command, moment

if TYPE_CHECKING:
    from vde_dagster.core.model.model import Model
    from vde_dagster.core.time.intervals import Interval

_DAY: Final = timedelta(days=1)


def end_moment(text: str) -> datetime:
    """The exclusive end that a text names: the end of a date, or the time itself."""
    from vde_dagster.core.time.written import written_end

    try:
        return written_end(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def past_moment(text: str) -> datetime | timedelta:
    """The instant that a text names, or how long before now: ``2 days ago``."""
    from vde_dagster.core.time.intervals import parse_duration, parse_instant

    try:
        length = text.strip().removesuffix("ago")
        return parse_instant(text) if length == text.strip() else parse_duration(length)
    except ValueError as error:
        message = f"{text!r} is no date or time; write it like 2013-01-04 or '2 days ago'"
        raise click.BadParameter(message) from error


def before(now: datetime, length: timedelta) -> datetime:
    """The instant this long before now; the first of all where there is none."""
    first = datetime.min.replace(tzinfo=UTC)
    return now - length if length < now - first else first


def bound(side: Literal["start", "end"], said: str) -> Callable[[Command], Command]:
    """An option that says where a range begins or ends."""
    read = moment if side == "start" else end_moment
    return click.option(f"--{side}", type=read, metavar="INSTANT", help=said)


START: Final = bound("start", "The first instant, in UTC: 2013-01-04.")
END: Final = bound(
    "end", "The end, in UTC: a date means the whole day, a time is the exclusive end."
)
SINCE: Final = click.option(
    "--since",
    type=past_moment,
    default="1 day ago",
    show_default=True,
    metavar="WHEN",
    help="Since when: an instant in UTC such as 2013-01-04, or how long ago.",
)


def one_range(start: datetime | None, end: datetime | None) -> Interval:
    """The range of an evaluation: with one end its day, with none the epoch day.

    Raises:
        click.UsageError: The end is not after the start.
    """
    from vde_dagster.core.time.intervals import EPOCH, IntervalUnit

    day = IntervalUnit.DAY
    try:
        if start is None:
            start = EPOCH if end is None else day.floor(end - timedelta(microseconds=1))
        return _interval(start, end if end is not None else day.floor(start) + _DAY)
    except OverflowError as error:
        raise click.UsageError("the range lies before or after every date.") from error


def asked_range(model: Model, start: datetime | None, end: datetime | None) -> Interval | None:
    """The whole intervals of a model that were asked for; None where nothing was.

    Raises:
        click.UsageError: The end is not after the start.
    """
    from vde_dagster.app.inspect.rendering import whole_units

    if start is None and end is None:
        return None
    return whole_units(model, one_range(start, end))


def any_range(start: datetime | None, end: datetime | None) -> Interval:
    """The range between two instants, each of them for ever where it is not given.

    Raises:
        click.UsageError: The end is not after the start.
    """
    first = datetime.min.replace(tzinfo=UTC)
    last = datetime.max.replace(tzinfo=UTC)
    return _interval(start or first, end or last)


def _interval(start: datetime, end: datetime) -> Interval:
    from vde_dagster.core.time.intervals import Interval

    if end <= start:
        raise click.UsageError("--end is not after --start.")
    return Interval(start, end)
