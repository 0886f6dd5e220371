"""Modules of a project that its Python models import, run from their texts and not from files.

So a model runs the code that it was planned with, whatever its files are by then, whichever process
evaluates it and wherever Python looks for modules there. Two versions of a module never meet: it is
unloaded when its model has run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import PurePosixPath
from types import ModuleType
from typing import Final

_START: Final = "__init__"
_ONE_AT_A_TIME: Final = threading.RLock()


@contextmanager
def importable(
    texts: Mapping[str, str], *, loaded: Callable[[ModuleType], None] | None = None
) -> Iterator[None]:
    """Let ``import`` find modules by their texts, before it looks anywhere else.

    Args:
        texts: By path relative to the project's folder, such as ``shop/rates.py``.
        loaded: Gets each module before its code runs.
    """
    if not texts:
        yield
        return
    finder = _Texts(texts, loaded)
    with _ONE_AT_A_TIME, _without(_outermost(texts)):
        _begin_with(finder)
        try:
            yield
        finally:
            _leave_out(finder)


def install(texts: Mapping[str, str]) -> None:
    """Let ``import`` find modules by their texts from now on, before it looks anywhere else.

    For a process that does nothing else, as a worker of Spark: it goes on to other tasks, so what
    an earlier call installed is forgotten, unless it was the same.

    Args:
        texts: By path relative to the project's folder; empty to find nothing so any more.
    """
    found = [(each, getattr(each, "project_texts", None)) for each in sys.meta_path]
    before = [(each, known) for each, known in found if known is not None]
    if [known for _, known in before] == [texts]:
        return
    for each, known in before:
        _leave_out(each)
        _forgotten(_outermost(known))
    if texts:
        _forgotten(_outermost(texts))
        _begin_with(_Texts(texts, None))


def _begin_with(finder: _Texts) -> None:
    """Let ``import`` ask a finder first.

    The list itself is never changed: an import of another thread that goes over it would pass over
    a finder, or ask one twice.
    """
    sys.meta_path = [finder, *sys.meta_path]


def _leave_out(finder: object) -> None:
    """Let ``import`` not ask a finder any more."""
    sys.meta_path = [each for each in sys.meta_path if each is not finder]


def _outermost(texts: Iterable[str]) -> frozenset[str]:
    """The packages and modules of these paths that lie in no other."""
    return frozenset(_name_of(each).partition(".")[0] for each in texts)


def _name_of(path: str) -> str:
    """What a module is imported as, by its path in the project."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == _START else parts)


@contextmanager
def _without(names: frozenset[str]) -> Iterator[None]:
    """Unload the modules of these packages, and afterwards restore those that were loaded."""
    before = _forgotten(names)
    try:
        yield
    finally:
        _forgotten(names)
        sys.modules.update(before)


def _forgotten(names: frozenset[str]) -> dict[str, ModuleType]:
    """Unload the modules of these packages, while other threads import theirs."""
    found: dict[str, ModuleType] = {}
    for each in list(sys.modules):
        if each.partition(".")[0] in names:
            with suppress(KeyError):
                found[each] = sys.modules.pop(each)
    return found


class _Texts(MetaPathFinder, Loader):
    """Finds modules by name, and the packages that they are in, and runs their texts."""

    def __init__(
        self, texts: Mapping[str, str], loaded: Callable[[ModuleType], None] | None
    ) -> None:
        self.project_texts = texts
        self._paths = {_name_of(path): path for path in texts}
        self._loaded = loaded
        self._packages = {
            ".".join(parts[:count])
            for name, path in self._paths.items()
            for parts in [name.split(".")]
            for count in range(1, len(parts) + PurePosixPath(path).match(f"{_START}.py"))
        }

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """What Python asks of a finder."""
        if fullname not in self._paths and fullname not in self._packages:
            return None
        return self._spec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """What Python asks of a loader."""
        name = module.__name__
        if self._loaded is not None:
            self._loaded(module)
        path = self._paths.get(name)
        if path is not None:
            module.__file__ = path
            code = compile(self.project_texts[path], path, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - a user's own code
        # Where a module travels to Spark's workers by value, its loader would come along.
        module.__spec__ = self._spec(name, None)
        module.__loader__ = None

    def _spec(self, name: str, loader: Loader | None) -> ModuleSpec:
        is_package = name in self._packages
        return ModuleSpec(name, loader, origin=self._paths.get(name), is_package=is_package)
