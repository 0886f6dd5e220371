"""`vde maintain`: what it lists and does, and its settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.calling import facts
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from tests.cli.test_docs import documented
from vde_dagster.composition import VdeProject
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.written_settings import MaintainSettings


def test_tables_that_do_not_say_whose_they_are_are_listed_and_left_and_views_maintained(
    project: Path, without_java: WithoutJava
) -> None:
    """In this project there is something in place of each table, which is nobody's."""
    promote(project, loaded=True)
    catalog = VdeProject.load(project).iceberg_catalog()
    for namespace in catalog.list_namespaces():
        for name in catalog.list_tables(namespace):
            if namespace[0].startswith("vde__"):
                schema = catalog.load_table(name).schema()
                catalog.drop_table(name)
                catalog.create_table(name, schema)
    found = facts("maintain", "--dry-run", "--project", project)
    assert found["dry_run"] is True
    assert {each["is_view"] for each in found["tables"]} == {True}
    assert {each["table"].rsplit("__", 1)[0] for each in found["left"]} >= {
        "vde__mart.mart__revenue"
    }
    assert {each["reason"] for each in found["left"]} == {"it does not say which state created it"}
    done = without_java("maintain", "--project", project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("it does not say which state created it") == len(found["left"])
    assert re.search(r"0 of \d+ tables and views were maintained: 0 bytes", done.stdout)


@pytest.mark.full
def test_what_its_json_has_is_in_the_table_of_the_docs(project: Path) -> None:
    promote(project, loaded=True)
    found = facts("maintain", "--project", project)
    fields = {*found} | {field for each in found["tables"] for field in each}
    fields |= {field for each in found["left"] for field in each}
    assert fields - {"version"} <= documented("Upkeep")


@pytest.mark.full
def test_settings_are_read(project: Path) -> None:
    assert read_configuration(project).maintain == MaintainSettings()
    settings = project / "vde.yaml"
    text = "maintain: {snapshots: 1 day, orphans: 2 days, small_files: 3, file_size: 1 GB}\n"
    settings.write_text(settings.read_text() + text)
    found = read_configuration(project).maintain
    assert (found.snapshots.days, found.orphans.days) == (1, 2)
    assert (found.small_files, found.file_size) == (3, 1_000_000_000)
