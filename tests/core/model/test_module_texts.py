"""Modules that are run from their texts: what finds them, and that nothing of them stays."""

from __future__ import annotations

import importlib
import itertools
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
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


class Meanwhile(str):
    """The name of a module at which, when it is looked at, another thread has its turn."""

    turn: Callable[[], None]

    def partition(self, sep: str) -> tuple[str, str, str]:
        self.turn()
        return super().partition(sep)


@pytest.mark.parametrize("is_loaded", [False, True], ids=["imports another", "forgets one of ours"])
def test_modules_that_another_thread_imports_or_forgets_meanwhile_are_no_error(
    monkeypatch: pytest.MonkeyPatch, is_loaded: bool
) -> None:
    numbers = itertools.count()

    def turn() -> None:
        if is_loaded:
            sys.modules.pop("vde_one", None)
        else:
            name = f"vde_elsewhere_{next(numbers)}"
            monkeypatch.setitem(sys.modules, name, ModuleType(name))

    monkeypatch.setitem(sys.modules, "vde_one", ModuleType("vde_one"))
    looked_at = Meanwhile("vde_looked_at")
    looked_at.turn = turn
    monkeypatch.setitem(sys.modules, looked_at, ModuleType("vde_looked_at"))
    assert value_of(TEXTS) == 3


class Finds(MetaPathFinder, Loader):
    """Finds one empty module, and is asked by threads that may wait there."""

    def __init__(self, name: str, asked: Callable[[], None] = lambda: None) -> None:
        self.name, self.asked = name, asked

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if not fullname.startswith("vde_found"):
            return None
        self.asked()
        return ModuleSpec(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None: ...


@pytest.mark.parametrize("is_installed", [False, True], ids=["around a model", "installed"])
def test_an_import_that_is_under_way_when_texts_come_and_go_asks_every_finder(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    """In a list that loses its first entry meanwhile, the next one is passed over."""
    asked, gone = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert gone.wait(60)

    finders = [Finds("vde_found_nowhere", wait), Finds("vde_found"), *sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", finders)
    found: list[ModuleType] = []
    importing = threading.Thread(target=lambda: found.append(importlib.import_module("vde_found")))
    try:
        with ExitStack() as stack:
            if is_installed:
                install(TEXTS)
                stack.callback(install, {})
            else:
                stack.enter_context(importable(TEXTS))
            importing.start()
            assert asked.wait(60)
    finally:
        gone.set()
    importing.join(60)
    sys.modules.pop("vde_found", None)
    assert [each.__name__ for each in found] == ["vde_found"]
    assert sys.meta_path == finders
