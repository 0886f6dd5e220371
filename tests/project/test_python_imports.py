"""What a Python model imports is part of its definition, wherever in its code the import is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.core.written_project import problems_of
from tests.project.repositories import write
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.model.fingerprint import fingerprint
from vde_dagster.core.model.model import Model, ModelSource, PythonFunction
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.loading import load_project
from vde_dagster.project.model_files import read_model
from vde_dagster.project.python_imports import imported_code
from vde_dagster.state.codec import decode_source, encode

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
    write(tmp_path, FILES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [each for each in sys.modules if each.startswith(("vde_shop", "vde_plain"))]:
        del sys.modules[name]


@pytest.mark.full
@pytest.mark.parametrize("reader", ["x", "vde_shop_one", "vde_shop_two"])
@pytest.mark.parametrize("documented", ["x", "vde_shop_one", "vde_shop_two"])
def test_docstrings_count_where_a_module_may_read_those_of_another(
    beside: Path, reader: str, documented: str
) -> None:
    texts = {"vde_shop_one": "LIMIT = 1\n", "vde_shop_two": "import vde_shop_one\n"}
    texts["x"] = "import vde_shop_two\n"
    texts[reader] += "def told(of):\n    return of.__doc__\n"
    found = []
    for docstring in ("one", "two"):
        described = f'def late():\n    """{docstring}"""\n'
        every = {name: text + described * (name == documented) for name, text in texts.items()}
        for name, text in every.items():
            (beside / f"{name}.py").write_text(text)
        found.append(data_of(model_of(MODEL.format(top=every["x"], inside="pass"))))
    assert found[0] != found[1]


def model_of(text: str) -> Model:
    return read_model(
        ModelSource(path=Path("models/m/x.py"), text=text, defaults=Defaults().as_texts())
    )


def read(*, top: str = "", inside: str = "") -> Model:
    return model_of(MODEL.format(top=top, inside=inside))


def digests_of(text: str) -> Mapping[str, str]:
    return imported_code(text, Path("models/m/x.py"), lambda _: None).digests


def data_of(model: Model) -> str:
    return fingerprint(model, None, ()).data


@pytest.mark.parametrize(
    "statement,edited",
    [
        ("import vde_shop_one as one", "vde_shop_one.py"),
        ("from vde_shop_two import late", "vde_shop_one.py"),  # what is imported indirectly
        ("from vde_shop.deep import VALUE", "vde_shop/rates.py"),
        ("from vde_plain.part import RATE", "vde_plain/part.py"),  # a package without __init__
        ("import importlib; importlib.import_module('vde_shop.rates')", "vde_shop/rates.py"),
    ],
)
@pytest.mark.parametrize("where", ["top", "inside"])
def test_another_imported_module_is_another_model(
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
    found = digests_of("import yaml\nfrom sqlglot import exp\nimport json, os.path")
    assert found == {
        "PyYAML": f"version {version('PyYAML')}",
        "sqlglot": f"version {version('sqlglot')}",
    }


def test_this_package_and_a_module_that_is_not_there() -> None:
    found = digests_of("import vde_dagster.core\nimport vde_no_such_module.part")
    assert found == {"vde_no_such_module": "not found"}


def test_a_stored_model_is_what_it_was_when_it_was_stored(beside: Path) -> None:
    stored = read(inside="import vde_shop_one")
    (beside / "vde_shop_one.py").write_text("LIMIT = 2\n")
    assert data_of(read_model(stored.source)) == data_of(stored)
    assert data_of(read(inside="import vde_shop_one")) != data_of(stored)


def test_modules_that_import_each_other_are_read_once(beside: Path) -> None:
    (beside / "vde_shop_one.py").write_text("import vde_shop_two\nLIMIT = 1\n")
    found = digests_of("import vde_shop_one")
    assert set(found) == {"vde_shop_one", "vde_shop_two"}


HELPERS: Final = {
    "helpers.py": "X = 1\n",
    "x.py": "X = 1\n",  # called as the model's own file is
    "shop/__init__.py": "__all__ = ['rates']\n",
    "shop/rates.py": "from .deep import inner\nRATE = inner.VALUE\n",
    "shop/deep/inner.py": "import helpers\nVALUE = helpers.X\n",
    "plain/part.py": "X = 1\n",
    "unread.py": "X = 1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder with modules in it, which is not on Python's path."""
    files = {
        **HELPERS,
        "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\n",
        "external_models.yaml": "- name: raw.t\n  columns: {a: int}\n",
    }
    return write(tmp_path, files)


def loaded(project: Path, *, top: str = "", inside: str = "pass") -> Model:
    write(project, {"models/m/x.py": MODEL.format(top=top, inside=inside)})
    return load_project(project).graph[ModelName("m", "x")].model


def modules_of(model: Model) -> set[str]:
    assert isinstance(model.body, PythonFunction)
    return set(model.body.modules)


