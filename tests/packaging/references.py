"""What texts of the repository refer to, and whether that is there.

References are found in code, comments, docstrings and pages alike: rules (R1), decisions (ADR 7),
sources (seed 001, *SCD Type 2*), pages with their sections, tests, modules by their dotted names,
and paths. Each is looked up in the repository's files; nothing is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from docs_site.hooks import GENERATED

FOLDERS: Final = ("vde_dagster", "tests", "docs", "docs_site", "benchmarks", "examples")
SUFFIXES: Final = (".py", ".md", ".sql", ".yaml", ".toml", ".csv", "")
GENERATED_FOLDERS: Final = ("__pycache__", ".vde", "sqlmesh_shop", "dbt_shop")
ELSEWHERE: Final = (
    "vde_dagster/examples/nyc_flights",
    "vde_dagster/examples/customer_lifecycle",
    "vde_dagster/examples/orders_cdc",
    "vde_dagster.files",
    "IMPORT.md",
)
"""What is in the wheel only, a logger's name, a file that a command writes."""
GENERATED_PAGES: Final = tuple(Path(each).name for each in GENERATED)
"""Pages of the site that are written when it is built: mkdocs looks their anchors up."""

_RULE: Final = re.compile(r"(?:\bR|\btest_r)(\d+)(?:\b|(?=_))")
_DECISIONS: Final = re.compile(r"\bADRs? (\d+(?:(?:,| and|,? or) \d+)*)")
_SEED: Final = re.compile(r"\b[Ss]eeds? (0\d\d)\b(?:,\s+(?:#\s*)?\*([^*\n]+)\*)?")
_PAGE: Final = re.compile(
    r"(?<![\w/.-])((?:\w[\w-]*/)*[\w-]+\.md)\b(#[\w-]+)?(?:,\s+\*([^*\n]+)\*)?"
)
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)")
_PATH: Final = re.compile(
    r"(?<![\w/.<{-])((?:vde_dagster|tests|docs|benchmarks|examples)/[\w/.-]*[\w/])(?:::(\w+))?"
)
_ROOM: Final = re.compile(
    r"`((?:core|app|ports|state|lakehouse|project|orchestration|cli)/[\w/]+(?:\.py)?)(?:::(\w+))?`"
)
_DOTTED: Final = re.compile(r"(?<![\w/.-])vde_dagster((?:\.[A-Za-z_]\w*)+)")


def _is_users(path: str) -> bool:
    """Whether a path is looked up as a page, or names a file of unit tests in a user's project."""
    return path.endswith(".md") or (path.startswith("tests/") and path.endswith(".yaml"))


@dataclass(frozen=True, slots=True)
class Broken:
    """A reference to what is not there."""

    line: int
    text: str


