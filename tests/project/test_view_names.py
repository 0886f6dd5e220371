"""Names that a project cannot have are reported when it is read, each with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.repositories import write
from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.project.loading import load_project


def model(name: str) -> str:
    return f"MODEL (name {name}, kind FULL);\nSELECT COUNT(id) AS rows FROM raw.events"


SOURCES = "".join(f"- name: {n}\n  columns: {{id: bigint}}\n" for n in ("raw.events", "s.m__dev"))


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., list[Problem]]:
    """Write a project; the problems that reading it reports."""

    def problems(setting: str, **models: str) -> list[Problem]:
        files = {"vde.yaml": f"name: p\n{setting}\n", "external_models.yaml": SOURCES}
        write(tmp_path, files | {f"models/{name}.sql": text for name, text in models.items()})
        try:
            load_project(tmp_path)
        except ProjectInvalid as error:
            return list(error.problems)
        return []

    return problems


@pytest.mark.parametrize("name", ["s.a__b", "s.a_", "s.__a"])
def test_behind_the_model_a_name_with_a_double_underscore_is_refused_with_its_place(
    project: Callable[..., list[Problem]], name: str
) -> None:
    assert project("environment_suffix_target: schema", one=model(name)) == []
    (found,) = project("environment_suffix_target: table")
    assert name in found.message
    assert "environment_suffix_target" in found.message
    assert str(found.place).startswith("models/one.sql")
    assert found.advice


def test_behind_the_model_a_source_at_the_place_of_a_view_is_refused(
    project: Callable[..., list[Problem]],
) -> None:
    (found,) = project("environment_suffix_target: table", m=model("s.m"))
    assert "s.m__dev" in found.message
    assert "view of s.m in the environment dev" in found.message
    assert str(found.place).startswith("external_models.yaml")
    assert project("environment_suffix_target: schema") == []


def test_an_embedded_model_has_no_view_and_any_name(project: Callable[..., list[Problem]]) -> None:
    text = "MODEL (name s.a__b, kind EMBEDDED);\nSELECT id FROM raw.events"
    assert project("environment_suffix_target: table", one=text) == []


@pytest.mark.parametrize(
    "setting,message",
    [
        ("environment_suffix_target: view", "schema, table or catalog, not 'view'"),
        ("environment_suffix_target: [schema]", "a single value"),
        ("environment_suffix_target: catalog\ncatalog: {name: my__lake}", "my__lake"),
        (
            "environment_suffix_target: catalog\ncatalog: {properties: {type: rest, uri: 'http://a'}}",
            "only a SQL catalog",
        ),
        (
            "environment_suffix_target: catalog\ncatalog: {properties: {uri: 'https://a'}}",
            "only a SQL catalog",
        ),
        (
            "environment_suffix_target: catalog\ncatalog: {name: 'a`; drop'}",
            "not a plain identifier",
        ),
        ("environment_sufix_target: table", "Did you mean 'environment_suffix_target'"),
    ],
)
def test_a_wrong_setting_is_reported_with_its_line(
    project: Callable[..., list[Problem]], setting: str, message: str
) -> None:
    (found,) = project(setting)
    assert message in f"{found.message} {found.advice}"
    assert str(found.place).startswith("vde.yaml:2")


@pytest.mark.parametrize(
    "query", ["SELECT id FROM other.raw.events", "SELECT id FROM `other`.`raw`.`events` AS e"]
)
def test_a_table_of_another_catalog_is_refused_with_its_place(
    project: Callable[..., list[Problem]], query: str
) -> None:
    (found,) = project("", one=f"MODEL (name s.one, kind FULL);\n{query}")
    assert "s.one reads other.raw.events from another catalog, other" in found.message
    assert str(found.place).startswith("models/one.sql")


def test_a_model_in_another_catalog_is_refused_with_its_place(
    project: Callable[..., list[Problem]],
) -> None:
    (found,) = project("", one=model("other.s.one"))
    assert "other.s.one is in another catalog, other" in found.message
    assert str(found.place).startswith("models/one.sql")
