"""Whether the rows of a unit of time are the same alone and beside other units of one evaluation.

The time macros stand for the whole range that is evaluated. Its rows of one unit are those of the
unit alone where macros only drop rows that lie outside of the unit in both cases, and where nothing
brings rows of several units together. Whatever is not understood counts as not so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.intervals import Interval
from vde_dagster.core.names import ModelName
from vde_dagster.core.reads.bounds import Axis, around, every, instants_meeting
from vde_dagster.core.reads.conditions import Axes, axis_of, can_be_true, conjuncts
from vde_dagster.core.reads.constants import Moments
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.rendering import model_name_of

AxisOf = Callable[[ModelName, str], Axis | None]
"""A column of a table as an axis by its type; None where its values are no times."""
_Ctes = Mapping[str, exp.Expr]
_CHOOSING: Final = ("limit", "offset", "fetch", "pivots", "sample", "match", "connect")


def is_alone(
    query: exp.Query, time_column: str, *, axis: AxisOf, units: Iterable[Interval]
) -> bool:
    """Whether each unit's rows are the same, whatever else is evaluated with it.

    Args:
        query: The model's, over tables, with its time macros.
        time_column: The column by which its rows belong to units.
        axis: The types of the tables' columns.
        units: Examples of what is evaluated, for which conditions are looked at.
    """
    if not any(True for _ in macros_in(query)):
        return True
    return _Reader(axis=axis, units=tuple(units)).output(query, time_column, {}) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Finds a query's time column as an axis; None where rows may differ, or nothing is known."""

    axis: AxisOf
    units: tuple[Interval, ...]

    def output(self, node: exp.Expr, name: str, ctes: _Ctes) -> Axis | None:
        """The column of this name of a query's rows."""
        ctes = _with(node, ctes)
        match node:
            case exp.Subquery():
                return None if _chooses(node) else self.output(node.this, name, ctes)
            case exp.SetOperation():
                return self._united(node, name, ctes)
            case exp.Select():
                return self._selected(node, name, ctes)
            case _:
                return None

    def _united(self, node: exp.SetOperation, name: str, ctes: _Ctes) -> Axis | None:
        """Both sides have it at one position, so rows that are alike are of one unit."""
        names, others = _names(node.this), _names(node.expression)
        if _chooses(node) or node.args.get("by_name") or names.count(name.lower()) != 1:
            return None
        at = names.index(name.lower())
        if at >= len(others) or others.count(others[at]) != 1:
            return None
        first = self.output(node.this, name, ctes)
        return first if first == self.output(node.expression, others[at], ctes) else None

    def _selected(self, node: exp.Select, name: str, ctes: _Ctes) -> Axis | None:
        if _names(node).count(name.lower()) != 1:
            return None
        time = node.selects[_names(node).index(name.lower())].unalias().unnest()
        columns = list(time.find_all(exp.Column))
        if len(columns) != 1:
            return None
        base, is_timed = columns[0], _is_timed(node, ctes)
        sources = [each for each in _sources(node) if each.alias_or_name == base.table]
        if len(sources) != 1 or (is_timed and not _is_by_time(node, time, base, sources[0], ctes)):
            return None
        found = self._of_source(sources[0], base.name.lower(), ctes)
        if found is None:
            return None
        axes = {(base.table.lower(), base.name.lower()): found}
        axis = axis_of(time, axes)
        if axis is None or (_is_timed(sources[0], ctes) and not self._stays_inside(axis)):
            return None
        return axis if self._drops_nothing(node, axes, axis) else None

    def _stays_inside(self, time: Axis) -> bool:
        """Whether a unit is made of rows of just that unit, for which queries inside are sound."""
        inside = around(time, before=timedelta(0), after=timedelta(0))
        found = {each: instants_meeting(inside, Moments.between(each, each)) for each in self.units}
        return all(
            instants is not None and all(unit.contains(each) for each in instants)
            for unit, instants in found.items()
        )

    def _of_source(self, source: exp.Expr, name: str, ctes: _Ctes) -> Axis | None:
        alias = source.args.get("alias")
        if _chooses(source) or (isinstance(alias, exp.TableAlias) and alias.columns):
            return None
        if isinstance(source, exp.Subquery):
            return self.output(source, name, ctes)
        if not isinstance(source, exp.Table):
            return None
        if not source.db and source.name.lower() in ctes:
            return self.output(ctes[source.name.lower()], name, ctes)
        model = model_name_of(source)
        return None if model is None else self.axis(model, name)

    def _drops_nothing(self, node: exp.Select, axes: Axes, time: Axis) -> bool:
        """Whether conditions with macros are true for all rows of what is evaluated."""
        inside = around(time, before=timedelta(0), after=timedelta(0))
        dropped = [can_be_true(exp.Not(this=each), axes) for each in _timed_conditions(node)]
        return not any(
            instants_meeting(every([inside, each]), Moments.between(unit, unit)) != ()
            for each in dropped
            for unit in self.units
        )


