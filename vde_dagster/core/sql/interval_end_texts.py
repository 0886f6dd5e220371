"""What is said of a filter that misses rows before the end of an interval."""

from __future__ import annotations

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
from vde_dagster.core.time.grains import Grain


def finding_of(bound: Bound, comparison: exp.Expr, compared: Compared) -> Finding:
    """What a comparison with a bound leaves out, and what to write instead."""
    if not isinstance(comparison, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.Between):
        text, form = described(compared.value), bound.macro.partition("_")[2]
        message = f"`{text}` is equal to @{bound.macro} in one unit of an interval only, so rows of"
        return Finding(
            message=f"{message} others would be left out where several are evaluated at once",
            advice=f"Write `{text} BETWEEN @start_{form} AND @end_{form}`. Or set `batch_size 1`, "
            "so that each unit is always evaluated alone.",
            line=line_of(comparison),
        )
    if bound.is_counted and bound.macro.startswith("end_"):
        message, advice = _counted(bound, comparison, compared)
    elif bound.is_counted:
        message, advice = _dated(bound, compared), f"Write `value >= @{bound.macro}`."
    else:
        text, form = _whole(compared, bound)
        advice = (
            f"Write `{text} BETWEEN @start_{form} AND @end_{form}`, or `{text} <= @end_{form}`, "
            "which takes all of the interval."
        )
        message = _dated(bound, compared)
    return Finding(message=message, advice=advice, line=line_of(comparison))


def _dated(bound: Bound, compared: Compared) -> str:
    """What is left out of a value by a date, an instant or a text of one."""
    value, name = described(compared.value), bound.macro
    is_day, kind = bound.unit is Grain.DAY, kind_of(compared.value)
    if kind is Form.TEXT and bound.form is Form.TEXT and not is_day:
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


def _whole(compared: Compared, bound: Bound) -> tuple[str, str]:
    """The value and the form of the macros whose comparison takes all of the interval."""
    value, kind = compared.value, kind_of(compared.value)
    if kind is Form.TEXT and bound.form is Form.TEXT:
        inner = value.this if isinstance(value, exp.Cast) else value
        if kind_of(inner) is Form.TEXT:
            if bound.unit is Grain.DAY and compared.strict:
                return described(inner), "ds"
            return f"CAST({described(inner)} AS TIMESTAMP)", "dt"
        value, kind = inner, kind_of(inner)
    if isinstance(value, exp.TimestampTrunc):
        is_of_day = value.text("unit").upper() in ("DAY", "DD")
        return (described(value), "date") if is_of_day else (described(value.this), "dt")
    is_day = kind is Form.DATE or (bound.form is Form.DATE and kind is Form.TEXT)
    local = isinstance(value.type, exp.DataType) and value.type.this == Type.TIMESTAMPNTZ
    return described(value), "date" if is_day else "dtntz" if local else "dt"


def _counted(bound: Bound, comparison: exp.Expr, compared: Compared) -> tuple[str, str]:
    """What is said of a bound by whole seconds or milliseconds."""
    unit, name = FORMS[bound.macro.partition("_")[2]][0].name.lower(), bound.macro
    next_one = f"@{name} + 1"
    start = name.replace("end", "start")
    low = f"value >= @{start} AND " if isinstance(comparison, exp.Between) else ""
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
