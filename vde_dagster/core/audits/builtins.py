"""The built-in audits by name: their parameters, and how their arguments make a check.

Names and arguments are those that users of SQLMesh know; audits.md says what each does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from sqlglot import exp

from vde_dagster.core.audits.arguments import Form, Given, Parameter
from vde_dagster.core.audits.group_checks import GROUPS
from vde_dagster.core.audits.row_checks import FAILS
from vde_dagster.core.audits.total_checks import TOTALS
from vde_dagster.core.audits.values import Check, EachRow
from vde_dagster.core.errors import Finding

NON_BLOCKING: Final = "_non_blocking"
"""The end of the name of an audit that only warns."""
BLOCKING: Final = "blocking"
COUNT_AUDIT: Final = "source_to_target_count"
MISSING_AUDIT: Final = "no_missing_events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """An audit that needs no file.

    ``fails`` says when a row fails, or all rows do; ``unknown`` what NULL does, or no rows.
    ``check`` is None for those that read a parent of the model.
    """

    name: str
    parameters: tuple[Parameter, ...]
    fails: str
    unknown: str
    check: Callable[[Given], Check] | None


def base_name(name: str) -> str:
    """The name of an audit without what makes it only warn."""
    return name.removesuffix(NON_BLOCKING)


def wrong_bounds(name: str, arguments: Mapping[str, exp.Expr]) -> list[Finding]:
    """An audit of a range needs one bound at least."""
    if name not in _RANGES or "min_v" in arguments or "max_v" in arguments:
        return []
    message = f"the audit {name} needs a bound, min_v or max_v"
    return [Finding(message=message, advice=f"Write `{name} (column := ..., min_v := ...)`.")]


_COLUMN: Final = Parameter(name="column", form=Form.COLUMN)
_COLUMNS: Final = Parameter(name="columns", form=Form.COLUMNS)
_PATTERNS: Final = Parameter(name="patterns", form=Form.TEXTS)
_VALUES: Final = Parameter(name="is_in", form=Form.VALUES)
_BOUNDS, _NUMBERS = (
    (
        Parameter(name="min_v", form=form, required=False),
        Parameter(name="max_v", form=form, required=False),
        Parameter(name="inclusive", form=Form.FLAG, required=False),
    )
    for form in (Form.VALUE, Form.NUMBER)
)
_ALWAYS: Final = (
    Parameter(name="condition", form=Form.CONDITION, required=False),
    Parameter(name=BLOCKING, form=Form.FLAG, required=False),
)
_RANGES: Final = ("accepted_range", "mean_in_range", "stddev_in_range", "string_length_between")


_SOURCE: Final = Parameter(name="source", form=Form.TABLE, of_source=True)
_OF_SOURCE: Final = (
    Parameter(name="time_column", form=Form.COLUMN, required=False, of_source=True),
    Parameter(name="source_condition", form=Form.CONDITION, required=False, of_source=True),
)


def _threshold(form: Form, *, required: bool = True) -> Parameter:
    return Parameter(name="threshold", form=form, required=required)


class _Written(NamedTuple):
    parameters: Sequence[Parameter]
    fails: str
    unknown: str


_WRITTEN: Final[Mapping[str, _Written]] = {
    "not_null": _Written(
        (_COLUMNS,),
        "any of the columns is NULL",
        "fails",
    ),
    "accepted_values": _Written(
        (_COLUMN, _VALUES),
        "the value is not in the list",
        "passes; NULL in the list is an error",
    ),
    "not_accepted_values": _Written(
        (_COLUMN, _VALUES),
        "the value is in the list",
        "passes",
    ),
    "accepted_range": _Written(
        (_COLUMN, *_BOUNDS),
        "the value is below `min_v`, above `max_v`, or NaN; with `inclusive := false` also "
        "if it equals one. Bounds may name columns",
        "passes; a NULL bound does not limit, nor does NaN in `max_v`",
    ),
    "forall": _Written(
        (Parameter(name="criteria", form=Form.CONDITIONS),),
        "any of the criteria is false, as in a CHECK constraint",
        "a NULL criterion passes",
    ),
    "not_empty_string": _Written(
        (_COLUMN,),
        "the text has no character; a blank is one",
        "passes",
    ),
    "string_length_equal": _Written(
        (_COLUMN, Parameter(name="v", form=Form.COUNT)),
        "the number of characters differs from `v`",
        "passes",
    ),
    "string_length_between": _Written(
        (_COLUMN, *_NUMBERS),
        "the number of characters is outside the bounds",
        "passes",
    ),
    "match_regex_pattern_list": _Written(
        (_COLUMN, _PATTERNS),
        "no pattern is found in the text; `^` and `$` match its ends",
        "passes",
    ),
    "not_match_regex_pattern_list": _Written(
        (_COLUMN, _PATTERNS),
        "any pattern is found in the text",
        "passes",
    ),
    "match_like_pattern_list": _Written(
        (_COLUMN, _PATTERNS),
        "the whole text is LIKE no pattern; a backslash escapes `%` and `_`",
        "passes",
    ),
    "not_match_like_pattern_list": _Written(
        (_COLUMN, _PATTERNS),
        "the whole text is LIKE any pattern",
        "passes",
    ),
    "valid_uuid": _Written(
        (_COLUMN,),
        "the text is not 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12",
        "passes",
    ),
    "valid_email": _Written(
        (_COLUMN,),
        "the text does not have the form `name@domain.tld` in ASCII",
        "passes",
    ),
    "valid_url": _Written(
        (_COLUMN,),
        "the text is not an http, https or ftp address with a host and without blanks",
        "passes",
    ),
    "number_of_rows": _Written(
        (_threshold(Form.COUNT, required=False),),
        "the table does not have *more* rows than the threshold, 0 by default",
        "fails without rows",
    ),
    "at_least_one": _Written(
        (_COLUMN,),
        "the column is NULL in all rows",
        "passes without rows",
    ),
    "not_constant": _Written(
        (_COLUMN,),
        "the column has fewer than two different values",
        "does not count as a value; passes without rows",
    ),
    "not_null_proportion": _Written(
        (_COLUMN, _threshold(Form.FRACTION)),
        "the share of rows that are not NULL is below the threshold",
        "passes without rows",
    ),
    "mean_in_range": _Written(
        (_COLUMN, *_NUMBERS),
        "the mean is outside the bounds, or any value is NaN or infinite",
        "is left out; passes without values",
    ),
    "stddev_in_range": _Written(
        (_COLUMN, *_NUMBERS),
        "the standard deviation of the sample is outside the bounds, or any value is NaN or "
        "infinite",
        "is left out; passes with fewer than two values",
    ),
    "unique_values": _Written(
        (_COLUMNS,),
        "another row has the same value in any one of the columns",
        "equals NULL, as in GROUP BY; `condition := id IS NOT NULL` leaves it out",
    ),
    "unique_combination_of_columns": _Written(
        (_COLUMNS,),
        "another row has the same values in all of the columns",
        "equals NULL, as in GROUP BY",
    ),
    "z_score": _Written(
        (_COLUMN, _threshold(Form.NUMBER)),
        "the value is more than `threshold` standard deviations from the mean, or is NaN or "
        "infinite. These do not count in the mean",
        "passes, and does not count in the mean",
    ),
    "sequential_values": _Written(
        (_COLUMN, Parameter(name="interval", form=Form.STEP, required=False)),
        "no row has the value minus one `interval` (1 by default), except for the least "
        "value; or another row has the same value; or it is NaN or infinite",
        "passes",
    ),
    "mutually_exclusive_ranges": _Written(
        (
            Parameter(name="lower_bound_column", form=Form.COLUMN),
            Parameter(name="upper_bound_column", form=Form.COLUMN),
            Parameter(name="partition_by", form=Form.COLUMNS, required=False),
        ),
        "the range, from the lower bound to before the upper one, overlaps another row's (of "
        "equal `partition_by`), is empty or reversed, or has a NaN bound",
        "a NULL bound is open",
    ),
    COUNT_AUDIT: _Written(
        (
            _SOURCE,
            Parameter(name="tolerance", form=Form.FRACTION, required=False),
            *_OF_SOURCE,
        ),
        "the number of rows differs from the source's by more than the share `tolerance`, 0 "
        "by default",
        "zero rows are compared like any number",
    ),
    MISSING_AUDIT: _Written(
        (
            _SOURCE,
            Parameter(name="event_id", form=Form.COLUMN),
            Parameter(name="source_event_id", form=Form.COLUMN, required=False, of_source=True),
            *_OF_SOURCE,
        ),
        "the source has an event in the evaluated time whose id is in no row. The missing "
        "ids are the failing rows",
        "an event without an id passes",
    ),
}


def _failing(fails: Callable[[Given], exp.Expr], given: Given) -> EachRow:
    return EachRow(fails=given.where(fails(given)))


_CHECKS: Final[Mapping[str, Callable[[Given], Check]]] = {
    **{name: partial(_failing, fails) for name, fails in FAILS.items()},
    **TOTALS,
    **GROUPS,
}
BUILTINS: Final[Mapping[str, Builtin]] = {
    name: Builtin(
        name=name,
        parameters=(*written.parameters, *_ALWAYS),
        fails=written.fails,
        unknown=written.unknown,
        check=_CHECKS.get(name),
    )
    for name, written in _WRITTEN.items()
}
