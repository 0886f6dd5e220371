"""Exit codes and what is said: 1 refused or failed with a message, 2 wrong usage."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.cli.calling import call
from tests.cli.promoted import promote
from vde_dagster.cli import commands, options


@pytest.fixture
def shown(project: Path) -> Path:
    promote(project)
    return project


def test_help_lists_every_command() -> None:
    done = call("--help")
    assert done.exit_code == 0
    assert "catch-up" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["pln"],
        ["plan", "--colour"],
        ["plan", "!!"],
        ["plan", "--auto-apply", "--no-apply"],
        ["plan", "--format", "xml"],
        ["query"],
        ["query", "SELECT 1", "--limit", "0"],
        ["catch-up", "a.b.c.d"],
        ["ui", "--port", "0"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert "Error:" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan"],
        ["environments"],
        ["query", "SELECT 1"],
        ["catch-up"],
    ],
)
def test_a_folder_without_vde_yaml_is_refused_with_advice(
    arguments: list[str], tmp_path: Path
) -> None:
    done = call(*arguments, "--project", tmp_path)
    assert done.exit_code == 1
    assert f"{tmp_path / 'vde.yaml'}:1: this folder has no vde.yaml" in done.stderr
    assert "vde init DIR" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_all_problems_are_reported_at_once_with_file_line_and_advice(project: Path) -> None:
    models = project / "models"
    (models / "a.sql").write_text("MODEL (name shop.a, kind FULL);\nSELECT FROM\n")
    (models / "b.sql").write_text("MODEL (\n  name shop.b,\n  kind FUL\n);\nSELECT 1 AS x")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert f"{models / 'a.sql'}:2: " in done.stderr
    assert f"{models / 'b.sql'}:3: unknown kind FUL" in done.stderr
    assert "\n    " in done.stderr
    assert "nothing was changed" in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    assert not (project / ".vde").exists()


def test_a_bug_is_one_message_and_a_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ModuleType("broken")

    @click.command("broken")
    @options.WITH_DEBUG
    def command() -> None:
        raise ZeroDivisionError("as a bug does\nin two lines")

    broken.__dict__["broken_command"] = command
    monkeypatch.setitem(sys.modules, f"{commands.__package__}.broken", broken)
    monkeypatch.setitem(commands.COMMANDS, "broken", "")
    monkeypatch.setitem(commands._MODULE_OF, "broken", "broken")
    short = call("broken")
    assert short.exit_code == 1
    assert "vde: unexpected ZeroDivisionError: as a bug does\n" in short.stderr
    assert "Traceback" not in short.stderr
    assert "Traceback" in call("broken", "--debug").stderr
    monkeypatch.setenv("VDE_DEBUG", "1")
    assert "Traceback" in call("broken").stderr


@pytest.mark.parametrize(
    "command",
    [
        "audit mart.revenue --env dev",
        "catch-up --env dev",
        "diff prod dev",
        "history dev",
        "invalidate dev",
        "promote dev",
        "query 'SELECT 1' --env dev",
        "repair mart.revenue --env dev",
        "rollback dev",
        "run dev",
        "savings dev",
        "status dev",
        "verify --env dev",
    ],
)
def test_an_environment_that_is_not_there_is_refused(shown: Path, command: str) -> None:
    done = call(*shlex.split(command), "--project", shown)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "there is no environment dev" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "audit mart.revenu",
        "audits mart.revenu",
        "fingerprint mart.revenu",
        "intervals mart.revenu",
        "lineage mart.revenu",
        "plan dev --restate-model mart.revenu",
        "plan dev --select-model mart.revenu",
        "render mart.revenu",
        "repair mart.revenu",
        "verify mart.revenu",
    ],
)
def test_a_model_that_is_not_there_is_refused(shown: Path, command: str) -> None:
    done = call(*command.split(), "--project", shown)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Did you mean mart.revenue?" in done.stderr


@pytest.mark.parametrize(
    "command,said",
    [
        ("maintain mart.none", "no table or view found for mart.none"),
        ("pause mart.none", "prod has no model mart.none"),
        ("promote prod prod", "prod cannot be promoted to itself"),
        ("publish w9 --accept x --reason y", "no unit of work w9 is recorded"),
        ("rollback prod", "prod never showed anything else, so there is nothing to roll back to"),
        ("rollback prod --to 9", "revision 9 of prod does not exist"),
        ("table-diff prod prod mart.none", "prod has no model mart.none"),
    ],
)
def test_what_else_is_not_there_is_refused(shown: Path, command: str, said: str) -> None:
    done = call(*command.split(), "--project", shown)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    "sql", ["DROP TABLE mart.revenue", "SELECT 1; SELECT 2", "SELECT FROM (", ""]
)
def test_only_a_query_is_a_query(project: Path, sql: str) -> None:
    done = call("query", sql, "--project", project)
    assert done.exit_code == 1
    assert done.stderr.startswith("vde: ")
