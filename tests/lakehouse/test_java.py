"""Which Java is used, and the error if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.java import find_java

OPENJDK_17 = 'openjdk version "17.0.15" 2025-04-15'
JAVA_8 = 'java version "1.8.0_392"'


def write_java(home: Path, says: str, status: int = 0) -> Path:
    """A program that answers as a Java does: its version on standard error."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'Picked up JAVA_TOOL_OPTIONS: -Da=b' >&2\n"
                       f"echo '{says}' >&2\nexit {status}\n")  # fmt: skip
    program.chmod(0o755)
    return program


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No JAVA_HOME and nothing on the PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return monkeypatch


@pytest.mark.parametrize(
    "says,version",
    [
        (OPENJDK_17, 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ('java version "17.0.1" 2021-10-19 LTS', 17),
    ],
)
def test_java_home_comes_before_the_path(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, says: str, version: int
) -> None:
    program = write_java(tmp_path / "a home", says)
    other = write_java(tmp_path / "other", JAVA_8)
    nowhere.setenv("JAVA_HOME", str(tmp_path / "a home"))
    nowhere.setenv("PATH", str(other.parent))

    java = find_java()

    assert (java.executable, java.home) == (program, tmp_path / "a home")
    assert (java.version, java.full_version) == (version, says)


def test_the_path_is_searched_without_java_home(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = write_java(tmp_path / "home", OPENJDK_17)
    nowhere.setenv("PATH", str(program.parent))

    java = find_java()

    assert (java.executable, java.home, java.version) == (program, None, 17)


def refusal() -> str:
    with pytest.raises(SetupError) as refused:
        find_java()
    return str(refused.value)


@pytest.mark.parametrize(
    "platform,install",
    [
        ("linux", "apt-get install openjdk-17-jre-headless"),
        ("darwin", "brew install openjdk@17"),
        ("win32", "a JDK 17"),
    ],
)
def test_no_java_names_the_install_command(
    nowhere: pytest.MonkeyPatch, platform: str, install: str
) -> None:
    nowhere.setattr("sys.platform", platform)
    message = refusal()
    assert "no java is on the PATH" in message
    assert install in message
    assert "JAVA_HOME" in message


def test_too_old_a_java_is_named(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = write_java(tmp_path / "old", JAVA_8)
    nowhere.setenv("PATH", str(program.parent))
    message = refusal()
    assert f"Spark needs Java 17 or newer, and {program} is {JAVA_8}." in message


def test_a_broken_java_home_is_not_passed_over(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = write_java(tmp_path / "good", OPENJDK_17)
    nowhere.setenv("PATH", str(good.parent))
    nowhere.setenv("JAVA_HOME", str(tmp_path / "gone"))
    message = refusal()
    assert f"JAVA_HOME is {tmp_path / 'gone'}, and there is no bin/java in it" in message


def test_a_program_that_is_no_java_is_named_with_its_answer(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub = tmp_path / "stub" / "bin" / "java"
    stub.parent.mkdir(parents=True)
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    stub.chmod(0o755)
    nowhere.setenv("PATH", str(stub.parent))
    message = refusal()
    assert f"{stub} does not run as a Java (Unable to locate a Java Runtime.)" in message
