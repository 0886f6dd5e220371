"""Which rows of each table a query reads: a formula that bounds every scan of it.

A scan is bounded by the conditions of its own SELECT, and by the conditions of outer queries on
that SELECT's columns, as far as the time column is passed on. A row outside of the bounds never
changes the result:

- A condition in WHERE drops it after any join, since a comparison is not true for the NULLs that
  take its place in an outer join. A condition in ON drops it where its side of the join is not
  kept without a partner.
- A condition on a SELECT's column drops whole output rows. Grouping, DISTINCT and set operations
  only combine rows that are equal in such a column; LIMIT and window functions combine others, so
  no condition is passed through them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.blocks import Block, Blocks, Body, Use, blocks_of, own_parts
from vde_dagster.core.sql.reads.bounds import (
    ANYTHING,
    Axis,
    AxisType,
    Formula,
    around,
    either,
    every,
)
from vde_dagster.core.sql.reads.conditions import Axes, axis_of, can_be_true, conjuncts
from vde_dagster.core.sql.select_clauses import (
    FromItem,
    GroupClause,
    JoinClause,
    SelectClauses,
    limits_of,
)
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.time.formats import TimeFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumn:
    """The column by which a table's rows belong to intervals, in lower case, as an axis."""

    name: str
    axis: Axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Says that only rows of a result are kept whose column ``name`` is in the interval."""

    name: str
    format: TimeFormat | None = None


def scan_bounds(
    query: exp.Query,
    columns: Mapping[ModelName, TimeColumn | None],
    *,
    kept: Kept | None = None,
) -> dict[ModelName, Formula]:
    """A query's conditions on the rows of each table that it names.

    Args:
        query: In Spark's dialect, every column bound to the alias of its table.
        columns: The tables to look for, each with its time column; None if it has none.
        kept: What is kept of the result; None if all of it is.
    """
    tracer = tracer_of(query, kept=kept)
    blocks = tracer.blocks
    found: dict[ModelName, list[Formula]] = {}
    seen: set[int] = set()
    for block in blocks.blocks:
        for alias, table in block.tables.items():
            name = model_name_of(table)
            if name is not None and name in columns:
                seen.add(id(table))
                found.setdefault(name, []).append(tracer.scan(block, alias, columns[name]))
    for table in query.find_all(exp.Table):
        name = model_name_of(table)
        if name is not None and name in columns and id(table) not in seen:
            found.setdefault(name, []).append(ANYTHING)
    return {name: either(parts) for name, parts in found.items()}


def tracer_of(query: exp.Query, *, kept: Kept | None) -> Tracer:
    """What follows the columns of a query's scans; the arguments are those of `scan_bounds`."""
    return Tracer(blocks=blocks_of(query), root=query, kept=kept)


@dataclass(slots=True, kw_only=True)
class Tracer:
    """Follows a time column from its scan to all readers; each query is followed once."""

    blocks: Blocks
    root: exp.Query
    kept: Kept | None
    known: dict[tuple[int, frozenset[tuple[int, Axis]]], Formula] = field(default_factory=dict)
    conditions: dict[tuple[int, str], _ByColumn] = field(default_factory=dict)
    outputs: dict[int, _ByColumn | None] = field(default_factory=dict)
    names: dict[tuple[int, tuple[str, ...]], dict[int, str]] = field(default_factory=dict)

    def scan(self, block: Block, alias: str, column: TimeColumn | None) -> Formula:
        """What a scan's rows must meet."""
        if column is None:
            return ANYTHING
        return self._rows(block, alias, {(alias, column.name): column.axis})

    def _rows(self, block: Block, alias: str, axes: Axes) -> Formula:
        """What rows must meet that a block reads under one alias."""
        if not block.sound:
            return ANYTHING
        select, key = block.clauses, (id(block), alias)
        if key not in self.conditions:
            self.conditions[key] = _ByColumn.of(enumerate(_conditions(select, alias)))
        about = self.conditions[key].about((None, *axes))
        conditions = [can_be_true(each, axes) for _, each in about]
        return every([*conditions, self._demand(select.node, self._passed_on(select, axes))])

    def _passed_on(self, select: SelectClauses, axes: Axes) -> dict[int, Axis]:
        """The output columns that are axes, if conditions on them are conditions on input rows."""
        if id(select) not in self.outputs:
            self.outputs[id(select)] = _outputs(select)
        outputs = self.outputs[id(select)]
        about = () if outputs is None else outputs.about(axes)
        passed = ((position, axis_of(each, axes)) for position, each in about)
        return {position: axis for position, axis in passed if axis is not None}

    def _demand(self, body: Body, outputs: Mapping[int, Axis]) -> Formula:
        """The conditions on a query's rows, whose columns at some positions are axes."""
        if not outputs or not self.blocks.traceable:
            return ANYTHING
        key = (id(body), frozenset(outputs.items()))
        if key not in self.known:
            uses = self.blocks.uses.get(id(body), ())
            parts = [self._demand_of(use, body, outputs) for use in uses]
            self.known[key] = either(parts) if parts else ANYTHING
        return self.known[key]

    def _demand_of(self, use: Use, body: Body, outputs: Mapping[int, Axis]) -> Formula:
        if use.operation is not None:
            passed = {
                position: replace(axis, axis_type=AxisType.UNCERTAIN)
                for position, axis in outputs.items()
                if axis.format is None
            }
            return self._demand(use.operation, passed)
        if use.block is not None:
            names = self._names(body, use.columns)
            axes = {(use.alias, names[at]): axis for at, axis in outputs.items() if at in names}
            return self._rows(use.block, use.alias, axes) if axes else ANYTHING
        return self._kept(body, outputs) if body is self.root else ANYTHING

    def _names(self, body: Body, listed: tuple[str, ...]) -> Mapping[int, str]:
        """The columns of a query by position, where their names are certain and unique."""
        key = (id(body), listed)
        if key not in self.names:
            own = [each.lower() for each in body.named_selects]
            is_certain = not ("*" in own or any(each.is_star for each in body.selects))
            names = [*listed, *own[len(listed) :]] if is_certain else []
            counts = Counter(names)
            self.names[key] = {at: name for at, name in enumerate(names) if counts[name] == 1}
        return self.names[key]

    def _kept(self, body: Body, outputs: Mapping[int, Axis]) -> Formula:
        names = self._names(body, ())
        for position, axis in outputs.items():
            kept = self.kept is not None and names.get(position) == self.kept.name
            if self.kept is not None and kept and axis.format == self.kept.format:
                return around(axis, before=timedelta(0), after=timedelta(0))
        return ANYTHING


