"""``concurrency`` in vde.yaml: how many models are evaluated at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import Configuration, read_configuration


def configured(folder: Path, line: str) -> Configuration:
    (folder / "vde.yaml").write_text(f"name: shop\n{line}\n")
    return read_configuration(folder)


@pytest.mark.parametrize(
    "line, expected",
    [("", 1), ("concurrency: 1", 1), ("concurrency: 4", 4), ("concurrency: '64'", 64)],
)
def test_models_are_evaluated_one_at_a_time_unless_more_are_asked_for(
    tmp_path: Path, line: str, expected: int
) -> None:
    assert configured(tmp_path, line).concurrency == expected


@pytest.mark.parametrize("written", ["0", "-1", "65", "2.5", "many", "1" * 5000, "''"])
def test_another_number_is_refused_with_its_line(tmp_path: Path, written: str) -> None:
    with pytest.raises(ProjectInvalid) as caught:
        configured(tmp_path, f"concurrency: {written}")
    (problem,) = caught.value.problems
    assert problem.place.line == 2
    assert "concurrency is a number of models from 1 to 64" in problem.message
    assert problem.advice == "Write one, for example 4."


def test_a_list_of_numbers_is_none(tmp_path: Path) -> None:
    with pytest.raises(ProjectInvalid, match="a single value is expected here"):
        configured(tmp_path, "concurrency: [1, 2]")
