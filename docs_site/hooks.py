"""Which files are pages of the site, and what is generated: `hooks` in mkdocs.yml.

A page keeps its path from the repository's root, so that its links are the same here and on GitHub.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File, Files

import vde_dagster
from docs_site.command_page import command_page
from docs_site.dagster_keys import dagster_keys
from docs_site.reference_tables import GENERATORS
from docs_site.tables import MARKER, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks")
PAGES_OUTSIDE_DOCS: Final = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"),
    "examples/*/README.md",
    "tests/worlds/README.md",
)
SCRIPTS: Final = ("docs_site/iframe-worker.js",)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All files of the site: those of docs/ and of the theme, other pages, and generated ones."""
    root = Path(config.config_file_path).parent

    def in_repository(path: str) -> File:
        return File(path, str(root), config.site_dir, config.use_directory_urls)

    docs = Path(config.docs_dir)
    found = [
        in_repository(f"{docs.name}/{each.src_uri}") if each.src_dir == config.docs_dir else each
        for each in files
    ]
    outside = {path for pattern in PAGES_OUTSIDE_DOCS for path in root.glob(pattern)}
    found += [in_repository(path.relative_to(root).as_posix()) for path in sorted(outside)]
    found += [in_repository(path) for path in SCRIPTS]
    found += [File.generated(config, path, content=page()) for path, page in GENERATED.items()]
    return Files(found)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page with its generated tables; of a marker without a generator mkdocs warns."""
    del config, files
    text = filled(markdown, TABLES)
    for name in MARKER.findall(text):
        log.warning(f"'{page.file.src_uri}' has a marker of a table '{name}', which is not known")
    return text


def python_page() -> str:
    """The page of the public names, whose docstrings mkdocstrings puts in."""
    names = [each for each in vde_dagster.__all__ if not each.startswith("__")]
    about = "What `vde_dagster` exports. *Versions and extras* says how it may change."
    return "\n\n".join(["# Python API", about, *(f"::: vde_dagster.{each}" for each in names)])


GENERATED: Final[dict[str, Callable[[], str]]] = {
    "docs/reference/commands.md": command_page,
    "docs/reference/python.md": python_page,
}
"""Whole pages, by path."""
TABLES: Final[dict[str, Callable[..., str]]] = {**GENERATORS, "dagster-keys": dagster_keys}
"""Parts of pages, by the name in their marker: `<!-- generated: NAME -->`."""
