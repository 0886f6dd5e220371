"""Faults of machines and services on the command line: a sentence, no traceback, exit code 1."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import call, run_vde
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import SetupError
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.project.configuration import read_configuration


def closed_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def settings(project: Path, text: str) -> None:
    (project / "vde.yaml").write_text(f"name: shop\n{text}\n", encoding="utf-8")


def no_traceback(text: str) -> bool:
    return not any(each in text for each in ("Traceback", "This is a bug", "unexpected", "\tat "))


@pytest.mark.parametrize(
    "properties, said",
    [
        ("warehouse: w", "it has no `uri`"),
        ("type: sql, warehouse: w", "it has no `uri`"),
        ("type: sql, uri: '', warehouse: w", "it has no `uri`"),
        ("type: rest", "it has no `uri`"),
        ("uri: 'lake://u:canary@host'", "its `uri` is not a catalog address"),
        ("type: sql, uri: 'lake://u:canary@host/db'", "its `uri` is not a catalog address"),
        ("type: sql, uri: canary", "its `uri` is not a catalog address"),
        ("type: rest, uri: canary", "its `uri` is not a catalog address"),
        ("type: rest, uri: 'ftp://host/canary'", "its `uri` is not a catalog address"),
    ],
)
def test_a_missing_or_wrong_address_of_a_catalog_is_said_with_what_to_write(
    project: Path, properties: str, said: str
) -> None:
    settings(project, f"catalog: {{name: lake, properties: {{{properties}}}}}")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert f"the catalog 'lake' cannot be opened: {said}" in done.stderr
    assert "write `type: sql` with a `uri` such as postgresql+psycopg2://" in done.stderr
    assert "canary" not in done.stderr
    assert no_traceback(done.stderr)


@pytest.mark.parametrize(
    "uri, warehouse",
    [
        (".", "."),
        ("vde.yaml", "."),
        ("vde.yaml/lake.db", "."),
        ("/proc/none/lake.db", "."),
        ("file:lake.db?uri=true&mode=ro", "."),
        ("lake.db", "/proc/none"),
    ],
)
def test_a_file_of_a_catalog_that_cannot_be_opened_is_said_with_what_to_write(
    project: Path, uri: str, warehouse: str
) -> None:
    properties = f"type: sql, uri: 'sqlite:///{uri}', warehouse: {warehouse}"
    settings(project, f"catalog: {{name: lake, properties: {{{properties}}}}}")
    before = {path for path in project.rglob("*") if ".vde" not in path.parts}
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert "the catalog 'lake' cannot be opened" in done.stderr
    assert "sqlite:////path/to/file.db" in done.stderr
    assert no_traceback(done.stderr)
    assert {path for path in project.rglob("*") if ".vde" not in path.parts} == before


@pytest.mark.parametrize("is_named", [True, False])
def test_a_home_of_dagster_that_is_no_folder_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    home = project / ("named" if is_named else ".vde/dagster")
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file")
    configuration = read_configuration(project)
    if is_named:
        monkeypatch.setenv("DAGSTER_HOME", str(home))
    else:
        monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with pytest.raises(SetupError, match=f"Dagster's home {home} cannot be created") as refused:
        dagster_home(configuration)
    assert "DAGSTER_HOME" in refused.value.advice


def test_a_catalog_in_a_database_without_a_warehouse_is_said_before_anything_is_computed(
    project: Path,
) -> None:
    uri = f"sqlite:///{project / 'lake.db'}"
    settings(project, f"catalog: {{name: lake, properties: {{type: sql, uri: '{uri}'}}}}")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert "the catalog 'lake' has no `warehouse`" in done.stderr
    assert no_traceback(done.stderr)
    assert not (project / "lake.db").exists()


def test_relative_files_are_in_the_projects_folder_wherever_a_command_is_started(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(
        project,
        "catalog: {name: lake, properties: {uri: 'sqlite:///data/lake.db', warehouse: data/lake}}\n"
        "state: {url: 'sqlite:///data/state.db'}",
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = call("plan", "--project", project)
    assert done.exit_code == 0, done.stderr
    assert VdeProject.load(project).services.state.identity()  # the first write makes the state
    assert {"lake.db", "state.db", "lake"} <= {each.name for each in (project / "data").iterdir()}
    assert list(elsewhere.iterdir()) == []


def test_a_catalog_that_does_not_answer_is_said_with_its_host_and_port(project: Path) -> None:
    port = closed_port()
    uri = f"http://127.0.0.1:{port}"
    settings(project, f"catalog: {{name: lake, properties: {{type: rest, uri: '{uri}'}}}}")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert (
        f"a service does not answer (127.0.0.1:{port}). Published data is unchanged" in done.stderr
    )
    assert no_traceback(done.stderr)


@contextmanager
def small_disk(folder: Path, size: str = "300k") -> Iterator[None]:
    """A file system of so many bytes, as far as this user may mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this user may mount no file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


