"""Faults of machines and services on the command line: a sentence, no traceback, exit code 1."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import call, run_vde


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


def test_a_type_of_catalog_that_there_is_not_is_said(project: Path) -> None:
    settings(project, "catalog: {name: lake, properties: {type: sqll, warehouse: w}}")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert "there is no type of catalog of this name (sqll)" in done.stderr
    assert "Write `type: sql`" in done.stderr
    assert no_traceback(done.stderr)
    settings(project, "")
    assert call("plan", "--project", project).exit_code == 0  # as is advised


def test_a_catalog_that_does_not_answer_is_said_with_its_host_and_port(project: Path) -> None:
    port = closed_port()
    uri = f"http://127.0.0.1:{port}"
    settings(project, f"catalog: {{name: lake, properties: {{type: rest, uri: '{uri}'}}}}")
    done = call("plan", "--project", project)
    assert done.exit_code == 1
    assert f"a service does not answer (127.0.0.1:{port}). What was published" in done.stderr
    assert no_traceback(done.stderr)


def test_the_traceback_of_a_fault_is_shown_where_it_is_asked_for(project: Path) -> None:
    settings(project, "catalog: {name: lake, properties: {type: sqll, warehouse: w}}")
    done = call("plan", "--debug", "--project", project)
    assert "Traceback" in done.stderr
    assert "there is no type of catalog" in done.stderr


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 300 kB, as far as this user may mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this user may mount no file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_said_and_the_same_command_works_once_there_is_room(project: Path) -> None:
    disk = project / "small"
    with small_disk(disk):
        filler = disk / "filler"
        database = disk / "lake.db"
        uri = f"sqlite:///{database}"
        settings(
            project,
            f"catalog: {{name: lake, properties: {{type: sql, uri: '{uri}', warehouse: w}}}}",
        )
        filler.write_bytes(b"0" * os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize)
        done = run_vde("plan", "--project", project)
        assert done.returncode == 1
        assert "a disk is full" in done.stderr
        assert no_traceback(done.stderr)
        filler.unlink()
        done = run_vde("plan", "--project", project)
        assert done.returncode == 0, done.stderr


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
def test_a_killed_jvm_is_said_and_the_same_command_works_afterwards(tmp_path: Path) -> None:
    killer = tmp_path / "killer"
    killer.touch()
    (tmp_path / "models").mkdir()
    settings(tmp_path, f"variables: {{killer: '{killer}'}}")
    (tmp_path / "models" / "slow.py").write_text(KILLED, encoding="utf-8")
    command = ("plan", "prod", "--auto-apply", "--project", tmp_path)
    done = run_vde(*command)
    assert done.returncode == 1
    assert "Spark's Java process ended while it was at work" in done.stderr
    assert "Run the same again" in done.stderr
    assert no_traceback(done.stderr)
    killer.unlink()
    again = run_vde(*command)
    assert again.returncode == 0, again.stderr
    rows = run_vde("query", "SELECT COUNT(*) AS n FROM shop.slow", "--format", "csv", *command[3:])
    assert rows.stdout.split() == ["n", "2"]
