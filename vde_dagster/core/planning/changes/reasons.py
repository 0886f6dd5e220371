"""Why a model's change has its category."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.flow import Flow, reads_of
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.sql.meaning.functions import calls_in, is_aggregate, unfolds
from vde_dagster.core.sql.meaning.parts import EVERY, ROWS, Read
from vde_dagster.core.sql.select_clauses import parts_named

_CLAUSES: Final = {
    "from_": "FROM",
    "joins": "joins",
    "laterals": "LATERAL VIEW",
    "where": "WHERE",
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}


def why_rows_differ(before: Node, after: Node) -> Reason:
    """Which clauses of a query differ, where its own rows may change."""
    if before.canonical is None or after.canonical is None:
        return Reason(kind=ReasonKind.CONTENT)
    old, new = before.canonical.expression, after.canonical.expression
    words = (
        _clauses(old, new) if isinstance(old, exp.Select) and isinstance(new, exp.Select) else []
    )
    return Reason(kind=ReasonKind.ROWS, clauses=tuple(words))


def _clauses(old: exp.Select, new: exp.Select) -> list[str]:
    found = [word for key, word in _CLAUSES.items() if _form(old, key) != _form(new, key)]
    if _ctes(old) != _ctes(new):
        found.append("a common table expression")
    if _calls(old, unfolds) != _calls(new, unfolds):
        found.append("a function that makes several rows of one")
    if not parts_named(new, "group") and _calls(old, is_aggregate) != _calls(new, is_aggregate):
        found.append("an aggregate without GROUP BY")
    return found


def _calls(select: exp.Select, of_kind: Callable[[exp.Expr], bool]) -> list[str]:
    return [
        call.sql("spark", comments=False)
        for each in select.expressions
        for call in calls_in(each)
        if of_kind(call)
    ]


def _form(select: exp.Select, key: str) -> str:
    nodes = parts_named(select, key)
    return " ".join(each.sql("spark", comments=False) for each in nodes)


def _ctes(select: exp.Select) -> list[str]:
    return sorted(each.this.sql("spark", comments=False) for each in select.ctes)


def why_reached(
    node: Node, before: Mapping[ModelName, Flow], after: Mapping[ModelName, Flow]
) -> Iterator[Reason]:
    """Which rows and columns of its parents, that a model follows from, a change reached."""
    found: dict[ModelName, list[str]] = {}
    for read in sorted(reads_of(node)):
        old, new = before.get(read.model), after.get(read.model)
        if new is not None and (old is None or old.read(read.column) != new.read(read.column)):
            found.setdefault(read.model, []).append(read.column)
    for parent, columns in found.items():
        if ROWS in columns:
            yield Reason(kind=ReasonKind.UPSTREAM_ROWS, upstream=parent)
        elif EVERY in columns:
            yield Reason(kind=ReasonKind.UPSTREAM_COLUMN_NAMES, upstream=parent)
        else:
            kind = ReasonKind.UPSTREAM_VALUES
            yield Reason(kind=kind, upstream=parent, columns=tuple(columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who reads each model: before, of those that are still there, and now."""

    before: Mapping[ModelName, list[Node]]
    after: Mapping[ModelName, list[Node]]

    @classmethod
    def of(cls, before: Graph, after: Graph) -> Readers:
        """The readers in two graphs."""
        staying = [node for node in before if node.name in after]
        return cls(before=_by_parent(staying), after=_by_parent(after))

    def of_removed(self, name: ModelName, column: str) -> list[ModelName]:
        """The models that read a column which is missing."""
        return _reading(name, column, self.before.get(name, ()))

    def of_changed(
        self, name: ModelName, column: str, known: Container[str] = ()
    ) -> list[ModelName]:
        """The models that read a column which is there; `EVERY` stands for all but the known."""
        nodes = self.after.get(name, ())
        if column != EVERY:
            return _reading(name, column, nodes)
        return [
            node.name
            for node in nodes
            if any(
                read.model == name and read.column != ROWS and read.column not in known
                for read in reads_of(node)
            )
        ]


def _by_parent(nodes: Iterable[Node]) -> dict[ModelName, list[Node]]:
    found: dict[ModelName, list[Node]] = {}
    for node in nodes:
        for parent in dict.fromkeys(node.model.parents):
            found.setdefault(parent, []).append(node)
    return found


def _reading(name: ModelName, column: str, nodes: Iterable[Node]) -> list[ModelName]:
    wanted = {Read(name, column), Read(name, EVERY)}
    return [node.name for node in nodes if not wanted.isdisjoint(reads_of(node))]
