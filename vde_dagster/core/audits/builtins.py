"""The built-in audits by name: their parameters, and how their arguments make a check.

Names and arguments are those that users of SQLMesh know; docs/audits.md says what each does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits import group_checks, row_checks, total_checks
from vde_dagster.core.audits.arguments import Form, Given, Parameter
from vde_dagster.core.audits.values import Check
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

    @property
    def reads_source(self) -> bool:
        """Whether it compares the staged rows with those of a table that the model reads."""
        return self.check is None


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
_BOUNDS: Final = (
    Parameter(name="min_v", form=Form.VALUE, required=False),
    Parameter(name="max_v", form=Form.VALUE, required=False),
    Parameter(name="inclusive", form=Form.FLAG, required=False),
)
_NUMBERS: Final = (
    Parameter(name="min_v", form=Form.NUMBER, required=False),
    Parameter(name="max_v", form=Form.NUMBER, required=False),
    Parameter(name="inclusive", form=Form.FLAG, required=False),
)
_ALWAYS: Final = (
    Parameter(name="condition", form=Form.CONDITION, required=False),
    Parameter(name=BLOCKING, form=Form.FLAG, required=False),
)
_RANGES: Final = ("accepted_range", "mean_in_range", "stddev_in_range", "string_length_between")


def _builtin(name: str, check: Callable[[Given], Check] | None, *parameters: Parameter) -> Builtin:
    return Builtin(name=name, parameters=(*parameters, *_ALWAYS), check=check)


def _threshold(form: Form, *, required: bool = True) -> Parameter:
    return Parameter(name="threshold", form=form, required=required)


_EVERY: Final = (
    _builtin("not_null", row_checks.not_null, _COLUMNS),
    _builtin("accepted_values", row_checks.accepted_values, _COLUMN, _VALUES),
    _builtin("not_accepted_values", row_checks.not_accepted_values, _COLUMN, _VALUES),
    _builtin("accepted_range", row_checks.accepted_range, _COLUMN, *_BOUNDS),
    _builtin("forall", row_checks.forall, Parameter(name="criteria", form=Form.CONDITIONS)),
    _builtin("not_empty_string", row_checks.not_empty_string, _COLUMN),
    _builtin(
        "string_length_equal",
        row_checks.string_length_equal,
        _COLUMN,
        Parameter(name="v", form=Form.COUNT),
    ),
    _builtin("string_length_between", row_checks.string_length_between, _COLUMN, *_NUMBERS),
    _builtin("match_regex_pattern_list", row_checks.match_regex_pattern_list, _COLUMN, _PATTERNS),
    _builtin(
        "not_match_regex_pattern_list", row_checks.not_match_regex_pattern_list, _COLUMN, _PATTERNS
    ),
    _builtin("match_like_pattern_list", row_checks.match_like_pattern_list, _COLUMN, _PATTERNS),
    _builtin(
        "not_match_like_pattern_list", row_checks.not_match_like_pattern_list, _COLUMN, _PATTERNS
    ),
    _builtin("valid_uuid", row_checks.of_pattern(row_checks.UUID), _COLUMN),
    _builtin("valid_email", row_checks.of_pattern(row_checks.EMAIL), _COLUMN),
    _builtin("valid_url", row_checks.of_pattern(row_checks.URL), _COLUMN),
    _builtin("number_of_rows", total_checks.number_of_rows, _threshold(Form.COUNT, required=False)),
    _builtin("at_least_one", total_checks.at_least_one, _COLUMN),
    _builtin("not_constant", total_checks.not_constant, _COLUMN),
    _builtin(
        "not_null_proportion", total_checks.not_null_proportion, _COLUMN, _threshold(Form.FRACTION)
    ),
    _builtin("mean_in_range", total_checks.mean_in_range, _COLUMN, *_NUMBERS),
    _builtin("stddev_in_range", total_checks.stddev_in_range, _COLUMN, *_NUMBERS),
    _builtin("unique_values", group_checks.unique_values, _COLUMNS),
    _builtin("unique_combination_of_columns", group_checks.unique_combination_of_columns, _COLUMNS),
    _builtin("z_score", group_checks.z_score, _COLUMN, _threshold(Form.NUMBER)),
    _builtin(
        "sequential_values",
        group_checks.sequential_values,
        _COLUMN,
        Parameter(name="interval", form=Form.STEP, required=False),
    ),
    _builtin(
        "mutually_exclusive_ranges",
        group_checks.mutually_exclusive_ranges,
        Parameter(name="lower_bound_column", form=Form.COLUMN),
        Parameter(name="upper_bound_column", form=Form.COLUMN),
        Parameter(name="partition_by", form=Form.COLUMNS, required=False),
    ),
    _builtin(
        COUNT_AUDIT,
        None,
        Parameter(name="source", form=Form.TABLE, of_source=True),
        Parameter(name="tolerance", form=Form.FRACTION, required=False),
        Parameter(name="time_column", form=Form.COLUMN, required=False, of_source=True),
        Parameter(name="source_condition", form=Form.CONDITION, required=False, of_source=True),
    ),
    _builtin(
        MISSING_AUDIT,
        None,
        Parameter(name="source", form=Form.TABLE, of_source=True),
        Parameter(name="event_id", form=Form.COLUMN),
        Parameter(name="source_event_id", form=Form.COLUMN, required=False, of_source=True),
        Parameter(name="time_column", form=Form.COLUMN, required=False, of_source=True),
        Parameter(name="source_condition", form=Form.CONDITION, required=False, of_source=True),
    ),
)
BUILTINS: Final[Mapping[str, Builtin]] = {each.name: each for each in _EVERY}
