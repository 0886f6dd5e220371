"""Unit tests of a project: all files are read, and checked against the models, before one runs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.graph.graph import Graph, Node, build_graph
from vde_dagster.core.graph.render_model import inlined_models
from vde_dagster.core.model.model import Model, PythonFunction, Query
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.unit_tests.column_types import declared_columns
from vde_dagster.core.unit_tests.definition import Expected, Given, NeedsEngine, UnitTest
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.loading import SharedFiles, read_shared_files
from vde_dagster.project.model_files import read_model
from vde_dagster.project.problems import message_and_advice, suggestion
from vde_dagster.project.settings import texts_of
from vde_dagster.project.unit_tests.inputs import (
    TIMES,
    check_expected,
    check_inputs,
    check_times,
    expected_of,
    given_of,
    times_of,
)
from vde_dagster.project.unit_tests.kept import key_of
from vde_dagster.project.yaml_document import Entry, Reader, read_variables

FOLDER: Final = "tests"
"""The folder of the files with unit tests in a project."""
_KEYS: Final = ("description", "inputs", "model", "outputs", "vars")
_OUTPUTS: Final = ("ctes", "partial", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTest:
    """A unit test, and the models as it sees them: with its own variables.

    ``key`` stands for all that its result follows from; it is empty if the result may be another
    one each time. ``passed`` if the test with this key passed before. ``waits`` if the types of its
    rows are only told by an engine that must not be started. Of either nothing but the names of
    test and model is read.
    """

    test: UnitTest
    graph: Graph
    key: str = ""
    passed: bool = False
    waits: bool = False

    @property
    def node(self) -> Node:
        """The model that is tested."""
        return self.graph[self.test.model]


def unit_test_files(folder: Path) -> list[Path]:
    """The files with unit tests of a project's folder, in order; not those that begin with _."""
    inner = folder / FOLDER
    found = (*inner.rglob("*.yaml"), *inner.rglob("*.yml"))
    return sorted(each for each in found if not each.is_dir() and not each.name.startswith("_"))


ColumnsOf = Callable[[Graph, ModelName], Sequence[Column]]
"""The columns of a model, with undeclared types, too; it may raise NeedsEngine."""


def declared_of(graph: Graph, name: ModelName) -> Sequence[Column]:
    """The columns of a model with their declared types."""
    return declared_columns(graph[name])


def load_unit_tests(
    configuration: Configuration,
    graph: Graph,
    columns: ColumnsOf = declared_of,
    *,
    passed: Callable[[str], bool] = lambda _: False,
) -> tuple[LoadedTest, ...]:
    """All unit tests of a project, in the order of files and lines; none where there are no files.

    Args:
        configuration: The project's settings.
        graph: Its models.
        columns: Finds out undeclared types.
        passed: Whether the test of a key passed before; it is not read again then.

    Raises:
        ProjectInvalid: Something is wrong in any file: all problems at once.
    """
    reader = Reader()
    folder = configuration.folder
    roots = [reader.file(path, path.relative_to(folder)) for path in unit_test_files(folder)]
    loading = _Loading(
        configuration=configuration, graph=graph, reader=reader, columns=columns, passed=passed
    )
    return _tests(loading, roots)


def tests_in(
    configuration: Configuration,
    graph: Graph,
    text: str,
    path: Path,
    columns: ColumnsOf,
) -> tuple[LoadedTest, ...]:
    """The unit tests of a text, which is or will be the file of this path in the project.

    Raises:
        ProjectInvalid: Something is wrong in it: all problems at once.
    """
    reader = Reader()
    loading = _Loading(configuration=configuration, graph=graph, reader=reader, columns=columns)
    return _tests(loading, [reader.document(text, path)])