MANY_ROWS: Final = """\
MODEL (name shop.hashes, kind FULL);
SELECT SHA2(CAST(id AS STRING), 512) AS hash, COUNT(*) AS times FROM RANGE(@VAR('rows')) GROUP BY 1
"""
ON_A_SMALL_DISK: Final = {
    "all": "",
    "warehouse": "catalog: {properties: {uri: 'sqlite:///lake.db', warehouse: '{disk}'}}",
    "scratch": "spark: {conf: {spark.local.dir: '{disk}'}}",
}


@pytest.mark.full
@pytest.mark.parametrize("used_for", ON_A_SMALL_DISK)
def test_a_disk_that_fills_up_while_spark_writes_leaves_what_was_published_as_it_was(
    tmp_path: Path, used_for: str
) -> None:
    disk = tmp_path / "small"
    folder = disk if used_for == "all" else tmp_path
    here = ("--project", folder)
    build = ("plan", "prod", "--auto-apply", *here)

    def with_rows(rows: int) -> None:
        place = ON_A_SMALL_DISK[used_for].replace("{disk}", str(disk))
        settings(folder, f"{place}\nvariables: {{rows: {rows}}}")

    def shown() -> str:
        asked = run_vde("query", "SELECT COUNT(*) FROM shop.hashes", "--format", "csv", *here)
        assert asked.returncode == 0, asked.stderr
        return asked.stdout.split()[-1]

    with small_disk(disk, "4m"):
        (folder / "models").mkdir()
        (folder / "models" / "hashes.sql").write_text(MANY_ROWS, encoding="utf-8")
        with_rows(10)
        first = run_vde(*build)
        assert first.returncode == 0, first.stderr
        with_rows(300_000)
        full = run_vde(*build)
        assert full.returncode == 1
        assert re.search(r"a disk is full|database is full, or does not work", full.stderr)
        assert no_traceback(full.stderr)
        assert shown() == "10"

        subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
        again = run_vde(*build)
        assert again.returncode == 0, again.stderr
        assert shown() == "300000"
        checked = run_vde("state", "check", *here)
        assert checked.returncode == 0, checked.stdout + checked.stderr


KILLED: Final = '''
import os
import signal
import threading
from pathlib import Path
from typing import Final

from vde_dagster import model


@model("shop.slow", kind="FULL", columns={"id": "bigint"})
def slow(context):
    """Hours of work, in which the machine kills Java; two rows where nobody does."""
    if not Path(context.var("killer")).exists():
        return context.spark.range(2)
    java = context.spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    threading.Timer(2, os.kill, (java, signal.SIGKILL)).start()
    return context.spark.range(10**14).selectExpr("SUM(id % 7) AS id")
'''


@pytest.mark.full
def test_rows_that_spark_cannot_compute_are_said_once_and_its_log_where_it_is_asked_for(
    tmp_path: Path,
) -> None:
    """A task that fails is logged by Spark four times, each with its stack."""
    (tmp_path / "models").mkdir()
    settings(tmp_path, "")
    query = "SELECT CAST(CONCAT('x', id) AS INT) AS number FROM RANGE(1)"
    text = f"MODEL (name shop.numbers, kind FULL);\n{query}"
    (tmp_path / "models" / "numbers.sql").write_text(text, encoding="utf-8")
    command = ("plan", "prod", "--auto-apply", "--project", tmp_path)
    done = run_vde(*command)
    assert done.returncode == 1
    assert done.stderr.count("CAST_INVALID_INPUT") == 1
    assert "The value 'x0'" in done.stderr
    assert no_traceback(done.stderr)
    asked = run_vde(*command, "--debug")
    assert asked.returncode == 1
    assert "ERROR Executor" in asked.stderr
    assert "\tat org.apache.spark." in asked.stderr


@pytest.mark.full
def test_a_killed_jvm_is_said_and_the_same_command_works_afterwards(tmp_path: Path) -> None:
    killer = tmp_path / "killer"
    killer.touch()
    (tmp_path / "models").mkdir()
    settings(tmp_path, f"variables: {{killer: '{killer}'}}")
    (tmp_path / "models" / "slow.py").write_text(KILLED, encoding="utf-8")
    command = ("plan", "prod", "--auto-apply", "--project", tmp_path)
    done = run_vde(*command)
    assert done.returncode == 1
    assert "Spark's Java process died while working" in done.stderr
    assert "Run the same command again" in done.stderr
    assert no_traceback(done.stderr)
    killer.unlink()
    again = run_vde(*command)
    assert again.returncode == 0, again.stderr
    rows = run_vde("query", "SELECT COUNT(*) AS n FROM shop.slow", "--format", "csv", *command[3:])
    assert rows.stdout.split() == ["n", "2"]
