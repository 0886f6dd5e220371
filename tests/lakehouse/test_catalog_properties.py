"""Each property of pyiceberg's catalogs: what Spark is told of it, or why it is refused."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Final

import pyiceberg.catalog
import pyiceberg.catalog.rest
import pyiceberg.io
import pytest
from pyiceberg.catalog import CatalogType
from pyiceberg.catalog.glue import GlueCatalog

from tests.platform.processes import ROOT
from vde_dagster.composition import spark_conf
from vde_dagster.core.errors import Refused, SetupError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.catalog_properties import (
    _is_known,
    _setting_for,
    kind_of,
    refuse_without_views,
)
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
from vde_dagster.lakehouse.spark.spark_catalog import spark_catalog_conf
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.project.configuration import read_configuration

NAME: Final = TableName("dev", "one")
OWN: Final = "spark.sql.catalog.lake"
SQL: Final = {"type": "sql", "uri": "postgresql://h/d"}
REST: Final = {"type": "rest", "uri": "http://h"}
NO_PROPERTIES: Final = {
    "cabundle",
    "catalog",
    "client",
    "client_credentials",
    "client_id",
    "client_secret",
    "cert",
    "custom",
    "EXTERNAL_TABLE",
    "grant_type",
    "iceberg",
    "key",
    "location",
    "manifest",
    "manifest list",
    "metadata",
    "metadata_location",
    "previous metadata",
    "previous_metadata",
    "previous_metadata_location",
    "table_type",
    "utf-8",
    "vended-credentials",
}
"""Texts in the same modules that are parts of requests, of tables and of files."""
OF_PYTHON: Final = {"auth.manager", "botocore_session", "py-catalog-impl"}
"""What only Python code can give, and what is refused by itself."""


def constants(module: ModuleType) -> set[str]:
    """What a module of pyiceberg names in capital letters, if it looks like a property."""
    texts = {
        value
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and not name.endswith(("_DEFAULT", "SHA256"))
    }
    return {each for each in texts if re.fullmatch(r"[a-z][a-z0-9_.-]+[a-z0-9_]", each)}


def refused(properties: dict[str, str], given: dict[str, str] | None = None) -> SetupError:
    with pytest.raises(SetupError) as caught:
        spark_catalog_conf("lake", properties, given or {})
    return caught.value


def test_each_property_of_the_installed_pyiceberg_is_known() -> None:
    """One that a later release adds is looked at before it is taken, or left out, by Spark."""
    found = (
        constants(pyiceberg.io) | constants(pyiceberg.catalog) | constants(pyiceberg.catalog.rest)
    )
    found = {each for each in found if not each.startswith("pyiceberg.")}
    assert {"adls.account-name", "s3.proxy-uri", "rest-page-size", "ssl", "hf.token"} <= found
    unknown = {each for each in found if not (_is_known(each, "rest") or _setting_for(each))}
    assert unknown - NO_PROPERTIES - OF_PYTHON == set()


@pytest.mark.parametrize(
    "key,setting",
    [
        ("adls.account-name", "io-impl"),
        ("auth", "rest.auth.type"),
        ("client.profile-name", "client.credentials-provider"),
        ("gcs.project-id", "io-impl"),
        ("hdfs.host", "io-impl"),
        ("s3.anonymous", "client.credentials-provider"),
        ("s3.proxy-uri", "http-client.proxy-endpoint"),
        ("s3.role-arn", "client.factory"),
        ("s3.server-side-encryption", "s3.sse.type"),
        ("s3.signer.endpoint", "s3.remote-signing-enabled"),
        ("ssl", "rest.client.tls.configurer-impl"),
    ],
)
def test_what_spark_needs_by_other_values_is_refused_until_its_setting_is_there(
    key: str, setting: str
) -> None:
    error = refused({**REST, key: "hush"})
    assert f"no Spark setting is known for `{key}`" in error.message
    assert f"set {OWN}.{setting} in `spark.conf`" in str(error.advice)
    assert "hush" not in str(error)
    assert spark_catalog_conf("lake", {**REST, key: "hush"}, {f"{OWN}.{setting}": "theirs"})
    whole = {OWN: "org.apache.iceberg.spark.SparkCatalog"}
    assert spark_catalog_conf("lake", {**REST, key: "hush"}, whole)


def test_all_that_spark_would_miss_is_said_at_once() -> None:
    error = refused(
        {**SQL, "token": "a", "s3.proxy-uri": "b", "adls.token": "c", "s3.sse-kms": "d"}
    )
    assert error.message.endswith(
        "no Spark setting is known for `adls.token`, `s3.proxy-uri`, `s3.sse-kms`, `token`"
    )
    assert error.advice == (
        f"set {OWN}.http-client.proxy-endpoint and {OWN}.io-impl in `spark.conf` of vde.yaml, and "
        "anything else that Iceberg's Java library needs there. "
        f"Remove `s3.sse-kms`, or set {OWN}.s3.sse-kms in `spark.conf` if Spark knows it. "
        f"Remove `token`, or set {OWN}.token in `spark.conf` if Spark knows it."
    )
    assert spark_catalog_conf("lake", {**SQL, "token": "a"}, {f"{OWN}.token": "a"})


def test_each_catalog_in_the_docs_is_one_that_spark_can_be_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = 0
    for page in ("how-to/deploy.md", "reference/configuration.md"):
        text = (ROOT / "docs" / page).read_text("utf-8")
        for example in re.findall(r"```yaml\n((?:.*\n)*?)```", text):
            if not example.startswith(("catalog:", "name: shop\n")):
                continue
            for name in re.findall(r"\$\{(\w+)\}", example):
                monkeypatch.setenv(name, "of the docs")
            named = example if example.startswith("name:") else f"name: shop\n{example}"
            (tmp_path / "vde.yaml").write_text(named, encoding="utf-8")
            configuration = read_configuration(tmp_path)
            told = spark_conf(configuration)
            own = f"spark.sql.catalog.{configuration.catalog.name}"
            assert told[f"{own}.type"] in ("jdbc", "rest")
            found += 1
    assert found >= 6


@pytest.mark.parametrize(
    "key", ["echo", "pool_pre_ping", "py-io-impl", "s3.request-timeout", "schema_version"]
)
def test_how_pyiceberg_itself_works_is_nothing_to_spark(key: str) -> None:
    without_s3 = {
        each: value
        for each, value in spark_catalog_conf("lake", {**SQL, key: "1"}, {}).items()
        if not each.endswith(".io-impl")
    }
    assert without_s3 == spark_catalog_conf("lake", SQL, {})


@pytest.mark.parametrize(
    "properties,kind",
    [
        ({"type": "SQL"}, "sql"),
        ({"uri": "https://h"}, "rest"),
        ({"uri": "thrift://h:9083"}, "hive"),
        ({"uri": "postgresql://h/d"}, "sql"),
        ({"py-catalog-impl": "ours.Catalog", "uri": "https://h"}, None),
        ({"warehouse": "/w"}, None),
    ],
)
def test_a_catalog_is_of_the_type_that_pyiceberg_gives_it(
    properties: dict[str, str], kind: str | None
) -> None:
    assert kind_of("lake", properties) == kind


WITHOUT_VIEWS: Final = {
    "bigquery": "BigQuery Metastore",
    "dynamodb": "DynamoDB",
    "glue": "Glue",
    "hive": "Hive Metastore",
}


@pytest.mark.parametrize("kind", WITHOUT_VIEWS)
def test_a_catalog_without_views_is_refused_before_anybody_is_asked_for_it(kind: str) -> None:
    """Opening any of these would look for a package, for keys, or for a service."""
    with pytest.raises(SetupError, match=f"in {WITHOUT_VIEWS[kind]}, where pyiceberg has no views"):
        open_iceberg_catalog("lake", {"type": kind, "uri": "thrift://127.0.0.1:1"})
    assert "no views" in refused({"type": kind}).message


def test_all_other_types_of_pyiceberg_have_views() -> None:
    for each in CatalogType:
        if each.value not in WITHOUT_VIEWS:
            refuse_without_views("lake", {"type": each.value})


def test_the_installed_pyiceberg_has_no_views_in_glue() -> None:
    """When this fails, look again at what docs/how-to/deploy.md says of Glue."""
    properties = {"glue.region": "eu-central-1", "glue.endpoint": "http://127.0.0.1:1"}
    keys = {"glue.access-key-id": "k", "glue.secret-access-key": "s"}
    glue = GlueCatalog("lake", **properties, **keys)
    with pytest.raises(NotImplementedError):
        glue.list_views("dev")
    definition = ViewDefinition(name=NAME, target=NAME, columns=())
    with pytest.raises(Refused, match="'lake' is a GlueCatalog, which cannot replace views"):
        IcebergCatalog(glue).swap_views([definition], [])
