"""The meaning of an expression: equal for expressions that differ in their writing only.

Aliases, parentheses that cannot matter, the case of names, the order of what AND and OR connect,
the order of a comparison's operands, and BETWEEN or its two comparisons do not count
(architecture.md, *Identity*). A column of a sub-query has the meaning of its expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.canonical_form import (
    is_comparison,
    is_spelling,
    is_uncased,
    lacks_parentheses,
)
from vde_dagster.core.sql.data_names import lent_names
from vde_dagster.core.sql.meaning.constants import is_constant
from vde_dagster.core.sql.meaning.functions import (
    calls_in,
    is_aggregate,
    is_nondeterministic,
    is_unknown,
    is_unordered,
)
from vde_dagster.core.sql.meaning.parts import Meaning, MeaningPart, combined, in_order, leaf
from vde_dagster.core.sql.meaning.same_writing import (
    counts_rows,
    is_list_of_one_type,
    is_true,
    is_unordered_list,
    without_default_frame,
    written_time,
)
from vde_dagster.core.sql.meaning.sources import Scope
from vde_dagster.core.sql.spark.merged_columns import merging_joins_around

_FLIPPED: Final[dict[type[exp.Expr], str]] = {exp.GT: "LT", exp.GTE: "LTE"}

QueryReader = Callable[[exp.Expr, Scope], Meaning]
"""Reads a query inside of an expression."""


@dataclass(slots=True)
class ExpressionReader:
    """Reads expressions. ``draws`` numbers nondeterministic calls, so that no two are equal.

    ``fixed`` are the digests of columns of sub-queries that are the same in all rows.
    """

    read_query: QueryReader
    draws: int = 0
    fixed: set[bytes] = field(default_factory=set)

    def is_fixed(self, node: exp.Expr, part: MeaningPart) -> bool:
        """Whether an expression with this meaning is the same in all rows."""
        return is_constant(node) or part.digest in self.fixed

    def part(self, node: exp.Expr, scope: Scope) -> MeaningPart:
        """The meaning of an expression in a scope."""
        found = self._same(node, scope)
        if found is None:
            found = self._read(node, scope)
        return combined("bare", [found]) if lacks_parentheses(node) else found

    def _read(self, node: exp.Expr, scope: Scope) -> MeaningPart:
        match node:
            case exp.Paren():
                return self.part(node.this, scope)
            case exp.Column() | exp.Star():
                return self._column(node, scope)
            case exp.Query() | exp.Exists(this=exp.Query()):
                return self._query(node, scope)
            case exp.Connector() | exp.Between() | exp.Predicate() if not _is_ambiguous(node):
                return self._comparison(node, scope)
            case exp.Binary() if not isinstance(node, exp.Predicate):
                return self._chain(node, scope)
            case _:
                return self._call(node, scope)

    def _query(self, node: exp.Expr, scope: Scope) -> MeaningPart:
        """A sub-query; for one in EXISTS only its rows count, not its columns."""
        if isinstance(node, exp.Exists):
            asked = _without_limit(node.this)
            return combined("exists", [self.read_query(asked, scope).rows.part])
        inner = self.read_query(node, scope)
        return combined("query", [inner.rows.part, *inner.values])

    def _same(self, node: exp.Expr, scope: Scope) -> MeaningPart | None:
        """One form for what can be written in several ways; None for all else."""
        match node:
            case exp.Case():
                return self._branches(node.this, node.args["ifs"], node.args.get("default"), scope)
            case exp.If() if not isinstance(node.parent, exp.Case):
                return self._branches(None, [node], node.args.get("false"), scope)
            case exp.Cast() if written := written_time(node):
                return leaf("time", written)
            case exp.Count() if node.this and not node.expressions and counts_rows(node.this):
                return self._call(node, scope, this=leaf("rows"))
            case _:
                return None

    def _branches(
        self,
        operand: exp.Expr | None,
        branches: list[exp.Expr],
        default: exp.Expr | None,
        scope: Scope,
    ) -> MeaningPart:
        """CASE, or IF, which is a CASE of one branch. ELSE NULL is the default."""
        parts = [self.part(operand, scope)] if operand is not None else []
        for each in branches:
            parts += [self.part(each.this, scope), self.part(each.args["true"], scope)]
        ends = default is not None and not isinstance(default.unnest(), exp.Null)
        if default is not None and ends:
            parts.append(self.part(default, scope))
        return combined("Case", parts, str(operand is not None), str(len(branches)), str(ends))

    def _comparison(self, node: exp.Expr, scope: Scope) -> MeaningPart:
        """A connector or comparison, equal whichever side is written first."""
        name = type(node).__name__
        match node:
            case exp.And() | exp.Or():
                parts = self._connected(node, scope) or [leaf("true")]
                alone = len(parts) == 1 and any(map(_is_truth, _operands(node)))
                return parts[0] if alone else combined(name, parts)
            case exp.Between() if _is_two_comparisons(node):
                return combined("And", in_order(self._bounds(node, scope)))
            case exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                flipped = _FLIPPED.get(type(node))
                sides = self._sides(node, scope)
                return combined(flipped or name, sides[::-1] if flipped else sides)
            case exp.EQ() | exp.NullSafeEQ() | exp.NEQ():
                return self._equality(node, scope)
            case exp.In() if node.expressions and not any(map(is_nondeterministic, calls_in(node))):
                return self._list(node, scope)
            case _:
                return self._call(node, scope)

    def _equality(self, node: exp.Expr, scope: Scope) -> MeaningPart:
        sides = in_order(self._sides(node, scope))
        if isinstance(node, exp.NEQ):  # as Spark's parser reads it
            return combined("Not", [combined("EQ", sides)], "this")
        return combined(type(node).__name__, sides)

    def _list(self, node: exp.In, scope: Scope) -> MeaningPart:
        """IN with a list: unordered, and as equalities with OR, if both are equivalent."""
        value = self.part(node.this, scope)
        parts = [self.part(each, scope) for each in node.expressions]
        listed = {part.digest: part for part in parts}
        if not is_list_of_one_type(node):
            several = in_order(listed.values()) if is_unordered_list(node) else listed.values()
            return combined("In", [value, *several])
        equal = in_order(combined("EQ", in_order([value, each])) for each in listed.values())
        return equal[0] if len(equal) == 1 else combined("Or", equal)

    def _chain(self, node: exp.Binary, scope: Scope) -> MeaningPart:
        """A chain of operators, such as ``a || b || c``, without recursion: it may be long."""
        chain: list[exp.Expr] = []
        first: exp.Expr = node
        while isinstance(first, exp.Binary) and not isinstance(
            first, exp.Connector | exp.Predicate
        ):
            chain.append(first)
            first = first.this.unnest()
        part = self.part(first, scope)
        for each in reversed(chain):
            part = self._call(each, scope, this=part)
            if each is not node and lacks_parentheses(each):
                part = combined("bare", [part])
        return part

    def _sides(self, node: exp.Expr, scope: Scope) -> list[MeaningPart]:
        return [self.part(node.this, scope), self.part(node.args["expression"], scope)]

    def conditions(self, node: exp.Expr | None, scope: Scope) -> list[MeaningPart]:
        """The operands of AND, each by itself, in no order."""
        if node is None:
            return []
        inner = node.unnest()
        if isinstance(inner, exp.And):
            return self._connected(inner, scope)
        if isinstance(inner, exp.Between) and _is_two_comparisons(inner):
            return self._bounds(inner, scope)
        return [] if is_true(inner) else [self.part(inner, scope)]

    def _connected(self, node: exp.And | exp.Or, scope: Scope) -> list[MeaningPart]:
        found: list[MeaningPart] = []
        for each in _operands(node):
            if isinstance(node, exp.And):
                found += self.conditions(each, scope)
            else:
                found.append(self.part(each, scope))
        return in_order({part.digest: part for part in found}.values())

    def _bounds(self, node: exp.Between, scope: Scope) -> list[MeaningPart]:
        low, value, high = (
            self.part(each, scope) for each in (node.args["low"], node.this, node.args["high"])
        )
        return [combined("LTE", [low, value]), combined("LTE", [value, high])]

    def _column(self, node: exp.Column | exp.Star, scope: Scope) -> MeaningPart:
        if isinstance(node, exp.Star) or node.is_star:
            return self._star(node, scope)
        name, alias = node.name.lower(), node.table.lower()
        if alias:
            found = scope.column(alias, name)
            if found is None:
                every = [part for around in scope.outward() for part in around.every()]
                return combined("unbound", every, alias, name)
            source = scope.sources.get(alias)
            if source is not None and source.column(name).digest in self.fixed:
                self.fixed.add(found.digest)
            return found
        if name in scope.outputs:
            return scope.outputs[name]
        # A source without declared columns may have it, whichever of them it is.
        possible = [
            around.placed(each, source.column(name))
            for around in scope.outward()
            for each, source in around.sources.items()
        ]
        return combined("unbound", possible, name)

    def _star(self, node: exp.Column | exp.Star, scope: Scope) -> MeaningPart:
        """All columns, such as in a call; COUNT(*) counts rows only."""
        if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
            return leaf("rows")  # COUNT(t.*) differs: it counts rows without NULLs
        alias = node.table.lower() if isinstance(node, exp.Column) else ""
        source = scope.sources.get(alias)
        starred = scope.every() if source is None else [scope.placed(alias, source.every)]
        shape, parts = self._arguments(node.this if alias else node, scope)
        merging = [] if alias else merging_joins_around(node)
        return combined("star", [*starred, *parts], *shape, *merging)

    def _call(
        self, node: exp.Expr, scope: Scope, *, this: MeaningPart | None = None
    ) -> MeaningPart:
        """A node of any class, with its parts and the other rows that it sees.

        ``this`` is its first operand if that has been read already.
        """
        if isinstance(node, exp.Window):
            node = without_default_frame(whole_window(node, scope.windows))
        pieces, parts = self._arguments(node, scope, this=this)
        seen = _seen_rows(node, scope)
        if seen is not None:
            parts.append(seen)
        found = combined(type(node).__name__, parts, *pieces)
        if not (is_nondeterministic(node) or self._is_loose(node, scope)):
            return found
        self.draws += 1
        numbered = combined("chance", [found], str(self.draws))
        return MeaningPart(numbered.digest, numbered.reads, nondeterministic=True)

    def _is_loose(self, node: exp.Expr, scope: Scope) -> bool:
        """Whether a window orders by columns only that are the same in all rows."""
        order = node.args.get("order") if isinstance(node, exp.Window) and self.fixed else None
        if not isinstance(node, exp.Window) or order is None:
            return False
        keys = [each.this for each in order.expressions if isinstance(each, exp.Ordered)]
        fixed = [key.unnest() for key in keys if self.is_fixed(key, self.part(key, scope))]
        return is_unordered(node, fixed)

    def _arguments(
        self, node: exp.Expr, scope: Scope, *, this: MeaningPart | None = None
    ) -> tuple[list[str], list[MeaningPart]]:
        """A node's shape with all plain values, and the parts that fill it."""
        shape = [f"field {each}" for each in lent_names(node)]
        parts: list[MeaningPart] = []
        for key, value in sorted(node.args.items()):
            if value is None or value is False or value == [] or is_spelling(node, key, value):
                continue
            shape.append(key)
            if key == "this" and this is not None:
                parts.append(this)
            else:
                self._argument(node, value, scope, shape, parts)
        return shape, parts

    def _argument(
        self,
        node: exp.Expr,
        value: object,
        scope: Scope,
        shape: list[str],
        parts: list[MeaningPart],
    ) -> None:
        if isinstance(value, exp.Expr):
            parts.append(self.part(value, scope))
        elif isinstance(value, list):
            shape.append(f"[{len(value)}")
            for item in value:
                self._argument(node, item, scope, shape, parts)
        else:
            text = str(value)
            uncased = isinstance(value, str) and is_uncased(node)
            shape += [type(value).__name__, text.upper() if uncased else text]


