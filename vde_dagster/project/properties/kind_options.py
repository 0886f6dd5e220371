"""The kinds that a model can be of, and what each option of a kind means (seed 001).

A kind's options are the fields of its class; one without a default is required. `_READERS` has how
each option is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, get_args

from vde_dagster.core.model.column_rules import ON_ADDITIVE_CHANGE, ON_DESTRUCTIVE_CHANGE
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.kinds import External, Kind, ScdType2, View
from vde_dagster.core.time.formats import python_format
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.merge_options import (
    read_condition,
    read_delete_when,
    read_unique_key,
    read_when_matched,
    read_written_merge,
)
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.table_properties import column_type
from vde_dagster.project.properties.values import (
    check_known,
    read_column,
    read_columns_of,
    read_count,
    read_flag,
    read_options,
)

_KINDS: Final = {each.keyword: each for each in get_args(Kind) if each is not External}
KEYWORDS: Final = tuple(sorted(_KINDS))
_INSTEAD: Final = {
    "EXTERNAL": (
        "a model with a query or code cannot be EXTERNAL",
        "Declare sources in external_models.yaml.",
    ),
    "CUSTOM": (
        "the kind CUSTOM, whose rows are loaded by a class of the project, is not supported",
        f"Use one of {', '.join(KEYWORDS)}.",
    ),
}
_DERIVED: Final = ("time_format", "written", "written_format")
"""Fields of kinds that follow from another option."""
_BATCH_CONCURRENCY: Final = {"batch_concurrency": "Only 1: batches follow each other."}
FIELDLESS: Final[Mapping[str, Mapping[str, str]]] = {
    "INCREMENTAL_BY_TIME_RANGE": _BATCH_CONCURRENCY,
    "INCREMENTAL_BY_UNIQUE_KEY": {
        **_BATCH_CONCURRENCY,
        "incremental_predicates": "dbt's name for `merge_filter`: a list of conditions.",
    },
    "VIEW": {"materialized": "Only `false`; `true` has no effect and causes a warning."},
}
"""Options that are not fields of the kind, with what they mean."""
_OF_THE_MODEL: Final = (ON_DESTRUCTIVE_CHANGE, ON_ADDITIVE_CHANGE)
"""Properties of a model that an incremental kind takes as options; see `evaluation_properties`."""
UNSUPPORTED_OPTIONS: Final = ("auto_restatement_cron", "auto_restatement_intervals")
"""Options of incremental kinds that SQLMesh has; leaving them out changes no row."""
_INSTANTS: Final = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True, slots=True)
class _Given:
    """The options of one kind as written, the model's dialect, and what takes problems."""

    options: Mapping[str, Value]
    dialect: str
    problems: Problems


def read_kind(value: Value | None, dialect: str, problems: Problems) -> Kind | None:
    """A model's kind; VIEW by default (seed 001). None if it cannot be read."""
    if value is None:
        return View()
    value = value.unquoted()
    keyword = value.name.upper()
    if keyword not in _KINDS:
        unknown = f"unknown kind {keyword}", suggestion(keyword, KEYWORDS)
        problems.add(value.place, *_INSTEAD.get(keyword, unknown))
        return None
    kind: Any = _KINDS[keyword]
    own = {each.name: each for each in fields(kind) if each.name not in _DERIVED}
    before = len(problems.found)
    written = _kept(keyword, read_options(value.group() or (), problems), problems)
    options = check_known(written, options_of(keyword), f"the kind {keyword}", problems)
    if len(problems.found) > before:
        return None  # an option that seems to be missing may be a misspelled one
    for key, option in own.items():
        if option.default is MISSING and key not in options:
            message = f"the kind {keyword} needs {key}"
            problems.add(value.place, message, f"Write {keyword} ({key} ...).")
    if len(problems.found) > before:
        return None
    given = _Given(options, dialect, problems)
    found: dict[str, object] = {}
    for key in options:
        found |= _READERS[key](key, given)
    return _checked(kind(**found), given)


def options_of(keyword: str) -> tuple[str, ...]:
    """The options that a kind takes; none where there is no such kind."""
    own = (each.name for each in fields(_KINDS[keyword])) if keyword in _KINDS else ()
    return (*(name for name in own if name not in _DERIVED), *FIELDLESS.get(keyword, ()))


