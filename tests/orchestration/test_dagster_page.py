"""dagster.md names every tag and metadata key that this package sets, and no other one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest

from vde_dagster.orchestration.reporting.shown import Limits
from vde_dagster.orchestration.reporting.status_checks import StatusCheck

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "reference" / "dagster.md").read_text("utf-8")
CODE: Final = ROOT / "vde_dagster" / "orchestration"


def keys_in_code() -> set[str]:
    """The texts of the code that are a key of ours."""
    return {each for each in _texts() if re.fullmatch(r"vde/[a-z_]+", each)}


def _texts() -> Iterator[str]:
    for module in CODE.glob("**/*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def keys_in_tables() -> set[str]:
    """The keys in the first cells of the tables below *Tags and metadata*."""
    section = PAGE.split("\n## Tags and metadata\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, flags=re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.full
def test_every_key_of_the_code_is_in_a_table() -> None:
    assert keys_in_code() - keys_in_tables() == set()


@pytest.mark.full
def test_no_key_of_a_table_is_made_up() -> None:
    texts = set(_texts())
    assert {each for each in keys_in_tables() if each not in texts} == set()


def test_the_checks_of_the_state_are_those_of_the_code() -> None:
    section = PAGE.split("\n## Checks\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert named == [each.value for each in StatusCheck]


def test_the_limits_of_reporting_are_those_of_the_code() -> None:
    limits = Limits()
    assert f"| {limits.events} events and {limits.seconds:.0f} seconds for one tick |" in PAGE
    assert f"| the newest {limits.partitions} partitions of a model |" in PAGE
    assert limits.settled.total_seconds() == 60
    assert "| a minute after a result was recorded |" in PAGE


@pytest.mark.full
def test_the_job_that_deletes_old_runs_leaves_the_last_one_of_each_asset(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n([^`]*delete_run[^`]*)```", PAGE)
    names: dict[str, Any] = {}
    exec(compile(text, "dagster.md", "exec", dont_inherit=True), names)

    @dg.asset
    def rows() -> None: ...

    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        first, last = (dg.materialize([rows], instance=instance).run_id for _ in range(2))
        assert names["delete_runs"].execute_in_process(instance=instance).success
        assert instance.get_run_by_id(first) is not None, "it has not ended long ago"
        names["delete_old_runs"](instance, timedelta(0))
        assert [run.run_id for run in instance.get_runs()] == [last]
        assert instance.all_logs(first) == []
        (left,) = tmp_path.glob(f"**/{first}.db")
        assert left.parent == tmp_path / "history" / "runs"
