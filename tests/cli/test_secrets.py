"""Secrets are planted in every setting, and searched in all that can be read afterwards.

Each is another canary, so that a failing test names the setting whose secret got out.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import OURS, call
from vde_dagster.project.configuration import read_configuration
from vde_dagster.runtime.secrets import STARS, without_secrets

CANARIES: Final = {
    f"CANARY_{name}": f"canary-{name.lower()}-4711"
    for name in (
        "VARIABLE", "STATE", "TOKEN", "CREDENTIAL", "S3", "SPARK", "OPTION", "CATALOG", "HEADER",
        "JDBC",
    )
}  # fmt: skip
"""The environment variables with the secrets."""

MODEL: Final = """
MODEL (name a.signed, kind FULL, start '2024-01-01', cron '@daily');
SELECT SHA2(CONCAT('row', @salt), 256) AS signature, LENGTH(@VAR('salt')) AS n
"""


def written(folder: Path, settings: str, files: Mapping[str, str]) -> Path:
    """A project with these settings and files."""
    for name, text in {"vde.yaml": f"name: shop\n{settings}", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def seen(text: str) -> list[str]:
    """The settings whose secrets are in a text."""
    return [name for name, value in CANARIES.items() if value in text]


def files_with_secrets(*places: Path) -> dict[str, list[str]]:
    """The files that have a secret in them, with its name.

    The state has the values of variables, which are a part of models.
    """
    found = {}
    for place in places:
        for path in [place] if place.is_file() else place.rglob("*"):
            if path.is_file():
                kept = {"CANARY_VARIABLE"} if path.name.startswith("lake.db") else set()
                text = path.read_bytes().decode(errors="replace")
                if names := [each for each in seen(text) if each not in kept]:
                    found[str(path)] = names
    return found


@pytest.fixture(autouse=True)
def _canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)


def called(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `vde` in this process, as long as it starts no Spark."""
    done = call(*arguments)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def shown_by(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


@contextmanager
def catalog_that_repeats_what_it_is_sent() -> Iterator[str]:
    """A REST catalog that refuses everybody, and says with which words they came."""

    class Repeating(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = f"{self.headers} {self.rfile.read(length).decode()}".replace('"', "'")
            text = " ".join(sent.split()).replace("\\", "")
            body = f'{{"error": {{"message": "{text}", "type": "X", "code": 400}}}}'.encode()
            self.send_response(400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Repeating)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


WRONG: Final = {
    "a port that is none": "state: {url: 'postgresql://me:${CANARY_STATE}@host:port/vde'}",
    "an address that is none": "state: {url: 'postgresql:/me:${CANARY_STATE}@host/vde'}",
    "a password with an @ and a slash": "state: {url: 'postgresql://me:x@y/${CANARY_STATE}@h/vde'}",
    "a server that is away": "state: {url: 'postgresql://me:${CANARY_STATE}@127.0.0.1:1/vde'}",
    "a password as a parameter": "state: {url: 'postgresql://127.0.0.1:1/x?password=${CANARY_STATE}'}",
    "a parameter that is none": "state: {url: 'postgresql://127.0.0.1:1/x?token=${CANARY_STATE}'}",
    "a catalog's server that is away": "catalog: {properties: {type: sql, uri: "
    "'postgresql+psycopg2://me:${CANARY_CATALOG}@127.0.0.1:1/c', warehouse: 'file:///tmp/none'}}",
    "a catalog of an unknown type": "catalog: {properties: {type: '${CANARY_CATALOG}', "
    "token: '${CANARY_TOKEN}'}}",
    "a REST catalog that is away": "catalog: {properties: {type: rest, uri: 'http://127.0.0.1:1', "
    "token: '${CANARY_TOKEN}', s3.secret-access-key: '${CANARY_S3}'}}",
    "a word that is no mode": "categorize: ask\nspark: {conf: '${CANARY_SPARK}'}",
}
"""Settings with which nothing can be opened."""


@pytest.mark.full
@pytest.mark.parametrize("settings", WRONG.values(), ids=WRONG)
def test_no_error_shows_the_secret_of_a_setting_not_even_to_those_who_debug(
    settings: str, tmp_path: Path
) -> None:
    folder = written(
        tmp_path, settings + "\n", {"models/a/signed.sql": "MODEL (name a.b); SELECT 1 AS n"}
    )
    done = called("plan", "dev", "--debug", "--project", folder)
    assert done.returncode != 0
    assert done.stderr.strip()
    assert seen(shown_by(done)) == [], shown_by(done)


@pytest.mark.full
@pytest.mark.parametrize(
    "credentials",
    ["token: '${CANARY_TOKEN}'", "credential: 'me:${CANARY_CREDENTIAL}'",
     "token: t0k3n, header.X-Api-Key: '${CANARY_HEADER}'"],
)  # fmt: skip
def test_a_catalog_that_repeats_our_token_is_quoted_with_stars(
    credentials: str, tmp_path: Path
) -> None:
    with catalog_that_repeats_what_it_is_sent() as address:
        settings = f"catalog: {{properties: {{type: rest, uri: '{address}', {credentials}}}}}\n"
        folder = written(tmp_path, settings, {"models/a/b.sql": "MODEL (name a.b); SELECT 1 AS n"})
        done = called("plan", "dev", "--debug", "--project", folder)
    assert done.returncode != 0
    assert STARS in done.stderr
    assert seen(shown_by(done)) == [], shown_by(done)


SPARKS: Final = """\
variables: {salt: '${CANARY_VARIABLE}'}
spark:
  conf:
    spark.sql.ansi.enabled: 'false'
    spark.sql.custom.place: '${CANARY_SPARK}'
    spark.sql.custom.more: 'at ${CANARY_S3}'
    spark.sql.custom.url: 'jdbc:x://host?password=${CANARY_JDBC}'
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "settings, kept",
    [("variables: {salt: '${CANARY_VARIABLE}'}\n", "salt"), (SPARKS, "spark.sql.custom.place")],
)
def test_plan_files_and_the_cache_have_no_value_of_an_environment_variable(
    tmp_path: Path, settings: str, kept: str
) -> None:
    plain = "MODEL (name a.plain, start '2024-01-01'); SELECT 1 AS n"
    files = {"models/a/signed.sql": MODEL, "models/a/plain.sql": plain}
    folder, saved = written(tmp_path / "shop", settings, files), tmp_path / "plan.json"
    for _ in range(2):  # the second time, models are found in the cache
        done = called("plan", "dev", "--save", saved, "--project", folder)
        assert done.returncode == 0, shown_by(done)
        assert seen(shown_by(done)) == []
        assert kept in saved.read_text()
        assert files_with_secrets(folder, saved) == {}
    cache = folder / ".vde" / "parsed_models.sqlite"
    assert b"a.plain" in cache.read_bytes(), "it keeps what has no secret"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / ".vde").glob("*.*")}
    assert {"parsed_models.sqlite", "lake.db"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_variable_that_is_a_secret_by_its_name_is_hidden_in_texts_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "canary-of-a-variable")
    monkeypatch.setenv("REGION", "eu-north-4711")
    settings = "variables: {api_token: '${API_TOKEN}', region: '${REGION}'}\n"
    read_configuration(written(tmp_path, settings, {}))
    assert without_secrets("canary-of-a-variable, eu-north-4711") == f"{STARS}, eu-north-4711"


SPARK: Final = """
variables: {salt: '${CANARY_VARIABLE}'}
spark:
  conf:
    spark.hadoop.fs.s3a.secret.key: '${CANARY_SPARK}'
    spark.sql.custom.password: '${CANARY_SPARK}'
    spark.driver.extraJavaOptions: '-Dstore.password=${CANARY_OPTION} -XX:TieredStopAtLevel=1'
    spark.sql.catalog.other: org.apache.iceberg.spark.SparkCatalog
    spark.sql.catalog.other.type: jdbc
    spark.sql.catalog.other.token: '${CANARY_TOKEN}'
    spark.sql.catalog.other.warehouse: /nowhere
    spark.sql.catalog.other.uri: 'jdbc:sqlite:/none/x?password=${CANARY_JDBC}'
"""
FAILING: Final = """
from vde_dagster import model

@model("a.failing", kind="FULL", start="2024-01-01", columns={"n": "INT"})
def execute(context):
    return context.spark.sql("SELECT n FROM other.a.b")
"""


@pytest.mark.full
@pytest.mark.spark
def test_a_run_with_spark_leaves_no_secret_in_logs_events_files_or_the_list_of_processes(
    tmp_path: Path,
) -> None:
    files = {"models/a/signed.sql": MODEL, "models/a/failing.py": FAILING}
    folder = written(tmp_path / "shop", SPARK, files)
    environment = {key: each for key, each in os.environ.items() if key not in OURS}
    code = "from vde_dagster.cli import main; main()"
    said, arguments = tmp_path / "said", ("--auto-apply", "--debug")
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "plan", "dev", *arguments, "--project", folder],
            env=environment,
            stdout=output,
            stderr=output,
        )
        commands: set[str] = set()
        while process.poll() is None:
            commands |= every_command_line()
            time.sleep(0.05)
    assert process.returncode != 0, "one of the models fails"
    assert any("deploy.SparkSubmit" in each for each in commands)
    assert seen("\n".join(commands)) == []
    text = said.read_text(errors="replace")
    assert "a.failing" in text
    assert STARS in text, "Java's error has the address of its database"
    assert files_with_secrets(said, folder) == {}
    assert list((folder / ".vde" / "dagster").rglob("*.db")), "the events are among these files"


def every_command_line() -> set[str]:
    """What the process list of this machine shows to everybody."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.add(path.read_bytes().decode(errors="replace"))
    return found