@pytest.mark.parametrize(
    "statement,edited",
    [
        ("from helpers import X", "helpers.py"),
        ("from x import X", "x.py"),
        ("from shop import rates", "shop/__init__.py"),
        ("from shop.rates import RATE", "helpers.py"),
        ("import plain.part", "plain/part.py"),
        ("import importlib; importlib.import_module(name='helpers')", "helpers.py"),
        ("import importlib; importlib.import_module('.rates', 'shop')", "shop/rates.py"),
        ("from importlib import import_module as load; load('helpers')", "helpers.py"),
    ],
)
@pytest.mark.parametrize("where", ["top", "inside"])
def test_a_module_in_the_projects_folder_counts_wherever_python_looks(
    project: Path, monkeypatch: pytest.MonkeyPatch, where: str, statement: str, edited: str
) -> None:
    before = loaded(project, **{where: statement})
    assert edited in modules_of(before)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(project))
        assert data_of(loaded(project, **{where: statement})) == data_of(before)
    path = project / edited
    path.write_text(path.read_text() + "OTHER = 2\n")
    assert data_of(loaded(project, **{where: statement})) != data_of(before)


def test_all_of_a_package_is_what_the_package_says(project: Path) -> None:
    found = modules_of(loaded(project, top="from shop import *"))
    assert found == {"shop/__init__.py", "shop/rates.py", "shop/deep/inner.py", "helpers.py"}


def test_a_stored_model_keeps_the_modules_that_it_was_planned_with(project: Path) -> None:
    stored = loaded(project, top="from helpers import X")
    (project / "helpers.py").write_text("X = 2\n")
    again = read_model(decode_source(encode(ModelSource, stored.source)))
    assert isinstance(again.body, PythonFunction)
    assert again.body.modules == {"helpers.py": "X = 1\n"}
    assert data_of(again) == data_of(stored)


def test_modules_are_run_from_the_folder_and_forgotten(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("helpers")
    monkeypatch.setitem(sys.modules, "helpers", other)
    loaded(project, top="from helpers import X\nassert X == 1")
    assert sys.modules["helpers"] is other
    assert not {"shop", "shop.rates", "x"} & sys.modules.keys()


@pytest.mark.parametrize(
    "inside,line,reported",
    [
        ("import vde_no_such", 7, "the module 'vde_no_such' was not found"),
        ("from vde_no_such.part import x", 7, "the module 'vde_no_such.part' was not found"),
        ("from .rates import RATE", 7, "this import is relative"),
    ],
)
def test_a_module_that_is_found_nowhere_is_reported_with_its_line(
    project: Path, inside: str, line: int, reported: str
) -> None:
    (problem,) = problems_of(lambda: loaded(project, inside=inside))
    assert (str(problem.place), problem.message.startswith(reported)) == (
        f"models/m/x.py:{line}",
        True,
    )
    source = ModelSource(
        path=Path("models/m/x.py"),
        text=MODEL.format(top="", inside=inside),
        defaults=Defaults().as_texts(),
    )
    assert read_model(source).unsupported == (problem,)  # what is stored can be read all the same


def test_a_module_that_a_module_of_the_project_lacks_is_reported_at_its_place(
    project: Path,
) -> None:
    (project / "helpers.py").write_text("X = 1\n\n\ndef late():\n    import vde_no_such\n")
    assert [
        str(each.place)
        for each in problems_of(lambda: loaded(project, inside="from shop import rates"))
    ] == ["helpers.py:5"]


def test_a_module_that_is_no_python_is_reported_at_its_line(project: Path) -> None:
    (project / "helpers.py").write_text("X = 1\nX =\n")
    with pytest.raises(
        ProjectInvalid, match="this file, which a model imports, is not valid Python"
    ) as caught:
        loaded(project, inside="import helpers")
    assert [str(each.place) for each in caught.value.problems] == ["helpers.py:2"]


@pytest.mark.parametrize(
    "top",
    [
        "try:\n    import vde_no_such\nexcept ImportError:\n    vde_no_such = None",
        "try:\n    import vde_no_such\nexcept (KeyError, ModuleNotFoundError):\n    pass",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import vde_no_such",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import vde_no_such",
    ],
)
def test_a_module_that_the_code_can_do_without_may_lack(project: Path, top: str) -> None:
    before = loaded(project, top=top)
    (project / "vde_no_such.py").write_text("X = 1\n")
    assert data_of(loaded(project, top=top)) != data_of(before)


def test_a_variable_that_a_module_of_the_project_reads_is_part_of_the_model(project: Path) -> None:
    (project / "helpers.py").write_text("def rate(context):\n    return context.var('rate')\n")
    configured = project / "vde.yaml"
    before = configured.read_text()
    configured.write_text(f"{before}variables:\n  rate: 1\n  other: 1\n")
    inside = "from helpers import rate; rate(context)"
    model = loaded(project, inside=inside)
    assert isinstance(model.body, PythonFunction)
    assert model.body.variables == {"rate": 1}
    configured.write_text(f"{before}variables:\n  rate: 2\n  other: 1\n")
    assert data_of(loaded(project, inside=inside)) != data_of(model)
    configured.write_text(f"{before}variables:\n  other: 1\n")
    with pytest.raises(ProjectInvalid, match="the variable 'rate' is not declared") as caught:
        loaded(project, inside=inside)
    assert [str(each.place) for each in caught.value.problems] == ["helpers.py:2"]
