"""The properties about time: cron, interval unit, start and end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from vde_dagster.core.errors import Place
from vde_dagster.core.time.cron import CronInvalid, unit_of
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit, format_instant
from vde_dagster.core.time.zones import ZoneUnknown, zone_of
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import read_choice, read_end, read_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a model is due, and its time range; see `vde_dagster.core.model.model.Model`."""

    cron: str
    cron_tz: str
    unit: IntervalUnit
    start: datetime
    inherits_start: bool
    end: datetime | None


def read_schedule(
    values: Mapping[str, Value], defaults: Defaults, place: Place, problems: Problems
) -> Schedule:
    """The schedule that a model's properties ask for; one that cannot be read gets its default."""
    cron, unit = _cron(values, defaults.cron, place, problems)
    start = read_start(values["start"], problems) if "start" in values else defaults.start
    end = read_end(values["end"], problems) if "end" in values else None
    if start is not None and end is not None and end <= start:
        problems.add(values["end"].place, "the model ends before it starts", "Correct one of both.")
    return Schedule(
        cron=cron,
        cron_tz=_zone(values.get("cron_tz"), problems),
        unit=unit,
        start=start or EPOCH,
        inherits_start=start is None and "start" not in values,
        end=end,
    )


def warn_of_borders(values: Mapping[str, Value], schedule: Schedule, problems: Problems) -> None:
    """Report a start or an end of the model that is no border of its intervals.

    A partial interval is never due (`vde_dagster.core.time.schedule.due_interval`).
    """
    with suppress(OverflowError):  # at the ends of the calendar nothing is due
        if "start" in values:
            _warn_of_start(values["start"], schedule, problems)
        if "end" in values and schedule.end is not None:
            _warn_of_end(values["end"], schedule, schedule.end, problems)


def _warn_of_start(value: Value, schedule: Schedule, problems: Problems) -> None:
    unit, start = schedule.unit, schedule.start
    before, first = unit.floor(start), unit.ceil(start)
    if before == first:
        return
    message = f"start {value.written!r} lies inside {Interval(before, first)}, which is left out; "
    message += f"the first interval is {Interval(first, unit.following(first))}"
    borders = f"'{format_instant(before)}' or '{format_instant(first)}'"
    problems.warn(value.place, message, f"Write {borders} to say where intervals begin.")


def _warn_of_end(value: Value, schedule: Schedule, end: datetime, problems: Problems) -> None:
    unit = schedule.unit
    border, behind = unit.floor(end), unit.ceil(end)
    if border == behind:
        return
    last = unit.shifted(border, -1)
    ending = f"the last interval is {Interval(last, border)}"
    ending = ending if schedule.start <= last else "there is no whole interval before it"
    message = f"end {value.written!r} lies inside {Interval(border, behind)}, which is left out; "
    borders = f"{_written_end(border)} or {_written_end(behind)}"
    problems.warn(value.place, message + ending, f"Write {borders} to say where intervals end.")


def _written_end(border: datetime) -> str:
    """An exclusive end as it is written: at midnight as the last day."""
    midnight = border == IntervalUnit.DAY.floor(border)
    return f"'{format_instant(border - timedelta(days=1) if midnight else border)}'"


def _cron(
    values: Mapping[str, Value], default: str, place: Place, problems: Problems
) -> tuple[str, IntervalUnit]:
    """The cron and the interval unit: the cron's own one, or a finer one that is given."""
    value = values.get("cron")
    written = value.written if value is not None else default
    cron = " ".join(written.lower().split())
    try:
        unit = unit_of(cron)
    except CronInvalid as error:
        problems.refuse(value.place if value is not None else place, error)
        return cron, IntervalUnit.DAY
    given = values.get("interval_unit")
    wanted = (
        read_choice(given, "interval_unit", IntervalUnit, problems) if given is not None else None
    )
    if wanted is None or given is None:
        return cron, unit
    order = list(IntervalUnit)
    if order.index(wanted) > order.index(unit):
        message = f"the interval unit {wanted.value} is longer than the time between two ticks"
        problems.add(given.place, message, f"Use {unit.value} or a finer one, or another cron.")
        return cron, unit
    return cron, wanted


def _zone(value: Value | None, problems: Problems) -> str:
    if value is None:
        return "UTC"
    try:
        return str(zone_of(value.written.strip()))
    except ZoneUnknown as error:
        problems.refuse(value.place, error)
        return "UTC"
