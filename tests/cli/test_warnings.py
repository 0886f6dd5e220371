"""What files warn of reaches people: on standard error of `vde`, in the log of a code location."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.cli.calling import call
from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.location import open_location

MODEL = "MODEL (\n  name shop.a,\n  kind FULL,\n  gateway 'local'\n);\nSELECT 1 AS x"
MESSAGE = "the property 'gateway' is not supported and has no effect"


@pytest.fixture
def warned(project: Path) -> Path:
    (project / "models" / "a.sql").write_text(MODEL)
    return project


@pytest.mark.parametrize(
    "command",
    [["plan", "--no-apply"], ["intervals"], ["lineage"], ["render", "shop.a"]],
    ids=lambda command: command[0],
)
def test_every_command_that_reads_the_files_prints_their_warnings(
    warned: Path, command: list[str]
) -> None:
    done = call(*command, "--project", warned)
    assert done.exit_code == 0, done.output
    expected = f"{warned / 'models' / 'a.sql'}:4: warning: {MESSAGE}\n    Remove it.\n"
    assert done.stderr.count(expected) == 1
    assert "warning" not in done.stdout


@pytest.mark.full
def test_a_code_location_logs_them(warned: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        open_location(VdeProject.load(warned), "prod")
    found = [each.getMessage() for each in caplog.records if MESSAGE in each.getMessage()]
    assert found == [f"models/a.sql:4: {MESSAGE}\n    Remove it."]
