"""Every module is found from its tests, and back: by name, or by docs/inside/proofs/modules.md."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from vde_dagster.cli.commands import COMMANDS, module_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "vde_dagster"
TESTS = ROOT / "tests"
LEFT_OUT = ("project/template/",)
"""Files of a new project."""
TOLD_TOGETHER = ("lakehouse", "cli", "orchestration")
"""Rooms whose tests are about what modules of several folders do together."""
_ROW = re.compile(r"^\| (`.+`) \| (`.+`) \|$", flags=re.MULTILINE)


def modules() -> set[str]:
    """The modules that need a row: those without a test file of their own name."""
    found = {str(each.relative_to(PACKAGE)) for each in PACKAGE.rglob("*.py")}
    return {
        each
        for each in found
        if not each.endswith("__init__.py")
        and not each.startswith(LEFT_OUT)
        and not any((folder / f"test_{Path(each).name}").is_file() for folder in folders_of(each))
    }


def folders_of(module: str) -> tuple[Path, ...]:
    """Where a test file of a module's name may lie."""
    folder, room = TESTS / Path(module).parent, Path(module).parts[0]
    return (folder, TESTS / room) if room in TOLD_TOGETHER else (folder,)


def rows() -> list[tuple[list[str], list[str]]]:
    """The texts of the two cells of each row."""
    page = (ROOT / "docs/inside/proofs/modules.md").read_text("utf-8")
    cells = [each.groups() for each in _ROW.finditer(page)]
    return [(re.findall(r"`([^`]+)`", one), re.findall(r"`([^`]+)`", two)) for one, two in cells]


def of_row(named: str, known: set[str]) -> set[str]:
    """The modules that a name in the first cell stands for."""
    own = {each for names, _ in rows() for each in names if each.endswith(".py")}
    if named.endswith(".py"):
        return {named} & known
    return {each for each in known - own if str(Path(each).parent) == named}


def test_each_module_has_tests_of_its_name_or_a_row() -> None:
    known = modules()
    placed = [each for names, _ in rows() for name in names for each in of_row(name, known)]
    assert sorted(placed) == sorted(known)  # each once


def test_no_row_is_about_nothing() -> None:
    known = modules()
    assert [name for names, _ in rows() for name in names if not of_row(name, known)] == []


def test_each_test_of_a_row_reaches_the_modules_of_the_row() -> None:
    known = modules()
    for names, tests in rows():
        wanted = {PACKAGE / each for name in names for each in of_row(name, known)}
        reached = set().union(*(reaches(each) for test in tests for each in files(ROOT / test)))
        assert wanted - reached == set(), tests


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def reaches(start: Path) -> set[Path]:
    """The files that a file names as modules, and those that these name."""
    seen: set[Path] = set()
    waiting = {start}
    while waiting:
        seen |= waiting
        waiting = {each for path in waiting for each in names_in(path)} - seen
    return seen


@cache
def names_in(path: Path) -> frozenset[Path]:
    """The files of the modules whose dotted names are in a file, imported or as text."""
    text = path.read_text("utf-8")
    found = set(re.findall(r"\b(?:vde_dagster|tests)(?:\.\w+)+", text))
    if path == PACKAGE / "cli" / "commands.py":  # which names the commands, not their modules
        found |= set(map(module_of, COMMANDS))
    for module, names in re.findall(
        r"^\s*from ([\w.]+) import (\([^)]*\)|.+)$", text, re.MULTILINE
    ):
        found |= {f"{module}.{each}" for each in re.findall(r"\w+", names)}
    places = {ROOT.joinpath(*each.split(".")) for each in found}
    inner = {each.with_suffix(".py") for place in places for each in (place, place.parent)}
    return frozenset(
        each for each in inner | {place / "__init__.py" for place in places} if each.is_file()
    )
