"""What a Python model imports is part of what it is, wherever in its code the import stands."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from vde_dagster.core.fingerprint import fingerprint
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.project.configuration import Defaults
from vde_dagster.project.model_files import read_model
from vde_dagster.project.python_imports import imported_code

MODEL: Final = """
from vde_dagster import model
{top}

@model("m.x", columns={{"a": "int"}}, depends_on=["raw.t"])
def x(context):
    {inside}
    return context.table("raw.t")
"""
FILES: Final = {
    "vde_shop_one.py": "LIMIT = 1\n",
    "vde_shop_two.py": "def late():\n    import vde_shop_one\n    return vde_shop_one.LIMIT\n",
    "vde_shop/__init__.py": "",
    "vde_shop/rates.py": "RATE = 1\n",
    "vde_shop/deep/__init__.py": "from .inner import VALUE\n",
    "vde_shop/deep/inner.py": "from .. import rates\nVALUE = rates.RATE\n",
    "vde_shop/unread.py": "RATE = 1\n",
    "vde_plain/part.py": "RATE = 1\n",
}


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path, such as that of the project."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [each for each in sys.modules if each.startswith(("vde_shop", "vde_plain"))]:
        del sys.modules[name]


def read(*, top: str = "", inside: str = "") -> Model:
    text = MODEL.format(top=top, inside=inside)
    return read_model(
        ModelSource(path=Path("models/m/x.py"), text=text, defaults=Defaults().as_texts())
    )


def data_of(model: Model) -> str:
    return fingerprint(model, None, ()).data


@pytest.mark.parametrize(
    "statement,edited",
    [
        ("import vde_shop_one", "vde_shop_one.py"),
        ("import vde_shop_one as one", "vde_shop_one.py"),
        ("from vde_shop_one import LIMIT", "vde_shop_one.py"),
        ("from vde_shop_two import late", "vde_shop_two.py"),
        ("from vde_shop_two import late", "vde_shop_one.py"),  # what is imported in turn
        ("import vde_shop.rates", "vde_shop/rates.py"),
        ("import vde_shop.rates", "vde_shop/__init__.py"),
        ("from vde_shop import rates", "vde_shop/rates.py"),
        ("from vde_shop.rates import RATE", "vde_shop/rates.py"),
        ("from vde_shop.deep import VALUE", "vde_shop/deep/inner.py"),
        ("from vde_shop.deep import VALUE", "vde_shop/rates.py"),
        ("from vde_plain.part import RATE", "vde_plain/part.py"),  # a package without __init__
        ("import importlib; importlib.import_module('vde_shop.rates')", "vde_shop/rates.py"),
    ],
)
@pytest.mark.parametrize("where", ["top", "inside"])
def test_another_module_beside_the_model_is_another_model(
    beside: Path, where: str, statement: str, edited: str
) -> None:
    written = {where: statement}
    before = data_of(read(**written))
    path = beside / edited
    path.write_text(path.read_text() + "OTHER = 2\n")
    assert data_of(read(**written)) != before


@pytest.mark.parametrize(
    "statement,edited,text",
    [
        ("from vde_shop import rates", "vde_shop/unread.py", "RATE = 2\n"),
        ("import vde_shop_one", "vde_shop_two.py", ""),
        ("import vde_shop_one", "vde_shop_one.py", '"""The limit."""\n\nLIMIT  =  1  # minutes\n'),
        ("import json", "vde_shop_one.py", "LIMIT = 2\n"),
    ],
)
def test_what_is_not_imported_or_only_written_otherwise_is_the_same_model(
    beside: Path, statement: str, edited: str, text: str
) -> None:
    before = data_of(read(inside=statement))
    (beside / edited).write_text(text)
    assert data_of(read(inside=statement)) == before


def test_installed_packages_count_by_name_and_version() -> None:
    found = imported_code(ast.parse("import yaml\nfrom sqlglot import exp\nimport json, os.path"))
    assert found == {
        "PyYAML": f"version {version('PyYAML')}",
        "sqlglot": f"version {version('sqlglot')}",
    }


def test_this_package_and_a_module_that_is_not_there() -> None:
    found = imported_code(ast.parse("import vde_dagster.core\nimport vde_no_such_module.part"))
    assert found == {"vde_no_such_module": "not found"}


def test_a_stored_model_is_what_it_was_when_it_was_stored(beside: Path) -> None:
    stored = read(inside="import vde_shop_one")
    (beside / "vde_shop_one.py").write_text("LIMIT = 2\n")
    assert data_of(read_model(stored.source)) == data_of(stored)
    assert data_of(read(inside="import vde_shop_one")) != data_of(stored)


def test_modules_that_import_each_other_are_read_once(beside: Path) -> None:
    (beside / "vde_shop_one.py").write_text("import vde_shop_two\nLIMIT = 1\n")
    found = imported_code(ast.parse("import vde_shop_one"))
    assert set(found) == {"vde_shop_one", "vde_shop_two"}