@dataclass(frozen=True, slots=True)
class _ByColumn:
    """Expressions by the columns in them; those that may be true or false without one by None."""

    parts: Mapping[int, exp.Expr]
    places: Mapping[tuple[str, str] | None, Sequence[int]]

    @classmethod
    def of(cls, parts: Iterable[tuple[int, exp.Expr]]) -> _ByColumn:
        """Look at each expression, with its position, once."""
        every, places = dict(parts), defaultdict[tuple[str, str] | None, list[int]](list)
        for place, part in every.items():
            for node in part.find_all(exp.Column, exp.Boolean, exp.Null):
                named = isinstance(node, exp.Column) and (node.table.lower(), node.name.lower())
                places[named or None].append(place)
        return cls(every, places)

    def about(self, columns: Iterable[tuple[str, str] | None]) -> Iterator[tuple[int, exp.Expr]]:
        """The expressions with one of some columns, with their positions, in order."""
        for place in sorted({at for key in columns for at in self.places.get(key, ())}):
            yield place, self.parts[place]


def _conditions(select: SelectClauses, alias: str) -> Iterator[exp.Expr]:
    """The conditions that drop every row of ``alias`` for which they are not true."""
    if select.where is not None:
        yield from conjuncts(select.where)
    before = _aliases(select.from_.first) if select.from_.first is not None else set()
    for join in select.from_.joins:
        joined = _aliases(join.item)
        if join.on is not None and alias in _dropped(join, before, joined):
            yield from conjuncts(join.on)
        before |= joined


def _dropped(join: JoinClause, before: set[str], joined: set[str]) -> set[str]:
    """The sides of a join whose rows are dropped if they find no partner."""
    if join.node.kind == "ANTI" or (join.node.side == "LEFT" and join.node.kind != "SEMI"):
        return joined
    if join.node.side == "RIGHT":
        return before
    return set() if join.node.side == "FULL" else before | joined


def _aliases(item: FromItem) -> set[str]:
    """The aliases that an item of FROM brings in."""
    return {each.alias_or_name.lower() for each in item.sources()}


def _outputs(select: SelectClauses) -> _ByColumn | None:
    """The outputs on which conditions are conditions on input rows; None if no condition is one."""
    counts = bool(limits_of(select.node)) or select.qualify is not None
    if counts or select.distinct_on is not None or any(own_parts(select.node, exp.Window)):
        return None
    outputs = enumerate(select.projections)
    if select.group is None:
        return _ByColumn.of(outputs)
    keys = _keys_of(select.group)
    return _ByColumn.of((at, each) for at, each in outputs if each.unalias().unnest() in keys)


def _keys_of(group: GroupClause) -> frozenset[exp.Expr]:
    """The keys of a plain GROUP BY, of each of which every group has one value."""
    is_known = group.is_plain and not group.is_all
    return frozenset(each.unnest() for each in group.keys) if is_known else frozenset()
