"""Addresses and types in `vde.yaml` that cannot be used are told at their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import CatalogType

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import Configuration, read_configuration


def read(folder: Path, text: str) -> Configuration:
    (folder / "vde.yaml").write_text(f"name: shop\n{text}\n", encoding="utf-8")
    return read_configuration(folder)


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("state: {url: 3}", 2, "not the address of a database"),
        ("state:\n  url: true", 3, "not the address of a database"),
        ("state:\n  url: data/state.db", 3, "not the address of a database"),
        ("state:\n  url: postgres://h/x", 3, "not the address of a database"),
        ("state:\n\n  url: mysql://h/x", 4, "not the address of a database"),
        ("catalog: {properties: {type: foo}}", 2, "no type of catalog named 'foo'"),
        ("catalog:\n  properties:\n    uri: x\n    type: 3", 5, "no type of catalog named '3'"),
    ],
)
def test_what_cannot_be_used_is_told_at_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(ProjectInvalid) as caught:
        read(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.place.path.as_posix(), problem.place.line) == ("vde.yaml", line)
    assert message in problem.message
    assert problem.advice


@pytest.mark.parametrize("address", ["sqlite:///x.db", "postgresql+psycopg://a@h/b", ""])
def test_what_can_be_used_is_taken(tmp_path: Path, address: str) -> None:
    assert read(tmp_path, f"state: {{url: '{address}'}}").name == "shop"


def test_an_address_from_outside_is_not_looked_at_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_TEST_URL", "oracle://me:secret@host/x")
    assert read(tmp_path, "state:\n  url: ${VDE_TEST_URL}").state_url is not None


@pytest.mark.parametrize("kind", [each.value for each in CatalogType])
def test_every_type_of_pyiceberg_is_known(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, f"catalog: {{properties: {{type: {kind.upper()}}}}}").name == "shop"
