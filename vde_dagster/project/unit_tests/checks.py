"""What a unit test's model says about the test: inputs, times and columns that fit it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_tested import macros_read, needed_tables
from vde_dagster.core.model.model import PythonFunction, Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.text import names_of_ctes
from vde_dagster.core.unit_tests.cells import may_be
from vde_dagster.core.unit_tests.column_types import declared_columns
from vde_dagster.core.unit_tests.definition import Expected, UnitTest
from vde_dagster.project.problems import suggestion
from vde_dagster.project.yaml_document import Reader


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
        places: Where each input is written, also of those that are no model.
        reader: Collects what is wrong.
    """
    needed = set(needed_tables(graph, node, places))
    for name in sorted(needed - set(places)):
        advice = f"Give its rows below `inputs`, as `{name}: [...]`; [] for none."
        reader.add(
            test.place, f"{test.name}: {node.name} reads {name}, of which no rows are given", advice
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
                f"{test.name}: {node.name} reads @{macros[0]}, and the test gives no `{key}`",
                f"Write it below `vars`, as `{key}: 2024-01-31`.",
            )


def check_expected(graph: Graph, node: Node, test: UnitTest, reader: Reader) -> None:
    """Report expected columns, values and common table expressions that the model cannot return."""
    if test.query is not None:
        _check_rows(str(node.name), _returned(node), test.query, reader)
    body = node.model.body
    known = names_of_ctes(body.expression) if isinstance(body, Query) else ()
    for name, each in test.ctes.items():
        if name not in known:
            advice = suggestion(name, known) if known else "Expect rows of its `query`."
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
                message = f"{name}.{column.name}: {raw!r} is no {column.type}"
                reader.add(row.place, message, advice)
