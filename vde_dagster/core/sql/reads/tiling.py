"""Whether the rows that a query reads of a table depend on how its time is cut into intervals.

A query bounds what it reads by conditions with time macros. Evaluated unit by unit it has to read
all that it reads if several units are evaluated at once, and the other way round. What the
conditions say of one column of a scan is a formula (`vde_dagster.core.sql.reads.bounds`); it is
evaluated for some units, and for all of them together, and an instant that certainly is in the one
and in none of the other is a row that is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.interval_ends import Reader
from vde_dagster.core.sql.macros import borders_in
from vde_dagster.core.sql.reads.blocks import Block
from vde_dagster.core.sql.reads.bounds import (
    ANYTHING,
    Border,
    Compare,
    Either,
    Every,
    Formula,
    InstantSet,
    Shift,
    TimeFunction,
    either,
    every,
    instants_meeting,
    opposite,
)
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import TimeAxis, kept_of, time_column_of
from vde_dagster.core.sql.reads.scans import Kept, TimeColumn, tracer_of
from vde_dagster.core.sql.row_local import merges_rows
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.core.time.grains import BEGINNING, FOREVER, Grain
from vde_dagster.core.time.intervals import Interval, IntervalUnit, common, merge, subtract


def lost_between(
    query: exp.Query,
    tables: Mapping[ModelName, Sequence[TimeAxis]],
    reader: Reader,
    *,
    kept: TimeAxis | None = None,
    replaced: Sequence[tuple[str, Grain]] = (),
) -> Iterator[Finding]:
    """The columns by which a query bounds what it reads so that rows between units are lost.

    Args:
        query: As Spark's dialect reads it, every column bound to its table; with time macros.
        tables: What it reads, each with its columns that may hold a time.
        reader: The units of the model, and whether several may be evaluated at once.
        kept: The axis of the result, if only the interval's rows of it are kept.
        replaced: Of a model that replaces whole partitions, columns of the result with the time
            that a partition of them covers.
    """
    borders = [macro for _, macro in borders_in(query)]
    if not borders:
        return
    times = {
        name: [(axis, time) for axis in axes if (time := time_column_of(axis)) is not None]
        for name, axes in tables.items()
    }
    if reader.repeats and len({each.name.lower().partition("_")[0] for each in borders}) == 1:
        yield _of_one_border(borders[0], times.values(), reader)
        return
    tracer, unit = tracer_of(query, kept=kept_of(kept)), reader.unit
    parts = [(replace(tracer, kept=Kept(name=name), known={}), grain) for name, grain in replaced]
    for block in tracer.blocks.blocks:
        for alias, table in block.tables.items():
            axes = times.get(model_name_of(table) or _NOWHERE, ())
            formulas = [(tracer.scan(block, alias, time), axis) for axis, time in axes]
            bounds = [(formula, axis) for formula, axis in formulas if formula != ANYTHING]
            whys = [
                (_why_lost(formula, unit, reader.in_batches), formula, axis)
                for formula, axis in bounds
            ]
            if reader.repeats and bounds and all(_overlap(formula, unit) for formula, _ in bounds):
                whys.append((_twice(unit), *bounds[0]))
            for why, formula, axis in whys:
                if why:
                    line = _line(block, axis) or line_of(table)
                    made = kept and _of_another_time(kept, axis, formula, unit)
                    yield Finding(message=why, advice=made or _advice(axis, reader), line=line)
            for (formula, axis), (_, time) in zip(formulas, axes, strict=True):
                insides = [(_only_kept(by.scan(block, alias, time)), each) for by, each in parts]
                taken = [_takes_parts(formula, inside, each, unit) for inside, each in insides]
                if formula != ANYTHING and taken and all(taken):
                    line = _line(block, axis) or line_of(table)
                    moved = any(_is_moved(inside) for inside, _ in insides)
                    column, grain = min(replaced, key=lambda each: each[1])
                    yield _of_partitions(axis, unit, column, grain, line=line, moved=moved)


def _of_one_border(
    border: exp.Expr,
    times: Iterable[Sequence[tuple[TimeAxis, TimeColumn]]],
    reader: Reader,
) -> Finding:
    """What is appended again by a query that has no other bound."""
    beside = border.find_ancestor(exp.Predicate) or border
    names = {each.name.lower() for each in beside.find_all(exp.Column)}
    axis = next((axis for axes in times for axis, time in axes if time.name in names), None)
    form = border.name.lower().partition("_")[2]
    both = f"Bound it by @start_{form} and @end_{form}."
    advice = both if axis is None else _advice(axis, reader)
    return Finding(message=_twice(reader.unit), advice=advice, line=line_of(border))


_NOWHERE: Final = ModelName("", "")


def takes_rows(query: exp.Query) -> bool:
    """Whether each row of the result is one of a single table, and says nothing of the interval."""
    made = any(each.find(exp.Parameter) for each in query.selects)
    return not made and not merges_rows(query) and len(list(query.find_all(exp.Table))) == 1


def _line(block: Block, axis: TimeAxis) -> int | None:
    """The line of the first condition on a column, in the query that reads it or around it."""
    select: exp.Expr | None = block.clauses.node
    while select is not None:
        for condition in select.find_all(exp.Where, exp.Join):
            columns = (
                each
                for each in condition.find_all(exp.Column)
                if each.name.lower() == axis.column.lower()
            )
            if any(borders_in(condition)) and (column := next(columns, None)):
                return line_of(column)
        select = select.parent_select
    return None


@lru_cache(maxsize=1024)
def _why_lost(formula: Formula, unit: IntervalUnit, in_batches: bool) -> str:
    """How rows are lost for certain; empty if none are."""
    name = _named(unit)
    alone, together = f"each {name} is evaluated alone", f"several {name}s are evaluated together"
    scan = _Scan(formula)
    groups, many = _groups(unit)
    if any(scan.met(group[0]) == () for group in groups):
        groups = (*groups, many)  # one unit alone reads nothing
    if any(scan.lost(group, alone=True) for group in groups):
        return f"the bounds leave out rows if {alone}, which are read if {together}"
    if in_batches and any(scan.lost(group, alone=False) for group in groups):
        return f"the bounds leave out rows if {together}, which are read if {alone}"
    return ""


@lru_cache(maxsize=1024)
def _overlap(formula: Formula, unit: IntervalUnit) -> bool:
    """Whether the bounds of neighbouring units have rows in common for certain."""
    pairs, _ = _groups(unit)
    scan = _Scan(formula)
    return any(common(*map(scan.certain, pair)) for pair in pairs)


def _takes_parts(
    formula: Formula, inside: Formula, grain: Grain, unit: IntervalUnit
) -> bool | None:
    """Whether a unit takes a part of a partition whose other rows a unit before it had taken.

    None if partitions are not made of what the formula is about.

    Args:
        formula: What is read of a scan.
        inside: What it is to be read for a partition, as an interval.
        grain: The time that a partition covers.
        unit: That of the intervals.
    """
    scan, partition = _Scan(formula), _Scan(inside)
    for before, after in _groups(unit)[0]:
        first = grain.floor(before.start - _AROUND)
        while first < after.end + _AROUND:
            each = Interval(first, grain.following(first))
            rows, first = partition.met(each), each.end
            if rows is None:
                return None
            replaced = common(rows, scan.certain(after))
            if replaced and common(_without(rows, [scan.met(after)]), scan.certain(before)):
                return True
    return False


_AROUND: Final = timedelta(days=1)
"""How far a partition's column may be from the time that is bounded: as two zones are."""