def whole_window(window: exp.Window, named: Mapping[str, exp.Window]) -> exp.Window:
    """A window with what it inherits from a named one."""
    alias = window.args.get("alias")
    base = named.get(alias.name.lower()) if alias is not None else None
    if base is None:
        return window
    merged = window.copy()
    merged.set("alias", None)
    for key in ("partition_by", "order", "spec"):
        if not merged.args.get(key) and base.args.get(key):
            merged.set(key, base.copy().args[key])
    return merged


def _without_limit(query: exp.Expr) -> exp.Expr:
    """A query that is only tested for having any rows."""
    limit = query.args.get("limit")
    number = limit.args.get("expression") if isinstance(limit, exp.Limit) else None
    counted = isinstance(number, exp.Literal) and number.is_int and int(number.this) > 0
    if not counted or query.args.get("offset") is not None:
        return query
    bare = query.copy()
    bare.set("limit", None)
    bare.set("order", None)
    return bare


def _seen_rows(node: exp.Expr, scope: Scope) -> MeaningPart | None:
    """The rows that a call sees besides its own."""
    if isinstance(node, exp.Window):
        return scope.stage
    return scope.grouped if is_aggregate(node) or is_unknown(node) else None


def _is_ambiguous(node: exp.Expr) -> bool:
    """Whether a comparison has comparisons as operands: their precedence is not certain."""
    sides = (node.args.get(key) for key in ("this", "expression", "low", "high"))
    return is_comparison(node) and any(
        isinstance(each, exp.Expr) and is_comparison(each) for each in sides
    )


def _operands(node: exp.And | exp.Or) -> Iterator[exp.Expr]:
    """The operands of a chain of one connector, without recursion: such chains may be long."""
    waiting: list[exp.Expr] = [node]
    while waiting:
        each = waiting.pop().unnest()
        if type(each) is type(node):
            waiting += [each.args["expression"], each.this]
        else:
            yield each


def _is_truth(node: exp.Expr) -> bool:
    """Whether an operand of AND or OR is certainly a BOOLEAN, and not cast to one.

    A condition that is always true says nothing about the other operand.
    """
    if isinstance(node, exp.Connector | exp.Not):
        return True
    return isinstance(node, exp.Predicate) and not is_true(node)


def _is_two_comparisons(node: exp.Between) -> bool:
    """Whether its operand may be written twice: a nondeterministic one would be evaluated twice."""
    return not node.args.get("symmetric") and not any(map(is_nondeterministic, calls_in(node.this)))
