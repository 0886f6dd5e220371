"""The names of the tables of late data in vde.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.names import TableName
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.late_data_settings import LateDataSettings


def settings(folder: Path, text: str) -> LateDataSettings:
    (folder / "vde.yaml").write_text(f"name: shop\n{text}", "utf-8")
    return read_configuration(folder).late_data


def test_the_tables_have_names_without_being_named(tmp_path: Path) -> None:
    found = settings(tmp_path, "")
    assert found.sessions == TableName("vde_meta", "late_sessions")
    assert found.marks == TableName("vde_meta", "high_watermarks")


def test_one_of_the_tables_can_be_named(tmp_path: Path) -> None:
    found = settings(tmp_path, "late_data: {sessions_table: lake.Ops.Sessions}")
    assert found.sessions == TableName("ops", "sessions")
    assert found.marks == TableName("vde_meta", "high_watermarks")


@pytest.mark.parametrize(
    "text,message",
    [
        ("late_data: {sessions_table: vde_meta.high_watermarks}", "cannot both be listed in"),
        ("late_data: {sessions_table: other.ops.sessions}", "is in another catalog"),
        ("late_data: {high_watermarks_table: a b}", "no plain identifier"),
        ("late_data: {session_table: ops.s}", "session_table"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ProjectInvalid) as refused:
        settings(tmp_path, text)
    (problem,) = refused.value.problems
    assert message in problem.message
    assert problem.place is not None
    assert problem.place.line == 2
