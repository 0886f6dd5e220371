"""What the tables of the reference say of the code; each is built with the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs_site import reference_tables


def test_defaults_are_written_as_in_a_file() -> None:
    lines = reference_tables.setting_table().splitlines()
    found = {line.split("`")[1]: line.split(" | ")[-1].rstrip(" |") for line in lines[2:]}
    assert found["name"] == "required"
    assert found["maintain.file_size"] == "`128 MB`"
    assert found["clean_up.grace"] == "`1 day`"
    assert found["environments.<name>.follow_files"] == "`true`"
    assert found["variables"] == ""


def test_a_text_is_that_of_the_class_or_of_one_above() -> None:
    lines = reference_tables.option_table("SCD_TYPE_2_BY_TIME").splitlines()
    cells = {line.split("`")[1]: line.split(" | ")[1] for line in lines[2:]}
    assert cells["updated_at_name"] == "Column with the time of the last change."
    assert cells["valid_to_name"].startswith("Added column")
    assert cells["batch_size"].startswith("Most intervals of one evaluation.")


def test_a_kind_without_a_section_of_its_own_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = reference_tables.KINDS_PAGE.read_text("utf-8")
    assert reference_tables.other_kinds() == ""
    (tmp_path / "kinds.md").write_text(page.replace("## SEED\n", ""))
    monkeypatch.setattr(reference_tables, "KINDS_PAGE", tmp_path / "kinds.md")
    assert reference_tables.other_kinds().startswith("## SEED\n")
    assert "| `path` |" in reference_tables.other_kinds()
