"""What the code of a Python model imports, so that a changed helper or library changes the model.

Modules of the project are files in its folder, such as ``helpers.py`` or ``shop/rates.py``. They
are looked for there first and only, whatever Python's import path is, and count by their source,
as does what they import. Modules that Python finds elsewhere, outside of installed packages,
count by their source, too. Installed packages count by the distribution's name and version.
Python's own library does not count, and neither does this one: its fingerprints have a scheme of
their own.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.fingerprint import hash_parts
from vde_dagster.core.model.python_form import python_form, reads_docstrings

_OWN: Final = "vde_dagster"
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_LACKING: Final = "not found"
_OWN_DOCSTRINGS: Final = "docstrings of the model"
_START: Final = "__init__.py"
_CAUGHT: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""The exceptions to catch so that an import may fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a module imports, directly or through others, also inside of functions.

    ``digests`` has a digest of the source or a version, by module or distribution. ``modules`` are
    those of the project: their texts by path. ``problems`` has what cannot be imported though the
    code of the project needs it.
    """

    digests: Mapping[str, str]
    modules: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


def imported_code(text: str, path: Path, read: Callable[[str], str | None]) -> Imported:
    """What a model's module imports. A name that is computed is not followed.

    Args:
        text: The module's code, which can be parsed.
        path: Its path in the project.
        read: The text of a file of the project by its path in the folder; None where there is none.
    """
    reader = _Imports(read)
    reader.follow(ast.parse(text), package="", path=path)
    return Imported(
        digests=dict(sorted((reader.digests | _forms(text, reader.texts)).items())),
        modules=reader.modules,
        problems=tuple(
            sorted(reader.problems, key=lambda each: (each.place.path, each.place.line))
        ),
    )


def _forms(text: str, imported: Mapping[str, str]) -> dict[str, str]:
    """Digests of modules by their names; also the model's own if others may read its docstrings.

    Args:
        text: The model's module.
        imported: The texts of those that it imports, by their names.
    """
    reads_any = any(map(reads_docstrings, imported.values()))
    of_all = reads_any or reads_docstrings(text)
    own = {_OWN_DOCSTRINGS: hash_parts(python_form(text, docstrings=True))} if reads_any else {}
    forms = {name: python_form(each, docstrings=of_all) for name, each in imported.items()}
    return own | {name: hash_parts(each) for name, each in forms.items()}


