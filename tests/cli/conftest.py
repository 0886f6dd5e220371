"""A project of the template, and a machine without Java."""

from __future__ import annotations

import shutil
from pathlib import Path
from subprocess import CompletedProcess
from typing import NoReturn, Protocol

import pytest

from tests.cli.calling import NO_JAVA, call, new_project
from vde_dagster.lakehouse.spark import session


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What `vde init` makes, without its unit test."""
    return new_project(tmp_path / "shop")


class WithoutJava(Protocol):
    """Runs `vde` on a machine without Java."""

    def __call__(self, *arguments: str | Path) -> CompletedProcess[str]: ...


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WithoutJava:
    """Runs a command where no `java` is found.

    This process may have a session already, so a command that asks for one fails. That commands
    do not load Spark at all is in test_loaded_modules.py.
    """
    programs = tmp_path / "programs"
    programs.mkdir()
    assert shutil.which("java", path=str(programs)) is None

    def nothing_to_start(*_: object, **__: object) -> NoReturn:
        raise AssertionError("this command asks for a Spark session")

    def run(*arguments: str | Path) -> CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(programs))
            patch.setenv("JAVA_HOME", NO_JAVA["JAVA_HOME"])
            patch.setattr(session, "open_session", nothing_to_start)
            done = call(*arguments)
        return CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    return run
