"""`vde maintain`: what it lists and does, and its settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.calling import call, facts
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from tests.cli.test_docs import CLI
from vde_dagster.composition import VdeProject
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.written_settings import MaintainSettings

AT_ONCE = (
    "clean_up: {history: 0 seconds}\nmaintain: {snapshots: 0 seconds, small_files: 2}\n"
    "catalog: {name: maintained}\n"
)


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
    assert {each["reason"] for each in found["left"]} == {"it does not say which state made it"}
    done = without_java("maintain", "--project", project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("it does not say which state made it") == len(found["left"])
    assert re.search(r"0 of \d+ tables and views were maintained: 0 bytes", done.stdout)


@pytest.mark.full
def test_what_its_json_has_is_in_the_table_of_the_docs(project: Path) -> None:
    promote(project, loaded=True)
    (row,) = re.findall(r"^\| `maintain` \| (.*) \|$", CLI, flags=re.MULTILINE)
    found = facts("maintain", "--project", project)
    fields = {*found} | {field for each in found["tables"] for field in each}
    fields |= {field for each in found["left"] for field in each}
    assert fields - {"version"} <= set(re.findall(r"`([a-z_]+)`", row))


@pytest.mark.full
def test_a_model_that_has_no_table_is_refused_with_the_nearest_name(project: Path) -> None:
    promote(project, loaded=True)
    done = call("maintain", "mart.revenu", "--project", project)
    assert done.exit_code == 1
    assert "there is no table or view of mart.revenu" in done.stderr
    assert "Did you mean mart.revenue?" in done.stderr
    chosen = facts("maintain", "MART.rev*", "--dry-run", "--project", project)
    assert {each["model"] for each in chosen["tables"]} == {"mart.revenue"}


@pytest.mark.full
def test_settings_are_read(project: Path) -> None:
    assert read_configuration(project).maintain == MaintainSettings()
    settings = project / "vde.yaml"
    text = "maintain: {snapshots: 1 day, orphans: 2 days, small_files: 3, file_size: 1 GB}\n"
    settings.write_text(settings.read_text() + text)
    found = read_configuration(project).maintain
    assert (found.snapshots.days, found.orphans.days) == (1, 2)
    assert (found.small_files, found.file_size) == (3, 1_000_000_000)


@pytest.mark.spark
@pytest.mark.full  # the parts: tests/app/clean_up, tests/lakehouse/test_compacting.py
@pytest.mark.usefixtures("spark")
def test_what_a_look_lists_is_done_and_queries_answer_as_before(project: Path) -> None:
    settings = project / "vde.yaml"
    settings.write_text(settings.read_text() + AT_ONCE)

    def planned(*options: str) -> None:
        done = call("plan", "prod", "--auto-apply", *options, "--project", project)
        assert done.exit_code == 0, done.output

    planned()
    for _ in range(2):
        planned("--restate-model", "mart.revenue")
    query = ("query", "SELECT SUM(revenue) FROM mart.best_customers", "--project", project)
    rows = facts(*query)["rows"]
    seen = facts("maintain", "--dry-run", "--project", project)
    expired = {each["table"]: each["expired"] for each in seen["tables"] if each["expired"]}
    assert len(expired) >= 1
    assert "would be free now" in call("maintain", "--dry-run", "--project", project).stdout
    done = facts("maintain", "--project", project)
    assert {each["table"]: each["expired"] for each in done["tables"] if each["expired"]} == expired
    files = {each["table"]: each["expired_files"] for each in seen["tables"]}
    assert {each["table"]: each["expired_files"] for each in done["tables"]} == files
    assert facts(*query)["rows"] == rows
    after = call("plan", "prod", "--no-apply", "--project", project)
    assert after.stdout == "Nothing to be done: prod is up to date.\n"
    assert "0 of" in call("maintain", "--project", project).stdout
