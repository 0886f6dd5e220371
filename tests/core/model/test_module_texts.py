"""Modules that are run from their texts: what finds them, and that nothing of them stays."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from vde_dagster.core.model.module_texts import importable, install

TEXTS = {
    "vde_one.py": "import vde_shop.rates\nVALUE = vde_shop.rates.RATE\n",
    "vde_shop/__init__.py": "START = 1\n",
    "vde_shop/rates.py": "from . import START\nfrom .deep.inner import DEEP\nRATE = START + DEEP\n",
    "vde_shop/deep/inner.py": "DEEP = 2\n",  # in a package without __init__
}


def value_of(texts: Mapping[str, str]) -> object:
    with importable(texts):
        return importlib.import_module("vde_one").VALUE


def test_a_module_is_run_from_its_text_with_the_packages_that_it_lies_in() -> None:
    assert value_of(TEXTS) == 3


def test_two_versions_of_a_module_never_meet() -> None:
    assert value_of(TEXTS) == 3
    assert value_of({**TEXTS, "vde_shop/deep/inner.py": "DEEP = 5\n"}) == 6
    assert not [each for each in sys.modules if each.startswith(("vde_one", "vde_shop"))]


def test_a_text_goes_before_files_and_before_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vde_one.py").write_text("VALUE = 'of the file'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = ModuleType("vde_one")
    monkeypatch.setitem(sys.modules, "vde_one", loaded)
    assert value_of({"vde_one.py": "VALUE = 'of the text'\n"}) == "of the text"
    assert importlib.import_module("vde_one") is loaded


def test_what_was_there_before_is_there_after_an_error() -> None:
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), importable({"vde_one.py": "1 / 0"}):
        importlib.import_module("vde_one")
    assert sys.meta_path == finders
    assert "vde_one" not in sys.modules


def test_an_error_in_a_module_names_its_file_and_line() -> None:
    with pytest.raises(SyntaxError) as caught, importable({"vde_one.py": "X = 1\nX ="}):
        importlib.import_module("vde_one")
    assert (caught.value.filename, caught.value.lineno) == ("vde_one.py", 2)


def test_each_module_is_handed_over_before_it_runs() -> None:
    seen: list[tuple[str, bool]] = []
    with importable(
        TEXTS, loaded=lambda each: seen.append((each.__name__, each.__name__ in sys.modules))
    ):
        importlib.import_module("vde_shop.rates")
    assert seen == [
        ("vde_shop", True),
        ("vde_shop.rates", True),
        ("vde_shop.deep", True),
        ("vde_shop.deep.inner", True),
    ]


def test_what_is_installed_stays_until_something_else_is() -> None:
    finders = list(sys.meta_path)
    try:
        install(TEXTS)
        first = importlib.import_module("vde_one")
        assert first.VALUE == 3
        install(dict(TEXTS))
        assert importlib.import_module("vde_one") is first, "the same again"
        install({**TEXTS, "vde_shop/deep/inner.py": "DEEP = 5\n"})
        assert importlib.import_module("vde_one").VALUE == 6
    finally:
        install({})
    assert sys.meta_path == finders
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("vde_one")
