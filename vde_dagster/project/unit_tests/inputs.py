"""The rows that a unit test gives in place of a table, read as the types of its columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_tested import macros_read, needed_tables
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.spark.unreadable import unreadable
from vde_dagster.core.sql.text import names_of_ctes
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.written import written_end, written_instant
from vde_dagster.core.unit_tests.cells import NULL_TYPE, Raw, WrongValue, may_be, read_cell, type_of
from vde_dagster.core.unit_tests.column_types import declared_columns, is_open, with_types
from vde_dagster.core.unit_tests.definition import (
    Expected,
    ExpectedRow,
    Given,
    GivenQuery,
    GivenRows,
    NeedsEngine,
    UnitTest,
)
from vde_dagster.project.problems import suggestion
from vde_dagster.project.yaml_document import Entry, Reader

_KEYS: Final = ("columns", "query", "rows")


Asking = Callable[[], Sequence[Column]]
"""Finds out the undeclared types of a table's columns."""


def given_of(
    name: ModelName, known: Sequence[Column], entry: Entry, reader: Reader, asking: Asking
) -> Given:
    """What stands for a table: a list of rows, or a mapping with ``rows`` or a ``query``.

    A column that a row leaves out is NULL.

    Args:
        name: The model or source.
        known: Its columns, empty where they are not declared. ``columns`` in the file says their
            types where they are not known.
        entry: What the file has for it.
        reader: Collects what is wrong.
        asking: Finds out types that are not known, and that neither file says.

    Raises:
        NeedsEngine: They cannot be found out without an engine.
    """
    rows, columns = entry, tuple(known)
    if entry.tag == "map":
        reader.known(entry, _KEYS, f"the input {name}")
        query = entry.children.get("query")
        if query is not None:
            return _query(name, entry, query, reader)
        columns = _columns(name, known, entry.children.get("columns"), reader)
        found = entry.children.get("rows")
        if found is None:
            reader.add(entry.place, f"the input {name} has neither `rows` nor `query`", ROWS_ADVICE)
            return GivenRows(columns=columns, rows=())
        rows = found
    return _rows(name, columns, rows, reader, asking)


def _query(name: ModelName, entry: Entry, query: Entry, reader: Reader) -> GivenQuery:
    if len(entry.children) > 1:
        message = f"the input {name} has other keys next to `query`"
        reader.add(entry.place, message, "Write either `rows` or `query`.")
    text = reader.text(query, "").strip().rstrip(";")
    advice = "Write one SELECT in Spark's dialect that reads no table, such as SELECT 1 AS id."
    try:
        parsed = read_spark(text)
    except SQL_ERRORS as error:
        message = f"the query of {name} does not parse: {first_line(error)}"
        reader.add(query.place, message, advice)
        return GivenQuery(sql=text)
    if not isinstance(parsed, exp.Query) or any(each.db for each in parsed.find_all(exp.Table)):
        reader.add(query.place, f"the query of {name} is not a query, or reads a table", advice)
    for wrong in unreadable(text):
        message = f"the query of {name}: Spark SQL does not have {wrong.message}"
        reader.add(query.place, message, wrong.advice)
    return GivenQuery(sql=text)


def _columns(
    name: ModelName, known: Sequence[Column], entry: Entry | None, reader: Reader
) -> tuple[Column, ...]:
    """The columns with the types that the file says; those that were not known are added."""
    below = reader.below(
        entry, "columns has to be a mapping of names to types", "Write `name: type`."
    )
    written = {key.lower(): child for key, child in below.items()}
    names = {each.name.lower() for each in known}
    types: dict[str, str] = {}
    for key, child in written.items():
        types[key] = reader.text(child, "")
        if type_of(types[key]) is None:
            message = f"{types[key]!r} is not a type whose values can be written"
            reader.add(child.place, message, "Write one of Spark's types, such as bigint.")
        elif known and key not in names:
            advice = suggestion(key, (each.name for each in known))
            reader.add(child.place, f"{name} has no column {key}", advice)
    typed = [Column(name=each.name, type=types.get(each.name.lower(), each.type)) for each in known]
    return (*typed, *(Column(name=key, type=types[key]) for key in types if key not in names))


