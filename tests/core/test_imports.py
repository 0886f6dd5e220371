"""Imports point downward only (docs/inside/architecture.md, *Rooms*)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vde_dagster

PACKAGE = Path(vde_dagster.__file__).parent
ROOMS = (
    ("version",),
    ("runtime",),
    ("core",),
    ("core.time",),
    ("core.sql",),
    ("core.model",),
    ("core.graph",),
    ("core.audits",),
    ("core.ledger",),
    ("core.planning",),
    ("core.clean_up",),
    ("core.unit_tests",),
    ("core.doctor",),
    ("ports",),
    ("state", "lakehouse", "project"),
    ("app",),
    ("app.publish", "app.project_files", "app.doctor"),
    ("app.recover",),
    ("app.evaluate",),
    ("app.inputs",),
    ("app.catch_up",),
    ("app.staleness",),
    ("app.plan",),
    ("app.promote",),
    ("app.clean_up",),
    ("app.apply",),
    ("app.inspect",),
    ("app.unit_tests",),
    ("composition",),
    ("orchestration",),
    ("cli",),
)
"""From the lowest floor to the highest. Rooms of one floor do not know each other."""
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))
PURE = "core"
ONLY = {
    "pyspark": {"lakehouse"},
    "py4j": {"lakehouse"},
    "dagster": {"orchestration"},
    "duckdb": {"lakehouse"},
    "dagster_pyspark": {"orchestration"},
    "opentelemetry": {"runtime"},
}


def room_of(module: str) -> str:
    """The innermost room that a module lies in; what lies in none is the package itself."""
    parts = module.split(".")[1:]
    return next(
        (room for n in (2, 1) if (room := ".".join(parts[:n])) in FLOORS), "" if parts else "facade"
    )


def module_of(path: Path) -> str:
    name = ".".join(("vde_dagster", *path.relative_to(PACKAGE).with_suffix("").parts))
    return name.removesuffix(".__init__")


NAMES = {module_of(each) for each in MODULES}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module that a file names, also in functions, and whether for the type checker only."""
    tree = ast.parse(path.read_text("utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    typing = {
        inner
        for block in blocks
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for inner in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            assert node.module
            yield node.module, node in typing


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """The same, each name of a package's module as that module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((each, False) for each in inner if each in NAMES)
    yield from imports(path)


def test_every_module_lies_in_a_room() -> None:
    outside = [module_of(each) for each in MODULES if not room_of(module_of(each))]
    assert not outside


def test_every_room_says_what_is_in_it() -> None:
    folders = {each.parent for each in MODULES if "template" not in each.parts}
    said = {each for each in folders if ast.get_docstring(ast.parse(text_of(each / "__init__.py")))}
    assert folders - said == set()


def text_of(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


OURS = [each for each in MODULES if "template" not in each.parts]
"""Without what a new project gets, which is its user's."""


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path: Path) -> None:
    room = room_of(module_of(path))
    if room not in FLOORS:
        return  # the facade names higher layers, and loads them when they are used
    for name, for_types_only in imported(path):
        top = name.split(".")[0]
        if top == "vde_dagster":
            other = room_of(name) if name != top else "version"
            if other not in FLOORS:
                continue  # a name of the package itself
            lower = FLOORS[other] < FLOORS[room] or other == room
            assert lower, f"{room} imports {name}, which is no lower layer"
            if other == "runtime" and room.split(".")[0] == PURE:
                assert module_of(path) == "vde_dagster.core.errors", f"{room} imports {name}"
        elif not for_types_only:
            folder = room.split(".")[0]
            assert folder in ONLY.get(top, {folder}), f"{room} imports {name}"
            if folder == PURE:
                assert top == "sqlglot" or top in sys.stdlib_module_names, f"{room} imports {name}"


HEAVY = ("dagster", "duckdb", "pyspark", "py4j", "pyiceberg", "sqlalchemy", "pandas", "pyarrow")


def test_neither_the_package_nor_its_core_loads_an_engine() -> None:
    folders = (PURE, "ports")
    names = [
        name
        for name in map(module_of, MODULES)
        if name.split(".")[1:2] and name.split(".")[1] in folders
    ]
    code = (
        f"import sys, vde_dagster; vde_dagster.model\n"
        f"for name in {names!r}: __import__(name)\n"
        f"print([each for each in {HEAVY!r} if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout.strip() == "[]"
