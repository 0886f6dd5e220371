# ruff: noqa: E501 - rows of tables stay on one line
"""Whatever the files of a project contain: they load, or a problem says where and what to do.

What loads is also formatted, into files that mean the same, and rendered.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.project.fuzzed_files import (
    AUDIT_FILES,
    AUDITED_MODELS,
    AUDITS,
    BLOCKS,
    CONFIGURATIONS,
    EXTERNALS,
    GOOD_MODELS,
    KINDS,
    MACRO_MODELS,
    PROJECT,
    PYTHON,
    PYTHON_MODELS,
    QUERY,
    SEED_MODELS,
    SEEDS,
    SQL,
    Files,
    model_text,
    mutations,
    python_model,
)
from vde_dagster.core.audits.binding import audits_of
from vde_dagster.core.audits.queries import counting, failing_rows
from vde_dagster.core.errors import EvaluationFailed, ProjectInvalid, Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of, render_model
from vde_dagster.core.model.fingerprint import data_parts, metadata_parts
from vde_dagster.core.model.model import SeedRows
from vde_dagster.core.model.seed_rows import seed_rows
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.rendering import spark_text
from vde_dagster.project.formatting.models import format_model
from vde_dagster.project.loading import ProjectFiles, load_project

DAY = TimeRange(
    start=datetime(2024, 1, 31, tzinfo=UTC),
    end=datetime(2024, 2, 1, tzinfo=UTC),
    execution_time=datetime(2024, 2, 2, tzinfo=UTC),
)


def check(folder: Path, files: Files) -> None:
    """Everything that is true for any files of a project."""
    before = write(folder, {**PROJECT, **files})
    try:
        found = load_project(folder)
    except ProjectInvalid as error:
        check_told(error, before)
    else:
        for node in found.graph:
            check_rendered(found.graph, node)
        check_formatted(folder, found, before)
    assert contents(folder) == before


def write(folder: Path, files: Files) -> Mapping[Path, bytes]:
    """The files of a folder, which are these and no others."""
    for path in folder.rglob("*.*"):
        if path.is_file() and str(path.relative_to(folder)) not in files:
            path.unlink()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return contents(folder)


def contents(folder: Path) -> Mapping[Path, bytes]:
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def check_told(error: ProjectInvalid, files: Mapping[Path, bytes]) -> None:
    assert error.problems
    assert str(error).encode(), "it can be printed"
    for problem in error.problems:
        assert problem.message.strip(), problem
        assert problem.advice.strip(), problem
        (data,) = [data for path, data in files.items() if path.match(str(problem.place.path))]
        lines = data.decode("utf-8", "replace").splitlines()
        assert 1 <= problem.place.line <= len(lines) + 1, problem


def check_rendered(graph: Graph, node: Node) -> None:
    for inline_views in (True, False):
        with suppress(Refused):
            found = render_model(graph, node.name, DAY, target=stored, inline_views=inline_views)
            for each in (found.query, *found.before, *found.after):
                assert each.text
    with suppress(Refused):
        reads_of(graph, node.name)
    with suppress(Refused):
        audits = audits_of(graph, node.name, DAY)
        for audit in audits:
            assert failing_rows(audit).sql(dialect="spark")
        assert not audits or spark_text(counting(audits).query)
    if isinstance(node.model.body, SeedRows):
        with suppress(EvaluationFailed):
            seed_rows(node.model.body.text, node.columns)


def stored(name: ModelName) -> TableName:
    return TableName(name.schema, f"{name.name}__stored")


def check_formatted(folder: Path, found: ProjectFiles, before: Mapping[Path, bytes]) -> None:
    dialect = found.configuration.defaults.dialect
    after = dict(before)
    for node in found.graph:
        path = node.model.source.path
        if path.suffix == ".sql":
            text = node.model.source.text
            once = format_model(text, path=path, dialect=dialect)
            assert format_model(once, path=path, dialect=dialect) == once
            after[folder / path] = once.encode()
    if after == before:
        return
    try:
        write(folder, {str(path.relative_to(folder)): data for path, data in after.items()})
        assert parts(load_project(folder).graph) == parts(found.graph)
    finally:
        write(folder, {str(path.relative_to(folder)): data for path, data in before.items()})


def parts(graph: Graph) -> dict[ModelName, object]:
    return {node.name: _parts(node) for node in graph}


def _parts(node: Node) -> object:
    return (
        data_parts(node.model, node.canonical),
        metadata_parts(node.model, node.canonical),
        node.columns,
    )


PROJECTS: dict[str, st.SearchStrategy[Files]] = {
    "edited models": mutations(GOOD_MODELS).map(lambda each: {SQL: each}),
    "random blocks": BLOCKS.map(lambda each: {SQL: each}),
    "random headers of Python": PYTHON_MODELS.map(lambda each: {PYTHON: each}),
    "configurations": st.builds(
        lambda data, model: {"vde.yaml": data, SQL: model.encode()}, CONFIGURATIONS, GOOD_MODELS
    ),
    "sources": st.builds(
        lambda data, model: {"external_models.yaml": data, SQL: model.encode()},
        EXTERNALS,
        GOOD_MODELS,
    ),
    "seeds": st.builds(lambda data, model: {"seeds/s.csv": data, SQL: model}, SEEDS, SEED_MODELS),
    "audits": st.builds(
        lambda data, model: {AUDITS: data, SQL: model},
        mutations(st.sampled_from(AUDIT_FILES)),
        AUDITED_MODELS.map(str.encode) | mutations(AUDITED_MODELS),
    ),
    "macros": MACRO_MODELS.map(lambda each: {SQL: each}),
}
SHORT, LONG = 12, 3000
LONG_OF = {"audits": 1500}  # later examples take five times as long as the first ones


@pytest.mark.parametrize(
    "examples", [SHORT, pytest.param(LONG, marks=[pytest.mark.full, pytest.mark.timeout(3600)])]
)
@pytest.mark.parametrize("projects", PROJECTS)
def test_a_project_loads_or_its_problems_are_reported(
    tmp_path: Path, projects: str, examples: int
) -> None:
    @settings(
        max_examples=min(examples, LONG_OF.get(projects, LONG)),
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(PROJECTS[projects])
    def holds(files: Files) -> None:
        check(tmp_path, files)

    holds()


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_edited_loads_as_it_is(tmp_path: Path, kind: str) -> None:
    """Else only refusals would be tested."""
    timed = "INCREMENTAL" in kind or kind.startswith(("FULL", "SCD"))
    query = QUERY if timed else "SELECT id, shop FROM raw.orders"
    partitioned = ["partitioned_by (day)"] if "PARTITION" in kind else []
    write(tmp_path, {**PROJECT, SQL: model_text(kind, partitioned, query).encode()})
    found = load_project(tmp_path)
    assert ModelName("m", "x") in found.graph


def test_the_python_model_that_is_given_other_arguments_loads(tmp_path: Path) -> None:
    write(tmp_path, {**PROJECT, PYTHON: python_model([])})
    assert ModelName("m", "x") in load_project(tmp_path).graph


def sql(text: str) -> Files:
    return {SQL: text.encode()}


def python(key: str, value: str) -> Files:
    return {PYTHON: python_model([(key, value)])}


# Found by the tests above: the files, and what is reported now.
FOUND: list[tuple[Files, str, str, str]] = [
    ({SQL: b"MODEL (name m.x, kind FULL, audits (sequential_values (column := ts, interval := INTERVAL '1NULL' DAYMODEL)));\nSELECT id AS id, ts AS ts FROM raw.orders"}, SQL, "is not a SQL expression", "Check the SQL"),
    ({AUDITS: f"AUDIT (name above, defaults (bound {'x -> ' * 2000}x));\nSELECT 1".encode(), SQL: b"SELECT 1 AS a"}, "audits/a.sql", "the audit is nested too deeply", "Split it"),
    (python("kind", "10**5000"), "models/m/x.py:12", "Exceeds the limit (4300 digits)", "texts, numbers"),
    (python("clustered_by", "[{'name': 10**5000}]"), "models/m/x.py:12", "a name has to be a text, not a int", "texts, numbers"),
    (python("tags", "[{10**5000: 1}]"), "models/m/x.py:12", "Exceeds the limit (4300 digits)", "texts, numbers"),
    (python("tags", "{frozenset([10**5000])}"), "models/m/x.py:12", "a set is not a text", "texts, numbers"),
    (python("owner", r"'\ud800'"), "models/m/x.py:12", "surrogates not allowed", "texts, numbers"),
    (python("owner", r"{'\ud800': None}"), "models/m/x.py:12", "surrogates not allowed", "texts, numbers"),
    (sql("SELECT id FROM raw.`a b`"), SQL, "'a b' in the name 'raw.a b' is not a plain identifier", "Use letters"),
    (sql("SELECT id FROM raw.orders AS o GROUP BY @EACH([1, 2], x -> x) + 1"), SQL, "one expression is needed here", "Make the macro return one"),
    (sql("SELECT id FROM @EACH([a, b], x -> x)"), SQL, "one table is needed here, but the macro returns 2", "one model or source"),
    (sql("SELECT id FROM @given([id], 1)"), SQL, "a table is needed here", "one model or source"),
    (sql("SELECT id AS @{names} FROM raw.orders"), SQL, "is part of a name, but its value is not a text", "a text or a single name"),
    (sql("@DEF(x, @nothing()); SELECT @x AS x FROM raw.orders"), SQL, "the value that @DEF gives to @x has to be one expression, not 0", "Write one"),
    (sql("@DEF(f, x -> x); SELECT @f() AS x FROM raw.orders"), SQL, "@f takes 1 arguments (x), but 0 are given", "Write @f(x)."),
    (sql("SELECT @given(what := @nothing()) AS y FROM raw.orders"), SQL, "the argument 'what' of @given is not one", "Write `what := value`."),
    (sql("WITH c AS (@given(1 + 1)) SELECT * FROM c"), SQL, "a query is needed here", "Make the macro return a SELECT."),
    (sql("SELECT " + "STRUCT(" * 40 + "1" + ")" * 40 + " AS a"), SQL, "nested too deeply", "Split it"),
    (sql("SELECT * FROM " + "(SELECT * FROM " * 20_000 + "raw.orders" + ")" * 20_000), SQL, "nested too deeply", "Split it"),
    ({SQL: b"MODEL (name m.x, audits (positive(x := " + b"(SELECT * FROM " * 20_000 + b"raw.orders" + b")" * 20_000 + b")));\nSELECT 1 AS x"}, SQL, "nested too deeply", "Split it"),
    ({"vde.yaml": b"name: x\ndefaults: {cron: often}\n"}, "vde.yaml:2", "the cron 'often' is not valid", "Use one of"),
    ({"vde.yaml": b"name: x\nenvironments: {'//': {}}\n"}, "vde.yaml:2", "is not a valid environment name", "Use 1 to"),
    ({"vde.yaml": b"name: x\nclock: {valid_to: a.b.c.d}\n"}, "vde.yaml:2", "has 4 parts", "Write name, schema.name"),
]  # fmt: skip


@pytest.mark.parametrize("files,place,words,advice", FOUND, ids=[row[2] for row in FOUND])
def test_what_was_found_is_reported_with_advice(
    tmp_path: Path, files: Files, place: str, words: str, advice: str
) -> None:
    check(tmp_path, files)
    with pytest.raises(ProjectInvalid) as caught:
        load_project(tmp_path)
    assert any(
        str(each.place).startswith(place) and words in each.message and advice in each.advice
        for each in caught.value.problems
    ), caught.value