def _with(node: exp.Expr, ctes: _Ctes) -> _Ctes:
    with_ = node.args.get("with_")
    own = [] if with_ is None else with_.expressions
    return {**ctes, **{each.alias.lower(): each.this for each in own}}


def _is_timed(node: exp.Expr, ctes: _Ctes, seen: frozenset[str] = frozenset()) -> bool:
    """Whether macros stand in a node, or in a common table that it names."""
    if any(True for _ in macros_in(node)):
        return True
    named = {each.name.lower() for each in node.find_all(exp.Table) if not each.db}
    return any(_is_timed(ctes[each], ctes, seen | named) for each in (named & ctes.keys()) - seen)


def _chooses(node: exp.Expr) -> bool:
    """Whether rows are kept or dropped by what other rows there are."""
    return any(node.args.get(each) for each in _CHOOSING)


def _names(node: exp.Expr) -> list[str]:
    inner = node.unnest()
    return [each.lower() for each in inner.named_selects] if isinstance(inner, exp.Query) else []


def _sources(node: exp.Select) -> Iterator[exp.Expr]:
    from_ = node.args.get("from_")
    if from_ is not None:
        yield from_.this
    yield from (each.this for each in node.args.get("joins") or [])


def _conditions(node: exp.Select) -> Iterator[exp.Expr]:
    where = node.args.get("where")
    if where is not None:
        yield from conjuncts(where.this)
    for join in node.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield from conjuncts(join.args["on"])


def _timed_conditions(node: exp.Select) -> list[exp.Expr]:
    return [each for each in _conditions(node) if any(True for _ in macros_in(each))]


def _is_by_time(
    node: exp.Select, time: exp.Expr, base: exp.Column, source: exp.Expr, ctes: _Ctes
) -> bool:
    """Whether rows come together by unit only, and macros are in conditions and in one source."""
    own, keys = list(_own(node)), (time, base)
    group, distinct = node.args.get("group"), node.args.get("distinct")
    fine = {id(macro) for each in _timed_conditions(node) for _, macro in macros_in(each)}
    others = [*_sources(node), *(each for each in own if isinstance(each, exp.Table))]
    windows = [each for each in own if isinstance(each, exp.Window)]
    return (
        not _chooses(node)
        and (group is None or _is_among(keys, _group_keys(node, group)))
        and (distinct is None or distinct.args.get("on") is None)
        and all(_is_among(keys, each.args.get("partition_by") or []) for each in windows)
        and all(id(each) in fine for each in own if isinstance(each, exp.Parameter))
        and not any(_is_timed(each, ctes) for each in others if each is not source)
    )


def _group_keys(node: exp.Select, group: exp.Expr) -> list[exp.Expr]:
    if any(value for key, value in group.args.items() if key not in ("expressions", "all")):
        return []  # ROLLUP and its like have rows that are of no group
    if group.args.get("all"):
        return [each.unalias() for each in node.selects]
    return list(group.expressions)


def _is_among(keys: Iterable[exp.Expr], found: Iterable[exp.Expr]) -> bool:
    inner = [each.unnest() for each in found]
    return any(key == each for key in keys for each in inner)


def _own(node: exp.Select) -> Iterator[exp.Expr]:
    """What stands in a SELECT, also in queries inside of expressions, but not what is in FROM."""
    apart = {id(each) for each in _sources(node) if isinstance(each, exp.Subquery)}
    apart.add(id(node.args.get("with_")))
    return node.walk(prune=lambda each: id(each) in apart)
