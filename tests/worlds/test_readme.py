"""The table of what is not modelled in memory names tests of the real adapters that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = Path(__file__).with_name("README.md").read_text("utf-8")
ROWS = [line for line in README.splitlines() if line.startswith("| ") and "::" in line]


def test_what_is_not_modelled_is_a_table_with_a_test_in_each_row() -> None:
    _, _, section = README.partition("## What they do not model")
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 2, "all but the heading and the line below it"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_the_test_that_a_row_names_exists(row: str) -> None:
    found = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", row.split("|")[4].strip())
    assert found is not None, row
    assert f"\ndef {found[2]}(" in (ROOT / found[1]).read_text("utf-8")


def test_modules_that_the_text_names_exist() -> None:
    own = set(re.findall(r"`(\w+\.py)`", README))
    assert {each for each in own if not Path(__file__).with_name(each).exists()} == set()
    elsewhere = set(re.findall(r"`(tests/[\w/]+\.py)`", README))
    assert {each for each in elsewhere if not (ROOT / each).exists()} == set()
