"""The kinds that a model can be of, and what each option of a kind means (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.model.column_rules import ON_ADDITIVE_CHANGE, ON_DESTRUCTIVE_CHANGE
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.kinds import (
    Embedded,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
)
from vde_dagster.core.time.formats import python_format
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.column_properties import column_type
from vde_dagster.project.properties.merge_options import (
    read_merge_filter,
    read_unique_key,
    read_when_matched,
    read_written_merge,
)
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.values import (
    check_known,
    read_columns_of,
    read_count,
    read_flag,
    read_options,
)

_MERGES: Final = ("when_matched", "merge_filter", "incremental_predicates")
_BATCHES: Final = ("batch_size", "batch_concurrency")
_UNBATCHED: Final = {
    "INCREMENTAL_UNMANAGED": "which appends whatever its query returns and does not manage how it "
    "is loaded",
    "INCREMENTAL_BY_PARTITION": "whose batches would replace the partitions that those before them "
    "filled",
}
_PROTECTS: Final = ("forward_only", "disable_restatement")
_PERIOD: Final = ("valid_from_name", "valid_to_name")
_SCD: Final = (
    "unique_key",
    *_PERIOD,
    "time_data_type",
    "invalidate_hard_deletes",
    "batch_size",
    *_PROTECTS,
)
_OF_THE_MODEL: Final = (ON_DESTRUCTIVE_CHANGE, ON_ADDITIVE_CHANGE)
"""Properties of a model that an incremental kind takes as options, too."""
UNSUPPORTED_OPTIONS: Final = (
    "auto_restatement_cron",
    "auto_restatement_intervals",
)
"""Options of incremental kinds that SQLMesh has; leaving them out changes no row."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of one kind as written, and how to read them."""

    given: Mapping[str, Value]
    dialect: str
    problems: Problems

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.given.get(key)
        return default if value is None else read_flag(value, key, self.problems, default=default)

    def count(self, key: str, *, least: int) -> int | None:
        value = self.given.get(key)
        return None if value is None else read_count(value, key, self.problems, least=least)

    def column(self, key: str, default: str) -> str:
        value = self.given.get(key)
        names = read_columns_of(value, key, self.problems) if value is not None else (default,)
        if value is not None and len(names) > 1:
            message = f"{key} is one column, not {len(names)}"
            self.problems.add(value.place, message, f"Write `{key} column`.")
        return names[0] if names else default

    def key(self) -> tuple[str, ...]:
        return read_unique_key(self.given["unique_key"], self.dialect, self.problems)

    def period(self) -> tuple[str, str]:
        """The names of the columns with the start and the end of a row's validity."""
        valid_from, valid_to = (self.column(each, each.removesuffix("_name")) for each in _PERIOD)
        if valid_from == valid_to:
            place = next(self.given[key].place for key in _PERIOD if key in self.given)
            message = f"{' and '.join(_PERIOD)} are both {valid_from!r}"
            self.problems.add(place, message, "Give them two names.")
        return valid_from, valid_to


def read_kind(value: Value | None, dialect: str, problems: Problems) -> Kind | None:
    """A model's kind; VIEW by default (seed 001). None if it cannot be read."""
    if value is None:
        return View()
    value = value.unquoted()
    keyword = value.name.upper()
    if keyword not in _KINDS:
        _refuse_kind(keyword, value.place, problems)
        return None
    known, needed, maker = _KINDS[keyword]
    before = len(problems.found)
    written = read_options(value.group() or (), problems)
    kept = _without_unsupported(keyword, written, problems)
    options = check_known(kept, known, f"the kind {keyword}", problems)
    if len(problems.found) > before:
        return None  # an option that seems to be missing may be a misspelled one
    for key in needed:
        if key not in options:
            _need(value.place, keyword, key, problems)
    if len(problems.found) > before:
        return None
    return maker(_Options(options, dialect, problems))


def _refuse_kind(keyword: str, place: Place, problems: Problems) -> None:
    match keyword:
        case "EXTERNAL":
            message = "a model that the project writes is not EXTERNAL"
            problems.add(place, message, "Declare sources in external_models.yaml.")
        case "CUSTOM":
            message = "the kind CUSTOM, whose rows a class of the project loads, is not supported"
            problems.add(place, message, f"Use one of {', '.join(KEYWORDS)}.")
        case _:
            problems.add(place, f"unknown kind {keyword}", suggestion(keyword, KEYWORDS))


