"""The archive of Spark's classes: written once, used afterwards, never in the way."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from vde_dagster.lakehouse.class_archive import archive_options
from vde_dagster.lakehouse.java import Java, Origin

JAVA = Java(
    executable=Path("/usr/bin/java"),
    home=None,
    version=17,
    full_version="17.0.15",
    origin=Origin.PATH,
)


@pytest.fixture
def spark_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VDE_CLASS_ARCHIVE", raising=False)
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return tmp_path / "spark"


def archive_named(options: tuple[str, ...], flag: str) -> Path:
    name, _, path = options[0].partition("=")
    assert name == flag
    return Path(path)


def test_it_is_written_first_and_used_when_whole(tmp_path: Path, spark_folder: Path) -> None:
    cache = tmp_path / "cache"
    written = archive_named(
        archive_options(cache, JAVA, spark_folder, ["/a.jar"]), "-XX:ArchiveClassesAtExit"
    )
    written.write_bytes(bytes(4096))  # the header comes last: this one is being written
    again = archive_options(cache, JAVA, spark_folder, ["/a.jar"])
    assert archive_named(again, "-XX:ArchiveClassesAtExit") == written
    written.write_bytes(b"\xa8\xab\x0b\xf0")
    used = archive_options(cache, JAVA, spark_folder, ["/a.jar"])
    assert archive_named(used, "-XX:SharedArchiveFile") == written


def test_another_java_spark_or_class_path_has_its_own(tmp_path: Path, spark_folder: Path) -> None:
    newer = replace(JAVA, version=21, full_version="21.0.1")
    cache = tmp_path / "cache"
    names = {
        archive_options(cache, JAVA, spark_folder, ["/a.jar"])[0],
        archive_options(cache, newer, spark_folder, ["/a.jar"])[0],
        archive_options(cache, JAVA, spark_folder, ["/a.jar", "/b.jar"])[0],
    }
    os.utime(spark_folder / "jars", ns=(1, 1))
    names.add(archive_options(cache, JAVA, spark_folder, ["/a.jar"])[0])
    assert len(names) == 4


WRITES_AN_ARCHIVE = """\
#!/bin/sh
echo "$*" >>"$0.log"
for each do
  case $each in -XX:SharedArchiveFile=*) echo classes >"${each#*=}" ;; esac
done
"""


@pytest.fixture
def packaged(tmp_path: Path) -> Java:
    """A Java that comes without an archive of its own classes, and writes one."""
    program = tmp_path / "a package" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(WRITES_AN_ARCHIVE)
    program.chmod(0o755)
    return replace(JAVA, executable=program, origin=Origin.PACKAGE)


def test_a_packaged_java_gets_an_archive_of_its_own_classes_first_and_once(
    packaged: Java, tmp_path: Path, spark_folder: Path
) -> None:
    cache = tmp_path / "cache"
    first, second, *_ = archive_options(cache, packaged, spark_folder, [])
    assert first.startswith("-XX:ArchiveClassesAtExit=")
    name, _, below = second.partition("=")
    assert (name, Path(below).read_text("utf-8")) == ("-XX:SharedArchiveFile", "classes\n")
    assert archive_options(cache, packaged, spark_folder, [])[:2] == (first, second)
    log = packaged.executable.with_name("java.log").read_text("utf-8")
    assert log.count("-Xshare:dump") == 1
    Path(first.partition("=")[2]).write_bytes(b"\xa8\xab\x0b\xf0")
    used = archive_options(cache, packaged, spark_folder, [])
    assert used[0] == f"-XX:SharedArchiveFile={first.partition('=')[2]}"
    assert second not in used  # an archive names the one below it
    Path(below).unlink()  # what comes in its place may be another one
    again = archive_options(cache, packaged, spark_folder, [])
    assert again[0].startswith("-XX:ArchiveClassesAtExit=")
    assert again[0] != first


def test_it_is_left_out_when_unwanted_or_impossible(
    packaged: Java, tmp_path: Path, spark_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    assert archive_options(tmp_path / "file" / "cache", JAVA, spark_folder, []) == ()
    packaged.executable.write_text("#!/bin/sh\nexit 1\n")
    assert archive_options(tmp_path / "cache", packaged, spark_folder, []) == ()
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setenv("VDE_CLASS_ARCHIVE", "off")
    assert archive_options(tmp_path / "cache", JAVA, spark_folder, []) == ()
