"""Where a plan goes that names no environment, as `vde.yaml` says."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.machine import author, user


def goes_to(folder: Path, written: str) -> str:
    (folder / "vde.yaml").write_text(f"name: shop\n{written}")
    return read_configuration(folder).default_environment


@pytest.fixture(autouse=True)
def _ana(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VDE_USER", "Ana.B")
    monkeypatch.delenv("VDE_AUTHOR", raising=False)


@pytest.mark.parametrize(
    "written, environment",
    [
        ("", "prod"),
        ("default_environment: dev\n", "dev"),
        ("default_environment: dev_{user}\n", "dev_ana_b"),
        ("default_environment: '{user}'\n", "ana_b"),
        ("default_environment: '{user}_{user}'\n", "ana_b_ana_b"),
        ("default_environment: Team/One\n", "team_one"),
    ],
)
def test_a_plan_without_an_environment_goes_where_it_is_said(
    tmp_path: Path, written: str, environment: str
) -> None:
    assert goes_to(tmp_path, written) == environment


@pytest.mark.parametrize(
    "written, said",
    [
        ("dev_{username}", r"vde.yaml:2: \{username\} stands for nothing"),
        ("dev_{}_{home}", r"vde.yaml:2: \{\}, \{home\} stands for nothing"),
        ("dev_{user", "vde.yaml:2: a single brace stands for nothing"),
        ("dev_user}", "vde.yaml:2: a single brace stands for nothing"),
        ("'---'", "vde.yaml:2: '---' is no name for an environment"),
        ("{user}", "vde.yaml:2: a single value is expected here"),
        ("[a, b]", "vde.yaml:2: a single value is expected here"),
    ],
)
def test_what_is_no_name_is_an_error_with_its_line(tmp_path: Path, written: str, said: str) -> None:
    with pytest.raises(ProjectInvalid, match=said):
        goes_to(tmp_path, f"default_environment: {written}\n")


def test_a_user_with_a_name_that_is_too_long_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_USER", "a" * 200)
    with pytest.raises(ProjectInvalid, match="Use 1 to"):
        goes_to(tmp_path, "default_environment: dev_{user}\n")


def test_the_user_is_that_of_the_machine_unless_it_is_said_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (user(), author().split("@")[0]) == ("Ana.B", "Ana.B")
    monkeypatch.setenv("VDE_USER", " ")
    assert user() == getpass.getuser()
