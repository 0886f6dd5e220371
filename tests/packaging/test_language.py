"""What people read is plain English: pages, messages, docstrings and names of JSON fields."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from docs_site.hooks import GENERATED
from tests.packaging.language import length, sentences, too_long, words_of_list, wrong

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES_OF_USERS: Final = sorted(
    {
        *ROOT.glob("examples/*/README.md"),
        *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
        *(each for each in DOCS.rglob("*.md") if DOCS / "inside" not in each.parents),
    }
)
MEAN_WORDS: Final = 18
MOST_WORDS_OF_PAGES: Final = 45_000

SAID: Final = {
    "What the sensor is told": ["is told"],
    "The name\nis no table": ["is no table"],
    "There is no table, and it is no longer read": [],
    "Fix what is stale, or mend it": ["mend", "what is stale"],
    "Both models run at once, and at once it fails": [],
}


@pytest.mark.parametrize("text", SAID)
def test_a_form_of_the_list_is_found(text: str) -> None:
    assert sorted(words for _, words, _ in words_of_list(text)) == SAID[text]


def test_sentences_end_where_people_end_them() -> None:
    page = "# A title.\n\nOne `a.B c` two. *Three*\nfour, e.g. five.\n\n"
    page += "- Item one two. Last one here!\n"
    page += "\n```sh\nnot a sentence here.\n```\n\n| a | table. Row |\n"
    assert sentences(page) == [
        "One `x` two.",
        "*Three* four, e.g. five.",
        "Item one two.",
        "Last one here!",
    ]
    assert [length(each) for each in sentences(page)] == [3, 4, 3, 3]


def test_no_text_has_a_form_of_the_list() -> None:
    """Decisions and proofs keep the words in which they were written."""
    kept = {DOCS / "inside" / "adr", DOCS / "inside" / "proofs"}
    pages = {*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md")}
    texts = {path for path in pages if not kept & {*path.parents}}
    texts |= {*(ROOT / "vde_dagster").rglob("*.py")}
    assert [each for path in sorted(texts) for each in wrong(path)] == []


def test_generated_pages_have_no_form_of_the_list() -> None:
    found = [each for page in GENERATED.values() for each in words_of_list(page())]
    assert found == []


def test_pages_of_users_have_short_sentences() -> None:
    assert [each for path in PAGES_OF_USERS for each in too_long(path)] == []
    said = [each for path in PAGES_OF_USERS for each in sentences(path.read_text("utf-8"))]
    assert sum(map(length, said)) / len(said) <= MEAN_WORDS


def test_pages_of_users_are_not_many_words() -> None:
    """The reference is looked up, not read."""
    read = [path for path in PAGES_OF_USERS if DOCS / "reference" not in path.parents]
    assert sum(len(path.read_text("utf-8").split()) for path in read) <= MOST_WORDS_OF_PAGES