def _only_kept(formula: Formula) -> Formula:
    """What a formula says of the borders of an interval itself."""
    match formula:
        case Every(parts=parts):
            return every(map(_only_kept, parts))
        case Either(parts=parts):
            return either(map(_only_kept, parts))
        case Compare(value=Border()):
            return formula
        case Compare():
            return ANYTHING


def _steps(formula: Formula) -> Iterator[TimeFunction]:
    """How what is compared is made of the time that is read."""
    if isinstance(formula, Compare):
        yield from formula.axis.steps
    else:
        for part in formula.parts:
            yield from _steps(part)


def _is_moved(formula: Formula) -> bool:
    """Whether what is compared with borders is another time than the one that is read."""
    return any(isinstance(step, Shift) for step in _steps(formula))


def _of_another_time(kept: TimeAxis, axis: TimeAxis, formula: Formula, unit: IntervalUnit) -> str:
    """What to do where the result has another time than the one that is bounded, else nothing."""
    inside = _only_kept(formula)
    units = [each for group in _groups(unit)[0] for each in group]
    longer = [
        step
        for step in _steps(inside)
        if isinstance(step, Grain) and any(step.floor(each.start) != each.start for each in units)
    ]
    advice = []
    if longer:
        cron = _CRONS.get(max(longer))
        other = f", or set `cron '{cron}'`" if cron else ""
        advice.append(f"Truncate {kept.column} by the {unit.grain.name.lower()} or finer{other}.")
    if _is_moved(inside):
        advice.append(_compared(axis, kept.column))
    return " ".join(advice)


_CRONS: Final = {
    Grain.HOUR: "@hourly",
    Grain.DAY: "@daily",
    Grain.MONTH: "@monthly",
    Grain.QUARTER: "@yearly",
    Grain.YEAR: "@yearly",
}
"""Schedules whose intervals have units whole; weeks are whole in none."""


