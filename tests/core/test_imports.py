"""Imports point downward only (DESIGN.md section 1)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vde_dagster

PACKAGE = Path(vde_dagster.__file__).parent
LEVELS = {
    "version": 0,
    "core": 0,
    "kinds": 1,
    "ports": 2,
    "state": 3,
    "lakehouse": 3,
    "project": 3,
    "app": 4,
    "orchestration": 5,
    "cli": 6,
}
MODULES = sorted(PACKAGE.rglob("*.py"))
PURE = ("core", "kinds")
ONLY = {
    "pyspark": {"lakehouse"},
    "py4j": {"lakehouse"},
    "dagster": {"orchestration"},
    "dagster_pyspark": {"orchestration"},
}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


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


def test_every_room_has_its_level() -> None:
    assert {room_of(each) for each in MODULES} - {"__init__", "__main__"} <= set(LEVELS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return  # the facade names what is above it, and loads it when it is used
    for name, for_types_only in imports(path):
        top, *rest = name.split(".")
        if top == "vde_dagster":
            other = rest[0] if rest else "version"
            lower = LEVELS[other] < LEVELS[room] or other == room
            assert lower, f"{room} imports {name}, which is not below it"
        elif not for_types_only:
            assert room in ONLY.get(top, {room}), f"{room} imports {name}"
            if room in PURE:
                assert top == "sqlglot" or top in sys.stdlib_module_names, f"{room} imports {name}"


HEAVY = ("dagster", "pyspark", "py4j", "pyiceberg", "sqlalchemy", "pandas", "pyarrow")


def test_neither_the_package_nor_its_core_loads_an_engine() -> None:
    pure = [each for each in MODULES if room_of(each) in (*PURE, "ports")]
    names = [
        ".".join(("vde_dagster", *each.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        for each in pure
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
