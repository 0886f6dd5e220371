"""What the code of a Python model imports, so that another helper or library is another model.

Modules beside the model (in the project's folder, or wherever Python finds them that is no
installed package) count by their source, with what they import in turn. Installed packages count by
the distribution's name and version. Python's own library does not count, and neither does this one:
its fingerprints have a scheme of their own.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Final

from vde_dagster.core.fingerprint import hash_parts, python_form

_OWN: Final = "vde_dagster"
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_LACKING: Final = "not found"


def imported_code(tree: ast.Module) -> dict[str, str]:
    """What a module imports, anywhere in it, also inside of functions.

    Args:
        tree: The module's code. A name that is computed (``import_module(name)``) is not followed.

    Returns:
        By module or distribution, a digest of its source or its version.
    """
    reader = _Imports()
    reader.follow(tree, package="")
    return dict(sorted(reader.found.items()))


@dataclass(slots=True)
class _Imports:
    """Follows imports from module to module, each once."""

    found: dict[str, str] = field(default_factory=dict)
    seen: set[Path] = field(default_factory=set)

    def follow(self, tree: ast.Module, *, package: str) -> None:
        """Note what a module imports; ``package`` is the one that it lies in."""
        for name, members in _imported(tree, package):
            top, *rest = name.split(".")
            if top in sys.stdlib_module_names or top == _OWN:
                continue
            self._note(top, rest, members)

    def _note(self, top: str, rest: Sequence[str], members: Sequence[str]) -> None:
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None:
            self.found[top] = _LACKING
            return
        places = [Path(each) for each in spec.submodule_search_locations or ()]
        origin = Path(spec.origin) if spec.has_location and spec.origin else None
        if any(not _INSTALLED.isdisjoint(each.parts) for each in (*places, origin or Path())):
            self.found |= _distributions(top)
            return
        if origin is not None:
            self._read(origin, top, is_package=bool(places))
        self._inside(places, top, rest, members)

    def _inside(
        self, places: Sequence[Path], name: str, rest: Sequence[str], members: Sequence[str]
    ) -> None:
        """Note the modules of a package along a dotted name, and those that are taken from it."""
        if not rest:
            for each in dict.fromkeys(members):
                self._inside(places, name, [each], ())
            return
        inner = f"{name}.{rest[0]}"
        for place in places:
            module, package = place / f"{rest[0]}.py", place / rest[0]
            if package.is_dir():
                start = package / "__init__.py"
                if start.is_file():
                    self._read(start, inner, is_package=True)
                self._inside([package], inner, rest[1:], members)
                return
            if module.is_file():
                self._read(module, inner, is_package=False)
                return

    def _read(self, path: Path, name: str, *, is_package: bool) -> None:
        """Note the source of a module, and follow what that imports."""
        if path in self.seen:
            return
        self.seen.add(path)
        content = path.read_bytes()
        try:
            text = content.decode()
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            self.found[name] = hashlib.sha256(content).hexdigest()  # such as a compiled one
            return
        self.found[name] = hash_parts(python_form(text))
        self.follow(tree, package=name if is_package else name.rpartition(".")[0])


def _imported(tree: ast.Module, package: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The modules that code names, whole, and what is taken out of each."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    yield each.name, ()
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package.split(".")[: -(level - 1) or None] if level else []
                name = ".".join([*base, *([module] if module else [])])
                if name:
                    yield name, [each.name for each in names]
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _imports(func):
                yield name, ()
            case _:
                pass


def _imports(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")


@lru_cache(maxsize=256)
def _distributions(top: str) -> Mapping[str, str]:
    """The installed distributions that a module comes from, with their versions."""
    try:
        return {top: f"version {version(top)}"}
    except PackageNotFoundError:
        names = _by_module().get(top, [])
    return {name: f"version {version(name)}" for name in names} or {top: _LACKING}


@lru_cache(maxsize=1)
def _by_module() -> Mapping[str, list[str]]:
    return packages_distributions()
