"""Dagster's EnvVar in what `build_definitions` is given: read where the project is opened."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
import re
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap

from tests.cli.calling import call
from vde_dagster import VdeIcebergIOManager, VdeProject, build_definitions
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.orchestration.assets.pyspark_resource import VdePySparkResource
from vde_dagster.project.configuration import Configuration
from vde_dagster.runtime.secrets import Secret

DOCS: Final = (Path(__file__).parents[2] / "docs" / "reference" / "configuration.md").read_text(
    "utf-8"
)
KEY: Final = "spark.hadoop.fs.s3a.secret.key"
CANARY: Final = "canary-of-an-env-var"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project; its state is where a variable says."""
    folder = tmp_path / "shop"
    assert call("init", folder).exit_code == 0
    for name, value in {
        "SHOP_FOLDER": str(folder),
        "SHOP_SHOWN": "qa",
        "STATE_URL": f"sqlite:///{tmp_path}/own.db",
        "S3_SECRET": CANARY,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SHOP_MISSING", raising=False)
    return folder


def given() -> dict[str, Any]:
    return {
        "state": {"url": dg.EnvVar("STATE_URL")},
        "spark": {"conf": {KEY: dg.EnvVar("S3_SECRET")}},
    }


NAMED: Final = {"state": {"url": "${STATE_URL}"}, "spark": {"conf": {KEY: "${S3_SECRET}"}}}


def opened(definitions: dg.Definitions) -> VdeIcebergIOManager:
    found = (definitions.resources or {})["vde_io_manager"]
    assert isinstance(found, VdeIcebergIOManager)
    return found


def spark_of(definitions: dg.Definitions) -> VdePySparkResource:
    found = (definitions.resources or {})["pyspark"]
    assert isinstance(found, VdePySparkResource)
    return found


@pytest.mark.full
def test_they_are_read_where_the_project_is_opened_and_kept_by_name(
    shop: Path, tmp_path: Path
) -> None:
    definitions = build_definitions(shop, settings=given())
    configuration = opened(definitions).location.project.configuration
    assert configuration.state_url == Secret(f"sqlite:///{tmp_path}/own.db")
    assert configuration.spark.conf[KEY] == CANARY
    assert configuration.given == NAMED
    assert spark_of(definitions).settings == NAMED
    assert CANARY not in repr(configuration)
    served = RepositorySnap.from_def(definitions.get_repository_def())
    assert CANARY not in dg.serialize_value(served)


@pytest.mark.full
def test_the_session_for_own_assets_is_opened_with_them_as_dagster_passes_the_resource_on(
    shop: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    seen: list[Configuration] = []
    monkeypatch.setattr(
        VdeProject, "open_spark_for_users", lambda project: seen.append(project.configuration)
    )

    @dg.asset(required_resource_keys={"pyspark"})
    def report(context: dg.AssetExecutionContext) -> None:
        _ = context.resources.pyspark.spark_session

    spark = spark_of(build_definitions(shop, settings=given()))
    assert dg.materialize([report], resources={"pyspark": spark}, instance=instance).success
    assert [each.spark.conf[KEY] for each in seen] == [CANARY]


def test_folder_and_environment_may_be_named_by_them(shop: Path) -> None:
    definitions = build_definitions(
        dg.EnvVar("SHOP_FOLDER"), environment=dg.EnvVar("SHOP_SHOWN"), settings=given()
    )
    location = opened(definitions).location
    assert location.environment == "qa"
    assert location.project.configuration.folder == shop.resolve()


def test_one_that_is_not_set_is_told_by_its_name(shop: Path) -> None:
    with pytest.raises(Refused, match="SHOP_MISSING, passed to build_definitions, is not set"):
        build_definitions(shop, environment=dg.EnvVar("SHOP_MISSING"))
    with pytest.raises(ProjectInvalid, match=r"settings.state.url:1: \$\{SHOP_MISSING\} is not"):
        build_definitions(shop, settings={"state": {"url": dg.EnvVar("SHOP_MISSING")}})


@pytest.mark.full
def test_one_for_a_number_is_taken(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_CORES", "4")
    settings = {"spark": {"conf": {"spark.cores.max": dg.EnvVar.int("SHOP_CORES")}}}
    found = opened(build_definitions(shop, settings=settings)).location.project.configuration
    assert found.spark.conf["spark.cores.max"] == "4"


@pytest.mark.full
def test_the_docs_example_gives_credentials(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n([^`]*EnvVar[^`]*)```", DOCS)
    monkeypatch.chdir(shop)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/reference/configuration.md", "exec"), names)
    assert opened(names["prod"]).location.project.configuration.given == NAMED
