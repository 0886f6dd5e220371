"""dagster.md has the tags, metadata keys, checks and limits of the code, and its job works."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest

from vde_dagster.orchestration import keys
from vde_dagster.orchestration.reporting.shown import Limits
from vde_dagster.orchestration.reporting.status_checks import StatusCheck

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "reference" / "dagster.md").read_text("utf-8")
CODE: Final = ROOT / "vde_dagster" / "orchestration"


def test_keys_are_written_in_one_module_from_which_the_page_has_them() -> None:
    """`keys` has their sentences; elsewhere its names are used."""
    written = {
        each.relative_to(CODE).as_posix()
        for each in CODE.glob("**/*.py")
        if re.search(r'"vde/[a-z_.]+"', each.read_text("utf-8"))
    }
    assert written == {"keys.py"}
    classes = re.findall(r"^class (\w+):", inspect.getsource(keys), flags=re.MULTILINE)
    assert re.findall(r"<!-- generated: dagster-keys (\w+) -->", PAGE) == classes


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
