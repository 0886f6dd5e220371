"""When Dagster cleans up and maintains tables by itself, as vde.yaml says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.schedule_settings import CleanUpSchedules


def schedules(folder: Path, text: str) -> CleanUpSchedules:
    (folder / "vde.yaml").write_text(f"name: shop\n{text}\n", encoding="utf-8")
    return read_configuration(folder).schedules


@pytest.mark.parametrize(
    "text,found",
    [
        ("", CleanUpSchedules()),
        ("clean_up: {history: 1 day}", CleanUpSchedules()),
        ("clean_up: {schedule: '0 3 * * *'}", CleanUpSchedules(janitor="0 3 * * *")),
        ("maintain: {schedule: ' @Daily '}", CleanUpSchedules(maintain="@daily")),
        (
            "clean_up: {schedule: '30 2 * * mon-fri'}\nmaintain: {schedule: '0 4 1,15 * *'}",
            CleanUpSchedules(janitor="30 2 * * mon-fri", maintain="0 4 1,15 * *"),
        ),
    ],
)
def test_both_are_unset_or_a_cron(tmp_path: Path, text: str, found: CleanUpSchedules) -> None:
    assert schedules(tmp_path, text) == found


def test_what_is_no_cron_is_refused_with_its_line_both_at_once(tmp_path: Path) -> None:
    text = "clean_up:\n  schedule: nightly\nmaintain:\n  schedule: '0 25 * * *'"
    with pytest.raises(ProjectInvalid) as refused:
        schedules(tmp_path, text)
    first, second = refused.value.problems
    assert (first.place.line, second.place.line) == (3, 5)
    assert "the cron 'nightly' is not understood" in first.message
    assert "the cron '0 25 * * *' is not understood" in second.message