def _rows(
    name: ModelName, columns: Sequence[Column], entry: Entry, reader: Reader, asking: Asking
) -> GivenRows:
    rows = list(rows_of(entry, reader))
    named = {key.lower(): child for row in rows for key, child in row.children.items()}
    if is_open(columns):
        try:
            columns = with_types(columns, asking())
        except NeedsEngine:  # what no row names is NULL
            if is_open(each for each in columns if each.name.lower() in named):
                raise
    known = {each.name.lower(): each for each in columns}
    for key, child in named.items():
        if key not in known and columns:
            advice = suggestion(key, (each.name for each in columns))
            reader.add(child.place, f"{name} has no column {key}", advice)
        elif key not in known or type_of(known[key].type) is None:
            kind = known[key].type if key in known else UNKNOWN_TYPE
            what = "is not known" if kind == UNKNOWN_TYPE else f"is {kind}, which cannot be written"
            reader.add(
                child.place,
                f"the type of {name}.{key} {what}",
                f"Write it next to the input's `rows`, as `columns: {{{key}: bigint}}` if "
                f"that is its type, or declare it where {name} is defined, in its `columns`.",
            )
    read = tuple(each if type_of(each.type) is not None else _null(each) for each in columns)
    return GivenRows(
        columns=read, rows=tuple(tuple(_cells(name, read, row, reader)) for row in rows)
    )


def _null(column: Column) -> Column:
    """A column that no row names, and whose type is not known: all of it is NULL."""
    return Column(name=column.name, type=NULL_TYPE)


def _cells(
    name: ModelName, columns: Sequence[Column], row: Entry, reader: Reader
) -> Iterator[object]:
    given = {key.lower(): child for key, child in row.children.items()}
    for column in columns:
        child = given.get(column.name.lower())
        if child is None or column.type == NULL_TYPE:
            yield None
            continue
        try:
            yield read_cell(raw_of(child), column.type)
        except WrongValue as error:
            message = f"{name}.{column.name}: {error}"
            reader.add(child.place, message, "Write a value of that type, or null.")
            yield None


ROWS_ADVICE: Final = "Write a list of rows, each as `- column: value`, or [] for none."


def raw_of(entry: Entry) -> Raw:
    """A value as it is written, all single values as texts."""
    if entry.tag == "map":
        return {key: raw_of(child) for key, child in entry.children.items()}
    if entry.tag == "seq":
        return [raw_of(each) for each in entry.items]
    return entry.value if isinstance(entry.value, str) else None


def rows_of(entry: Entry, reader: Reader) -> Iterator[Entry]:
    """The rows of a list, each a mapping; what is none is reported, and columns given twice."""
    if entry.tag not in ("seq", "null"):
        reader.add(entry.place, "rows have to be a list", ROWS_ADVICE)
        return
    for each in entry.items:
        if each.tag == "map":
            names = [key.lower() for key in each.children]
            for name in dict.fromkeys(name for name in names if names.count(name) > 1):
                reader.add(each.place, f"the column {name} is given twice", "Remove one of them.")
            yield each
        else:
            reader.add(each.place, "a row has to be a mapping of columns to values", ROWS_ADVICE)


def expected_of(entry: Entry, reader: Reader, *, partial: bool, where: str) -> Expected:
    """Expected rows: a list of them, or a mapping with ``rows`` and perhaps ``partial``."""
    rows = entry
    if entry.tag == "map":
        reader.known(entry, ("partial", "rows"), where)
        partial = reader.flag(entry.children.get("partial"), default=partial)
        found = entry.children.get("rows")
        if found is None:
            reader.add(entry.place, f"{where} has no `rows`", ROWS_ADVICE)
            return Expected(rows=(), place=entry.place, partial=partial)
        rows = found
    written = [
        ExpectedRow(
            values={key: raw_of(child) for key, child in row.children.items()}, place=row.place
        )
        for row in rows_of(rows, reader)
    ]
    return Expected(rows=tuple(written), place=entry.place, partial=partial)


TIMES: Final = ("start", "end", "execution_time")
"""The names among ``vars`` that are not variables of the project."""


