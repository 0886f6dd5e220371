"""The site from docs/ is built without a warning, leads to all pages, and needs no other host."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import vde_dagster
from docs_site.hooks import TABLES
from docs_site.tables import MARKER
from tests.packaging.site_checks import Page, wrong
from vde_dagster.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
WARNED_OF: Final = {
    "[x](gone.md)": "a link 'gone.md', but the target 'docs/gone.md' is not found",
    "[x](../README.md#gone)": "the doc 'README.md' does not contain an anchor '#gone'",
    "[x](#gone)": "a link '#gone', but there is no such anchor on this page",
    "[x][gone]": "Could not find cross-reference target 'gone'",
    "[x](/docs/page.md)": "an absolute link '/docs/page.md'",
    "[x](../docs)": "an unrecognized relative link '../docs'",
    "![x](gone.png)": "a link 'gone.png', but the target 'docs/gone.png' is not found",
    "<!-- generated: none -->": "'docs/page.md' has a marker of a table 'none'",
    "a page that the nav leaves out": "\n  - docs/unlisted.md",
    "a nav with a page that is not there": "'docs/none.md' is included in the 'nav'",
}
"""Mistakes and what mkdocs says of each."""
SHOWN: Final = {
    '<a href="none.html">x</a>': "docs/page.html: none.html is not there",
    '<a href="page.html#none">x</a>': "docs/page.html: page.html#none has no such anchor",
    '<a href="/docs/page.html">x</a>': "docs/page.html: /docs/page.html is not there",
    '<a href="../docs">x</a>': "docs/page.html: ../docs is not there",
    '<img src="none.png">': "docs/page.html: none.png is not there",
    "![x](https://example.org/x.png)": "docs/page.html: loads https://example.org/x.png",
    '<script src="//example.org/x.js"></script>': "docs/page.html: loads //example.org/x.js",
    "a font from elsewhere": "docs/page.css: loads https://example.org/font",
    "a page that the nav leaves out": "docs/unlisted.html: is not in the navigation",
}
"""Mistakes that the built site shows; of all but the last one mkdocs says nothing."""


REFERENCE: Final = [
    f"docs/reference/{each}.md" for each in ("configuration", "json", "commands", "python")
]


class Messages(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record.getMessage())


def built(folder: Path, site: Path, **changed: Any) -> list[str]:
    """Build the site of a folder; what mkdocs warns of, and last that it refuses this."""
    log, messages = logging.getLogger("mkdocs"), Messages()
    log.addHandler(messages)
    try:
        build(load_config(str(folder / "mkdocs.yml"), site_dir=str(site), **changed))
    except Abort as refusal:
        messages.kept.append(str(refusal))
    finally:
        log.removeHandler(messages)
    return messages.kept


def test_the_site_has_no_mistake_and_all_commands_and_public_names(tmp_path: Path) -> None:
    assert built(ROOT, tmp_path) == []
    assert wrong(tmp_path) == []
    page = tmp_path / "docs" / "reference" / "commands.html"
    assert "&amp;lt;" not in page.read_text("utf-8"), "code is not escaped twice"
    commands = Page(page).anchors
    assert {*(f"vde-{each}" for each in COMMANDS), "vde-ci-plan"} <= commands
    exported = {f"vde_dagster.{each}" for each in vde_dagster.__all__}
    names = Page(tmp_path / "docs" / "reference" / "python.html").anchors
    assert exported - names == {"vde_dagster.__version__"}


def small_site(folder: Path) -> Path:
    """A folder with the site's configuration, a home page and all of REFERENCE; its docs/."""
    shutil.copytree(ROOT / "docs_site", folder / "docs_site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "README.md").write_text("# Home\n")
    (folder / "docs" / "reference").mkdir(parents=True)
    for page in REFERENCE[:2]:  # the commands' page refers to them
        (folder / page).write_text("# Page\n")
    return folder / "docs"


@pytest.mark.full
def test_a_version_is_added_beside_earlier_ones(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    small_site(folder)
    (folder / "mkdocs.yml").rename(folder / "site.yml")
    nav = f"nav: [README.md, {', '.join(REFERENCE)}]"
    plugins = "plugins: [search, autorefs, mike: {alias_type: copy}]"
    (folder / "mkdocs.yml").write_text(f"INHERIT: site.yml\nwatch: []\n{nav}\n{plugins}\n")
    programs = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    names = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }

    def run(*command: str) -> str:
        environment = os.environ | programs | names
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("git", "init", "-q")
    run("git", "commit", "-q", "--allow-empty", "-m", "x")
    for version in ("0.1", "0.2"):
        run("mike", "deploy", "--update-aliases", version, "latest")
    run("mike", "set-default", "latest")
    listed = json.loads(run("git", "show", "docs-site:versions.json"))
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.2", ["latest"]),
        ("0.1", []),
    ]
    assert run("git", "show", "docs-site:0.1/index.html") != ""
    assert "url=latest/" in run("git", "show", "docs-site:index.html")


def test_each_generated_table_is_in_a_page() -> None:
    pages = [*ROOT.glob("docs/*/*.md")]
    markers = [found for page in pages for found in MARKER.findall(page.read_text("utf-8"))]
    assert {found.split()[0] for found in markers} == TABLES.keys()


def test_each_planted_mistake_is_found(tmp_path: Path) -> None:
    folder, site = tmp_path / "small", tmp_path / "site"
    docs = small_site(folder)
    (docs / "unlisted.md").write_text("# Unlisted\n")
    (docs / "page.md").write_text("\n\n".join(["# Page", *WARNED_OF, *SHOWN]))
    (docs / "page.css").write_text("@font-face { src: url(https://example.org/font) }")
    *warnings, refusal = built(
        folder,
        site,
        nav=["README.md", "docs/page.md", "docs/none.md", *REFERENCE],
        plugins=["search", "offline", "autorefs"],
        watch=[],
    )
    assert refusal == f"Aborted with {len(WARNED_OF)} warnings in strict mode!"
    assert [each for each in WARNED_OF.values() if each not in "\n".join(warnings)] == []
    assert set(SHOWN.values()) - set(wrong(site)) == set()
