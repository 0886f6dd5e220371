"""What a person brings along from a SQLMesh project and nothing here reads: named, with what to do.

It would be ignored without a word otherwise, and its rows, checks and statements with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem

_SQLMESH: Final = "sqlmesh"
_SETTINGS: Final = (
    "Write its settings in vde.yaml (reference/configuration in the docs), then delete it. "
    "`vde import sqlmesh DIR --to NEW` imports a whole SQLMesh project."
)
_HOOK: Final = re.compile(r"\b(?:before|after)_all\b")
_HOOKS: Final = (
    "before_all and after_all are not supported: write their statements before and after the "
    "query of a model that needs them."
)
_DECORATED: Final = re.compile(r"^@(?:macro|signal)\b", re.MULTILINE)
_IGNORED: Final = (
    ("config.py", _SETTINGS),
    ("config.yaml", _SETTINGS),
    ("config.yml", _SETTINGS),
    ("schema.yaml", "Write its tables in external_models.yaml."),
    ("external_models.yml", "Name it external_models.yaml."),
    ("external_models/*.y*ml", "Write its tables in external_models.yaml."),
    ("linter/*.py", "Linter rules are not supported. Run a SQL linter next to vde."),
    ("metrics/*.sql", "Metrics are not supported. Write them as columns of a model."),
    (
        "materializations/*.py",
        "Custom kinds are not supported. Use a kind from reference/kinds in the docs.",
    ),
    ("macros/*.sql", "Macros are Python functions: write this one in macros/NAME.py."),
)
"""Files that have a meaning in SQLMesh, and what to do with each."""


def ignored_files(folder: Path) -> Iterator[Problem]:
    """The files of a project's folder that mean something in SQLMesh and are not read here."""
    for pattern, advice in _IGNORED:
        for path in sorted(folder.glob(pattern)):
            text = _text(path)
            is_own = path.name == "config.py" and _SQLMESH not in text  # models may import it
            if text and not is_own:
                hooks = f"{_HOOKS} " if _HOOK.search(text) else ""
                yield _ignored(path, folder, f"{hooks}{advice}")
    for inner in ("macros", "signals"):
        for path in sorted((folder / inner).rglob("_*.py")):
            if _DECORATED.search(_text(path)):
                advice = f"Move its functions to a file {inner}/NAME.py whose name starts with a "
                yield _ignored(path, folder, f"{advice}letter.")


def _ignored(path: Path, folder: Path, advice: str) -> Problem:
    place = Place(path=path.relative_to(folder))
    return Problem(place=place, message="this file is not read", advice=advice)


def _text(path: Path) -> str:
    """What a file says; nothing where it has only spaces, or cannot be read."""
    try:
        return path.read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def wrong_import(tree: ast.Module, path: Path) -> Problem | None:
    """A file of Python that imports SQLMesh when it is run; None if it does not."""
    for node in tree.body:
        if _SQLMESH in _packages(node):
            return Problem(
                place=Place(path=path, line=node.lineno),
                message="this file imports sqlmesh, which vde does not use",
                advice="Import `macro`, `model` and `signal` from vde_dagster, and remove "
                "what it does not have. reference/models in the docs lists the "
                "arguments of functions.",
            )
    return None


def _packages(node: ast.stmt) -> set[str]:
    """The packages that a statement imports."""
    match node:
        case ast.Import(names=names):
            return {each.name.partition(".")[0] for each in names}
        case ast.ImportFrom(module=str(module), level=0):
            return {module.partition(".")[0]}
        case _:
            return set()
