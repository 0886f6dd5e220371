"""What is said of a filter that misses rows before the end of an interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Finding
from vde_dagster.core.sql.compared_bounds import (
    FORMS,
    Bound,
    Compared,
    Form,
    Type,
    kind_of,
    number_grain,
)
from vde_dagster.core.sql.reads.descriptions import described
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain

_ALONE: Final = " Or set `batch_size 1`, so that each unit is always evaluated alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What decides which bounds can be advised.

    ``may_be_alone`` says that the model's kind has an option to evaluate each unit alone,
    ``is_appended`` that what is read is added to what was there, so that both ends are needed.
    ``pattern`` is how the value writes a time as a text, if that is known.
    """

    may_be_alone: bool
    is_appended: bool
    pattern: str | None


def finding_of(bound: Bound, comparison: exp.Expr, compared: Compared, told: Told) -> Finding:
    """What a comparison with a bound leaves out, and what to write instead."""
    if not isinstance(comparison, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.Between):
        text = described(compared.value)
        return Finding(
            message=f"`{text}` is equal to @{bound.macro} in one unit of time only, so other rows "
            "of what is evaluated at once would be left out",
            advice=f"Write {_range(compared, bound, replace(told, is_appended=True))}."
            f"{_ALONE if told.may_be_alone else ''}",
            line=line_of(comparison),
        )
    if bound.is_counted and bound.macro.startswith("end_"):
        message, advice = _counted(bound, comparison, compared, told)
    elif bound.is_counted:
        message, advice = _dated(bound, compared, None), f"Write `value >= @{bound.macro}"
        end = bound.macro.replace("start", "end")
        advice += f" AND value < @{end} + 1`." if told.is_appended else "`."
    else:
        advice = f"Write {_range(compared, bound, told)}, which takes all of the interval."
        message = _dated(bound, compared, told.pattern)
    return Finding(message=message, advice=advice, line=line_of(comparison))


def of_repeated(bound: Bound, comparison: exp.Expr, value: exp.Expr) -> Finding:
    """What a start by the day takes again in each shorter interval of that day."""
    column = described(value)
    advice = (
        f"Evaluate the model by the day (`cron '@daily'`), since `{column}` has no time of day."
    )
    if kind_of(value) is Form.INSTANT:
        advice = f"Write `{column} BETWEEN @start_dt AND @end_dt`, which takes the interval only."
    return Finding(
        message=f"`{column}` is compared with the day of @{bound.macro}, and the intervals are "
        "shorter, so the rows of a day would be appended again by each interval of it",
        advice=advice,
        line=line_of(comparison),
    )


def of_hours(bound: Bound, comparison: exp.Expr, *, may_be_alone: bool) -> Finding:
    """What a comparison with an hour of the day leaves out of several days."""
    return Finding(
        message=f"@{bound.macro} is an hour of the day, and intervals of several days that are "
        "evaluated at once are no range of such hours, so rows would be left out",
        advice="Compare the time itself: `value BETWEEN @start_dt AND @end_dt`."
        f"{_ALONE if may_be_alone else ''}",
        line=line_of(comparison),
    )


def _dated(bound: Bound, compared: Compared, pattern: str | None) -> str:
    """What is left out of a value by a date, an instant or a text of one."""
    value, name = described(compared.value), bound.macro
    is_day, kind = bound.unit is Grain.DAY, kind_of(compared.value)
    is_text = kind is Form.TEXT and bound.form is Form.TEXT
    if is_text and pattern is not None and not pattern.startswith(bound.pattern):
        return (
            f"`{value}` writes a time as {pattern}, and @{name} is compared with it letter by "
            f"letter as {bound.pattern}, so rows of the interval would be left out"
        )
    if is_text and not is_day:
        return (
            f"`{value}` is a text that is compared with @{name} letter by letter, so rows of the "
            "interval whose time is written in another way, such as 2024-01-31T15:00:00 or "
            "2024-01-31, would be left out"
        )
    if name.startswith("start_"):
        if compared.strict:
            return f"`>` would leave out the rows of `{value}` at @{name}, which is in the interval"
        return (
            f"`{value}` is the first instant of a unit of time in which the interval may start, so "
            f"rows of the interval that are in it would be before @{name}, and left out"
        )
    if compared.strict:
        unit = "day" if is_day else "microsecond"
        return (
            f"@{name} is the last {unit} of the interval, so `<` would leave out the rows of "
            f"`{value}` in that {unit}"
        )
    return (
        f"@{name} is the first instant of the last day of the interval, and `{value}` has a time "
        "of day, so rows that are later on that day would be left out"
    )


_TIMES: Final = (Form.DATE, Form.INSTANT)