def _need(place: Place, keyword: str, key: str, problems: Problems) -> None:
    problems.add(place, f"the kind {keyword} needs {key}", f"Write {keyword} ({key} ...).")


def _without_unsupported(
    keyword: str, written: list[tuple[str, Value]], problems: Problems
) -> list[tuple[str, Value]]:
    """The options without those of the model, and without those that only other tools have.

    The latter are warned of, and refused where their absence would change rows.
    """
    kept: list[tuple[str, Value]] = []
    for key, value in written:
        if key in _BATCHES and keyword in _UNBATCHED:
            problems.add(
                value.place,
                f"{key} is no option of {keyword}, {_UNBATCHED[keyword]}",
                "Leave it out, or use INCREMENTAL_BY_TIME_RANGE or INCREMENTAL_BY_UNIQUE_KEY.",
            )
        elif keyword == "SEED" and key == "csv_settings":
            problems.add(
                value.place,
                f"the option {key!r} is not supported, and without it other rows would be read",
                "Write the file with a header, commas and double quotes, and take the option out.",
            )
        elif keyword.startswith(("INCREMENTAL", "SCD")) and key in _OF_THE_MODEL:
            continue  # see `keeping_properties`
        elif keyword.startswith(("INCREMENTAL", "SCD")) and key in UNSUPPORTED_OPTIONS:
            message = f"the option {key!r} is not supported and has no effect"
            problems.warn(value.place, message, "Take it out.")
        else:
            kept.append((key, value))
    return kept


def _time_range(options: _Options) -> Kind:
    _check_one_at_a_time(options)
    column, time_format, written_format = _time_column(options)
    return IncrementalByTimeRange(
        time_column=column,
        time_format=time_format,
        written_format=written_format,
        lookback=options.count("lookback", least=0) or 0,
        batch_size=options.count("batch_size", least=1),
        forward_only=options.flag("forward_only"),
        disable_restatement=options.flag("disable_restatement"),
        partition_by_time_column=options.flag("partition_by_time_column", default=True),
        independent=options.flag("independent"),
    )


def _time_column(options: _Options) -> tuple[str, str, str]:
    """``ts``, or ``(ts, 'yyyyMMdd')`` with a format in the model's dialect, which is the last."""
    value = options.given["time_column"]
    items = _named_items(value, ("column", "format")) or value.items()
    before = len(options.problems.found)
    names = read_columns_of(items[0], "time_column", options.problems) if items else ()
    if len(options.problems.found) > before:
        return "", "", ""
    if len(items) > 2 or len(names) != 1:
        message = f"time_column {value.written} is no column with a format"
        options.problems.add(value.place, message, "Write `time_column name`.")
        return "", "", ""
    if len(items) == 1:
        return names[0], "", ""
    written = items[1].written
    try:
        return names[0], python_format(written, options.dialect), written
    except ValueError as error:
        options.problems.add(items[1].place, str(error), "Write it in the model's dialect.")
        return names[0], "", ""


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


def _unique_key(options: _Options) -> Kind:
    _check_one_at_a_time(options)
    key = options.key()
    return IncrementalByUniqueKey(
        unique_key=key,
        written=read_written_merge(options.given, key, options.dialect),
        when_matched=read_when_matched(
            options.given.get("when_matched"), options.dialect, options.problems
        ),
        merge_filter=read_merge_filter(options.given, options.dialect, options.problems),
        lookback=options.count("lookback", least=0) or 0,
        batch_size=options.count("batch_size", least=1),
        forward_only=options.flag("forward_only"),
        disable_restatement=options.flag("disable_restatement"),
    )


def _check_one_at_a_time(options: _Options) -> None:
    concurrency = options.count("batch_concurrency", least=1)
    if concurrency is not None and concurrency > 1:
        options.problems.reject(
            options.given["batch_concurrency"].place,
            "the batches of a model follow each other, since each is one commit to the model's "
            "table",
            "Leave batch_concurrency out. A larger batch_size loads more intervals at once, and "
            "Spark computes them in parallel.",
        )


def _by_partition(options: _Options) -> Kind:
    return IncrementalByPartition(
        forward_only=options.flag("forward_only", default=True),
        disable_restatement=options.flag("disable_restatement"),
    )


