"""A project as a component of Dagster: docs/how-to/component.md, loaded as `dg` loads a folder."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster.components.core.package_entry import (
    DG_PLUGIN_ENTRY_POINT_GROUP,
    get_package_objects_in_module,
)
from dagster.components.resolved.errors import ResolutionException
from dagster.components.testing import create_defs_folder_sandbox
from dagster.components.testing.utils import DefsFolderSandbox

import vde_dagster
from tests.cli.calling import call
from vde_dagster import VdeIcebergIOManager, VdeProjectComponent, VdeTranslatorData
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.orchestration.assets.pyspark_resource import VdePySparkResource
from vde_dagster.runtime.secrets import Secret

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "how-to" / "component.md").read_text("utf-8")
TYPE = "vde_dagster.VdeProjectComponent"
REVENUE, REVENUE_IN_DEV = dg.AssetKey(["mart", "revenue"]), dg.AssetKey(["mart__dev", "revenue"])


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[DefsFolderSandbox]:
    """A project of `dg` in an own folder, with a new project of ours beside it."""
    monkeypatch.delenv("VDE_ENVIRONMENT", raising=False)
    with create_defs_folder_sandbox() as made:
        assert call("init", made.project_root / "src" / "shop").exit_code == 0
        yield made


def loaded(sandbox: DefsFolderSandbox, attributes: dict[str, Any]) -> dg.Definitions:
    written = {"type": TYPE, "attributes": {"project": "../../../shop", **attributes}}
    path = sandbox.defs_folder_path / "shop"
    path.mkdir()
    (path / "defs.yaml").write_text(yaml.safe_dump(written))
    with sandbox.load_component_and_build_defs(path) as (component, definitions):
        assert isinstance(component, VdeProjectComponent)
        return definitions


@pytest.mark.full
@pytest.mark.parametrize(
    "attributes,variable,shown",
    [
        ({}, "", "prod"),
        ({}, "ana", "ana"),
        ({"environment": "dev"}, "ana", "dev"),
        ({"environment": "{{ env.TEST_SHOWN }}"}, "", "qa"),
    ],
)
def test_it_shows_an_environment_of_the_project(
    sandbox: DefsFolderSandbox,
    monkeypatch: pytest.MonkeyPatch,
    attributes: dict[str, str],
    variable: str,
    shown: str,
) -> None:
    monkeypatch.setenv("VDE_ENVIRONMENT", variable)
    monkeypatch.setenv("TEST_SHOWN", "qa")
    definitions = loaded(sandbox, attributes)
    schema = "mart" if shown == "prod" else f"mart__{shown}"
    graph = definitions.resolve_asset_graph()
    assert dg.AssetKey([schema, "revenue"]) in graph.get_all_asset_keys()
    assert definitions.resolve_job_def("vde_automation").tags["vde/environment"] == shown


def test_an_environment_that_is_named_by_nothing_is_not_production(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TEST_MISSING", raising=False)
    named = "{{ env.TEST_MISSING }}"
    with pytest.raises(ResolutionException, match=re.escape(f"{named} has no value")):
        VdeProjectComponent.resolve_from_yaml(f"project: shop\nenvironment: '{named}'\n")
    without = VdeProjectComponent.resolve_from_yaml("project: shop\n")
    assert without.environment is None


def test_its_settings_name_environment_variables_and_have_no_value_of_them(
    sandbox: DefsFolderSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STATE_URL", f"sqlite:///{tmp_path}/own.db")
    monkeypatch.setenv("S3_SECRET", "canary-of-a-component")
    (example,) = re.findall(r"```yaml\n( *settings:.*?)```", DOCS, flags=re.DOTALL)
    given = yaml.safe_load(example)["settings"]
    given["spark"]["master"] = "{{ env('TEST_MISSING', 'local[2]') }}"
    given["spark"]["conf"]["spark.app.version"] = "3.10"
    resources = loaded(sandbox, {"settings": given}).resources or {}
    spark, manager = resources["pyspark"], resources["vde_io_manager"]
    assert isinstance(spark, VdePySparkResource)
    conf = {"spark.app.version": "3.10", "spark.hadoop.fs.s3a.secret.key": "${S3_SECRET}"}
    assert spark.settings == {
        "state": {"url": "${STATE_URL}"},
        "spark": {"master": "local[2]", "conf": conf},
    }
    assert isinstance(manager, VdeIcebergIOManager)
    configuration = manager.location.project.configuration
    assert configuration.state_url == Secret(f"sqlite:///{tmp_path}/own.db")


def test_the_docs_example_translates_attributes(sandbox: DefsFolderSandbox) -> None:
    (example,) = re.findall(r"```yaml\n(type: .*?)```", DOCS, flags=re.DOTALL)
    found = yaml.safe_load(example)
    assert found["type"] == TYPE
    node = loaded(sandbox, found["attributes"]).resolve_asset_graph().get(REVENUE_IN_DEV)
    assert node.group_name == "shop_dev"
    assert node.owners == ["team:shop"]
    assert node.tags["layer"] == "mart"
    assert node.tags["vde/kind"] == "FULL", "tags are added to ours"


@pytest.mark.full
def test_the_projects_own_translator_comes_first(sandbox: DefsFolderSandbox) -> None:
    shop = sandbox.project_root / "src" / "shop"
    text = (shop / "vde.yaml").read_text("utf-8")
    (shop / "vde.yaml").write_text(text + "dagster: {translator: ours.Ours}\n")
    (shop / "ours.py").write_text(
        "from vde_dagster import VdeTranslator\n\n\nclass Ours(VdeTranslator):\n"
        "    def get_asset_spec(self, data):\n        spec = super().get_asset_spec(data)\n"
        "        return spec.replace_attributes(key=spec.key.with_prefix('ours'), group_name='a')\n"
    )
    translation = {"group_name": "{{ spec.group_name }}_b"}
    graph = loaded(sandbox, {"translation": translation}).resolve_asset_graph()
    assert graph.get(REVENUE.with_prefix("ours")).group_name == "a_b"


def test_a_subclass_changes_specifications_and_checks(sandbox: DefsFolderSandbox) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/how-to/component.md", "exec"), names)
    ours: type[VdeProjectComponent] = names["OurProject"]

    class WithoutChecks(ours):  # type: ignore[misc,valid-type]
        def get_asset_check_spec(
            self, data: VdeTranslatorData, spec: dg.AssetCheckSpec
        ) -> dg.AssetCheckSpec | None:
            return None

    shop = sandbox.project_root / "src" / "shop"
    path = shop / "models" / "mart" / "revenue.sql"
    text = path.read_text("utf-8")
    path.write_text(
        text.replace("kind FULL", "kind FULL, audits (not_null (columns := (customer)))", 1)
    )
    for component, checked in ((ours, 1), (WithoutChecks, 0)):
        graph = dg.build_defs_for_component(component(project=shop)).resolve_asset_graph()
        assert graph.get(REVENUE).tags["team"] == "shop"
        audits = [each for each in graph.asset_check_keys if not each.name.startswith("vde_")]
        assert len(audits) == checked


def test_it_is_scaffolded_with_the_projects_folder_relative_to_its_file(
    sandbox: DefsFolderSandbox,
) -> None:
    shop = sandbox.project_root / "src" / "shop"
    path = sandbox.scaffold_component(
        VdeProjectComponent, "ours", scaffold_params={"project_path": str(shop)}
    )
    written = yaml.safe_load((path / "defs.yaml").read_text())
    assert written["attributes"] == {"project": "../../../shop"}
    with sandbox.load_component_and_build_defs(path) as (_, definitions):
        assert REVENUE in definitions.resolve_asset_graph().get_all_asset_keys()


def test_a_folder_that_is_no_project_is_not_scaffolded(sandbox: DefsFolderSandbox) -> None:
    with pytest.raises(ProjectInvalid, match="it is not a project"):
        sandbox.scaffold_component(
            VdeProjectComponent, "none", scaffold_params={"project_path": str(sandbox.project_root)}
        )
    assert not list(sandbox.defs_folder_path.rglob("defs.yaml"))


def test_dg_finds_it_by_the_entry_point() -> None:
    found = dict(get_package_objects_in_module(vde_dagster))
    assert found == {"VdeProjectComponent": VdeProjectComponent}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"] == {DG_PLUGIN_ENTRY_POINT_GROUP: {"vde_dagster": "vde_dagster"}}