def times_of(
    given: Mapping[str, Entry], place: Place, reader: Reader
) -> tuple[Interval | None, datetime | None]:
    """The interval and the execution time that ``vars`` give; a date as an end is the whole day."""
    start = _instant(given.get("start"), reader, written_instant)
    end = _instant(given.get("end"), reader, written_end)
    execution = _instant(given.get("execution_time"), reader, written_instant)
    if start is None or end is None:
        if ("start" in given) != ("end" in given):
            advice = (
                "Give both: they are the range of rows to compute. A date as an end "
                "includes its day."
            )
            reader.add(place, "one of `start` and `end` is given without the other", advice)
        return None, execution
    if end <= start:
        reader.add(place, "`end` is not after `start`", "Set a later end.")
        return None, execution
    return Interval(start, end), execution


def _instant(
    entry: Entry | None, reader: Reader, read: Callable[[str], datetime]
) -> datetime | None:
    if entry is None:
        return None
    try:
        return read(reader.text(entry, ""))
    except ValueError as error:
        reader.add(entry.place, str(error), "Times without an offset are UTC.")
        return None


def check_inputs(
    graph: Graph,
    node: Node,
    test: UnitTest,
    places: Mapping[ModelName, Place],
    reader: Reader,
) -> None:
    """Report tables that the model reads and the test gives no rows of, and others that it gives.

    Args:
        graph: The models as the test sees them.
        node: The one that is tested.
        test: The test.
        places: Where each input is written, also of those that are not models.
        reader: Collects what is wrong.
    """
    needed = set(needed_tables(graph, node, places))
    for name in sorted(needed - set(places)):
        advice = f"Give its rows under `inputs`, as `{name}: [...]`, or [] for none."
        reader.add(
            test.place,
            f"{test.name}: {node.name} reads {name}, but the test gives no rows of it",
            advice,
        )
    own = {node.name} if node.model.reads_itself else set[ModelName]()
    for name in sorted(set(places) - needed - own):
        known = [str(each) for each in sorted(needed | own)]
        advice = suggestion(str(name), known) if known else f"Remove {name}."
        reader.add(places[name], f"{node.name} does not read {name}", advice)


def check_times(
    graph: Graph,
    node: Node,
    test: UnitTest,
    *,
    given: Container[str],
    place: Place,
    reader: Reader,
) -> None:
    """Report time macros that the model reads, and whose times the test does not give."""
    read = macros_read(graph, node, test.inputs)
    for moment, key in (("start", "start"), ("end", "end"), ("execution", "execution_time")):
        macros = sorted(each for each in read if each.startswith(f"{moment}_"))
        if macros and key not in given:
            reader.add(
                place,
                f"{test.name}: {node.name} reads @{macros[0]}, but the test gives no `{key}`",
                f"Write it under `vars`, as `{key}: 2024-01-31`.",
            )


def check_expected(graph: Graph, node: Node, test: UnitTest, reader: Reader) -> None:
    """Report expected columns, values and common table expressions that the model cannot return."""
    if test.query is not None:
        _check_rows(str(node.name), _returned(node), test.query, reader)
    body = node.model.body
    known = names_of_ctes(body.expression) if isinstance(body, Query) else ()
    for name, each in test.ctes.items():
        if name not in known:
            advice = suggestion(name, known) if known else "Expect rows of `query` instead."
            reader.add(each.place, f"{node.name} has no common table expression {name}", advice)


def _returned(node: Node) -> Sequence[Column]:
    """What a model is known to return: what its query returns, or what a function declares."""
    if isinstance(node.model.body, PythonFunction):
        return node.model.columns
    returned = node.canonical.columns if node.canonical is not None else ()
    names = {each.name.lower() for each in returned}
    return [each for each in declared_columns(node) if each.name.lower() in names]


def _check_rows(name: str, columns: Sequence[Column], expected: Expected, reader: Reader) -> None:
    if not columns:
        return
    known = {each.name.lower(): each for each in columns}
    reported = set[str]()
    for row in expected.rows:
        for key, raw in row.values.items():
            column = known.get(key.lower())
            if column is None and key not in reported:
                reported.add(key)
                advice = suggestion(key, (each.name for each in columns))
                reader.add(row.place, f"{name} returns no column {key}", advice)
            elif column is not None and not may_be(raw, column.type):
                advice = "Write a value of that type, or null."
                message = f"{name}.{column.name}: {raw!r} is not a value of type {column.type}"
                reader.add(row.place, message, advice)
