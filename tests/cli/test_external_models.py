"""`vde create-external-models`: from the catalog into the file, through the real entry point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.landed import make_source, write_project
from vde_dagster.composition import VdeProject

DECLARED = (
    "- name: raw.events\n"
    "  columns:\n"
    "    id: bigint  # Number of the event\n"
    "    at: timestamp  # When it happened\n"
    "    amount: bigint\n"
    "    note: string\n"
)


@pytest.fixture
def undeclared(tmp_path: Path) -> Path:
    """A project whose source is in the catalog, and in no file."""
    folder = write_project(tmp_path / "shop")
    (folder / "external_models.yaml").unlink()
    make_source(folder)
    return folder


def create(folder: Path, *arguments: str) -> dict[str, Any]:
    return document("create-external-models", *arguments, "--project", folder)


def file_of(folder: Path) -> Path:
    return folder / "external_models.yaml"


def test_a_project_that_could_not_be_loaded_is_declared_and_loads(undeclared: Path) -> None:
    refused = call("plan", "--project", undeclared)
    assert refused.exit_code == 1
    assert "Declare it with its columns in external_models.yaml" in refused.stderr
    facts = create(undeclared)
    assert list(facts) == [
        "version",
        "file",
        "changed",
        "written",
        "added",
        "updated",
        "missing",
        "untyped",
        "unread",
    ]
    assert (facts["changed"], facts["written"]) == (True, True)
    assert (facts["added"], facts["missing"], facts["unread"]) == (["raw.events"], [], [])
    assert file_of(undeclared).read_text().endswith(DECLARED)
    assert call("plan", "--project", undeclared).exit_code == 0
    again = create(undeclared)
    assert (again["changed"], again["written"], again["added"]) == (False, False, [])


def test_what_differs_is_corrected_and_what_people_wrote_stays(undeclared: Path) -> None:
    by_hand = (
        "# Ours\n- name: raw.events\n  description: By hand\n  columns:\n"
        "    id: int # the key\n    gone: string\n    at: timestamp\n    amount: bigint\n"
        "- name: old.archive\n  columns: {x: int}\n"
    )
    file_of(undeclared).write_text(by_hand)
    done = call("create-external-models", "--project", undeclared)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "~ raw.events: id int -> bigint, + note string, - gone",
        "  old.archive: read by no model; its entry is unchanged",
        "external_models.yaml is written.",
    ]
    assert file_of(undeclared).read_text() == by_hand.replace("id: int #", "id: bigint #").replace(
        "    gone: string\n", ""
    ).replace("    amount: bigint\n", "    amount: bigint\n    note: string\n")


def test_check_writes_nothing_and_answers_by_its_exit_code(undeclared: Path) -> None:
    done = call("create-external-models", "--check", "--project", undeclared)
    assert done.exit_code == 1
    assert "+ raw.events: 4 columns" in done.stdout
    assert "external_models.yaml would change." in done.stdout
    assert "run the command without --check" in done.stderr
    assert not file_of(undeclared).exists()
    create(undeclared)
    facts = create(undeclared, "--check")
    assert (facts["changed"], facts["written"]) == (False, False)


def test_a_source_that_is_nowhere_is_named_and_the_others_are_written(undeclared: Path) -> None:
    model = undeclared / "models" / "mart" / "lost.sql"
    model.write_text("SELECT x FROM raw.lost JOIN raw.declared USING (x)\n")
    file_of(undeclared).write_text("- name: raw.declared\n  columns: {x: int}\n")
    done = call("create-external-models", "--project", undeclared)
    assert done.exit_code == 1
    assert "models read raw.lost, which neither the catalog nor external_models.yaml" in done.stderr
    assert "raw.declared: not in the catalog; its entry is unchanged" in done.stdout
    assert file_of(undeclared).read_text().endswith(DECLARED)


def test_hostile_names_and_comments_of_the_catalog_are_only_text(undeclared: Path) -> None:
    catalog = VdeProject.load(undeclared).iceberg_catalog()
    names = ["a: b", "# c", "{d}", "- e", "null", "'f\"", "g`; DROP TABLE x", "${HOME}", "ü b"]
    fields = [
        NestedField(index, name, StringType(), doc=f"${{HOME}}\n- name: x.y # {name}")
        for index, name in enumerate(names, start=1)
    ]
    comment = {"comment": "all: ${NOT_SET}\n- name: evil.one"}
    catalog.create_table(("raw", "strange"), Schema(*fields), properties=comment)
    (undeclared / "models" / "strange.sql").write_text("SELECT * FROM raw.strange\n")
    assert create(undeclared)["added"] == ["raw.events", "raw.strange"]
    graph = VdeProject.load(undeclared).files.graph
    (strange,) = [node for node in graph if str(node.name) == "raw.strange"]
    assert [each.name for each in strange.columns] == names
    assert {str(node.name) for node in graph if node.name.schema == "evil"} == set()


@pytest.mark.full
def test_sources_behind_variables_and_macros_are_found_and_disabled_models_read_none(
    undeclared: Path,
) -> None:
    for name in ("first", "second", "third"):
        catalog = VdeProject.load(undeclared).iceberg_catalog()
        catalog.create_table(("raw", name), Schema(NestedField(1, "x", StringType())))
    with (undeclared / "vde.yaml").open("a") as file:
        file.write("variables: {which: first}\n")
    (undeclared / "macros").mkdir()
    (undeclared / "macros" / "shop.py").write_text(
        "from vde_dagster.project.macros.files import macro\n"
        "@macro()\n"
        "def all_of_second():\n"
        "    return '(SELECT x FROM raw.second)'\n"
    )
    models = undeclared / "models" / "mart"
    (models / "one.sql").write_text("SELECT x FROM raw.@{which}\n")
    (models / "two.sql").write_text("SELECT @all_of_second() AS x FROM raw.first\n")
    (models / "three.sql").write_text(
        "MODEL (name mart.three, kind FULL, enabled false);\nSELECT x FROM raw.third\n"
    )
    assert create(undeclared)["added"] == ["raw.events", "raw.first", "raw.second"]
    assert call("plan", "--project", undeclared).exit_code == 0


def test_models_that_cannot_be_read_are_reported_and_nothing_is_written(undeclared: Path) -> None:
    (undeclared / "models" / "broken.sql").write_text("SELECT FROM\n")
    (undeclared / "models" / "odd.sql").write_text("MODEL (name a.b, kind FUL);\nSELECT 1 AS x\n")
    done = call("create-external-models", "--project", undeclared)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "broken.sql:1" in done.stderr
    assert "odd.sql:1" in done.stderr
    assert not file_of(undeclared).exists()