def _kept(
    keyword: str, written: Sequence[tuple[str, Value]], problems: Problems
) -> list[tuple[str, Value]]:
    """The options without those of the model, and without those of other tools, with a warning."""
    for key, value in written:
        if (keyword, key) == ("SEED", "csv_settings"):
            problems.add(
                value.place,
                f"the option {key!r} is not supported, and other rows would be read without it",
                "Write the file with a header, commas and double quotes, and remove the option.",
            )
            return [each for each in written if each[0] != key]
    if not keyword.startswith(("INCREMENTAL", "SCD")):
        return list(written)
    for key, value in written:
        if key in UNSUPPORTED_OPTIONS:
            message = f"the option {key!r} is not supported and has no effect"
            problems.warn(value.place, message, "Remove it.")
    return [each for each in written if each[0] not in (*_OF_THE_MODEL, *UNSUPPORTED_OPTIONS)]


def _checked(kind: Kind, given: _Given) -> Kind:
    """A kind whose options fit together: a start and an end of a history, an order of changes."""
    if "delete_when" in given.options and kind.order is None:
        message = "delete_when needs sequence_by to order deletes among the other changes"
        advice = "Add `sequence_by changed_at`, a column that grows with each change of a key."
        given.problems.add(given.options["delete_when"].place, message, advice)
    for key in _WITHOUT_ORDER if kind.order is not None else ():
        if key in given.options:
            message = (
                f"{key} has no meaning with sequence_by, which decides which row "
                "replaces another one"
            )
            given.problems.add(given.options[key].place, message, "Remove one of them.")
    if isinstance(kind, ScdType2) and kind.valid_from_name == kind.valid_to_name:
        names = ("valid_from_name", "valid_to_name")
        place = next(given.options[each].place for each in names if each in given.options)
        message = f"{' and '.join(names)} are both {kind.valid_from_name!r}"
        given.problems.add(place, message, "Give them different names.")
    return kind


_WITHOUT_ORDER: Final = (
    "when_matched",
    "merge_filter",
    "incremental_predicates",
    "lookback",
    "updated_at_name",
    "updated_at_as_valid_from",
    "execution_time_as_valid_from",
    "invalidate_hard_deletes",
)
"""Options of kinds in which the last evaluation wins."""


# Each of these reads one option: it returns the fields of the kind that follow from it.


def _flag(key: str, given: _Given) -> dict[str, object]:
    return {key: read_flag(given.options[key], key, given.problems, default=False)}


def _count(key: str, given: _Given) -> dict[str, object]:
    least = 0 if key == "lookback" else 1
    count = read_count(given.options[key], key, given.problems, least=least)
    return {} if count is None else {key: count}


def _column(key: str, given: _Given) -> dict[str, object]:
    column = read_column(given.options[key], key, given.problems)
    return {} if column is None else {key: column}


def _time_column(key: str, given: _Given) -> dict[str, object]:
    """``ts``, or ``(ts, 'yyyyMMdd')`` with a format in the model's dialect, which is the last."""
    value, problems = given.options[key], given.problems
    items = _named_items(value, ("column", "format")) or value.items()
    before = len(problems.found)
    names = read_columns_of(items[0], key, problems) if items else ()
    if len(problems.found) > before:
        return {key: ""}
    if len(items) > 2 or len(names) != 1:
        message = f"time_column {value.written} is not a column with a format"
        problems.add(value.place, message, "Write `time_column name`.")
        return {key: ""}
    if len(items) == 1:
        return {key: names[0]}
    written = items[1].written
    try:
        form = python_format(written, given.dialect)
    except ValueError as error:
        problems.add(items[1].place, str(error), "Write it in the model's dialect.")
        return {key: names[0]}
    return {key: names[0], "time_format": form, "written_format": written}