def _range(compared: Compared, bound: Bound, told: Told) -> str:
    """The comparisons that take all of the interval."""
    text, form = _whole(compared, bound, told.pattern)
    if form in ("epoch", "millis"):
        return f"`{text} >= @start_{form} AND {text} < @end_{form} + 1`"
    low, high = f"@start_{form}", f"@end_{form}"
    if not form:  # what the macro is made into, as it is written
        made = described(bound.node)
        low, high = made.replace("@end_", "@start_"), made.replace("@start_", "@end_")
    both = f"`{text} BETWEEN {low} AND {high}`"
    return both if told.is_appended else f"{both}, or `{text} <= {high}`"


def _whole(  # noqa: PLR0911 - one line for each form of a value
    compared: Compared, bound: Bound, pattern: str | None
) -> tuple[str, str]:
    """The value and the form of the macros whose comparison takes all of the interval."""
    value = _time_of(compared.value)
    kind = kind_of(value)
    if kind is Form.DATE:
        return described(value), "date"
    if kind is Form.INSTANT:
        local = isinstance(value.type, exp.DataType) and value.type.this == Type.TIMESTAMPNTZ
        is_of_day = isinstance(value, exp.TimestampTrunc)
        return described(value), "date" if is_of_day else "dtntz" if local else "dt"
    if kind is Form.TEXT and pattern is not None:
        return _read(value, pattern)
    match bound.form:
        case Form.NUMBER if bound.scale in (Grain.SECOND, Grain.MILLISECOND):
            return described(value), "epoch" if bound.scale is Grain.SECOND else "millis"
        case Form.NUMBER:
            return described(value), ""
        case Form.TEXT if bound.pattern not in (ISO_DATE, *_INSTANTS):
            return described(value), ""
        case Form.TEXT if kind is Form.TEXT and bound.pattern == ISO_DATE:
            return described(value), "ds"
        case Form.TEXT if kind is Form.TEXT:
            return f"CAST({described(value)} AS TIMESTAMP)", "dt"
        case Form.DATE:
            return described(value), "date"
        case _:
            return described(value), "dt"


_INSTANTS: Final = tuple(FORMS[each][2] for each in ("ts", "tstz"))


def _time_of(value: exp.Expr) -> exp.Expr:
    """The time of which a value is a part or a text; the value itself if it is a whole time."""
    inner = value.this if isinstance(value.this, exp.Expr) else value
    match value:
        case exp.TimestampTrunc() if value.text("unit").upper() in ("DAY", "DD"):
            return value
        case exp.TimestampTrunc() | exp.DateTrunc():
            return _time_of(inner)
        case exp.Paren() | exp.TimeToStr() | exp.ToChar():
            return _time_of(inner) if kind_of(inner) in _TIMES else value
        case exp.Cast() | exp.TimeStrToTime():
            made = _time_of(inner)
            is_whole = kind_of(value) is Form.DATE and made is inner
            return made if kind_of(made) in _TIMES and not is_whole else value
        case exp.Func() if kind_of(value) not in _TIMES:
            times = [each for each in value.find_all(exp.Column) if kind_of(each) in _TIMES]
            return times[0] if len(times) == 1 else value
        case _:
            return value


def _read(value: exp.Expr, pattern: str) -> tuple[str, str]:
    """A text that is read as the time that it writes."""
    if pattern.startswith(ISO_DATE):
        return f"CAST({described(value)} AS TIMESTAMP)", "dt"
    is_day = TimeFormat(pattern).grain >= Grain.DAY
    made = exp.TsOrDsToDate if is_day else exp.StrToTime
    return described(made(this=value.copy(), format=exp.Literal.string(pattern))), (
        "date" if is_day else "dt"
    )


def _counted(bound: Bound, comparison: exp.Expr, compared: Compared, told: Told) -> tuple[str, str]:
    """What is said of a bound by whole seconds or milliseconds."""
    unit, name = FORMS[bound.macro.partition("_")[2]][0].name.lower(), bound.macro
    next_one = f"@{name} + 1"
    start = name.replace("end", "start")
    low = (
        f"value >= @{start} AND " if isinstance(comparison, exp.Between) or told.is_appended else ""
    )
    advice = f"Compare with the next {unit}: `{low}value < {next_one}`."
    later = f"so rows that are later in that {unit} would be left out"
    match bound.form:
        case Form.NUMBER if compared.strict and number_grain(compared.value, bound) is bound.unit:
            what = f"`<` leaves it out, so rows of that {unit} would be left out"
            return f"@{name} is the last whole {unit} of the interval; {what}", advice
        case Form.NUMBER:
            what = "it is compared with a value that has fractions"
        case Form.SMALLER_UNITS:
            what = "it is multiplied here"
            advice = (
                f"Compare with the next {unit}: `{low}value < CAST({next_one} AS BIGINT) * ...`."
            )
        case _:
            what = "it is made an instant here"
            advice = (
                "Compare with the last microsecond, `value <= @end_dt`, or make an instant of the "
                f"next {unit}: `value <` that of `{next_one}`."
            )
    return f"@{name} is the last whole {unit} of the interval; {what}, {later}", advice
