"""A project of the template, and a machine without Java."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.calling import call


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What `vde init` makes."""
    folder = tmp_path / "shop"
    assert call("init", folder).exit_code == 0
    return folder


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which no `java` is found."""
    programs = tmp_path / "programs"
    programs.mkdir()
    assert shutil.which("java", path=str(programs)) is None
    return {"PATH": str(programs), "JAVA_HOME": ""}
