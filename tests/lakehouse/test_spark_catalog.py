"""What Spark is told of a catalog that is configured for pyiceberg, and the jars it needs then.

The names on Spark's side are those of Iceberg's documentation.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vde_dagster.composition import spark_conf
from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.spark.jars import ICEBERG_AWS_BUNDLE, POSTGRESQL_JDBC, SQLITE_JDBC
from vde_dagster.lakehouse.spark.spark_catalog import (
    embedded_catalog_conf,
    needed_jars,
    spark_catalog_conf,
)
from vde_dagster.project.configuration import read_configuration

PREFIX = "spark.sql.catalog.lake"
PRAGMAS = "journal_mode=WAL&busy_timeout=60000&transaction_mode=IMMEDIATE&synchronous=NORMAL"
POSTGRES = "postgresql+psycopg2://vde:a%40b@db.example.com:5433/our%20lake"


def told(properties: dict[str, str], given: dict[str, str] | None = None) -> dict[str, str]:
    """The settings of the catalog `lake`, without what all have in common."""
    found = spark_catalog_conf("lake", properties, given or {})
    assert found.pop(PREFIX) == "org.apache.iceberg.spark.SparkCatalog"
    assert found.pop(f"{PREFIX}.cache-enabled") == "false"
    return {key.removeprefix(f"{PREFIX}."): value for key, value in found.items()}


def test_the_embedded_catalog_is_a_file_and_a_folder_whose_names_are_quoted() -> None:
    conf = embedded_catalog_conf("lake", Path("/a b/c#1.db"), Path("/a b/warehouse"))
    assert conf == {
        PREFIX: "org.apache.iceberg.spark.SparkCatalog",
        f"{PREFIX}.type": "jdbc",
        f"{PREFIX}.uri": f"jdbc:sqlite:file:/a%20b/c%231.db?{PRAGMAS}",
        f"{PREFIX}.jdbc.schema-version": "V1",
        f"{PREFIX}.warehouse": "/a b/warehouse",
        f"{PREFIX}.cache-enabled": "false",
    }


def test_a_sqlite_file_elsewhere_is_told_as_the_embedded_one() -> None:
    properties = {"type": "sql", "uri": "sqlite:////a/lake.db", "warehouse": "file:///a/w"}
    embedded = embedded_catalog_conf("lake", Path("/a/lake.db"), Path("/a/w"))
    assert spark_catalog_conf("lake", properties, {}) == embedded


@pytest.mark.parametrize("kind", [{"type": "sql"}, {}], ids=["named", "by its address"])
def test_postgres_is_reached_by_jdbc_with_the_password_beside_the_address(
    kind: dict[str, str],
) -> None:
    assert told({**kind, "uri": POSTGRES, "warehouse": "file:///srv/lake"}) == {
        "type": "jdbc",
        "uri": "jdbc:postgresql://db.example.com:5433/our%20lake",
        "jdbc.user": "vde",
        "jdbc.password": "a@b",
        "jdbc.schema-version": "V1",
        "warehouse": "/srv/lake",
    }


@pytest.mark.parametrize(
    "address,expected",
    [
        ("postgresql://h/d", "jdbc:postgresql://h/d"),
        ("postgresql://[::1]:5432/d", "jdbc:postgresql://[::1]:5432/d"),
        ("postgresql://h/d?sslmode=require&connect_timeout=9",
         "jdbc:postgresql://h/d?connectTimeout=9&sslmode=require"),
        ("postgresql://h/d?sslrootcert=/a%20b.crt", "jdbc:postgresql://h/d?sslrootcert=%2Fa+b.crt"),
    ],
)  # fmt: skip
def test_an_address_of_postgres_is_one_of_its_jdbc_driver(address: str, expected: str) -> None:
    assert told({"uri": address})["uri"] == expected


def test_a_rest_catalog_has_the_same_credentials_in_both() -> None:
    same = {
        "type": "rest",
        "uri": "https://catalog.example.com",
        "warehouse": "ours",
        "credential": "id:secret",
        "scope": "PRINCIPAL_ROLE:ALL",
        "oauth2-server-uri": "https://login.example.com/token",
        "prefix": "p",
        "header.X-Tenant": "t",
        "rest.sigv4-enabled": "true",
        "view-endpoints-supported": "true",
    }
    assert told(same | {"snapshot-loading-mode": "refs"}) == same
    assert told({"uri": "http://h:8181"}) == {"type": "rest", "uri": "http://h:8181"}


def test_a_rest_catalog_whose_requests_are_signed_has_the_keys_of_aws_in_both() -> None:
    signed = {
        "type": "rest",
        "uri": "https://glue.eu-central-1.amazonaws.com/iceberg",
        "warehouse": "123456789012",
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "glue",
    }
    keys = {
        "client.region": "eu-central-1",
        "client.access-key-id": "k",
        "client.secret-access-key": "s",
        "client.session-token": "t",
    }
    assert told(signed | keys) == {
        **signed,
        "rest.signing-region": "eu-central-1",
        "rest.access-key-id": "k",
        "rest.secret-access-key": "s",
        "rest.session-token": "t",
        "client.region": "eu-central-1",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "s3.session-token": "t",
    }
    there = keys | {"rest.signing-region": "us-east-1"}
    assert told(signed | there)["rest.signing-region"] == "us-east-1"
    assert needed_jars(spark_catalog_conf("lake", signed, {}))[1:] == (ICEBERG_AWS_BUNDLE,)


def test_tables_in_s3_are_reached_with_the_same_keys() -> None:
    properties = {
        "uri": POSTGRES,
        "warehouse": "s3://bucket/w",
        "s3.endpoint": "http://127.0.0.1:9000",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "s3.region": "eu-west-1",
    }
    found = told(properties)
    assert {
        key: found[key] for key in found if "jdbc" not in key and key not in ("type", "uri")
    } == {
        "warehouse": "s3://bucket/w",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": "http://127.0.0.1:9000",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "client.region": "eu-west-1",
        "s3.path-style-access": "true",
    }
    of_aws = {"uri": POSTGRES, "client.region": "eu-west-1", "client.access-key-id": "k"}
    both = told(of_aws | {"s3.access-key-id": "of s3", "s3.region": "us-east-1"})
    assert (both["s3.access-key-id"], both["client.region"]) == ("of s3", "us-east-1")
    assert told(of_aws)["s3.access-key-id"] == "k"
    named = told(properties | {"s3.force-virtual-addressing": "true"})
    assert named["s3.path-style-access"] == "false"
    assert "s3.path-style-access" not in told({"uri": POSTGRES, "warehouse": "s3://bucket/w"})


def test_what_spark_is_told_itself_wins() -> None:
    one = {f"{PREFIX}.jdbc.user": "spark"}
    found = spark_catalog_conf("lake", {"uri": POSTGRES}, one)
    assert f"{PREFIX}.jdbc.user" not in found
    assert found[f"{PREFIX}.jdbc.password"] == "a@b"
    whole = {PREFIX: "org.apache.iceberg.spark.SparkCatalog", f"{PREFIX}.type": "hadoop"}
    kept = spark_catalog_conf("lake", {"uri": POSTGRES}, whole)
    assert kept == {f"{PREFIX}.cache-enabled": "false"}
    cached = whole | {f"{PREFIX}.cache-enabled": "true"}
    assert spark_catalog_conf("lake", {"uri": POSTGRES}, cached) == {}


@pytest.mark.parametrize(
    "properties,why",
    [
        ({"warehouse": "/w"}, "neither a type nor a uri"),
        ({"py-catalog-impl": "ours.Catalog"}, "py-catalog-impl"),
        ({"type": "nonsense"}, "its type is nonsense"),
        ({"type": "sql", "uri": "mysql://h/d"}, "its database is mysql"),
        ({"type": "sql", "uri": "nonsense"}, "not a database URL"),
        ({"uri": "postgresql:///d?host=/run/postgresql"}, "does not know its host"),
        ({"uri": "postgresql:///d"}, "cannot use a Unix socket"),
        ({"uri": "postgresql://h/d?options=-csearch_path%3Dx"}, "does not know its options"),
    ],
)
def test_what_has_no_counterpart_in_spark_is_refused_with_the_setting_to_write(
    properties: dict[str, str], why: str
) -> None:
    with pytest.raises(SetupError, match=why) as refused:
        spark_catalog_conf("lake", properties, {})
    advice = f"set {PREFIX} and its options in `spark.conf` of vde.yaml."
    assert refused.value.advice == advice
    settings = {PREFIX: "org.apache.iceberg.spark.SparkCatalog"}
    assert spark_catalog_conf("lake", properties, settings) == {f"{PREFIX}.cache-enabled": "false"}


def test_a_password_stands_in_no_refusal() -> None:
    with pytest.raises(SetupError) as refused:
        spark_catalog_conf("lake", {"uri": "postgresql://u:hush@h/d?a=b"}, {})
    assert "hush" not in f"{refused.value} {refused.value.advice}"


def test_only_the_drivers_of_the_catalogs_are_needed() -> None:
    embedded = embedded_catalog_conf("lake", Path("/a.db"), Path("/w"))
    assert needed_jars(embedded)[1:] == (SQLITE_JDBC,)
    postgres = spark_catalog_conf("lake", {"uri": POSTGRES, "warehouse": "s3://b/w"}, {})
    assert needed_jars(postgres)[1:] == (POSTGRESQL_JDBC, ICEBERG_AWS_BUNDLE)
    assert needed_jars(embedded | {f"{PREFIX}.uri": "http://h"})[1:] == ()
    assert needed_jars({"spark.other.uri": "jdbc:postgresql://h/d"})[1:] == ()


def test_settings_of_the_embedded_catalog_import_no_sqlalchemy() -> None:
    """A thread that starts Spark would meet another one that imports it."""
    code = (
        "import sys; from pathlib import Path\n"
        "from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf, needed_jars\n"
        "needed_jars(embedded_catalog_conf('lake', Path('/a.db'), Path('/w')))\n"
        "sys.exit('sqlalchemy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_over_spark_connect_only_that_no_tables_are_kept_is_sent_of_a_servers_catalog(
    tmp_path: Path,
) -> None:
    catalog = {"name": "lake", "properties": {"type": "rest", "uri": "http://h", "token": "t"}}
    remote = {"remote": "sc://h:15002", "conf": {"spark.sql.shuffle.partitions": "7"}}
    settings = {"name": "shop", "catalog": catalog, "spark": remote}
    (tmp_path / "vde.yaml").write_text(json.dumps(settings), encoding="utf-8")
    assert spark_conf(read_configuration(tmp_path)) == {
        f"{PREFIX}.cache-enabled": "false",
        "spark.sql.shuffle.partitions": "7",
    }