def _named_items(value: Value, names: Sequence[str]) -> tuple[Value, ...]:
    """The values of ``(column ts, format 'yyyyMMdd')`` in the order of the names; else nothing.

    A Python model may write a mapping so, and leave a name out by None.
    """
    given = {} if value.is_word else {each.head.lower(): each for each in value.items()}
    is_named = names[0] in given and set(given) <= set(names)
    if not is_named or any(each.is_string for each in given.values()):
        return ()
    rests = (given[name].rest() for name in names if name in given)
    return tuple(rest for rest in rests if rest is not None)


def _unique_key(key: str, given: _Given) -> dict[str, object]:
    columns = read_unique_key(given.options[key], given.dialect, given.problems)
    return {key: columns, "written": read_written_merge(given.options, columns, given.dialect)}


def _when_matched(key: str, given: _Given) -> dict[str, object]:
    return {key: read_when_matched(given.options[key], given.dialect, given.problems)}


def _merge_filter(key: str, given: _Given) -> dict[str, object]:
    value = given.options[key]
    return {"merge_filter": read_condition((value,), key, given.dialect, given.problems)}


def _sequence_by(key: str, given: _Given) -> dict[str, object]:
    value = given.options[key]
    columns = read_columns_of(value, key, given.problems)
    if not value.items():
        given.problems.add(value.place, f"{key} names no column", "Write `sequence_by changed_at`.")
    return {key: columns}


def _delete_when(key: str, given: _Given) -> dict[str, object]:
    return {key: read_delete_when(given.options[key], given.dialect, given.problems)}


def _predicates(key: str, given: _Given) -> dict[str, object]:
    """The conditions of a list, which is dbt's name for a merge filter."""
    value = given.options[key]
    if "merge_filter" in given.options:
        message = "merge_filter and incremental_predicates mean the same"
        given.problems.add(value.place, message, "Remove one of them.")
    return {"merge_filter": read_condition(value.items(), key, given.dialect, given.problems)}


def _batch_concurrency(key: str, given: _Given) -> dict[str, object]:
    value = given.options[key]
    if (read_count(value, key, given.problems, least=1) or 1) > 1:
        given.problems.reject(
            value.place,
            "the batches of a model run one after the other, since each is one commit to the "
            "model's table",
            "Remove batch_concurrency. A larger batch_size loads more intervals together, "
            "and Spark computes them in parallel.",
        )
    return {}


def _materialized(key: str, given: _Given) -> dict[str, object]:
    value = given.options[key]
    if read_flag(value, key, given.problems, default=False):
        message = "Spark has no materialized views, so `materialized` has no effect"
        given.problems.warn(value.place, message, "Use the kind FULL to store the rows.")
    return {}


def _compared(key: str, given: _Given) -> dict[str, object]:
    """The columns whose changes make a history; a star for all of them."""
    value = given.options[key]
    if value.written == EVERY_COLUMN or [each.written for each in value.items()] == ["*"]:
        return {key: (EVERY_COLUMN,)}
    return {key: read_columns_of(value, key, given.problems)}


def _time_data_type(key: str, given: _Given) -> dict[str, object]:
    value = given.options[key]
    found = column_type(value.written, given.dialect)
    if found in _INSTANTS:
        return {key: found}
    message = f"time_data_type {value.raw} is not a date or timestamp type"
    given.problems.add(value.place, message, f"Use one of {', '.join(_INSTANTS)}.")
    return {}


_READERS: Final[Mapping[str, Callable[[str, _Given], dict[str, object]]]] = {
    "batch_concurrency": _batch_concurrency,
    "batch_size": _count,
    "columns": _compared,
    "delete_when": _delete_when,
    "disable_restatement": _flag,
    "execution_time_as_valid_from": _flag,
    "forward_only": _flag,
    "incremental_predicates": _predicates,
    "independent": _flag,
    "invalidate_hard_deletes": _flag,
    "lookback": _count,
    "materialized": _materialized,
    "merge_filter": _merge_filter,
    "partition_by_time_column": _flag,
    "sequence_by": _sequence_by,
    "path": lambda key, given: {key: given.options[key].written},
    "time_column": _time_column,
    "time_data_type": _time_data_type,
    "unique_key": _unique_key,
    "updated_at_as_valid_from": _flag,
    "updated_at_name": _column,
    "valid_from_name": _column,
    "valid_to_name": _column,
    "when_matched": _when_matched,
}
