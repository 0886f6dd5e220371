"""A unit test written from live rows: what the model reads, and what it returns for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlglot import exp

from vde_dagster.app.unit_tests.asking import question_of
from vde_dagster.app.unit_tests.column_types import ColumnTypes
from vde_dagster.app.unit_tests.running import Engines, Outcome, run_tests
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_tested import macros_read, needed_tables
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.formats import axis_type
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.cells import NULL_TYPE, type_of
from vde_dagster.core.unit_tests.column_types import declared_columns, is_open, with_types
from vde_dagster.core.unit_tests.definition import GivenRows, NeedsEngine, UnitTest
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.unit_tests.loading import FOLDER, tests_in
from vde_dagster.project.unit_tests.writing import text_of_test

Fetch = Callable[[str], tuple[Sequence[str], Sequence[Sequence[object]]]]
"""Runs a query over models, and returns the names of its columns and its rows."""
Recorded = Callable[[ModelName], Sequence[Column]]
"""The columns that the live table of a model is recorded to have; none where there is no such."""
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A test to be written: its name, its model, its times, and queries for some of its inputs."""

    name: str
    model: ModelName
    interval: Interval | None
    execution_time: datetime
    queries: Mapping[ModelName, str]

    @property
    def path(self) -> Path:
        """Its file in the project."""
        return Path(FOLDER) / f"{self.name}.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The text of a test that passes, and how many rows it gives of each input and expects."""

    text: str
    inputs: Mapping[ModelName, int]
    rows: int


def create_test(
    configuration: Configuration,
    graph: Graph,
    wanted: Wanted,
    fetch: Fetch,
    engines: Engines,
    *,
    recorded: Recorded = lambda _: (),
) -> Created:
    """The text of a test with live rows, which was run and passes. Nothing is written.

    Args:
        configuration: The project's settings.
        graph: Its models.
        wanted: What to write.
        fetch: Where live rows come from.
        engines: Who computes what the model returns for them.
        recorded: Who knows the types that no rule tells. The test says them.

    Raises:
        Refused: The model reads no such table as a query is given for, a type has no form in a
            file, or the test would not pass as it would be written.
        EvaluationFailed: A query failed.
    """
    node = graph[wanted.model]
    needed = sorted(needed_tables(graph, node, wanted.queries))
    unread = sorted(set(wanted.queries) - set(needed))
    if unread:
        raise Refused(
            f"{wanted.model} does not read {unread[0]}",
            advice=f"It reads {', '.join(map(str, needed)) or 'nothing'}.",
        )
    known = _known_columns(graph, needed, engines, recorded)
    inputs = {name: _given(graph, node, name, wanted, fetch, known=known[name]) for name in needed}
    test = UnitTest(
        name=wanted.name,
        place=Place(path=wanted.path),
        model=wanted.model,
        inputs=inputs,
        interval=wanted.interval,
        execution_time=wanted.execution_time,
    )
    question, _ = question_of(test, graph, node)
    answer, _ = engines.answer(question, subject=str(wanted.model))
    assert answer is not None, "the engine answers everything"
    asks = any(each.startswith("execution_") for each in macros_read(graph, node, inputs))
    text = text_of_test(
        wanted.name,
        wanted.model,
        inputs=inputs,
        types={name: _added_types(graph, name, each, engines) for name, each in inputs.items()},
        answer=answer,
        interval=wanted.interval,
        execution_time=wanted.execution_time if asks or node.canonical is None else None,
    )
    _check(configuration, graph, wanted, text, engines)
    counts = {name: len(each.rows) for name, each in inputs.items()}
    return Created(text=text, inputs=counts, rows=len(answer.rows))


