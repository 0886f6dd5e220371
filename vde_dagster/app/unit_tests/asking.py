"""What a unit test asks an engine: the model's query or function over the rows that are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_tested import render_tested
from vde_dagster.core.ledger.unit_of_work import PythonRows, SqlRows
from vde_dagster.core.model.model import PythonFunction
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import EPOCH_DAY, MICROSECOND, TimeRange
from vde_dagster.core.sql.places import placed
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.cells import type_of
from vde_dagster.core.unit_tests.column_types import declared_columns
from vde_dagster.core.unit_tests.definition import (
    Expected,
    Given,
    GivenQuery,
    GivenRows,
    UnitTest,
)
from vde_dagster.core.unit_tests.question import FunctionOverRows, QueryOverRows, Question

QUERY: Final = "query"
"""What is compared where it is not a common table expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question of a test, and the rows that are expected.

    ``what`` is `QUERY` or the name of a common table expression. ``ordered`` where the query says
    in which order its rows come.
    """

    what: str
    question: Question
    expected: Expected
    ordered: bool = False


def asked_by(test: UnitTest, graph: Graph) -> Iterator[Asked]:
    """The questions of a test: that of the whole query first.

    Args:
        test: The test, which fits its model.
        graph: The models as it sees them.

    Raises:
        Refused: The query cannot be written in Spark's SQL.
    """
    node = graph[test.model]
    if test.query is not None:
        question, ordered = question_of(test, graph, node)
        yield Asked(what=QUERY, question=question, expected=test.query, ordered=ordered)
    for name, expected in test.ctes.items():
        question, _ = question_of(test, graph, node, cte=name)
        yield Asked(what=name, question=question, expected=expected)


def question_of(
    test: UnitTest, graph: Graph, node: Node, *, cte: str | None = None
) -> tuple[Question, bool]:
    """What a test asks of its model, and whether the rows come in an order.

    Raises:
        Refused: The query cannot be written in Spark's SQL.
    """
    inputs = dict(test.inputs)
    if node.model.reads_itself and node.name not in inputs:
        own = tuple(each for each in declared_columns(node) if type_of(each.type))
        inputs[node.name] = GivenRows(columns=own, rows=())
    if isinstance(node.model.body, PythonFunction):
        return _function(test, node, node.model.body, inputs), False
    given = {name: each for name, each in inputs.items() if isinstance(each, GivenRows)}
    names = {name: f"given_{number}" for number, name in enumerate(sorted(given))}
    text = render_tested(
        graph,
        node.name,
        _times(test),
        by_interval=test.interval is not None,
        given=inputs,
        queries={
            name: placed(each.sql, catalog="")
            for name, each in inputs.items()
            if isinstance(each, GivenQuery)
        },
        target=lambda name: TableName("", names[name]) if name in names else None,
        cte=cte,
    )
    ordered = cte is None and read_spark(text).args.get("order") is not None
    tables = {names[name]: each for name, each in given.items()}
    return QueryOverRows(rows=SqlRows(sql=text), tables=tables), ordered


def _times(test: UnitTest) -> TimeRange:
    """What the macros stand for; those whose times the test does not give are not read."""
    execution = test.execution_time or EPOCH_DAY.execution_time
    if test.interval is None:
        end = EPOCH_DAY.last + MICROSECOND
        return replace(EPOCH_DAY, end=end, execution_time=execution)
    return TimeRange.of(test.interval, execution_time=execution)


def _function(
    test: UnitTest, node: Node, body: PythonFunction, inputs: Mapping[ModelName, Given]
) -> FunctionOverRows:
    """A function's call. Without an interval it is the epoch day; it is executed at its end."""
    interval = test.interval or Interval(EPOCH_DAY.start, EPOCH_DAY.last + MICROSECOND)
    rows = PythonRows(
        source=body.source,
        function=body.function,
        path=str(node.model.source.path),
        interval=interval,
        execution_time=test.execution_time or interval.end,
        variables={**body.variables, **test.variables},
        modules=body.modules,
    )
    tables = {str(name): each for name, each in inputs.items()}
    return FunctionOverRows(rows=rows, tables=tables, columns=node.model.columns)
