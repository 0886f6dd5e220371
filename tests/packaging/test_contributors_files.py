"""Files for those who report and contribute: they can be read, and say what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
FORMS: Final = ROOT / ".github" / "ISSUE_TEMPLATE"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_an_issue_form_has_what_a_hosting_platform_asks_for(name: str) -> None:
    form = read(FORMS / f"{name}.yml")
    assert form["name"]
    assert form["description"]
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert {each["type"] for each in fields} <= {"textarea", "input"}
    assert all(each["attributes"]["label"] for each in fields)
    ids = [each["id"] for each in fields]
    assert len(ids) == len(set(ids))
    assert any(each.get("validations", {}).get("required") for each in fields)


def test_pre_commit_runs_what_lint_runs_from_the_projects_environment() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert {each["language"] for each in local["hooks"]} == {"system"}
    programs = [each["entry"].removesuffix(" --force-exclude") for each in local["hooks"]]
    of_lint = re.findall(r'"\$venv/bin/(ruff|mypy)"( check| format|)', text_of("run"))
    assert programs == [f".venv/bin/{program}{command}" for program, command in of_lint]


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_no_address_is_made_up(name: str) -> None:
    assert not re.search(r"@|://", text_of(name))


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")
