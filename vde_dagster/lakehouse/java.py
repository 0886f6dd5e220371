"""Finds the Java that Spark will use, or says what to install or set."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from vde_dagster.core.errors import SetupError

MINIMUM_VERSION = 17
"""The oldest feature release that Spark 4 runs on."""

_ANSWER_SECONDS = 60.0
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that is new enough for Spark.

    ``home`` is JAVA_HOME where that names it; None where ``executable`` was found on the PATH.
    """

    executable: Path
    home: Path | None
    version: int
    full_version: str


def find_java() -> Java:
    """Return the Java that Spark's own start scripts would take: JAVA_HOME first, then the PATH.

    Raises:
        SetupError: There is none, JAVA_HOME names none, it does not run, or it is too old.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        executable = _in_home(Path(named))
        if executable is None:
            raise SetupError(
                f"JAVA_HOME is {named}, and there is no bin/java in it",
                advice=f"Set JAVA_HOME to a Java {MINIMUM_VERSION} or newer, or unset it. "
                f"{_how_to_install()}",
            )
        home: Path | None = Path(named)
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise SetupError(
                f"Spark needs Java {MINIMUM_VERSION} or newer, and there is none: JAVA_HOME is not "
                "set and no java is on the PATH",
                advice=_how_to_install(),
            )
        executable, home = Path(on_path), None
    version, full_version = _ask_version(executable)
    if version < MINIMUM_VERSION:
        raise SetupError(
            f"Spark needs Java {MINIMUM_VERSION} or newer, and {executable} is {full_version}",
            advice=_how_to_install(),
        )
    return Java(executable=executable, home=home, version=version, full_version=full_version)


def _in_home(home: Path) -> Path | None:
    found = shutil.which("java", path=str(home / "bin"))
    return Path(found) if found else None


def _ask_version(executable: Path) -> tuple[int, str]:
    try:
        answer = subprocess.run(
            [executable, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(executable, str(error)) from error
    text = answer.stderr + answer.stdout
    match = _VERSION.search(text)
    if answer.returncode != 0 or match is None:  # macOS: /usr/bin/java stands there without a Java
        raise _broken(executable, text.strip().split("\n", 1)[0])
    first_line = next(line for line in text.splitlines() if _VERSION.search(line))
    return int(match.group(1)), first_line.strip()


def _broken(executable: Path, reason: str) -> SetupError:
    return SetupError(
        f"{executable} does not run as a Java ({reason or 'no answer'})",
        advice=_how_to_install(),
    )


def _how_to_install() -> str:
    match sys.platform:
        case "linux":
            command = "apt-get install openjdk-17-jre-headless (Debian, Ubuntu)"
        case "darwin":
            command = "brew install openjdk@17"
        case _:
            command = "a JDK 17, for instance from the Eclipse Temurin project"
    return (
        f"Install one: {command}; then set JAVA_HOME to it where it is not the first on the PATH."
    )
