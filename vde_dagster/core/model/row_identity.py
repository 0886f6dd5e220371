"""What becomes of rows that stay when their model says otherwise which row or interval they are.

A table that an edit keeps has rows that were recorded by an interval unit, found by a key, or given
a time of validity. Where an edit changes one of these, the rows that are there no longer mean what
the model says. `fate` decides it for each property and kind; kinds.md has it as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Final, assert_never

from sqlglot import exp, parse_one

from vde_dagster.core.model.kinds import (
    Embedded,
    External,
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
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.writes import ChangeOrder
from vde_dagster.core.time.intervals import Interval, IntervalUnit, format_instant


class Property(Enum):
    """What says which rows are the same, and which interval they belong to. Values are for people.

    ``START`` is a start that moved back, ``COARSER`` and ``FINER`` another interval unit.
    """

    KIND = "another kind"
    COARSER = "a coarser interval unit (`@hourly` to `@daily`)"
    FINER = "a finer interval unit (`@daily` to `@hourly`)"
    CRON = "another `cron` of the same interval unit, another `cron_tz`"
    START = "an earlier `start`"
    LATER_START = "a later `start`"
    END = "another `end`"
    TIME_COLUMN = "another `time_column`, or another format of it"
    UNIQUE_KEY = "another `unique_key`"
    PARTITIONED_BY = "another `partitioned_by`, by which rows are replaced"
    UPDATED_AT = "another `updated_at_name`"
    SEQUENCE = "another `sequence_by` or `delete_when`, or `columns` beside them"
    COMPUTED = "other values of a column that tells rows or their intervals apart"
    VALIDITY = "another `valid_from_name`, `valid_to_name` or `time_data_type`"


class Alone(Enum):
    """What an edit does where no option keeps the table: it keeps it, or makes another."""

    KEPT = "kept"
    TIMED = "new if timed"
    REBUILT = "new"


class Kept(Enum):
    """What an edit does to a table that it keeps.

    - ``COUNTS``: the edit counts from now on, and nothing of the table contradicts it.
    - ``WHOLE``: likewise, where what is loaded consists of whole units of the new length.
    - ``NOT_BEFORE``: likewise, where the model does not start before what is loaded.
    - ``REFUSED``: the table cannot be kept.
    """

    COUNTS = "from now on"
    WHOLE = "whole units"
    NOT_BEFORE = "not before"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a table if a property changes, by whether the edit keeps it."""

    alone: Alone
    kept: Kept

    def __str__(self) -> str:
        if self.alone is Alone.KEPT:
            return self.kept.value
        return f"{self.alone.value} / {self.kept.value}"


def fate(changed: Property, kind: type[KindFacts]) -> Fate | None:
    """What becomes of a kind's table if a property changes; None where the kind has none of it."""
    if kind.role is not Role.TABLE:
        return None
    if changed is Property.KIND:
        return Fate(alone=Alone.REBUILT, kept=Kept.REFUSED)
    if changed in _OPTIONS:
        return _REFUSED if _names_rows_by(changed, kind) else None
    return _fate_of_times(changed, kind.loading)


_REFUSED: Final = Fate(alone=Alone.REBUILT, kept=Kept.REFUSED)
_ONWARD: Final = Fate(alone=Alone.KEPT, kept=Kept.COUNTS)
_OPTIONS: Final = {
    Property.TIME_COLUMN: ("time_column", "time_format"),
    Property.UNIQUE_KEY: ("unique_key",),
    Property.VALIDITY: ("valid_from_name", "valid_to_name", "time_data_type"),
    Property.UPDATED_AT: ("updated_at_name",),
    Property.SEQUENCE: ("sequence_by", "delete_when", "columns"),
    Property.PARTITIONED_BY: (),
    Property.COMPUTED: (),
}
"""The options of kinds by which rows are identified; partitions are the model's own property."""


def _names_rows_by(changed: Property, kind: type[KindFacts]) -> bool:
    if changed is Property.PARTITIONED_BY:
        return issubclass(kind, IncrementalByPartition)
    if changed is Property.COMPUTED:
        named = (Property.TIME_COLUMN, Property.UNIQUE_KEY, Property.PARTITIONED_BY)
        return any(_names_rows_by(each, kind) for each in named)
    options = {option.name for option in fields(kind)}  # type: ignore[arg-type] # kinds are dataclasses
    return options.issuperset(name for name in _OPTIONS[changed] if name != "columns")


def _fate_of_times(changed: Property, loading: Loading) -> Fate | None:
    match loading:
        case Loading.BY_INTERVAL:
            is_unit = changed in (Property.COARSER, Property.FINER)
            return _REFUSED if is_unit else _ONWARD
        case Loading.APPENDED | Loading.SEQUENTIAL:
            return _fate_of_order(changed, is_appended=loading is Loading.APPENDED)
        case Loading.WHOLE:
            keeps = changed is Property.CRON
            return _ONWARD if keeps else Fate(alone=Alone.TIMED, kept=Kept.COUNTS)
        case Loading.ONCE | Loading.REFRESHED | Loading.NEVER:
            return None
        case unreachable:
            assert_never(unreachable)


