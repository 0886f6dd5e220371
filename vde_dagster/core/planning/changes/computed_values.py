"""Which columns are computed in another way by an edit, be it here or anywhere upstream.

Each column is written out down to the sources: with joins, CTEs, views and models looked through,
so that only what its values are computed from counts. Which rows there are does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlglot import exp

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.lineage import ColumnOf, branches_of, trace_columns
from vde_dagster.core.model.row_identity import (
    IdentityChange,
    Property,
    fate,
    identifying_columns,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.meaning.parts import digest_of
from vde_dagster.core.sql.meaning.queries import meaning_of

_LONGEST: Final = 120


class Computation(NamedTuple):
    """How a value is computed: a digest of all of it, and its text, which may be cut."""

    digest: bytes
    text: str


Computations = tuple[Computation, ...]
"""How a column is computed: once for each branch of a UNION, since each has rows of its own."""


def computed_changes(before: Graph, after: Graph, name: ModelName) -> Iterator[IdentityChange]:
    """The columns that tell a model's rows apart and are computed in another way.

    What a Python model computes is not known, so that no change of it is found. Rows that a UNION
    gains or loses are no change of those that are there, and neither is a type that gets wider.
    """
    model = after[name].model
    if fate(Property.COMPUTED, type(model.kind)) is None:
        return
    old, new = _Computing(before, after), _Computing(after, before)
    there = {each.name.lower() for each in before[name].columns}
    for column in dict.fromkeys(each for each in identifying_columns(model) if each in there):
        was, now = old.column(name, column), new.column(name, column)
        lost, gained = (
            [each for each in some if each.digest not in {other.digest for other in others}]
            for some, others in ((was, now), (now, was))
        )
        if lost and gained:
            yield IdentityChange(
                changed=Property.COMPUTED,
                column=column,
                before=lost[0].text,
                after=gained[0].text,
            )


@dataclass(slots=True)
class _Computing:
    """How the columns of a graph's models are computed; a `Tracing`.

    ``other`` is the graph that it is compared with. Where a column has another type there, the cast
    around it does not count: a table that is kept can only get a wider one.
    """

    graph: Graph
    other: Graph
    known: dict[ColumnOf, Computations] = field(default_factory=dict)

    def column(self, name: ModelName, column: str) -> Computations:
        """How a model's column is computed; nothing where the model's query does not say it."""
        if (name, column) not in self.known:
            end = (_of([], f"{name}.{column}", f"{name}.{column}"),)
            self.known[name, column] = end  # which is also what a model that reads itself finds
            canonical = self.graph[name].canonical
            if canonical is not None:
                query = canonical.expression
                if self._has_other_type(name, column):
                    query = _without_cast(query, column)
                self.known[name, column] = trace_columns(query, self).get(column, end)
        return self.known[name, column]

    def leaf(self, column: ColumnOf, scan: int) -> Computations:
        """A parent's column."""
        found = self.column(*column)
        return tuple(_of([each], each.text, str(scan)) for each in found) if scan else found

    def computed(self, expression: exp.Expr, read: Sequence[Computations]) -> Computations:
        """An expression, once for each branch that its columns come from."""
        value = expression.unalias().unnest()
        if isinstance(value, exp.Column) and len(read) == 1:
            return read[0]
        read = [each for each in read if each]
        branches = max(map(len, read), default=1)
        if any(len(each) not in (1, branches) for each in read):
            read, branches = [(_of(each, "..."),) for each in read], 1
        return tuple(
            _applied(value, [each[at] if len(each) > 1 else each[0] for each in read])
            for at in range(branches)
        )

    def united(self, branches: Sequence[Computations]) -> Computations:
        """The branches of a set operation, all of them."""
        return tuple(each for branch in branches for each in branch)

    def _has_other_type(self, name: ModelName, column: str) -> bool:
        types = {
            each.type.lower()
            for graph in (self.graph, self.other)
            if name in graph
            for each in graph[name].columns
            if each.name.lower() == column
        }
        return len(types) > 1


def _of(inputs: Sequence[Computation], text: str, *pieces: str) -> Computation:
    encoded = (each.encode() for each in pieces)
    digest = digest_of("computed", *encoded, *(each.digest for each in inputs))
    return Computation(digest, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def _applied(expression: exp.Expr, inputs: Sequence[Computation]) -> Computation:
    """An expression of columns; its digest is that of its meaning, in whatever way it is written.

    Where it has a sub-query or unfolds a value, its text counts.
    """
    holder = exp.Paren(this=expression.copy())
    columns = list(holder.find_all(exp.Column))
    if len(columns) != len(inputs) or not isinstance(expression, exp.Condition):
        text = expression.sql("spark", comments=False)
        return _of(inputs, text, text)
    for node, each in zip(columns, inputs, strict=True):
        node.replace(exp.column(each.digest.hex(), "inputs"))
    query = exp.select(exp.alias_(holder.this.copy(), "value")).from_("every.input AS inputs")
    meaning = meaning_of(query).digest
    for node, each in zip(list(holder.find_all(exp.Column)), inputs, strict=True):
        node.replace(exp.Var(this=each.text))
    return _of([], holder.this.sql("spark", comments=False), meaning)


def _without_cast(query: exp.Query, column: str) -> exp.Query:
    """A query without the cast around one of its columns."""
    copy = query.copy()
    names = [each.lower() for each in copy.named_selects]
    for select in list(branches_of(copy)) if column in names else ():
        assert isinstance(select, exp.Query), "a query combines queries"
        value = select.selects[names.index(column)].unalias()
        if isinstance(value, exp.Cast):
            value.replace(value.this)
    return copy
