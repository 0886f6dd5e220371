"""docs/reference/kinds.md: its examples are read.

docs/inside/proofs/kinds.md: every rule of a kind names a test that is there.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.loading import load_project
from vde_dagster.project.model_files import read_model, seed_path

ROOT = Path(__file__).parents[2]
KINDS = (ROOT / "docs" / "reference" / "kinds.md").read_text("utf-8")
PROOFS = (ROOT / "docs" / "inside" / "proofs" / "kinds.md").read_text("utf-8")
MODELS = (ROOT / "docs" / "reference" / "models.md").read_text("utf-8")
SENTENCES = ROOT / "tests" / "kinds" / "sentences"
PENDING = (
    "when partial intervals are evaluated",
    "when batches run at once",
)
PAGES = {"kinds.md": KINDS, "models.md": MODELS}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Every model of the pages, with the suffix of its file."""
    sql = [(".sql", block) for text in PAGES.values() for block in blocks(text, "sql")]
    python = [(".py", block) for text in PAGES.values() for block in blocks(text, "python")]
    return sql + [each for each in python if "@model(" in each[1]]


def sections() -> dict[str, str]:
    """Each kind's section, by its keyword."""
    parts = re.split(r"^## ([A-Z0-9_]+)$", KINDS, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, without their headings."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[0] != "rule" and "---" not in row[0]]


def rules() -> list[list[str]]:
    return rows(PROOFS)


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The test functions of a file, without importing it."""
    tree = ast.parse(path.read_text("utf-8"))
    found = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def read(suffix: str, text: str) -> Model:
    path = Path("models/mart/example").with_suffix(suffix)
    source = ModelSource(path=path, text=text, defaults=Defaults().as_texts())
    seed = seed_path(source)
    rows_of_seed = "code,name,founded\nLH,Lufthansa,1953-01-06\n"
    return read_model(replace(source, attachments={seed: rows_of_seed} if seed else {}))


@pytest.mark.parametrize("suffix,text", examples())
def test_every_example_is_a_model_without_problems(suffix: str, text: str) -> None:
    model = read(suffix, text)
    assert [each for each in model.warnings if "this version" not in each.message] == []
    assert str(model.name) in text


def test_each_kind_has_an_example_of_its_own() -> None:
    for keyword, text in sections().items():
        example = "".join(blocks(text, "yaml" if keyword == "EXTERNAL" else "sql"))
        assert keyword == "EXTERNAL" or f"kind {keyword}" in example
        assert example


def test_the_example_of_sources_is_read(tmp_path: Path) -> None:
    (example,) = blocks(KINDS, "yaml")
    (tmp_path / "vde.yaml").write_text("name: shop\n")
    (tmp_path / "external_models.yaml").write_text(example)
    (source,) = load_project(tmp_path).graph
    declared = yaml.safe_load(example)[0]["columns"]
    assert {column.name: column.type for column in source.columns} == declared


def test_every_rule_names_a_test_that_is_there_or_what_is_missing() -> None:
    assert len(rules()) > 100
    for rule, source, test in rules():
        assert rule
        assert source
        if test in PENDING:
            continue
        path, _, name = test.strip("`").partition("::")
        assert (ROOT / path).is_file(), test
        assert name in defined_in(ROOT / path), test


def test_every_test_of_the_sentences_is_named() -> None:
    named = {row[2].strip("`") for row in rules()}
    for path in SENTENCES.glob("test_*.py"):
        for name in defined_in(path):
            assert f"{path.relative_to(ROOT)}::{name}" in named


def test_no_rule_stands_there_twice() -> None:
    stated = [(rule, source) for rule, source, _ in rules()]
    assert len(set(stated)) == len(stated)
