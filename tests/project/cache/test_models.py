# ruff: noqa: E501 - rows of tables stay on one line
"""The cache of models: a cached model equals the one that would be read now, or is read again."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from sqlglot.serde import dump

from tests.depth import is_full
from tests.project import repositories
from tests.project.fuzzed_files import MACROS, PROJECT, SEED, Files
from tests.project.test_fuzz import PROJECTS, write
from vde_dagster.core.deferred import Deferred
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.model import Query
from vde_dagster.core.names import ModelName
from vde_dagster.project.cache.models import ModelCache
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.loading import ProjectFiles, load_files

CACHE = "cache.sqlite"
EXAMPLES = 40 if is_full() else 10


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> ModelCache:
    return ModelCache(path=tmp_path_factory.mktemp("cache") / CACHE)


def load(folder: Path, cache: ModelCache | None = None) -> ProjectFiles:
    return load_files(read_configuration(folder), cache)


def reported(folder: Path, cache: ModelCache | None = None) -> object:
    """Everything that loading says: the graph with all that is in it, or the problems."""
    try:
        files = load(folder, cache)
    except ProjectInvalid as error:
        return error.problems
    return files.graph, files.warnings, [facts(node) for node in files.graph]


def facts(node: Node) -> object:
    """What comparing two syntax trees leaves out: comments, positions, types."""
    body, canonical = node.model.body, node.canonical
    trees = [*body.before, body.expression, *body.after] if isinstance(body, Query) else []
    if canonical is not None:
        trees.append(canonical.expression)
    return node.model.warnings, [dump(tree) for tree in trees]


def is_packed(value: Deferred, field: str) -> bool:
    """Whether a field is still to be unpacked."""
    try:
        type(value).__dict__[field].__get__(value)
    except AttributeError:
        return True
    return False


def found_again(graph: Graph) -> set[str]:
    """The SQL models that were not read, and those that were not resolved."""
    return {
        f"{what} {node.name}"
        for node in graph
        for what, value in (("read", node.model.body), ("resolved", node.canonical))
        if isinstance(value, Deferred) and is_packed(value, "expression")
    }


def read(names: str) -> set[str]:
    return {f"read m.{name}" for name in names.split()}


def both(names: str) -> set[str]:
    return {f"{what} m.{name}" for what in ("read", "resolved") for name in names.split()}


# What is found is what would be read
@pytest.mark.full
@pytest.mark.parametrize("projects", PROJECTS)
def test_a_project_is_the_same_with_what_was_read_before(tmp_path: Path, projects: str) -> None:
    cache = ModelCache(path=tmp_path / CACHE)
    folder = tmp_path / "project"

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(PROJECTS[projects])
    def holds(files: Files) -> None:
        write(folder, {**PROJECT, **files})
        plain = reported(folder)
        assert reported(folder, cache) == plain  # of the examples before, and itself
        assert reported(folder, cache) == plain

    holds()


BASE: Mapping[str, str] = {
    "vde.yaml": "name: shop\ndefaults: {start: 2024-01-01}\nvariables: {number: 3, other: 1}\n",
    "external_models.yaml": "- name: raw.t\n  columns: {id: int, name: string, ts: timestamp}\n",
    "macros/m.py": MACROS,
    "macros/unused.py": "from vde_dagster import macro\n\n@macro()\ndef unused(x):\n    return x\n",
    "signals/s.py": "from vde_dagster import signal\n\n@signal()\ndef ready(batch):\n    return True\n",
    "seeds/s.csv": SEED,
    "models/m/top.sql": "MODEL (name m.top, kind FULL); SELECT id, @twice(id) AS two, @number AS n FROM raw.t",
    "models/m/below.sql": "MODEL (name m.below, kind FULL); SELECT * FROM m.top",
    "models/m/embed.sql": "MODEL (name m.embed, kind EMBEDDED); SELECT id, ts FROM raw.t WHERE ts <= @end_dt",
    "models/m/around.sql": "MODEL (name m.around, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), signals (ready())); SELECT id, ts FROM m.embed",
    "models/m/seeded.sql": "MODEL (name m.seeded, kind SEED (path '../../seeds/s.csv'));",
    "models/m/early.sql": "MODEL (name m.early, kind FULL, start '2023-01-01'); SELECT 1 AS one",
    "models/m/late.sql": "MODEL (name m.late, kind FULL); SELECT one FROM m.early",
    "models/m/warned.sql": "MODEL (name m.warned, kind FULL); SELECT '@start_ds' AS x, '@end_ds' AS y",
}
EVERY = "top below embed around early late warned"


def put(folder: Path, files: Mapping[str, str]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return repositories.write(folder, files)


@pytest.mark.full
def test_the_second_time_nothing_is_read_and_no_tree_is_unpacked(
    tmp_path: Path, cache: ModelCache
) -> None:
    folder = put(tmp_path / "p", BASE)
    plain = load(folder)
    assert found_again(load(folder, cache).graph) == set()
    again = load(folder, cache)
    assert found_again(again.graph) == both(EVERY)
    assert {node.name: node.fingerprint for node in again.graph} == {
        node.name: node.fingerprint for node in plain.graph
    }
    assert {node.name: node.columns for node in again.graph} == {
        node.name: node.columns for node in plain.graph
    }
    assert found_again(again.graph) == both(EVERY), "nor by asking for these"
    assert again.graph == plain.graph
    assert [facts(node) for node in again.graph] == [facts(node) for node in plain.graph]


def test_warnings_of_a_model_are_reported_each_time(
    tmp_path: Path, cache: ModelCache, caplog: pytest.LogCaptureFixture
) -> None:
    folder = put(tmp_path / "p", BASE)
    load(folder, cache)
    first = [record.getMessage() for record in caplog.records]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        warned = load(folder, cache).warnings
    assert [record.getMessage() for record in caplog.records] == first
    assert len(first) == len(warned) == 2


def test_what_a_model_would_not_get_is_refused_each_time(tmp_path: Path, cache: ModelCache) -> None:
    asked = "MODEL (name m.late, kind FULL, allow_partials true); SELECT one FROM m.early"
    folder = put(tmp_path / "p", {**BASE, "models/m/late.sql": asked})
    for _ in range(2):
        with pytest.raises(ProjectInvalid, match="allow_partials has no effect"):
            load(folder, cache)


# Each thing that a model depends on: the edit, what is read again, and what is resolved again,
# for which its tree and those of EMBEDDED models in it are unpacked
EDITS: list[tuple[str, Mapping[str, str], str, str]] = [
    ("a text", {"models/m/top.sql": BASE["models/m/top.sql"].replace("AS two", "AS double")}, "top", "top below"),
    ("a text that gives the same columns", {"models/m/top.sql": BASE["models/m/top.sql"].replace("@twice(id)", "(id * 2)")}, "top", "top"),
    ("a comment", {"models/m/top.sql": BASE["models/m/top.sql"] + " -- why"}, "top", "top"),
    ("a default", {"vde.yaml": BASE["vde.yaml"].replace("start: 2024-01-01", "start: 2024-01-01, dialect: duckdb")}, EVERY, EVERY),
    ("the default start", {"vde.yaml": BASE["vde.yaml"].replace("2024", "2022")}, EVERY, EVERY),
    ("a variable that is used", {"vde.yaml": BASE["vde.yaml"].replace("number: 3", "number: 4")}, EVERY, "top"),
    ("a variable that nobody uses", {"vde.yaml": BASE["vde.yaml"].replace("other: 1", "other: 2")}, EVERY, ""),
    ("a macro that is used", {"macros/m.py": MACROS.replace("* 2'", "* 3'")}, EVERY, "top"),
    ("a macro that nobody uses", {"macros/unused.py": BASE["macros/unused.py"].replace("return x", "return 1")}, EVERY, ""),
    ("a signal", {"signals/s.py": BASE["signals/s.py"].replace("True", "False")}, EVERY, "around embed"),
    ("a seed's content", {"seeds/s.csv": SEED + "4,d,\n"}, "", ""),
    ("the type of a source's column", {"external_models.yaml": BASE["external_models.yaml"].replace("id: int", "id: bigint")}, "", "top below embed around"),
    ("a column of a source that nobody reads", {"external_models.yaml": BASE["external_models.yaml"].replace("name: string", "title: string")}, "", "top embed around"),
    ("an embedded query", {"models/m/embed.sql": BASE["models/m/embed.sql"].replace("@end_dt", "@end_ts")}, "embed", "embed around"),
    ("the start of a model above", {"models/m/early.sql": BASE["models/m/early.sql"].replace("2023", "2022")}, "early", "early"),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("what,edit,read_anew,resolved_anew", EDITS, ids=[row[0] for row in EDITS])
def test_after_an_edit_what_depends_on_it_is_read_again_and_nothing_else(
    tmp_path: Path,
    cache: ModelCache,
    what: str,
    edit: Mapping[str, str],
    read_anew: str,
    resolved_anew: str,
) -> None:
    folder = put(tmp_path / "p", BASE)
    before = reported(folder, cache)
    put(folder, {**BASE, **edit})
    found = load(folder, cache)
    rebuilds = both(EVERY) - found_again(found.graph)
    assert rebuilds == read(read_anew) | both(resolved_anew)
    plain = reported(folder)
    assert (plain != before) == ("nobody uses" not in what)
    assert reported(folder, cache) == plain
    put(folder, BASE)
    assert reported(folder, cache) == before


# What is never kept
@pytest.mark.full
def test_what_is_wrong_with_a_model_is_reported_each_time(
    tmp_path: Path, cache: ModelCache
) -> None:
    wrong = {
        "models/m/text.sql": "MODEL (name m.text); SELECT FROM",
        "models/m/column.sql": "MODEL (name m.column); SELECT nothing FROM m.top",
        "models/m/kind.sql": "MODEL (name m.kind, kind INCREMENTAL_BY_TIME_RANGE (time_column ts)); SELECT ts FROM raw.t",
        "models/m/parent.sql": "MODEL (name m.parent); SELECT a FROM m.nobody",
    }
    folder = put(tmp_path / "p", {**BASE, **wrong})
    plain = reported(folder)
    assert isinstance(plain, tuple)
    assert len(plain) == len(wrong)
    assert reported(folder, cache) == reported(folder, cache) == plain
    assert not cache.path.exists(), "a project that was never read leaves nothing behind"
    put(folder, {"vde.yaml": "name: x\n", "models/m/a.sql": "SELECT 1 AS one"})
    load(folder, cache)
    put(folder, {**BASE, **wrong})
    assert reported(folder, cache) == plain
    put(folder, BASE)
    assert found_again(load(folder, cache).graph) == both(EVERY), "the others were right"


OPEN = [
    "import os\n", "import random\n", "import time\n", "from pathlib import Path\n", "import socket\n",
    "from os import environ\n", "import os.path\n", "from . import x\n", "def y(x): return open(x)\n",
    "from datetime import datetime\ndef y(x): return datetime.now()\n",
    "from datetime import date as d\ndef y(x): return d.today()\n",
    "def y(x): return __import__('os')\n", "def y(x): return eval(x)\n", "y = globals()\n",
    "def y(x): return hash(x)\n", "def y(x): return getattr(x, 'y')\n",
]  # fmt: skip
CLOSED = [
    "", "import re\n", "import math, itertools\n", "from datetime import date, timedelta\n",
    "from sqlglot import exp\n", "import sqlglot.expressions\n", "import json as j\n",
]  # fmt: skip


@pytest.mark.parametrize(
    "head,kept",
    [
        *(pytest.param(each, False, marks=pytest.mark.full) for each in OPEN),
        *(pytest.param(each, True, marks=pytest.mark.full) for each in CLOSED[1:]),
        (CLOSED[0], True),
    ],
)
def test_a_macro_that_may_read_more_than_its_arguments_runs_each_time(
    tmp_path: Path, cache: ModelCache, head: str, kept: bool
) -> None:
    source = f"from vde_dagster import macro\n{head}\n@macro()\ndef same(x):\n    return x\n"
    files = {
        "vde.yaml": "name: x\n",
        "macros/m.py": source,
        "models/m/uses.sql": "MODEL (name m.uses); SELECT @same(1) AS one",
        "models/m/plain.sql": "MODEL (name m.plain); SELECT 1 AS one",
    }
    if "from ." in head:
        with pytest.raises(ProjectInvalid):
            load(put(tmp_path / "p", files), cache)
        return
    folder = put(tmp_path / "p", files)
    load(folder, cache)
    expected = both("plain uses") if kept else both("plain")
    assert found_again(load(folder, cache).graph) == expected


def test_a_kept_view_of_a_table_as_it_was_cannot_be_read_by_a_model(
    tmp_path: Path, cache: ModelCache
) -> None:
    view = "MODEL (name m.old, kind VIEW); SELECT x FROM raw.t VERSION AS OF 1"
    source = "- name: raw.t\n  columns: {x: int}\n"
    files = {"vde.yaml": "name: x\n", "external_models.yaml": source, "models/m/old.sql": view}
    folder = put(tmp_path / "p", files)
    load(folder, cache)
    assert found_again(load(folder, cache).graph) == both("old")
    put(
        folder,
        {**files, "models/m/reads.sql": "MODEL (name m.reads, kind FULL); SELECT x FROM m.old"},
    )
    with pytest.raises(ProjectInvalid, match="a VIEW that reads a table as of a version"):
        load(folder, cache)


def test_a_macro_that_reads_the_environment_sees_it_as_it_is(
    tmp_path: Path, cache: ModelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    macro = "import os\nfrom vde_dagster import macro\n\n@macro()\ndef value():\n    return os.environ['VDE_TEST_VALUE']\n"
    files = {
        "vde.yaml": "name: x\n",
        "macros/m.py": macro,
        "models/m/a.sql": "SELECT @value() AS one",
    }
    folder = put(tmp_path / "p", files)
    for value in ("1", "2", "1"):
        monkeypatch.setenv("VDE_TEST_VALUE", value)
        body = load(folder, cache).graph[ModelName("m", "a")].model.body
        assert isinstance(body, Query)
        assert body.expression.sql() == f"SELECT {value} AS one"


def test_a_python_model_is_run_each_time(
    tmp_path: Path, cache: ModelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nfrom vde_dagster import model\n\n@model('m.a', columns={'one': 'int'}, owner=os.environ['VDE_TEST_VALUE'])\ndef rows(context):\n    return None\n"
    folder = put(tmp_path / "p", {"vde.yaml": "name: x\n", "models/m/a.py": text})
    for value in ("me", "you"):
        monkeypatch.setenv("VDE_TEST_VALUE", value)
        node = load(folder, cache).graph[ModelName("m", "a")]
        assert node.model.owner == value


@pytest.mark.full
def test_nothing_is_kept_or_found_while_a_python_file_fails(
    tmp_path: Path, cache: ModelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file declares where it fails, it may declare elsewhere with the same text."""
    signal = "import os\nfrom vde_dagster import signal\nos.environ['VDE_TEST_VALUE']\n\n@signal()\ndef ready(batch):\n    return True\n"
    files = {**BASE, "signals/s.py": signal}
    monkeypatch.delenv("VDE_TEST_VALUE", raising=False)
    folder = put(tmp_path / "p", files)
    with pytest.raises(ProjectInvalid, match="fails when it is imported"):
        load(folder, cache)
    assert not cache.path.exists()
    monkeypatch.setenv("VDE_TEST_VALUE", "there")
    assert reported(folder, cache) == reported(folder, cache) == reported(folder)


# Other code
@pytest.mark.full
def test_what_other_code_has_read_is_not_found(tmp_path: Path, cache: ModelCache) -> None:
    folder = put(tmp_path / "p", BASE)
    load(folder, cache)
    other = ModelCache(path=cache.path, code="of another version")
    assert found_again(load(folder, other).graph) == set()
    assert found_again(load(folder, other).graph) == both(EVERY)
    assert found_again(load(folder, cache).graph) == both(EVERY), "nor is it lost"