def _tests(loading: _Loading, roots: Sequence[Entry | None]) -> tuple[LoadedTest, ...]:
    reader = loading.reader
    tests: list[LoadedTest] = []
    for root in roots:
        if root is None:
            continue
        message = "a file of unit tests has to be a mapping of names to tests"
        advice = "Write each as `name:` with `model`, `inputs` and `outputs` under it."
        for name, entry in reader.below(root, message, advice).items():
            found = loading.test(name, entry)
            if found is not None:
                tests.append(found)
    if reader.problems:
        raise ProjectInvalid(dict.fromkeys(reader.problems))
    return tuple(tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loading:
    configuration: Configuration
    graph: Graph
    reader: Reader
    columns: ColumnsOf
    passed: Callable[[str], bool] = lambda _: False

    def test(self, name: str, entry: Entry) -> LoadedTest | None:
        """One test; None if so much of it is wrong that its parts cannot be read."""
        reader = self.reader
        if not entry.is_mapping:
            advice = "Write `model`, `inputs` and `outputs` under its name."
            reader.add(entry.place, f"the test {name} has to be a mapping", advice)
            return None
        reader.known(entry, _KEYS, f"the test {name}")
        model = self._model(name, entry)
        if model is None:
            return None
        given = entry.children.get("vars")
        times = {key: each for key, each in _children(given).items() if key in TIMES}
        others = {key: each for key, each in _children(given).items() if key not in TIMES}
        written = replace(given, children=others) if given is not None else None
        variables = read_variables(written, reader)
        names = self._input_names(entry)
        graph = self._graph(model, variables, given, names)
        if graph is None:
            return None
        node, key = graph[model], key_of(graph, graph[model], entry)
        bare = UnitTest(name=name, place=entry.place, model=model, inputs={})
        if key and self.passed(key):
            return LoadedTest(test=bare, graph=graph, key=key, passed=True)
        try:
            inputs = self._inputs(graph, names)
        except NeedsEngine:
            return LoadedTest(test=bare, graph=graph, waits=True)
        place = given.place if given is not None else entry.place
        interval, execution_time = times_of(times, place, reader)
        query, ctes = self._outputs(name, entry)
        test = UnitTest(
            name=name,
            place=entry.place,
            model=model,
            inputs=inputs,
            query=query,
            ctes=ctes,
            interval=interval,
            execution_time=execution_time,
            variables=variables,
            description=reader.text(entry.children.get("description"), ""),
        )
        check_inputs(graph, node, test, {name: each.place for name, each in names.items()}, reader)
        check_times(graph, node, test, given=times, place=place, reader=reader)
        check_expected(graph, node, test, reader)
        return LoadedTest(test=test, graph=graph, key=key)

    def _model(self, name: str, entry: Entry) -> ModelName | None:
        """The model that is tested; None, which is reported, if there is none to test."""
        written = entry.children.get("model")
        if written is None:
            advice = "Write `model: schema.name`."
            self.reader.add(entry.place, f"the test {name} names no model", advice)
            return None
        model = self._name(written, self.reader.text(written, ""))
        if model is None:
            return None
        if model not in self.graph:
            advice = suggestion(str(model), (str(node.name) for node in self.graph))
            self.reader.add(written.place, f"there is no model {model}", advice)
            return None
        if not isinstance(self.graph[model].model.body, Query | PythonFunction):
            what = self.graph[model].model.kind.keyword
            advice = "Test a downstream model."
            self.reader.add(
                written.place, f"{model} is of kind {what}, which computes nothing", advice
            )
            return None
        return model

    def _name(self, entry: Entry, text: str) -> ModelName | None:
        try:
            return ModelName.parse(text).within(self.configuration.catalog.name)
        except InvalidName as error:
            self.reader.add(entry.place, *message_and_advice(error))
            return None

    def _graph(
        self,
        model: ModelName,
        variables: Mapping[str, object],
        given: Entry | None,
        names: Mapping[ModelName, Entry],
    ) -> Graph | None:
        """The models with the test's variables; None, which is reported, if they do not fit."""
        if not variables or given is None:
            return self.graph
        try:
            return with_variables(self.configuration, self.graph, model, variables, given=names)
        except ProjectInvalid as error:
            for each in error.problems:
                message = f"{model} cannot be read with these variables: {each.message}"
                self.reader.add(given.place, message, f"{each.place}. {each.advice}")
            return None

    def _input_names(self, entry: Entry) -> dict[ModelName, Entry]:
        found: dict[ModelName, Entry] = {}
        message = "inputs has to be a mapping of tables to their rows"
        advice = "Write `schema.name:` with rows under it."
        for text, child in self.reader.below(entry.children.get("inputs"), message, advice).items():
            name = self._name(child, text)
            if name is not None and name in found:
                self.reader.add(child.place, f"{name} is given twice", "Remove one of them.")
            elif name is not None:
                found[name] = child
        return found

    def _inputs(self, graph: Graph, names: Mapping[ModelName, Entry]) -> dict[ModelName, Given]:
        return {
            name: given_of(
                name,
                declared_columns(graph[name]),
                child,
                self.reader,
                partial(self.columns, graph, name),
            )
            for name, child in names.items()
            if name in graph
        }

    def _outputs(self, name: str, entry: Entry) -> tuple[Expected | None, dict[str, Expected]]:
        reader = self.reader
        written = entry.children.get("outputs")
        outputs = _children(written)
        ctes = outputs.get("ctes")
        is_nothing = ctes is None or (ctes.is_mapping and not ctes.children)
        if "query" not in outputs and is_nothing:
            at = written.place if written is not None else entry.place
            advice = "Write `outputs:` with `query:` and its rows, `ctes:`, or both."
            reader.add(at, f"the test {name} expects nothing", advice)
        if written is not None:
            reader.known(written, _OUTPUTS, "outputs")
        partial = reader.flag(outputs.get("partial"), default=False)
        query = outputs.get("query")
        return (
            expected_of(query, reader, partial=partial, where="query") if query else None,
            dict(self._ctes(ctes, partial=partial)),
        )

    def _ctes(self, entry: Entry | None, *, partial: bool) -> Iterator[tuple[str, Expected]]:
        seen = set[str]()
        message = "ctes has to be a mapping of names to rows"
        advice = "Write each name with its rows under it."
        for name, child in self.reader.below(entry, message, advice).items():
            if name.lower() in seen:
                message = f"the CTE {name} is given twice"
                self.reader.add(child.place, message, "Remove one of them.")
            seen.add(name.lower())
            found = expected_of(child, self.reader, partial=partial, where=f"the CTE {name}")
            yield name.lower(), found


def _children(entry: Entry | None) -> Mapping[str, Entry]:
    return entry.children if entry is not None else {}


def with_variables(
    configuration: Configuration,
    graph: Graph,
    name: ModelName,
    variables: Mapping[str, object],
    *,
    given: Container[ModelName],
) -> Graph:
    """A model, with those that it reads, as if the project's variables had other values.

    The model and those that are inlined in its query are read again; of all others only the columns
    matter.

    Args:
        configuration: The project's settings.
        graph: Its models.
        name: The model.
        variables: The values that replace those of ``vde.yaml``, or are added to them.
        given: Models and sources whose rows are given: they are never inlined.

    Raises:
        ProjectInvalid: A model cannot be read with these values, or does not fit its parents.
    """
    problems: list[Problem] = []
    shared = read_shared_files(configuration, problems)
    inlined = inlined_models(graph, graph[name], views=True, given=given)
    every = {**configuration.variables, **variables}
    again = {
        each.name: _again(each.model, configuration, every, shared)
        for each in (graph[name], *inlined)
    }
    read = {name, *(parent for each in again.values() for parent in each.parents)}
    return build_graph([again.get(each.name, each.model) for each in graph.above(read)])


def _again(
    model: Model, configuration: Configuration, variables: Mapping[str, object], shared: SharedFiles
) -> Model:
    source = replace(
        model.source,
        defaults=texts_of(configuration.defaults, variables),
        attachments={**shared.texts, **model.source.attachments},
    )
    return read_model(
        source, functions=shared.functions, signals=shared.signals, audits=shared.audits
    )