def _fate_of_order(changed: Property, *, is_appended: bool) -> Fate:
    """What becomes of a table whose intervals are loaded once each."""
    match changed:
        case Property.COARSER:
            return Fate(alone=Alone.REBUILT, kept=Kept.WHOLE)
        case Property.FINER:
            return Fate(alone=Alone.REBUILT, kept=Kept.COUNTS)
        case Property.START if not is_appended:
            return Fate(alone=Alone.TIMED, kept=Kept.NOT_BEFORE)
        case Property.LATER_START if not is_appended:
            return Fate(alone=Alone.TIMED, kept=Kept.COUNTS)
        case _:
            return _ONWARD


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityChange:
    """A property that an edit changes, as people write it before and after.

    ``column`` is the one that is computed in another way; empty for other properties.
    """

    changed: Property
    before: str
    after: str
    column: str = ""

    def __str__(self) -> str:
        of = f"`{self.column}`: " if self.column else ""
        return f"{self.changed.value} ({of}{self.before} to {self.after})"


def identifying_columns(model: Model) -> list[str]:
    """The columns by whose values a kind finds a row, or the interval that it belongs to."""
    match model.kind:
        case IncrementalByTimeRange(time_column=column):
            found = [column]
        case IncrementalByUniqueKey(unique_key=keys):
            found = [*_columns_in(keys), *_ordering_columns(model.kind.order)]
        case IncrementalByPartition():
            found = [each.column for each in model.storage.partitioned_by]
        case ScdType2ByTime() | ScdType2ByColumn() as kind:
            updated = kind.updated_by if kind.order is None else None
            found = [*_columns_in(kind.unique_key), *([] if updated is None else [updated])]
            found += _ordering_columns(kind.order)
        case (
            IncrementalUnmanaged() | Full() | View() | Embedded() | Seed() | External() | Managed()
        ):
            found = []
        case unreachable:
            assert_never(unreachable)
    return [each.lower() for each in found]


def _ordering_columns(order: ChangeOrder | None) -> list[str]:
    if order is None:
        return []
    return [*order.by, *([] if order.deletes is None else [order.deletes.column])]


def _columns_in(expressions: Iterable[str]) -> list[str]:
    return [
        column.name
        for each in expressions
        for column in parse_one(each, dialect="spark").find_all(exp.Column)
    ]


def identity_changes(before: Model, after: Model) -> Iterator[IdentityChange]:
    """What of two models of one name differs that says which rows are the same."""
    old, new = before.kind, after.kind
    if old.keyword != new.keyword:
        yield IdentityChange(changed=Property.KIND, before=old.keyword, after=new.keyword)
        return
    coarse, fine = list(IntervalUnit).index(after.unit), list(IntervalUnit).index(before.unit)
    pairs = {
        Property.COARSER if coarse > fine else Property.FINER: _units(before, after),
        Property.CRON: _crons(before, after),
        Property.START if after.start < before.start else Property.LATER_START: (
            format_instant(before.start),
            format_instant(after.start),
        ),
        Property.END: (_end(before), _end(after)),
        Property.PARTITIONED_BY: (_partitions(before), _partitions(after)),
        **{
            each: (_options(old, names), _options(new, names))
            for each, names in _OPTIONS.items()
            if names
        },
    }
    for changed, (was, now) in pairs.items():
        if was != now and fate(changed, type(new)) is not None:
            yield IdentityChange(changed=changed, before=was, after=now)


def is_kept(change: IdentityChange, model: Model, loaded: Sequence[Interval]) -> bool:
    """Whether a table can be kept if a property of its model changes.

    Args:
        change: The property.
        model: The model as it is now.
        loaded: What its table holds.
    """
    found = fate(change.changed, type(model.kind))
    if found is None:
        return True
    match found.kept:
        case Kept.COUNTS:
            return True
        case Kept.WHOLE:
            return all(each == model.unit.widen(each) for each in loaded)
        case Kept.NOT_BEFORE:
            return all(model.unit.ceil(model.start) >= each.start for each in loaded[:1])
        case Kept.REFUSED:
            return False
        case unreachable:
            assert_never(unreachable)


def _units(before: Model, after: Model) -> tuple[str, str]:
    return before.unit.value, after.unit.value


def _crons(before: Model, after: Model) -> tuple[str, str]:
    if before.unit is not after.unit:
        return "", ""  # that is said of the unit
    return f"{before.cron} {before.cron_tz}", f"{after.cron} {after.cron_tz}"


def _end(model: Model) -> str:
    return format_instant(model.end) if model.end is not None else "none"


def _partitions(model: Model) -> str:
    return ", ".join(sorted(map(str, model.storage.partitioned_by)))


def _options(kind: Kind, names: Sequence[str]) -> str:
    """The options that a kind has of these, without empty ones; the parts of a key in any order."""
    apart = ("columns",) if kind.order is None else ()  # else they decide which versions there are
    given = ((name, getattr(kind, name, None)) for name in names if name not in apart)
    return ", ".join(_option(name, each) for name, each in given if each)


def _option(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value if name == "sequence_by" else sorted(value))
    return str(value)
