"""The built-in audits by name: their parameters, and how their arguments make a check.

Names and arguments are those that users of SQLMesh know; audits.md says what each does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

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
    """An audit that needs no file. ``check`` is None for those that read a parent of the model."""

    name: str
    parameters: tuple[Parameter, ...]
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


_PARAMETERS: Final[Mapping[str, Sequence[Parameter]]] = {
    "not_null": (_COLUMNS,),
    "accepted_values": (_COLUMN, _VALUES),
    "not_accepted_values": (_COLUMN, _VALUES),
    "accepted_range": (_COLUMN, *_BOUNDS),
    "forall": (Parameter(name="criteria", form=Form.CONDITIONS),),
    "not_empty_string": (_COLUMN,),
    "string_length_equal": (_COLUMN, Parameter(name="v", form=Form.COUNT)),
    "string_length_between": (_COLUMN, *_NUMBERS),
    "match_regex_pattern_list": (_COLUMN, _PATTERNS),
    "not_match_regex_pattern_list": (_COLUMN, _PATTERNS),
    "match_like_pattern_list": (_COLUMN, _PATTERNS),
    "not_match_like_pattern_list": (_COLUMN, _PATTERNS),
    "valid_uuid": (_COLUMN,),
    "valid_email": (_COLUMN,),
    "valid_url": (_COLUMN,),
    "number_of_rows": (_threshold(Form.COUNT, required=False),),
    "at_least_one": (_COLUMN,),
    "not_constant": (_COLUMN,),
    "not_null_proportion": (_COLUMN, _threshold(Form.FRACTION)),
    "mean_in_range": (_COLUMN, *_NUMBERS),
    "stddev_in_range": (_COLUMN, *_NUMBERS),
    "unique_values": (_COLUMNS,),
    "unique_combination_of_columns": (_COLUMNS,),
    "z_score": (_COLUMN, _threshold(Form.NUMBER)),
    "sequential_values": (_COLUMN, Parameter(name="interval", form=Form.STEP, required=False)),
    "mutually_exclusive_ranges": (
        Parameter(name="lower_bound_column", form=Form.COLUMN),
        Parameter(name="upper_bound_column", form=Form.COLUMN),
        Parameter(name="partition_by", form=Form.COLUMNS, required=False),
    ),
    COUNT_AUDIT: (
        _SOURCE,
        Parameter(name="tolerance", form=Form.FRACTION, required=False),
        *_OF_SOURCE,
    ),
    MISSING_AUDIT: (
        _SOURCE,
        Parameter(name="event_id", form=Form.COLUMN),
        Parameter(name="source_event_id", form=Form.COLUMN, required=False, of_source=True),
        *_OF_SOURCE,
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
    name: Builtin(name=name, parameters=(*parameters, *_ALWAYS), check=_CHECKS.get(name))
    for name, parameters in _PARAMETERS.items()
}