def module_text(folder: Path, path: str) -> str | None:
    """The text of a module in a project's folder; None if there is none."""
    file = folder / path
    try:  # a pipe would be waited for
        return importlib.util.decode_source(file.read_bytes()) if file.is_file() else None
    except (OSError, SyntaxError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Import:
    """One import: ``members`` are the names that are imported from the module.

    ``name`` is empty if it is relative and leads out of all packages. ``may_fail`` if the code
    continues without it.
    """

    name: str
    members: Sequence[str] = ()
    line: int = 1
    may_fail: bool = False


@dataclass(slots=True)
class _Imports:
    """Follows imports from module to module, each once."""

    read: Callable[[str], str | None]
    digests: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    problems: set[Problem] = field(default_factory=set)
    seen: set[tuple[Path | None, str]] = field(default_factory=set)

    def follow(self, tree: ast.Module, *, package: str, path: Path | None) -> None:
        """Note what a module imports.

        Args:
            tree: Its code.
            package: The package that it is in.
            path: Its path in the project; None if it is elsewhere.
        """
        for each in _imports_in(tree, package):
            top = each.name.partition(".")[0]
            if top in sys.stdlib_module_names or top == _OWN:
                continue
            is_there = bool(top) and (self._along(each, self.read) or self._of_python(each))
            if not is_there:
                self.digests.setdefault(top, _LACKING)
            if not (is_there or each.may_fail or path is None):
                self.problems.add(_lacking(each.name, Place(path=path, line=each.line)))

    def _of_python(self, imported: _Import) -> bool:
        """Note a module that is not part of the project, found as Python finds it."""
        top = imported.name.partition(".")[0]
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None:
            return False
        places = [Path(each) for each in spec.submodule_search_locations or ()]
        origin = Path(spec.origin) if spec.has_location and spec.origin else None
        if any(not _INSTALLED.isdisjoint(each.parts) for each in (*places, origin or Path())):
            versions = _distributions(top)
            self.digests |= versions
            if versions:
                return True  # else it belongs to no distribution, so it counts by its source
        for place in places:
            self._along(imported, partial(_text_in, place), place)
        if origin is not None and top not in self.texts:  # a single file, or a compiled one
            self._digest(top, origin.read_bytes(), package=top if places else "", path=None)
        return True

    def _along(
        self, imported: _Import, read: Callable[[str], str | None], root: Path | None = None
    ) -> bool:
        """Note the modules along a dotted name, and those imported from it, if there are any.

        Args:
            imported: The import.
            read: The text of a module by its path.
            root: The folder of a package that is elsewhere; None for modules of the project.
        """
        parts = imported.name.split(".")
        members = _members(imported, read("/".join([*parts, _START])))
        names = [parts[:count] for count in range(1, len(parts) + 1)]
        names += [[*parts, each] for each in members]
        taken = [self._take(each, read, root) for each in names]
        return any(taken)

    def _take(
        self, parts: Sequence[str], read: Callable[[str], str | None], root: Path | None
    ) -> bool:
        """Note a module, if there is one of this name."""
        name, stem = ".".join(parts), "/".join(parts)
        for path, package in (
            (f"{stem}/{_START}", name),
            (f"{stem}.py", ".".join(parts[:-1])),
        ):
            if (root, path) in self.seen:
                return True
            text = read(path)
            if text is None:
                continue
            self.seen.add((root, path))
            if root is None:
                self.modules[path] = text
            own = Path(path) if root is None else None
            self._digest(name, text.encode(), package=package, path=own)
            return True
        return False

    def _digest(self, name: str, content: bytes, *, package: str, path: Path | None) -> None:
        """Note the digest of a module's source, and follow its imports."""
        try:
            text = importlib.util.decode_source(content)
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            self.digests[name] = hashlib.sha256(content).hexdigest()  # such as a compiled one
            if path is not None:
                self.problems.add(_unreadable(error, path))
            return
        self.texts[name] = text
        self.follow(tree, package=package, path=path)


def _text_in(place: Path, path: str) -> str | None:
    """The text of a module by its path, whose first part is the package in a place."""
    return module_text(place, path.partition("/")[2])


def _lacking(name: str, place: Place) -> Problem:
    if not name:
        message = "this import is relative, but the file that imports it is not in a package"
        advice = "Import it by its path in the project, such as `from shop.rates import RATE`."
    else:
        message = f"the module {name!r} was not found"
        advice = (
            "Install it, or put it in the project's folder. If the code works without it, "
            "catch the ImportError."
        )
    return Problem(place=place, message=message, advice=advice)


def _unreadable(error: SyntaxError | ValueError, path: Path) -> Problem:
    return Problem(
        place=Place(path=path, line=getattr(error, "lineno", None) or 1),
        message=f"this file, which a model imports, is not valid Python: {error}",
        advice="Check the code at this line.",
    )


def _members(imported: _Import, start: str | None) -> Sequence[str]:
    """The names that are imported from a module; for ``*`` those in a package's ``__all__``.

    Args:
        imported: The import.
        start: The text of the package's ``__init__``, if it has one.
    """
    if "*" not in imported.members:
        return list(dict.fromkeys(imported.members))
    try:
        tree = ast.parse(start or "")
    except (SyntaxError, ValueError):
        return []
    return [
        text.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and _sets_all(node)
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]


def _sets_all(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets)


def _imports_in(tree: ast.Module, package: str) -> Iterator[_Import]:
    """The modules that code imports, and the names that it imports from each."""
    functions = _import_functions(tree)
    for node, may_fail in _with_failing(tree):
        line = getattr(node, "lineno", 1)
        match node:
            case ast.Import(names=names):
                for each in names:
                    yield _Import(name=each.name, line=line, may_fail=may_fail)
            case ast.ImportFrom(module=module, names=names, level=level):
                members = [each.name for each in names]
                name = _absolute(module or "", level, package)
                yield _Import(name=name, members=members, line=line, may_fail=may_fail)
            case ast.Call(func=func) if _name_of(func) in functions:
                written, base = _argument(node, 0, "name"), _argument(node, 1, "package")
                if written is None:
                    continue
                stem = written.lstrip(".")
                name = _absolute(stem, len(written) - len(stem), base or package)
                yield _Import(name=name, line=line, may_fail=may_fail)
            case _:
                pass


def _absolute(name: str, level: int, package: str) -> str:
    """The absolute name of a module; empty if it leads out of all packages.

    Args:
        name: What follows the dots.
        level: The number of dots: one for the package itself, two for the one around it.
        package: The package of the importing module.
    """
    if level == 0:
        return name
    parts = package.split(".") if package else []
    kept = len(parts) - (level - 1)
    if kept <= 0:
        return ""
    return ".".join([*parts[:kept], *([name] if name else [])])


def _import_functions(tree: ast.Module) -> frozenset[str]:
    """The names that a file uses for the functions that import a module by its name."""
    renamed = (
        each.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "importlib"
        for each in node.names
        if each.name in ("import_module", "__import__") and each.asname
    )
    return frozenset({"import_module", "__import__", *renamed})


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _argument(call: ast.Call, position: int, keyword: str) -> str | None:
    """A text that a function is called with; None if there is none, or it is computed."""
    given = call.args[position] if len(call.args) > position else None
    for each in call.keywords:
        if each.arg == keyword:
            given = each.value
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _with_failing(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a module, and whether an import may fail there without harm."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, may_fail = waiting.pop()
        yield node, may_fail
        caught = _where_imports_may_fail(node)
        waiting += [(each, may_fail or each in caught) for each in ast.iter_child_nodes(node)]


def _where_imports_may_fail(node: ast.AST) -> Sequence[ast.AST]:
    """The parts of a statement in which an import may fail, or that only type checkers read."""
    match node:
        case ast.Try(body=body, handlers=handlers) if any(map(_catches, handlers)):
            return [*body, *handlers]
        case ast.With(items=items, body=body) if any(
            isinstance(each.context_expr, ast.Call)
            and _name_of(each.context_expr.func) == "suppress"
            and any(_name_of(error) in _CAUGHT for error in each.context_expr.args)
            for each in items
        ):
            return body
        case ast.If(test=test, body=body) if _name_of(test) == "TYPE_CHECKING":
            return body
        case _:
            return ()


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or _name_of(each) in _CAUGHT for each in kinds)


@lru_cache(maxsize=256)
def _distributions(top: str) -> Mapping[str, str]:
    """The installed distributions that a module comes from, with their versions."""
    try:
        return {top: f"version {version(top)}"}
    except PackageNotFoundError:
        names = _by_module().get(top, [])
    return {name: f"version {version(name)}" for name in names}


@lru_cache(maxsize=1)
def _by_module() -> Mapping[str, list[str]]:
    return packages_distributions()
