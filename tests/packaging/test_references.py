"""Whatever a text of the repository refers to is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packaging.references import Repository

ROOT = Path(__file__).parents[2]
EXAMPLES = (Path(__file__), Path(__file__).with_name("test_site.py"))
"""The references here are to a repository that is made for the test."""

INSIDE = ROOT / "docs" / "inside"
RULES = INSIDE / "rules.md"

PAGES = {
    "docs/inside/rules.md": "# Rules\n\n## R1. Views\n\n## R2. Reuse\n",
    "sources.md": "# Sources\n\n## Seed 001\n\n*SCD Type 2*.\n\n## Seed 002\n\n*Order*\n",
    "docs/inside/adr/0007-open-rows.md": "# 7. Open rows\n",
    "docs/page.md": "# Page\n\n## What `x` means, *now*\n\n```sh\n# no title\n```\n",
    "tests/core/test_x.py": "def test_it() -> None: ...\n",
    "vde_dagster/__init__.py": '_LAZY = {"Facade": "vde_dagster.core"}\n',
    "vde_dagster/core/__init__.py": "",
    "vde_dagster/core/x.py": "from enum import Enum\n\nclass X:\n    def ask(self) -> None: ...\n",
}


BROKEN = {
    "rule R" + "3": "R" + "3",
    "def test_r" + "3_it() -> None: ...": "test_r" + "3",
    "ADR " + "7 and 8": "ADR " + "7 and 8",
    "seed 00" + "9": "seed 00" + "9",
    "seed 002, *" + "SCD Type 2*": "seed 002, *" + "SCD Type 2*",
    "as DESIGN" + ".md says": "DESIGN" + ".md",
    "docs/page" + ".md#gone": "docs/page" + ".md#gone",
    "docs/page" + ".md#no-title": "docs/page" + ".md#no-title",
    "docs/page" + ".md, *Gone*": "docs/page" + ".md, *Gone*",
    "tests/core/test_x" + ".py::test_gone": "tests/core/test_x" + ".py::test_gone",
    "tests/gone" + "/test_x.py": "tests/gone" + "/test_x.py",
    "vde_dagster/core" + "/gone.py": "vde_dagster/core" + "/gone.py",
    "vde_dagster" + ".core.gone": "vde_dagster" + ".core.gone",
    "vde_dagster" + ".core.x.X.gone": "vde_dagster" + ".core.x.X.gone",
    "[a link](" + "gone.png)": "](" + "gone.png)",
    "[a link](" + "docs/page.md#gone)": "](" + "docs/page.md#gone)",
    "`core/" + "gone.py`": "`core/" + "gone.py`",
    "`core/" + "x.py::gone`": "`core/" + "x.py::gone`",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    for name, text in PAGES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Repository(tmp_path)


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_not_there_is_reported_with_its_line(repository: Repository, text: str) -> None:
    found = list(repository.broken(repository.root / "README.md", f"One\n{text}\n"))
    assert BROKEN[text] in {each.text for each in found}
    assert {each.line for each in found} == {2}


def test_all_that_texts_of_the_repository_refer_to_is_there() -> None:
    repository = Repository(ROOT)
    reported = [
        f"{path.relative_to(ROOT)}:{each.line}: {each.text}"
        for path, text in repository.texts()
        if path not in EXAMPLES
        for each in repository.broken(path, text)
    ]
    assert reported == []


def test_every_rule_says_what_goes_wrong_without_it_and_names_a_test() -> None:
    rules = re.split(r"^## R(\d+)\. .+$", RULES.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert [int(each) for each in rules[::2]] == list(range(1, 16))
    for text in rules[1::2]:
        assert text.count("*Without it*") == 1
        assert re.search(r"^- `tests/[\w/]+\.py::test_\w+`$", text, flags=re.MULTILINE)


def test_pages_for_users_name_no_test_and_no_module() -> None:
    pages = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")}
    for page in pages - {*INSIDE.rglob("*.md")}:
        text = page.read_text("utf-8")
        found = re.findall(
            r"\btests/\w+\b(?!\.yaml)|\bvde_dagster/\w+|\bvde_dagster\.[a-z_]+\.\w+", text
        )
        assert found == [], page


def test_each_page_that_a_message_names_is_in_the_docs() -> None:
    """An installed package has no docs/: a message says "reference/kinds in the docs"."""
    named = {
        page
        for path in (ROOT / "vde_dagster").rglob("*.*")
        if path.suffix in (".py", ".yaml")
        for page in re.findall(r"([a-z-]+/[a-z-]+) in the\W+docs", path.read_text("utf-8"))
    }
    assert named
    assert [each for each in named if not (ROOT / "docs" / f"{each}.md").is_file()] == []