@dataclass(frozen=True)
class Repository:
    """A folder with the package, its tests and its pages."""

    root: Path

    def texts(self) -> Iterator[tuple[Path, str]]:
        """Every file that people read, with its text."""
        found = [each for each in self.root.iterdir() if each.is_file()]
        for folder in FOLDERS:
            found += [each for each in (self.root / folder).rglob("*") if each.is_file()]
        for path in sorted(found):
            if path.suffix in SUFFIXES and not set(path.parts) & set(GENERATED_FOLDERS):
                yield path, path.read_text("utf-8", errors="ignore")

    def broken(self, path: Path, text: str) -> Iterator[Broken]:
        """The references of a text to what is not there, in the order of their kinds."""
        for at, written in self._broken(path, text):
            if written not in ELSEWHERE:
                yield Broken(text.count("\n", 0, at) + 1, written)

    def _broken(self, path: Path, text: str) -> Iterator[tuple[int, str]]:
        checks: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
            (_RULE, lambda found: f"rule-{found[1]}" in self._rules),
            (_DECISIONS, lambda found: self._are_decisions(found[1])),
            (_SEED, lambda found: self._is_source(found[1], found[2])),
            (_PAGE, lambda found: self._is_page(path, found[1], found[2] or "", found[3])),
            (_PATH, lambda found: _is_users(found[1]) or self._is_path(found[1], found[2])),
            (_DOTTED, lambda found: self._is_name(found[1][1:].split("."))),
        )
        for pattern, is_there in checks:
            for found in pattern.finditer(text):
                if not is_there(found):
                    yield found.start(), found[0]
        if path.suffix == ".md":
            yield from self._broken_of_page(path, text)

    def _broken_of_page(self, path: Path, text: str) -> Iterator[tuple[int, str]]:
        for found in _ROOM.finditer(text):
            if not self._is_path(f"vde_dagster/{found[1]}", found[2]):
                yield found.start(), found[0]
        for found in _LINK.finditer(text):
            target, _, anchor = found[1].partition("#")
            if target.startswith(("https://", "http://")) or target.endswith(GENERATED_PAGES):
                continue
            there = path.parent / target if target else path
            if not there.exists() or (anchor and anchor not in anchors_of(there)):
                yield found.start(), found[0]

    @property
    def _parts(self) -> list[Path]:
        """The folders of docs/."""
        return sorted(each for each in (self.root / "docs").rglob("*") if each.is_dir())

    @property
    def _rules(self) -> frozenset[str]:
        titles = headings_of(self.root / "docs" / "inside" / "rules.md")
        return frozenset(f"rule-{each[1]}" for title in titles if (each := _RULE.match(title)))

    def _are_decisions(self, numbers: str) -> bool:
        pages = (self.root / "docs" / "inside" / "adr").glob("*.md")
        known = {int(each.name[:4]) for each in pages}
        return known.issuperset(map(int, re.findall(r"\d+", numbers)))

    def _is_source(self, number: str, section: str | None) -> bool:
        page = self.root / "docs" / "inside" / "sources.md"
        if f"Seed {number}" not in headings_of(page):
            return False
        part = page.read_text("utf-8").partition(f"## Seed {number}\n")[2].partition("\n## ")[0]
        listed = [each.lower() for each in (f"*{part}".split("*"))]
        return section is None or any(section.lower() in each for each in listed)

    def _is_page(self, path: Path, name: str, anchor: str, section: str | None) -> bool:
        if name.endswith(GENERATED_PAGES):
            return True
        places = (self.root, path.parent, self.root / "docs", *self._parts)
        page = next((place / name for place in places if (place / name).is_file()), None)
        if page is None:
            return False
        if anchor and anchor[1:] not in anchors_of(page):
            return False
        return section is None or section in headings_of(page)

    def _is_path(self, name: str, test: str | None) -> bool:
        path = self.root / name.rstrip(".")
        return path.exists() and (test is None or test in names_of(path))

    def _is_name(self, parts: list[str]) -> bool:
        """Whether a dotted name is a module, a name in one, or a member of a class in one."""
        place = self.root / "vde_dagster"
        for at, part in enumerate(parts):
            if part.startswith("__"):
                return True  # every module has these
            if (place / part).is_dir():
                place = place / part
                continue
            module = place / f"{part}.py"
            inside = parts[at + 1 :] if module.is_file() else parts[at:]
            module = module if module.is_file() else place / "__init__.py"
            return not inside or ".".join(inside[:2]) in names_of(module)
        return True


@cache
def headings_of(page: Path) -> frozenset[str]:
    """The titles of a page's sections."""
    if not page.is_file():
        return frozenset()
    found = re.findall(r"^#+ (.+)$", _without_code(page.read_text("utf-8")), flags=re.MULTILINE)
    return frozenset(each.strip() for each in found)


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives the sections of a page."""
    titles = headings_of(page)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", each).lower() for each in titles)
    return frozenset(re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in plain)


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@cache
def names_of(module: Path) -> frozenset[str]:
    """What a module defines, imports or re-exports lazily; of classes with ``Class.member``."""
    if module.suffix != ".py" or not module.is_file():
        return frozenset()
    tree = ast.parse(module.read_text("utf-8"))
    found = set(_names(tree))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each}" for each in _names(node)}
        for each in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign) else ():
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.add(each.value)  # an entry of __all__, or of a table of lazy names
    return frozenset(found)


def _names(block: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(block):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=given):
                yield given or name
            case _:
                pass
