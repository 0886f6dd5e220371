"""The meaning of UNION, INTERSECT and EXCEPT from the meanings of their sides."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from vde_dagster.core.sql.meaning.parts import Meaning, RowSet, combined
from vde_dagster.core.sql.meaning.same_writing import is_unordered_column
from vde_dagster.core.sql.select_clauses import OperationClauses, operation_of


def chain_of(query: exp.SetOperation) -> list[OperationClauses]:
    """A set operation after those on its left side, the innermost first.

    One with a WITH of its own ends the chain: it is a side like any query.
    """
    chain = [operation_of(query)]
    while isinstance(first := chain[-1].left, exp.SetOperation):
        inner = operation_of(first)
        if inner.with_ is not None:
            break
        chain.append(inner)
    return chain[::-1]


def takes_all(operation: OperationClauses) -> bool:
    """Whether all rows of both sides are taken unchanged."""
    ending = operation.ending
    return operation.is_union_all and not (ending.sorting or ending.limits)


def united(branches: Sequence[Meaning], sides: Sequence[exp.Expr]) -> Meaning:
    """All rows of several results, in no order; the first of them names the columns.

    Each column depends on the same column of each branch, and on no other column. Branches with the
    same rows keep the order in which they are written; so do all branches for a column whose type
    may depend on that order.
    """
    places = sorted(range(len(branches)), key=lambda at: branches[at].rows.part.digest)
    first = branches[0]
    columns = []
    for at, (name, _) in enumerate(first.columns):
        values = [branches[place].values[at] for place in places]
        order = [] if is_unordered_column(sides, at) else map(str, places)
        columns.append((name, combined("either", values, *order)))
    rows = RowSet(combined("union", [branches[place].rows.part for place in places]))
    return Meaning(rows, tuple(columns), written=first.written)


def operated(operation: OperationClauses, left: Meaning, right: Meaning) -> Meaning:
    """The result of a set operation: some rows of both sides, chosen by all their values."""
    columns = tuple(
        (name, combined("either", [one, other]))
        for (name, one), other in zip(left.columns, right.values, strict=True)
    )
    step = f"{type(operation.node).__name__} {operation.is_distinct}"
    rows = left.rows.then(step, [right.rows.part, *(part for _, part in columns)])
    return Meaning(rows, columns, written=left.written)
