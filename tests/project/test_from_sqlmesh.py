"""What comes along from SQLMesh is named once, with what to do, instead of being ignored."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from tests.project.repositories import write
from vde_dagster.core.errors import Problem
from vde_dagster.project.from_sqlmesh import ignored_files
from vde_dagster.project.loading import load_project

PROJECT = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\n",
    "external_models.yaml": "- name: raw.t\n  columns: {a: int}\n",
    "models/m/a.sql": "SELECT a FROM raw.t",
}
DECORATED = "from sqlmesh import macro\n\n@macro()\ndef x(evaluator): ...\n"


def written(folder: Path, files: dict[str, str]) -> Path:
    return write(folder, {**PROJECT, **files})


def problems(folder: Path, files: dict[str, str]) -> list[Problem]:
    return list(problems_of(lambda: load_project(written(folder, files))))


@pytest.mark.parametrize(
    "path, text, advice",
    [
        ("config.py", "from sqlmesh.core.config import Config", "vde.yaml"),
        ("config.yaml", "gateways: {}\n", "vde.yaml"),
        (
            "config.yaml",
            "before_all:\n- CREATE SCHEMA x\n",
            "before_all and after_all are not supported",
        ),
        ("schema.yaml", "- name: a.b\n", "external_models.yaml"),
        ("external_models/prod.yaml", "- name: a.b\n", "external_models.yaml"),
        ("linter/user.py", "class X(Rule): ...", "linter"),
        ("metrics/m.sql", "METRIC (name x);", "columns of a model"),
        ("materializations/x.py", "class X: ...", "reference/kinds in the docs"),
        ("macros/m.sql", "{% macro x() %}{% endmacro %}", "macros/NAME.py"),
        ("macros/__init__.py", DECORATED, "macros/NAME.py"),
        ("signals/__init__.py", "@signal()\ndef s(b): ...", "signals/NAME.py"),
    ],
)
def test_a_file_that_nothing_reads_is_named_once(
    path: str, text: str, advice: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path, {path: text})
    with caplog.at_level(logging.WARNING):
        load_project(tmp_path)
    (warning,) = ignored_files(tmp_path)
    assert warning.place.path.as_posix() == path
    assert advice in warning.advice
    assert [record.args for record in caplog.records] == [(warning,)]


@pytest.mark.parametrize(
    "path, text",
    [
        ("macros/__init__.py", ""),
        ("signals/__init__.py", "\n"),
        ("config.py", "RATE = 3\n"),
        ("seeds/config.yaml", "x: 1\n"),
    ],
)
def test_files_without_a_meaning_are_not_named(path: str, text: str, tmp_path: Path) -> None:
    assert list(ignored_files(written(tmp_path, {path: text}))) == []


def test_they_are_named_too_where_the_project_has_problems(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        files = {"config.py": "import sqlmesh", "models/m/b.sql": "SELECT nope FROM raw.t"}
        problems(tmp_path, files)
    assert [record.getMessage().splitlines()[0] for record in caplog.records] == [
        "config.py:1: this file is not read"
    ]


@pytest.mark.parametrize(
    "path, head, line",
    [
        ("models/m/b.py", "from sqlmesh import model", 1),
        ("models/m/b.py", "import os\nimport sqlmesh", 2),
        ("models/m/b.py", "from sqlmesh.core.x import Y", 1),
        ("macros/m.py", "from sqlmesh import SQL, macro", 1),
        ("signals/s.py", "from sqlmesh import signal", 1),
    ],
)
def test_an_import_of_sqlmesh_says_what_to_import(
    path: str, head: str, line: int, tmp_path: Path
) -> None:
    (found,) = problems(tmp_path, {path: f"{head}\n\ndef f(x): ...\n"})
    assert (found.place.path.as_posix(), found.place.line) == (path, line)
    assert "Import `macro`, `model` and `signal` from vde_dagster" in found.advice


def test_an_import_that_is_not_run_is_none(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sqlmesh\n"
    assert len(list(load_project(written(tmp_path, {"signals/s.py": text})).graph)) == 2


IS_SQL = """from vde_dagster import model

@model('m.b', columns={{'a': 'int'}},
  is_sql={})
def f(context): ...
"""
BLUEPRINTS = "MODEL (\n  name @{c}.x,\n  blueprints ((c := a, d := 1), (c := b, d := 2))\n);\n"


@pytest.mark.parametrize(
    "path, text, line, message",
    [
        ("models/m/b.sql", BLUEPRINTS + "SELECT 1 AS d", 3, "blueprints"),
        ("models/m/b.sql", "MODEL (\n  name @name);\nSELECT 1 AS a", 2, "blueprints"),
        ("models/m/helper.py", "def shared(): ...\n", 1, "0 functions"),
        (
            "models/m/b.py",
            IS_SQL.format(True),
            4,
            "is_sql",
        ),
        (
            "models/m/b.sql",
            "MODEL (name m.b);\nSELECT 1 AS a;\n\nMODEL (name m.c);\nSELECT 2 AS a",
            4,
            "a second MODEL block",
        ),
        ("models/m/b.sql", "SELECT\n  a,\n  a + 1,\n  a AS b\nFROM raw.t", 3, "has no name"),
    ],
)
def test_what_has_another_form_here_is_told_at_its_line(
    path: str, text: str, line: int, message: str, tmp_path: Path
) -> None:
    (found,) = problems(tmp_path, {path: text})
    assert (found.place.path.as_posix(), found.place.line) == (path, line)
    assert message in found.message
    assert found.advice


def test_a_helper_is_told_where_to_stand(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, {"models/helper.py": "def shared(): ...\n"})
    assert "out of models/" in found.advice


def test_is_sql_false_means_nothing(tmp_path: Path) -> None:
    files = {"models/m/b.py": IS_SQL.format(False)}
    assert len(list(load_project(written(tmp_path, files)).graph)) == 3