def _check(
    configuration: Configuration, graph: Graph, wanted: Wanted, text: str, engines: Engines
) -> None:
    """Read and run the text as `vde test` will.

    Raises:
        Refused: It does not pass: the model is nondeterministic, or a value has no form in YAML.
    """
    columns = ColumnTypes(engines=engines).columns
    (result,) = run_tests(tests_in(configuration, graph, text, wanted.path, columns), engines)
    if result.outcome is not Outcome.PASSED:
        raise Refused(
            f"the test of {wanted.model} did not pass when it was run, so nothing was "
            f"written{f': {result.error}' if result.error else ''}",
            advice="Models whose rows differ from run to run cannot have such a test.",
        )


def _known_columns(
    graph: Graph, names: Sequence[ModelName], engines: Engines, recorded: Recorded
) -> dict[ModelName, tuple[Column, ...]]:
    """The columns of models with their types: declared or recorded, else as an engine says."""
    types = ColumnTypes(engines=engines)
    known = dict[ModelName, tuple[Column, ...]]()
    for name in names:
        known[name] = with_types(declared_columns(graph[name]), recorded(name))
        if is_open(known[name]):
            known[name] = with_types(known[name], types.columns(graph, name))
    return known


def _added_types(
    graph: Graph, name: ModelName, given: GivenRows, engines: Engines
) -> Mapping[str, str]:
    """The types that a test says, so that no engine is started to find them out."""
    quick = ColumnTypes(engines=Engines(engine=None, quick=engines.quick))
    try:
        known = quick.columns(graph, name)
    except NeedsEngine:
        known = declared_columns(graph[name])
    unknown = {each.name for each in known if each.type == UNKNOWN_TYPE}
    return {
        each.name: each.type
        for each in given.columns
        if each.name in unknown and each.type != NULL_TYPE
    }


def _given(
    graph: Graph,
    node: Node,
    name: ModelName,
    wanted: Wanted,
    fetch: Fetch,
    *,
    known: Sequence[Column],
) -> GivenRows:
    """Live rows of one table that a model reads, in the types of its columns."""
    columns = [each for each in known if type_of(each.type) is not None]
    if not columns:
        raise Refused(
            f"the column types of {name} are unknown",
            advice="Declare them: `vde create-external-models` does it for sources.",
        )
    found, rows = fetch(wanted.queries.get(name) or _query(graph, node, name, wanted, columns))
    places = {each.lower(): at for at, each in enumerate(found)}
    given = [each for each in columns if each.name.lower() in places]
    others = [
        Column(name=each.name, type=NULL_TYPE)
        for each in known
        if each.name.lower() not in {each.name.lower() for each in given}
    ]
    nothing = (None,) * len(others)
    return GivenRows(
        columns=(*given, *others),
        rows=tuple(
            (*(_plain(row[places[each.name.lower()]]) for each in given), *nothing) for row in rows
        ),
    )


def _query(
    graph: Graph, node: Node, name: ModelName, wanted: Wanted, columns: Sequence[Column]
) -> str:
    """A query for the rows of a table: those of the interval, if it has a time to tell by.

    That time is the table's own, or else a column that is called as that of the model.
    """
    names = [exp.to_identifier(each.name, quoted=True) for each in columns]
    table = exp.table_(name.name, db=name.schema, catalog=name.catalog or None, quoted=True)
    query = exp.select(*(exp.Column(this=each) for each in names)).from_(table)
    own = graph[name].time_axis
    column = own.column if own is not None else node.model.time_column
    kinds = {each.name.lower(): axis_type(each.type) for each in columns}
    kind = kinds.get(column.lower(), "") if column is not None else ""
    if wanted.interval is None or column is None or (own is None and kind not in _TIMES):
        return query.sql("spark")
    time = exp.Column(this=exp.to_identifier(column, quoted=True))
    time_format = own.format if own is not None else ""
    inside = within(time, wanted.interval, time_type=kind, time_format=time_format)
    return query.where(inside).sql("spark")


def _plain(value: object) -> object:
    """A value of an engine as a dictionary, a list or a single value."""
    as_dict = getattr(value, "asDict", None)  # a row of Spark
    if callable(as_dict):
        value = as_dict()
    match value:
        case dict():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case bytearray():
            return bytes(value)
        case _:
            return value
