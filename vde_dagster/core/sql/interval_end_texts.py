"""What is said of a filter that misses rows before the end of an interval."""

from __future__ import annotations

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
)
from vde_dagster.core.sql.reads.descriptions import described
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain

_ALONE: Final = " Or set `batch_size 1`, so that each unit is always evaluated alone."


def finding_of(
    bound: Bound,
    comparison: exp.Expr,
    compared: Compared,
    *,
    pattern: str | None,
    is_appended: bool,
    may_be_alone: bool,
) -> Finding:
    """What a comparison with a bound leaves out, and what to write instead.

    Args:
        bound: The macro, with all that converts it.
        comparison: That with it.
        compared: The value whose rows are left out.
        pattern: How the value writes a time as a text, if that is known.
        is_appended: Whether what is read is added to what was there, so that both ends are needed.
        may_be_alone: Whether it can be advised to evaluate each unit alone.
    """
    if not isinstance(comparison, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.Between):
        text, alone = described(compared.value), _ALONE if may_be_alone else ""
        message = (
            f"`{text}` equals @{bound.macro} in one unit of time only, so other rows of the "
            "evaluated range would be left out"
        )
        advice = f"Write {_range(compared, bound, pattern, both=True)}.{alone}"
    elif bound.is_counted and bound.macro.startswith("end_"):
        both = is_appended or isinstance(comparison, exp.Between)
        message, advice = _counted(bound, both=both)
    elif bound.is_counted:
        end = bound.macro.replace("start", "end")
        message, advice = _dated(bound, compared, None), f"Write `value >= @{bound.macro}"
        advice += f" AND value < @{end} + 1`." if is_appended else "`."
    else:
        taken = _range(compared, bound, pattern, both=is_appended)
        advice = f"Write {taken}, which takes all of the interval."
        message = _dated(bound, compared, pattern)
    return Finding(message=message, advice=advice, line=line_of(comparison))


def of_repeated(bound: Bound, comparison: exp.Expr, value: exp.Expr) -> Finding:
    """What a start by the day takes again in each shorter interval of that day."""
    column = described(value)
    advice = (
        f"Evaluate the model by the day (`cron '@daily'`), because `{column}` has no time of day."
    )
    if kind_of(value) is Form.INSTANT:
        advice = f"Write `{column} BETWEEN @start_dt AND @end_dt`, which takes the interval only."
    return Finding(
        message=f"`{column}` is compared with the day of @{bound.macro}, but the intervals are "
        "shorter, so each interval of a day would append all its rows again",
        advice=advice,
        line=line_of(comparison),
    )


def of_hours(bound: Bound, comparison: exp.Expr, *, may_be_alone: bool) -> Finding:
    """What a comparison with an hour of the day leaves out of several days."""
    return Finding(
        message=f"@{bound.macro} is an hour of the day, but intervals of several days that are "
        "evaluated together are not a range of such hours, so rows would be left out",
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
            f"`{value}` is the first instant of a unit of time in which the interval may start, "
            f"so rows of the interval in that unit would be before @{name}, and left out"
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


def _range(compared: Compared, bound: Bound, pattern: str | None, *, both: bool) -> str:
    """The comparisons that take all of the interval."""
    text, form = _whole(compared, bound, pattern)
    if form in ("epoch", "millis"):
        return f"`{text} >= @start_{form} AND {text} < @end_{form} + 1`"
    low, high = f"@start_{form}", f"@end_{form}"
    if not form:  # what the macro is made into, as it is written
        made = described(bound.node)
        low, high = made.replace("@end_", "@start_"), made.replace("@start_", "@end_")
    ends = f"`{text} BETWEEN {low} AND {high}`"
    return ends if both else f"{ends}, or `{text} <= {high}`"


def _whole(  # noqa: PLR0911 - one line for each form of a value
    compared: Compared, bound: Bound, pattern: str | None
) -> tuple[str, str]:
    """The value and the form of the macros whose comparison takes all of the interval."""
    value = _time_of(compared.value)
    kind, text = kind_of(value), described(value)
    if kind is Form.TEXT and pattern is not None:
        return _read(value, pattern)
    if kind is Form.DATE or isinstance(value, exp.TimestampTrunc):
        return text, "date"
    if kind is Form.INSTANT:
        is_local = isinstance(value.type, exp.DataType) and value.type.this == Type.TIMESTAMPNTZ
        return text, "dtntz" if is_local else "dt"
    if bound.form is Form.NUMBER:
        return text, {Grain.SECOND: "epoch", Grain.MILLISECOND: "millis"}.get(bound.scale, "")
    if bound.form is Form.TEXT and bound.pattern not in (ISO_DATE, *_INSTANTS):
        return text, ""
    if bound.form is Form.TEXT and kind is Form.TEXT:
        is_day = bound.pattern == ISO_DATE
        return (text, "ds") if is_day else (f"CAST({text} AS TIMESTAMP)", "dt")
    return text, "date" if bound.form is Form.DATE else "dt"


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


def _counted(bound: Bound, *, both: bool) -> tuple[str, str]:
    """What is said of a bound by whole seconds or milliseconds."""
    unit, name = FORMS[bound.macro.partition("_")[2]][0].name.lower(), bound.macro
    message = (
        f"@{name} is the last whole {unit} of the interval, so rows that are later in that {unit} "
        "would be left out"
    )
    low = f"value >= @{name.replace('end', 'start')} AND " if both else ""
    match bound.form:
        case Form.NUMBER:
            advice = f"`{low}value < @{name} + 1`."
        case Form.SMALLER_UNITS:
            advice = f"`{low}value < CAST(@{name} + 1 AS BIGINT) * ...`."
        case _:
            advice = f"`value <= @end_dt`, or with the instant built from `@{name} + 1`."
    return message, f"Compare with the next {unit}: {advice}"
