"""Secrets print as stars, and texts of others are shown without those that are known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from vde_dagster.core.errors import Place, Problem, ProjectInvalid, Refused
from vde_dagster.runtime import secrets
from vde_dagster.runtime.secrets import (
    PrivateSettings,
    Secret,
    remember,
    secrets_in,
    secrets_of,
    without_secrets,
)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    known = set(secrets._KNOWN)
    secrets._KNOWN.clear()
    yield
    secrets._KNOWN.clear()
    secrets._KNOWN.update(known)


def test_a_secret_prints_as_stars_and_is_what_it_was() -> None:
    secret = Secret("postgresql://me:canary-1@host/vde")
    assert (repr(secret), str(secret), f"{secret}", f"{[secret]}") == (
        "*****", "*****", "*****", "[*****]",
    )  # fmt: skip
    assert secret.reveal() == "postgresql://me:canary-1@host/vde"
    assert secret == Secret("postgresql://me:canary-1@host/vde") != Secret("other")
    assert len({secret, Secret(secret.reveal())}) == 1


def test_private_settings_are_a_mapping_that_prints_its_keys_alone() -> None:
    settings = PrivateSettings({"token": "canary-1", "uri": "http://host"})
    assert settings == {"token": "canary-1", "uri": "http://host"}
    assert dict(settings) == {"token": "canary-1", "uri": "http://host"}
    assert repr(settings) == "{'token': '*****', 'uri': '*****'}"


@pytest.mark.parametrize(
    "key",
    [
        "token", "credential", "s3.secret-access-key", "s3.access-key-id", "s3.session-token",
        "adls.sas-token", "adls.account-key", "adls.connection-string", "adls.client-secret",
        "gcs.oauth2.token", "header.Authorization", "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key", "spark.sql.catalog.lake.jdbc.password",
        "spark.ssl.keyStorePassword", "spark.hadoop.fs.azure.account.key.x.core.windows.net",
        "ssl_passphrase", "api_key",
    ],
)  # fmt: skip
def test_a_setting_with_such_a_name_is_a_secret(key: str) -> None:
    assert "canary-1" in set(secrets_of({key: "canary-1"}))


@pytest.mark.parametrize(
    "key, value",
    [
        ("warehouse", "s3://bucket/warehouse"), ("uri", "https://host/catalog"), ("type", "rest"),
        ("token-refresh-enabled", "true"), ("oauth2-server-uri", "https://host/tokens"),
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.Provider"), ("s3.region", "eu"),
        ("spark.sql.shuffle.partitions", "4"), ("spark.redaction.regex", "(?i)secret"),
    ],
)  # fmt: skip
def test_a_setting_that_is_none_stays_readable(key: str, value: str) -> None:
    assert set(secrets_of({key: value})) == set()


def test_what_comes_from_the_environment_is_a_secret_unless_it_is_a_place() -> None:
    settings = {"rest.signing": "canary-1", "warehouse": "s3://bucket", "type": "rest"}
    assert "canary-1" in set(secrets_of(settings, outside=settings))
    assert not {"s3://bucket", "rest"} & set(secrets_of(settings, outside=settings))
    assert set(secrets_of(settings)) == set()


@pytest.mark.parametrize(
    "address, expected",
    [
        ("postgresql://me:canary-1@host/vde", {"canary-1"}),
        ("postgresql://me:can@ry/1:x@host:5432/vde", {"can@ry/1:x"}),
        ("postgresql://:canary-1@host", {"canary-1"}),
        ("postgresql://host/vde?user=me&password=canary-1&sslmode=require", {"canary-1"}),
        ("jdbc:sqlserver://host;user=me;password=canary-1;x=1", {"canary-1"}),
        ("sc://host:15002/;token=canary-1;use_ssl=true", {"canary-1"}),
        ("-Xmx2g -Dstore.password=canary-1 -Da.b=c", {"canary-1"}),
        ('"-Dfs.s3a.secret.key=canary-1" -Dtoken.provider.class=org.Provider', {"canary-1"}),
        ("https://host:8181/catalog", set()),
        ("sqlite:////folder/lake.db", set()),
        ("state.db", set()),
    ],
)
def test_an_address_has_its_password_and_tokens(address: str, expected: set[str]) -> None:
    assert set(secrets_in(address)) == expected


def test_what_is_remembered_is_hidden_as_it_is_and_as_an_address_writes_it() -> None:
    remember(["can@ry 1", "%41bcdefgh"])
    assert without_secrets("can@ry 1, x can%40ry%201; Abcdefgh") == "*****, x *****; *****"


def test_a_secret_with_quotes_and_backslashes_is_hidden_as_json_and_python_write_it() -> None:
    secret = "can\"ary\\1'x"
    remember([secret])
    for text in (secret, json.dumps([secret]), json.dumps(f"is {secret}"), repr(f"is {secret}")):
        assert "ary" not in without_secrets(text), text


def test_a_password_is_hidden_as_another_library_writes_its_address() -> None:
    remember(secrets_in("postgresql://me:can%2fary!1@host/vde"))
    for written in ("can%2fary!1", "can/ary!1", "can%2Fary%211"):
        assert without_secrets(f"it is {written}.") == "it is *****."


def test_a_short_secret_is_hidden_as_a_word_and_a_long_one_anywhere() -> None:
    remember(["pass", "canary-1-long", "abc"])
    text = "pass, passport, xcanary-1-longx, abc"
    assert without_secrets(text) == "*****, passport, x*****x, abc"


def test_the_longer_of_two_secrets_is_hidden_whole() -> None:
    remember(["canary-1", "canary-1-and-more"])
    assert without_secrets("canary-1-and-more") == "*****"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("at 'postgresql://me:pw@host/vde'", "at 'postgresql://me:*****@host/vde'"),
        ("jdbc:x://h/d?user=me&password=pw failed", "jdbc:x://h/d?user=me&password=***** failed"),
        ("https://host:8080/path", "https://host:8080/path"),
        ("SELECT a WHERE token=5", "SELECT a WHERE token=5"),
    ],
)
def test_the_password_of_any_address_is_hidden(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


def test_every_error_of_ours_is_without_secrets() -> None:
    remember(["canary-1"])
    error = Refused("canary-1 was wrong", advice="Do not write canary-1.")
    assert (error.message, error.advice) == ("***** was wrong", "Do not write *****.")
    assert (str(error), error.args) == (
        "***** was wrong. Do not write *****.",
        ("***** was wrong",),
    )
    problem = Problem(place=Place(path=Path("vde.yaml")), message="canary-1")
    assert "canary-1" not in str(ProjectInvalid([problem]))
