"""The types of undeclared columns: an engine analyses the query that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.app.unit_tests.asking import question_of
from vde_dagster.app.unit_tests.running import Engines
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed, Place, Refused, SetupError
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_tested import needed_tables
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.unit_tests.cells import NULL_TYPE, type_of
from vde_dagster.core.unit_tests.column_types import declared_columns, is_open, with_types
from vde_dagster.core.unit_tests.definition import GivenRows, NeedsEngine, UnitTest

_STORED_AS: Final[Mapping[str, str]] = {
    "tinyint": "int",
    "smallint": "int",
    NULL_TYPE: UNKNOWN_TYPE,
}
"""Types of Spark that its Iceberg tables give back as another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTypes:
    """Asks engines for the types that a model's query gives its columns; each model once."""

    engines: Engines
    _known: dict[str, tuple[Column, ...]] = field(default_factory=dict)

    def columns(self, graph: Graph, name: ModelName) -> tuple[Column, ...]:
        """A model's columns; ``unknown`` is the type of one that no engine tells.

        Raises:
            NeedsEngine: An engine would tell it, and must not be started.
            SetupError: The engine cannot be started.
        """
        wanted, seen = [name], set[ModelName]()
        while wanted:  # no recursion: a chain of models may be long
            node = graph[wanted.pop()]
            if node.name not in seen and is_open(declared_columns(node)):
                seen.add(node.name)
                wanted += needed_tables(graph, node, ())
        for node in graph.above(seen):  # parents first
            if node.name in seen:
                self._of(graph, node)
        return self._of(graph, graph[name])

    def _of(self, graph: Graph, node: Node) -> tuple[Column, ...]:
        columns, key = declared_columns(node), node.fingerprint.data_version
        if key not in self._known:
            if is_open(columns):
                columns = with_types(columns, [*node.model.columns, *self._asked(graph, node)])
            self._known[key] = columns
        return self._known[key]

    def _asked(self, graph: Graph, node: Node) -> Sequence[Column]:
        """What a query returns over no rows; nothing where it cannot be analysed."""
        inputs = {
            name: GivenRows(
                columns=tuple(e for e in self._of(graph, graph[name]) if type_of(e.type)), rows=()
            )
            for name in needed_tables(graph, node, ())
        }
        place = Place(path=node.model.source.path)
        asked = UnitTest(name=str(node.name), place=place, model=node.name, inputs=inputs)
        try:
            question, _ = question_of(asked, graph, node)
            answer, _ = self.engines.answer(question, subject=str(node.name))
        except SetupError:
            raise
        except (EvaluationFailed, Refused, *SQL_ERRORS):
            return ()
        if answer is None:
            raise NeedsEngine
        stored = _STORED_AS if node.model.kind.stores_rows else {}
        return [replace(each, type=stored.get(each.type, each.type)) for each in answer.columns]