def _unmanaged(options: _Options) -> Kind:
    return IncrementalUnmanaged(
        forward_only=options.flag("forward_only", default=True),
        disable_restatement=options.flag("disable_restatement"),
    )


def _view(options: _Options) -> Kind:
    if options.flag("materialized"):
        options.problems.warn(
            options.given["materialized"].place,
            "Spark has no materialized views, so `materialized` has no effect",
            "Use the kind FULL to store the rows.",
        )
    return View()


def _by_time(options: _Options) -> Kind:
    valid_from, valid_to = options.period()
    return ScdType2ByTime(
        unique_key=(key := options.key()),
        written=read_written_merge(options.given, key, options.dialect),
        updated_at_name=options.column("updated_at_name", "updated_at"),
        updated_at_as_valid_from=options.flag("updated_at_as_valid_from"),
        valid_from_name=valid_from,
        valid_to_name=valid_to,
        time_data_type=_time_data_type(options),
        invalidate_hard_deletes=options.flag("invalidate_hard_deletes"),
        batch_size=options.count("batch_size", least=1),
        forward_only=options.flag("forward_only", default=True),
        disable_restatement=options.flag("disable_restatement", default=True),
    )


def _by_column(options: _Options) -> Kind:
    columns = options.given["columns"]
    every = columns.written == EVERY_COLUMN or [each.written for each in columns.items()] == ["*"]
    updated_at = options.column("updated_at_name", "") or None
    valid_from, valid_to = options.period()
    return ScdType2ByColumn(
        unique_key=(key := options.key()),
        written=read_written_merge(options.given, key, options.dialect),
        columns=(EVERY_COLUMN,) if every else read_columns_of(columns, "columns", options.problems),
        execution_time_as_valid_from=options.flag("execution_time_as_valid_from"),
        updated_at_name=updated_at,
        valid_from_name=valid_from,
        valid_to_name=valid_to,
        time_data_type=_time_data_type(options),
        invalidate_hard_deletes=options.flag("invalidate_hard_deletes"),
        batch_size=options.count("batch_size", least=1),
        forward_only=options.flag("forward_only", default=True),
        disable_restatement=options.flag("disable_restatement", default=True),
    )


def _time_data_type(options: _Options) -> str:
    value = options.given.get("time_data_type")
    if value is None:
        return _INSTANTS[0]
    found = column_type(value.written, options.dialect)
    if found not in _INSTANTS:
        options.problems.add(
            value.place,
            f"time_data_type {value.raw} is no type of an instant",
            f"Use {', '.join(_INSTANTS[:-1])} or {_INSTANTS[-1]}.",
        )
        return _INSTANTS[0]
    return found


_INSTANTS: Final = ("timestamp", "timestamp_ntz", "date")


def _seed(options: _Options) -> Kind:
    return Seed(path=options.given["path"].written)


_KINDS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[_Options], Kind]]]] = {
    "INCREMENTAL_BY_TIME_RANGE": (
        (
            "time_column",
            "lookback",
            *_BATCHES,
            *_PROTECTS,
            "partition_by_time_column",
            "independent",
        ),
        ("time_column",),
        _time_range,
    ),
    "INCREMENTAL_BY_UNIQUE_KEY": (
        ("unique_key", *_MERGES, "lookback", *_BATCHES, *_PROTECTS),
        ("unique_key",),
        _unique_key,
    ),
    "INCREMENTAL_BY_PARTITION": (_PROTECTS, (), _by_partition),
    "INCREMENTAL_UNMANAGED": (_PROTECTS, (), _unmanaged),
    "FULL": ((), (), lambda _: Full()),
    "VIEW": (("materialized",), (), _view),
    "EMBEDDED": ((), (), lambda _: Embedded()),
    "SEED": (("path",), ("path",), _seed),
    "SCD_TYPE_2_BY_TIME": (
        (*_SCD, "updated_at_name", "updated_at_as_valid_from"),
        ("unique_key",),
        _by_time,
    ),
    "SCD_TYPE_2_BY_COLUMN": (
        (*_SCD, "columns", "execution_time_as_valid_from", "updated_at_name"),
        ("unique_key", "columns"),
        _by_column,
    ),
    "MANAGED": ((), (), lambda _: Managed()),
}
"""By keyword: the options of a kind, those that it needs, and the function that builds it."""
KEYWORDS: Final = tuple(sorted(_KINDS))
