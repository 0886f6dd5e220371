"""The pages of the tutorial: each command is run in order, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lakehouse.interpreted import interpreted_in_short_form
from tests.tutorial.pages import ROOT, Reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = ROOT / "docs" / "tutorial"
ON = "switch on `vde_automation_prod`"
RUN = "the sensor starts a run"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """In a folder with nothing in it."""
    return Reader(tmp_path, monkeypatch)


@pytest.mark.spark
def test_ten_minutes_lead_from_the_installation_to_late_rows(
    reader: Reader, spark: SparkSession
) -> None:
    page = (PAGES / "first-steps.md").read_text("utf-8")
    with interpreted_in_short_form(spark, adaptive=True):
        reader.follow(page)
    did = [each for each in reader.done if re.match(r"pip|vde ui|switch|the sensor|Open", each)]
    assert did[:4] == ["pip install vde-dagster", "vde ui", ON, RUN]
    assert len(did) == 5, "it looks at a partition in the end"


@pytest.mark.spark
@pytest.mark.full  # each command has a test of its own
def test_thirty_minutes_lead_from_a_new_project_to_automation(
    reader: Reader, spark: SparkSession
) -> None:
    page = (PAGES / "own-project.md").read_text("utf-8")
    with interpreted_in_short_form(spark, adaptive=True):
        reader.follow(page)
    did = {" ".join(each.split()[:2]) for each in reader.done if each.startswith("vde ")}
    commands = "init plan query test table-diff promote rollback create-external-models ci ui"
    assert did == {f"vde {each}" for each in commands.split()}
    late = [each for each in reader.done if each.startswith(("python land.py", RUN))]
    assert late[-2:] == ["python land.py 3 2024-01-03T17:45 30.25", RUN]


def test_the_pages_name_the_versions_of_python_that_the_package_takes() -> None:
    page = (PAGES / "first-steps.md").read_text("utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (named,) = re.findall(r"Python (\d\.\d+(?:, \d\.\d+)*) or (\d\.\d+)", page)
    versions = re.findall(r'"Programming Language :: Python :: (\d\.\d+)"', project)
    assert [*named[0].split(", "), named[1]] == versions
