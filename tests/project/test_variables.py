"""Variables in `vde.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import read_configuration


def written(folder: Path, text: str) -> dict[str, object]:
    (folder / "vde.yaml").write_text(f"name: shop\n{text}\n", encoding="utf-8")
    return dict(read_configuration(folder).variables)


def test_names_are_in_lower_case_and_values_keep_their_types(tmp_path: Path) -> None:
    text = "variables: {Country: nl, rate: 0.5, top: 10, big: true, none: null, ids: [1, two]}"
    found = {"country": "nl", "rate": 0.5, "top": 10, "big": True, "none": None, "ids": [1, "two"]}
    assert written(tmp_path, text) == found
    assert written(tmp_path, "") == {}


def test_all_wrong_names_are_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = "variables:\n  a-b: 1\n  start_ts: 2\n  top: 3\n  Top: 4"
    with pytest.raises(ProjectInvalid) as caught:
        written(tmp_path, text)
    said = str(caught.value)
    for line, message in (
        (3, "'a-b' is not a valid variable name"),
        (4, "'start_ts' is not a valid variable name"),
        (6, "the variable 'top' is given twice"),
    ):
        assert f"vde.yaml:{line}: {message}" in said


@pytest.mark.parametrize(
    "text, line",
    [
        ("variables: {x: {a: 1}}", 2),
        ("variables:\n  y: 1\n  x:\n    a: 1", 4),
        ("variables:\n  x: [1, {a: 2}]", 3),
        ("variables:\n  x:\n  - 1\n  - - {}", 5),
    ],
)
def test_a_mapping_is_no_value_of_a_variable(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(
        ProjectInvalid, match=rf"vde\.yaml:{line}: the variable 'x' contains a mapping"
    ):
        written(tmp_path, text)


def test_what_is_no_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectInvalid, match=r"vde\.yaml:2: variables has to be a mapping"):
        written(tmp_path, "variables: [1, 2]")
