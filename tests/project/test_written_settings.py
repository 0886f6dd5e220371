# ruff: noqa: E501 - rows of tables stay on one line
"""What `vde.yaml` may say: what is taken, and what is said of the rest, at its line."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any, Final

import pytest
from pyiceberg.catalog import CatalogType

from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.names import TableName
from vde_dagster.project.configuration import Configuration, read_configuration
from vde_dagster.project.machine import author, user
from vde_dagster.runtime.secrets import STARS, without_secrets

TOKEN: Final = "0123456789abcdef"
REMOTE: Final = f"sc://spark.example.com:443/;use_ssl=true;token={TOKEN}"


def read(folder: Path, text: str) -> Configuration:
    (folder / "vde.yaml").write_text(f"name: shop\n{text}\n", encoding="utf-8")
    return read_configuration(folder)


@pytest.fixture(autouse=True)
def _ana(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VDE_USER", "Ana.B")
    monkeypatch.delenv("VDE_AUTHOR", raising=False)


TAKEN: Final[list[tuple[str, str, object]]] = [
    ("", "concurrency", 1),
    ("concurrency: '64'", "concurrency", 64),
    ("", "clean_up.schedule", None),
    ("clean_up: {schedule: '30 2 * * mon-fri'}", "clean_up.schedule", "30 2 * * mon-fri"),
    ("maintain: {schedule: ' @Daily '}", "maintain.schedule", "@daily"),
    ("clean_up: {environments: never}", "times.environment", None),
    ("environments: {dev: {ttl: never}, b: {}}", "times.environments", {"dev": None}),
    ("maintain: {file_size: 2 GB}", "maintain.file_size", 2_000_000_000),
    ("", "late_data.sessions", TableName("vde_meta", "late_sessions")),
    ("late_data: {sessions_table: lake.Ops.Sessions}", "late_data.sessions", TableName("ops", "sessions")),
    ("late_data: {sessions_table: lake.Ops.Sessions}", "late_data.marks", TableName("vde_meta", "high_watermarks")),
    ("", "default_environment", "prod"),
    ("default_environment: dev_{user}", "default_environment", "dev_ana_b"),
    ("default_environment: '{user}_{user}'", "default_environment", "ana_b_ana_b"),
    ("default_environment: Team/One", "default_environment", "team_one"),
    ("", "strict_columns", False),
    ("strict_columns: true", "strict_columns", True),
    ("state: {url: ''}", "state_url", None),
    ("spark:", "spark.remote", None),
    ("clock: wall", "clock.valid_to", ()),
    ("dagster: {translator: a.B, pool: ''}", "dagster.translator", "a.B"),
    ("dagster: {translator: a.B, pool: ''}", "dagster.pool", None),
]  # fmt: skip


@pytest.mark.parametrize("text,path,value", TAKEN)
def test_what_is_written_is_taken_and_the_rest_has_defaults(
    tmp_path: Path, text: str, path: str, value: object
) -> None:
    found: Any = read(tmp_path, text)
    for key in path.split("."):
        found = getattr(found, key)
    assert found == value


REFUSED: Final = [
    *((f"concurrency: {each}", 2, "concurrency has to be a whole number, at least 1 and at most 64")
      for each in ("0", "-1", "65", "2.5", "many", "1" * 5000, "''")),
    ("concurrency: [1, 2]", 2, "a single value is expected here"),
    ("maintain: {small_files: 1}", 2, "small_files has to be a whole number, at least 2, not '1'"),
    ("maintain: {orphans: 59 minutes}", 2, "orphans is less than an hour"),
    ("maintain:\n  file_size: 0 MB", 3, "file_size has to be a number of MB or GB"),
    ("clean_up:\n  schedule: nightly", 3, "the cron 'nightly' is not valid"),
    ("maintain: {schedule: '0 3 * *'}", 2, "five fields are needed"),
    ("maintain: {files: 1}", 2, "unknown key 'files'"),
    ("environments: {dev: {ttl: 1 month}}", 2, "is not a valid duration"),
    ("clean_up:\n  history: never", 3, "'never' is not a valid duration"),
    ("environments:\n  prod:\n    ttl: 1 day", 4, "prod cannot have a ttl"),
    ("environments: {dev: [a]}", 2, "environments.dev has to be a mapping of categorize, follow_files, ttl"),
    ("environments: {dev: {follow_file: true}}", 2, "environments.dev has the unknown key 'follow_file'"),
    ("late_data: {sessions_table: vde_meta.high_watermarks}", 2, "cannot share the table"),
    ("late_data: {sessions_table: other.ops.sessions}", 2, "is not in the project's catalog"),
    ("late_data: {high_watermarks_table: a b}", 2, "not a plain identifier"),
    ("late_data: {session_table: ops.s}", 2, "session_table"),
    ("default_environment: dev_{username}", 2, "{username} has no meaning"),
    ("default_environment: dev_{}_{home}", 2, "{}, {home} has no meaning"),
    ("default_environment: dev_{user", 2, "a single brace has no meaning"),
    ("default_environment: dev_user}", 2, "a single brace has no meaning"),
    ("default_environment: '---'", 2, "'---' is not a valid environment name"),
    ("default_environment: {user}", 2, "a single value is expected here"),
    ("state: {url: 3}", 2, "not the address of a database"),
    ("state:\n  url: data/state.db", 3, "not the address of a database"),
    ("state:\n\n  url: mysql://h/x", 4, "not the address of a database"),
    ("catalog: {properties: {type: foo}}", 2, "'foo' is not a supported catalog type"),
    ("catalog:\n  properties:\n    uri: x\n    type: 3", 5, "'3' is not a supported catalog type"),
    ("catalog:\n  properties:\n    uri:", 4, "a single value is expected here"),
    ("spark:\n  remote: local[2]", 3, "spark.remote is not an address of a Spark Connect server: it does not start with sc://"),
    (f"spark:\n  remote: sc://spark.example.com;token={TOKEN}", 3, "its host or its port cannot be read"),
    (f"spark:\n  remote: sc://spark.example.com/;token={TOKEN}=", 3, "a parameter is one name=value"),
    (f"spark:\n  conf:\n    spark.x.password: [{TOKEN}]", 4, "a single value is expected here"),
    (f"spark:\n  conf: {TOKEN}", 3, "spark.conf has to be a mapping of names to values"),
    (f"state: [{TOKEN}]", 2, "state has to be a mapping of url"),
    ("folder: /x", 2, "vde.yaml has the unknown key 'folder'"),
    ("defaults: {catalog: other}", 2, "defaults has the unknown key 'catalog'"),
]  # fmt: skip


@pytest.mark.parametrize("text,line,words", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_used_is_told_once_at_its_line_and_without_secrets(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(ProjectInvalid) as caught:
        read(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.place.path.as_posix(), problem.place.line) == ("vde.yaml", line)
    assert words in problem.message
    assert problem.advice
    assert TOKEN not in str(caught.value)


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    rows = [
        row for row in REFUSED if row[0].startswith(("clean_up:\n  s", "catalog: ", "spark:\n  r"))
    ]
    text = "\n".join(row[0] for row in rows[:3]) + "\nnames: x\nconcurrency: 0"
    with pytest.raises(ProjectInvalid) as caught:
        read(tmp_path, text)
    places = [each.place.line for each in caught.value.problems]
    assert places == sorted({3, 4, 6, 7, 8})
    assert "Did you mean 'name'?" in str(caught.value)


def test_an_address_is_a_secret(tmp_path: Path) -> None:
    remote = read(tmp_path, f"spark: {{remote: '{REMOTE}'}}").spark.remote
    assert remote is not None
    assert (remote.reveal(), repr(remote)) == (REMOTE, STARS)
    assert TOKEN not in without_secrets(f"refused: {TOKEN}")


def test_an_address_from_outside_is_not_looked_at_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_TEST_URL", "oracle://me:secret@host/x")
    assert read(tmp_path, "state:\n  url: ${VDE_TEST_URL}").state_url is not None


@pytest.mark.parametrize("kind", [each.value for each in CatalogType])
def test_every_type_of_pyiceberg_is_known(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, f"catalog: {{properties: {{type: {kind.upper()}}}}}").name == "shop"


def test_the_user_is_that_of_the_machine_unless_it_is_said_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (user(), author().split("@")[0]) == ("Ana.B", "Ana.B")
    monkeypatch.setenv("VDE_USER", " ")
    assert user() == getpass.getuser()
    monkeypatch.setenv("VDE_USER", "a" * 200)
    with pytest.raises(ProjectInvalid, match="Use 1 to"):
        read(tmp_path, "default_environment: dev_{user}")
