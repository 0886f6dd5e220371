"""Whether the rows of one interval unit are the same when other units are evaluated with it.

The time macros stand for the whole range that is evaluated. A unit's rows are the same alone and in
a batch if the macros drop the same rows in both cases, and if nothing combines rows of several
units. So this follows the times of the rows that a unit's rows are made of:

- Conditions tie the sources of a join to each other (see `vde_dagster.core.sql.reads.joined`), so
  that rows of the unit meet only rows that are the same in both cases. A source without macros is.
- GROUP BY and window functions have a key whose equal rows are the same in both cases, too.
- A sub-query in a condition is the same for a row if its own sources are tied to that row.

Whatever is not understood counts as dependent on other units, and is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.reads.blocks import own_parts
from vde_dagster.core.sql.reads.bounds import Axis
from vde_dagster.core.sql.reads.descriptions import described
from vde_dagster.core.sql.reads.joined import (
    AxisOf,
    Column,
    Columns,
    Role,
    Source,
    Spans,
    Timed,
    chooses,
    group_keys,
    is_plain,
    is_timed,
    names_of,
    output_of,
    parts_of,
    plain_keys,
    queries_in,
    sources_of,
    spans_of,
    ties_in,
    timed,
    where_of,
    with_bound_columns,
)
from vde_dagster.core.sql.reads.spans import UNIT_ITSELF, Span, holds, image, origin
from vde_dagster.core.sql.select_clauses import SelectClauses, clauses_of
from vde_dagster.core.sql.table_names import query_of
from vde_dagster.core.time.intervals import IntervalUnit


def why_together(query: exp.Query, time_column: str, *, axis: AxisOf, unit: IntervalUnit) -> str:
    """Why a unit's rows may depend on what else is evaluated with it; empty if they do not.

    Args:
        query: The model's, over tables, with its time macros.
        time_column: The column by which its rows belong to units.
        axis: The types of the tables' columns.
        unit: The interval unit of its rows.
    """
    if not any(True for _ in macros_in(query)):
        return ""
    if any(each.args.get("recursive") for each in query.find_all(exp.With)):
        return "a recursive query is not analysed"
    bound = with_bound_columns(query)
    return _Reader(columns=Columns(axis), unit=unit).rows(bound, time_column, UNIT_ITSELF)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FromRows:
    """The rows of a SELECT's FROM that matter, by the spans of their columns.

    ``outer`` are the columns of the queries around it. A column of an `Role.OPTIONAL` source is in
    its span or NULL.
    """

    select: SelectClauses
    sources: Sequence[Source]
    spans: Spans
    outer: Mapping[Column, Axis]

    def role(self, column: Column) -> Role:
        """The role of a column's source."""
        return next((each.role for each in self.sources if each.alias == column[0]), Role.KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Finds why rows differ; each method returns an empty text if they are the same."""

    columns: Columns
    unit: IntervalUnit
    known: dict[tuple[int, str, Span], str] = field(default_factory=dict)

    def rows(self, node: exp.Expr, name: str, span: Span) -> str:
        """Why rows of a query differ whose column of this name is in a span."""
        if not is_timed(node):
            return ""
        key = (id(node), name, span)
        if key not in self.known:
            self.known[key] = self._rows(node, name, span)
        return self.known[key]

    def _rows(self, node: exp.Expr, name: str, span: Span) -> str:
        if clause := chooses(node):
            return f"{clause.upper()} chooses among rows of several {self._several}"
        match node:
            case exp.Subquery():
                return self.rows(node.this, name, span)
            case exp.SetOperation():
                return self._united(node, name, span)
            case exp.Select():
                return self._selected(clauses_of(node), name, span)
            case _:
                return f"{described(node)} is not analysed"

    def _united(self, node: exp.SetOperation, name: str, span: Span) -> str:
        """Why a set operation's rows differ; both sides need the time column at one position."""
        if self.columns.in_query(node, name) is None:
            return f"{name} is not the same time column on both sides of {node.key.upper()}"
        other = names_of(node.expression)[names_of(node.this).index(name)]
        return self.rows(node.this, name, span) or self.rows(node.expression, other, span)

    def _selected(self, select: SelectClauses, name: str, span: Span) -> str:
        output = output_of(select.node, name)
        if output is None:
            return f"{name} is not one column of the query"
        if select.group is None and select.having is not None:
            return "HAVING without GROUP BY brings all rows together"
        found: list[_FromRows] = []
        for part in parts_of(output, is_grouped=select.group is not None):
            column = self.columns.timed_in(select, part)
            if column is None:
                apart = sources_of(select.from_, seen="") is None
                apart = apart and len(select.from_.joins) > 1
                return (
                    _JOINS
                    if apart
                    else (f"{described(output)} is not a function of one time column")
                )
            where = {column.column: origin(span, column.steps, self.unit)}
            rows = self._lying(select, where)
            if isinstance(rows, str):
                return rows
            if why := self._why(rows):
                return why
            found.append(rows)
        return self._why_brought_together(select, output, found)

    def _lying(
        self,
        select: SelectClauses,
        known: Spans,
        outer: Mapping[Column, Axis] | None = None,
    ) -> _FromRows | str:
        """The rows of FROM whose columns are in these spans, or why they are not understood.

        Args:
            select: The query.
            known: The span of a column of its own, or of columns of the queries around it.
            outer: The columns of the queries around it; none if ``known`` is its own.
        """
        seen = "" if outer is not None else next(iter(known))[0]
        sources = sources_of(select.from_, seen=seen)
        if sources is None:
            return _JOINS
        aliases = {each.alias for each in sources}
        around = {key: axis for key, axis in (outer or {}).items() if key[0] not in aliases}
        axes = self.columns.of(sources, around)
        added = {each.alias: each.on for each in sources if each.role is not Role.KEPT}
        joined = (on for each in sources if each.role is Role.KEPT for on in each.on)
        kept = [*where_of(select), *joined]
        ties = [tie for tie in ties_in(kept, axes) if tie.left.column[0] not in added]
        for alias, on in added.items():
            ties += [tie for tie in ties_in(on, axes) if tie.left.column[0] == alias]
        start = {key: span for key, span in known.items() if outer is None or key in around}
        spans = spans_of(start, ties, self.unit)
        return _FromRows(select=select, sources=sources, spans=spans, outer=around)

    def _why(self, rows: _FromRows) -> str:
        """Why rows of FROM differ, or what a SELECT makes of each of them."""
        for source in rows.sources:
            if is_timed(source.node) and (why := self._why_source(rows, source)):
                return why
        conditions = [*where_of(rows.select), *(on for each in rows.sources for on in each.on)]
        for condition in conditions:
            if is_timed(condition) and (why := self._why_condition(rows, condition)):
                return why
        return self._why_made(rows)

    def _why_source(self, rows: _FromRows, source: Source) -> str:
        """Why the rows of a source with macros differ that are joined to the rows that matter."""
        if not is_plain(source):
            return f"{described(source.node)} is not analysed"
        spans = [(key[1], span) for key, span in rows.spans.items() if key[0] == source.alias]
        node = query_of(source.node) or source.node
        reasons = [self.rows(node, name, span) for name, span in spans]
        if not reasons:
            return self._why_apart(rows, source)
        return "" if "" in reasons else reasons[0]

    def _why_apart(self, rows: _FromRows, source: Source) -> str:
        """The message that nothing ties a source to the others."""
        on = source.on or next((each.on for each in rows.sources if each.on), ())
        text = " AND ".join(described(each) for each in on)
        if len(rows.sources) == 1:
            return (
                f"the sub-query over {source.described} does not say that its rows are of the same "
                f"{self._one} as the outer row"
            )
        on_text = f" (`{text}`)" if text else ""
        return (
            f"the join with {source.described} does not say that both rows are of one {self._one}"
            f"{on_text}"
        )

    def _why_condition(self, rows: _FromRows, condition: exp.Expr) -> str:
        """Why a condition with macros may differ for a unit alone and together with others."""
        inner = [each for each in queries_in(condition) if is_timed(each)]
        if inner:
            apart = {id(macro) for each in inner for _, macro in macros_in(each)}
            if any(id(macro) not in apart for _, macro in macros_in(condition)):
                return f"`{described(condition)}` is not analysed"
            reasons = (self._why_in(rows, condition, each) for each in inner)
            return next(filter(None, reasons), "")
        axes, columns = self.columns.of(rows.sources, rows.outer), _columns(condition)
        for column in columns:
            axis, span = axes(column), rows.spans.get(column)
            if axis is None or span is None:
                continue
            if holds(condition, {column: axis}, axis, span, self.unit):
                return ""
        for source in rows.sources if len(rows.sources) > 1 else ():
            alone = all(key[0] != source.alias for key in rows.spans)
            if alone and any(each[0] == source.alias for each in columns):
                return self._why_apart(rows, source)
        return f"`{described(condition)}` need not be true for all rows of one {self._one}"

    def _why_in(self, rows: _FromRows, condition: exp.Expr, query: exp.Expr) -> str:
        """Why the rows of a sub-query of IN differ, or those that are equal to its operand."""
        why = self._given(rows, query)
        test = condition.unnest()
        if not why or not isinstance(test, exp.In) or test.args.get("query") is not query:
            return why
        axes = self.columns.of(rows.sources, rows.outer)
        found, names = timed(test.this, axes), names_of(query)
        if found is None or found.column not in rows.spans or len(names) != 1:
            return why
        axis = self.columns.in_query(query, names[0])
        inner = None if axis is None else Timed(column=("", names[0]), axis=axis)
        if inner is None or not found.compares_with(inner):
            return why
        span = image(rows.spans[found.column], found.steps, self.unit)
        return self.rows(query, names[0], span) and why

    def _given(self, rows: _FromRows, query: exp.Expr) -> str:
        """Why the rows of a sub-query differ, given one row of the query around it."""
        match query:
            case exp.Subquery():
                return self._given(rows, query.this)
            case exp.SetOperation():
                return self._given(rows, query.this) or self._given(rows, query.expression)
            case exp.Select():
                axes = self.columns.of(rows.sources, rows.outer)
                near = {key: axis for key in rows.spans if (axis := axes(key)) is not None}
                outer = {**rows.outer, **near}
                inner = self._lying(clauses_of(query), rows.spans, outer)
                return inner if isinstance(inner, str) else self._why(inner)
            case _:
                return f"{described(query)} is not analysed"

    def _why_made(self, rows: _FromRows) -> str:
        """Why macros in other clauses than WHERE and ON make rows differ."""
        select = rows.select
        parts = select.besides(_LOOKED_INTO)
        joined = select.group is not None or any(own_parts(select.node, exp.Window))
        for each in select.projections:
            inner = [query for query in queries_in(each) if is_timed(query)]
            within = {id(macro) for query in inner for _, macro in macros_in(query)}
            if joined or any(id(macro) not in within for _, macro in macros_in(each)):
                parts.append(each)
            elif why := next(filter(None, (self._given(rows, query) for query in inner)), ""):
                return why
        for part in parts:
            if is_timed(part):
                return f"`{described(part)}` follows from the whole range that is evaluated"
        return ""

    def _why_brought_together(
        self, select: SelectClauses, output: exp.Expr, found: Sequence[_FromRows]
    ) -> str:
        """Why rows of several units become one row, or are seen together."""
        if select.distinct_on is not None:
            return f"DISTINCT ON chooses among rows of several {self._several}"
        keys = group_keys(select)
        if select.group is not None and not self._is_by_time(output, keys, found):
            text = ", ".join(map(described, keys)) or described(select.group.node)
            return f"GROUP BY {text} brings rows of several {self._several} together"
        for window in own_parts(select.node, exp.Window):
            if not self._is_by_time(output, window.args.get("partition_by") or (), found):
                return f"`{described(window)}` looks at rows of several {self._several}"
        return ""

    def _is_by_time(
        self, output: exp.Expr, keys: Sequence[exp.Expr], found: Sequence[_FromRows]
    ) -> bool:
        """Whether rows with an equal key are the same alone and together with other units."""
        plain = plain_keys(keys)
        return output in plain or all(
            any(self._is_whole(rows, key) for key in plain) for rows in found
        )

    def _is_whole(self, rows: _FromRows, key: exp.Expr) -> bool:
        found = timed(key, self.columns.of(rows.sources, {}))
        if found is None or found.column not in rows.spans:
            return False
        if rows.role(found.column) is not Role.KEPT:
            return False  # NULL in rows without a partner, whatever their time
        span = image(rows.spans[found.column], found.steps, self.unit)
        where = {found.column: origin(span, found.steps, self.unit)}
        again = self._lying(rows.select, where)
        return not isinstance(again, str) and not self._why(again)

    @property
    def _one(self) -> str:
        return self.unit.value.replace("_", " ")

    @property
    def _several(self) -> str:
        return f"{self._one}s"


_JOINS: Final = "a RIGHT, FULL or unusual JOIN together with others is not analysed"
_LOOKED_INTO: Final = ("from_", "joins", "where", "with_", "expressions")


def _columns(condition: exp.Expr) -> list[Column]:
    found = ((each.table.lower(), each.name.lower()) for each in condition.find_all(exp.Column))
    return list(dict.fromkeys(found))
