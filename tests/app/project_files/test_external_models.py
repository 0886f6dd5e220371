"""Declaring sources from any catalog: existing ones, missing ones, and those that nobody reads."""

from __future__ import annotations

from pathlib import Path

from tests.worlds.catalog import MemoryCatalog
from vde_dagster.app.project_files.external_models import (
    declare_sources,
    survey_sources,
    write_declaration,
)
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName, TableName

ORDERS, LOST, STRANGE = (ModelName("raw", name) for name in ("orders", "lost", "strange"))


def catalog() -> MemoryCatalog:
    made = MemoryCatalog()
    columns = (Column(name="id", type="bigint", description="The key"),)
    made.create_table(TableName("raw", "orders"), columns, properties={"comment": "All orders"})
    strange = (Column(name="id", type="bigint"), Column(name="at", type="timestamp_ns"))
    made.create_table(TableName("raw", "strange"), strange)
    return made


def test_each_source_is_described_missing_or_without_a_name_for_its_types() -> None:
    found = survey_sources(catalog(), [ORDERS, LOST, STRANGE])
    assert list(found.tables) == [ORDERS]
    assert found.tables[ORDERS].description == "All orders"
    assert found.missing == (LOST,)
    assert found.untyped == {STRANGE: ("at",)}


def test_what_nobody_describes_is_undeclared_and_what_nobody_reads_is_unread(
    tmp_path: Path,
) -> None:
    file = tmp_path / "external_models.yaml"
    file.write_text("- {name: raw.lost, columns: {x: int}}\n- {name: old.one, columns: {x: int}}\n")
    found = declare_sources(catalog(), file, [ORDERS, LOST, STRANGE], name="lake")
    assert found.undeclared == (STRANGE,)
    assert found.unread == (ModelName("old", "one"),)
    assert found.changes


def test_a_declaration_is_written_once(tmp_path: Path) -> None:
    file = tmp_path / "external_models.yaml"
    first = declare_sources(catalog(), file, [ORDERS], name="lake")
    assert (first.before, first.changes, file.exists()) == (None, True, False)
    write_declaration(first)
    second = declare_sources(catalog(), file, [ORDERS], name="lake")
    assert not second.changes
    before = file.stat().st_mtime_ns
    write_declaration(second)
    assert file.stat().st_mtime_ns == before
