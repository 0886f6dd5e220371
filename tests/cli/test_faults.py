"""Faults of machines and services on the command line: a sentence, no traceback, exit code 1."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
