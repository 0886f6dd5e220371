# ruff: noqa: E501 - a row of a table is one line
"""Settings that code gives to a project: over those of vde.yaml, with credentials by name alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.project.configuration import Configuration, read_configuration
from vde_dagster.runtime.secrets import STARS, Secret, without_secrets

FILE: Final = """\
name: shop
catalog:
  name: lake
  properties: {type: sql, uri: 'sqlite:////tmp/lake.db', warehouse: 'file:///tmp/lake'}
spark: {master: 'local[2]'}
state: {url: 'sqlite:////tmp/state.db'}
"""
KEY: Final = "spark.hadoop.fs.s3a.secret.key"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OUR_PASSWORD", "canary-of-state")
    monkeypatch.setenv("OUR_KEY", "canary-of-spark")
    (tmp_path / "vde.yaml").write_text(FILE, encoding="utf-8")
    return tmp_path


def read(folder: Path, **settings: Any) -> Configuration:
    return read_configuration(folder, settings)


def problems(folder: Path, settings: dict[str, Any]) -> list[str]:
    with pytest.raises(ProjectInvalid) as found:
        read_configuration(folder, settings)
    return [str(each) for each in found.value.problems]


def test_settings_win_over_the_file_key_by_key(folder: Path) -> None:
    properties = {"warehouse": "s3://ours/lake", "s3.region": "eu"}
    found = read(folder, catalog={"properties": properties}, spark={"conf": {KEY: "${OUR_KEY}"}})
    assert found.catalog.name == "lake"
    assert dict(found.catalog.properties) == {
        "type": "sql",
        "uri": "sqlite:////tmp/lake.db",
        "warehouse": "s3://ours/lake",
        "s3.region": "eu",
    }
    assert found.spark.master == "local[2]"
    assert list(found.spark.conf) == [KEY]
    assert found.state_url == Secret("sqlite:////tmp/state.db")


def test_a_section_that_the_file_does_not_have_is_taken_as_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "vde.yaml").write_text("name: shop\nspark:\n", encoding="utf-8")
    found = read(
        tmp_path, spark={"conf": {"spark.cores.max": 4, "spark.x": True}, "master": "yarn"}
    )
    assert dict(found.spark.conf) == {"spark.cores.max": "4", "spark.x": "true"}
    assert found.spark.master == "yarn"


def test_values_from_the_environment_are_kept_by_name_and_hidden(folder: Path) -> None:
    url = "postgresql://vde:${OUR_PASSWORD}@db/vde"
    given = {"state": {"url": url}, "spark": {"conf": {KEY: "${OUR_KEY}"}}}
    found = read(folder, **given)
    assert found.state_url == Secret("postgresql://vde:canary-of-state@db/vde")
    assert found.spark.conf[KEY] == "canary-of-spark"
    assert found.given == given
    assert "canary" not in repr(found)
    hidden = without_secrets("refused canary-of-state, and canary-of-spark")
    assert hidden == f"refused {STARS}, and {STARS}"


REFUSED: Final = [
    ({"state": {"url": "postgresql://vde:hunter22@db/vde"}}, "settings.state.url", "a credential is written out"),
    ({"spark": {"conf": {KEY: "hunter22"}}}, f"settings.spark.conf.{KEY}", "a credential is written out"),
    ({"spark": {"remote": "sc://spark:15002/;token=hunter22"}}, "settings.spark.remote", "a credential is written out"),
    ({"catalog": {"properties": {"uri": "https://u:hunter22@db/${OUR_KEY}"}}}, "settings.catalog.properties.uri", "a credential is written out"),
    ({"state": {"url": "${OUR_MISSING_VARIABLE}"}}, "settings.state.url", "${OUR_MISSING_VARIABLE} is not set"),
    ({"state": {"url": None}}, "settings.state.url", "NoneType is not a text, a number"),
    ({"state": {"urls": "x"}}, "settings.state.urls", "settings.state has the unknown key 'urls'"),
    ({"defaults": {"start": "2024-01-01"}}, "settings.defaults", "settings has the unknown key 'defaults'"),
    ({"catalog": {"name": "other"}}, "settings.catalog.name", "settings.catalog has the unknown key 'name'"),
    ({"catalog": "lake"}, "settings.catalog", "settings.catalog has to be a mapping of properties"),
    ({"spark": {"conf": {"spark.sql.ansi.enabled": False}}}, "settings.spark.conf.spark.sql.ansi.enabled", "spark.sql.ansi.enabled may change rows"),
]  # fmt: skip


@pytest.mark.parametrize("settings,place,message", REFUSED, ids=[row[1] for row in REFUSED])
def test_what_code_may_not_give_is_refused_with_its_place(
    folder: Path, settings: dict[str, Any], place: str, message: str
) -> None:
    found = problems(folder, settings)
    assert any(each.startswith(f"{place}:1: {message}") for each in found), found
    assert "hunter22" not in "\n".join(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"catalog": {"properties": {"credential": "id:${OUR_KEY}"}}},
        {"catalog": {"properties": {"oauth2-server-uri": "https://auth/token"}}},
        {"spark": {"conf": {"spark.authenticate.secret.use": True}}},
        {"state": {"url": "postgresql://vde@db/vde"}},
    ],
)
def test_what_names_its_credentials_or_has_none_is_taken(
    folder: Path, settings: dict[str, Any]
) -> None:
    assert read_configuration(folder, settings).given == settings


def test_problems_of_settings_and_of_models_are_told_together(folder: Path) -> None:
    (folder / "models").mkdir()
    (folder / "models" / "a.sql").write_text("SELECT FROM WHERE", encoding="utf-8")
    with pytest.raises(ProjectInvalid) as found:
        VdeProject.load(folder, settings={"state": {"urls": "x"}})
    places = {str(each.place.path) for each in found.value.problems}
    assert places >= {"settings.state.urls", "models/a.sql"}