def _compared(axis: TimeAxis, column: str, grain: Grain = Grain.MICROSECOND) -> str:
    form = "dtntz" if axis.type == "timestamp_ntz" else "dt"
    start = f"@start_{form}" if grain is Grain.MICROSECOND else _floored(grain, form)
    return (
        f"Compare the time from which {column} is derived, instead of {axis.column}, from {start} "
        f"to @end_{form}."
    )


def _floored(grain: Grain, form: str) -> str:
    return f"DATE_TRUNC('{grain.name}', @start_{form})"


def _of_partitions(
    axis: TimeAxis, unit: IntervalUnit, column: str, grain: Grain, *, line: int | None, moved: bool
) -> Finding:
    advice = _compared(axis, column, grain)
    if not moved:
        form = _form(axis)
        advice = (
            f"Read partitions from their start on, as in `{axis.column} BETWEEN "
            f"{_floored(grain, form)} AND @end_{form}`, or load this model by "
            "INCREMENTAL_BY_TIME_RANGE."
        )
    return Finding(
        message=f"the bounds of one {_named(unit)} take a part of a partition, which is a "
        f"{grain.name.lower()} of {column} and is replaced whole, so its other rows would be lost",
        advice=advice,
        line=line,
    )


def _twice(unit: IntervalUnit) -> str:
    return f"the bounds of one {_named(unit)} take rows of another, which are appended again there"


def _named(unit: IntervalUnit) -> str:
    return unit.value.replace("_", " ")


def _advice(axis: TimeAxis, reader: Reader) -> str:
    form = _form(axis)
    advice = (
        f"Write `{axis.column} BETWEEN @start_{form} AND @end_{form}`: both ends belong to the "
        "interval. For another range, move both ends by the same time"
    )
    if not (reader.in_batches and reader.may_be_alone):
        return f"{advice}."
    one = _named(reader.unit)
    return f"{advice}, or set `batch_size 1` if each {one} is to be evaluated alone."


def _form(axis: TimeAxis) -> str:
    return {"date": "date", "timestamp_ntz": "dtntz", "string": "ds"}.get(axis.type, "dt")


@dataclass(frozen=True, slots=True)
class _Scan:
    """What is read for intervals under a formula, each worked out once."""

    formula: Formula
    known: dict[tuple[Interval, bool], InstantSet] = field(default_factory=dict)

    def met(self, interval: Interval, *, truth: bool = True) -> InstantSet:
        """The instants whose rows can meet the formula, or can fail to."""
        key = (interval, truth)
        if key not in self.known:
            formula = self.formula if truth else opposite(self.formula)
            self.known[key] = instants_meeting(formula, Moments.between(interval, interval))
        return self.known[key]

    def certain(self, interval: Interval) -> tuple[Interval, ...]:
        """Instants whose rows meet the formula for certain, as far as it says anything of them."""
        met, unmet = self.met(interval), self.met(interval, truth=False)
        every = Interval(BEGINNING, FOREVER)
        if unmet is None:
            return ()
        return common(subtract([every], unmet), [every] if met is None else met)

    def lost(self, units: Sequence[Interval], *, alone: bool) -> bool:
        """Whether units lose rows: alone of what they read together, or together of that."""
        whole = Interval(units[0].start, units[-1].end)
        if alone:
            return bool(_without(self.certain(whole), [self.met(unit) for unit in units]))
        read = [self.met(whole)]
        return any(_without(self.certain(unit), read) for unit in units)


def _without(certain: Sequence[Interval], taken: Sequence[InstantSet]) -> tuple[Interval, ...]:
    if any(each is None for each in taken):
        return ()
    return subtract(certain, merge(part for each in taken if each is not None for part in each))


@cache
def _groups(
    unit: IntervalUnit,
) -> tuple[Sequence[Sequence[Interval]], Sequence[Interval]]:
    """Pairs of neighbouring units around some borders, and many units around one."""
    pairs: list[list[Interval]] = []
    for border in _BORDERS:
        first = unit.shifted(unit.floor(border), -1)
        near = list(unit.cells(Interval(first, unit.shifted(first, 3))))
        pairs += [near[:2], near[1:]]
    start = unit.shifted(unit.floor(_BORDERS[0]), -3)
    return tuple(pairs), tuple(unit.cells(Interval(start, unit.shifted(start, _NEAR))))


_NEAR: Final = 40
"""How many units are evaluated at once: more than those that a range is moved by, as a rule."""
_BORDERS: Final = tuple(
    datetime(year, month, day, tzinfo=UTC)
    for year, month, day in (
        (2024, 1, 1),
        (2024, 3, 1),
        (2025, 1, 15),
        (2050, 4, 1),
    )
)
"""Days at which years, weeks, quarters or months begin, and some at which none does.

They are of several years, since conditions may have dates of their own.
"""
