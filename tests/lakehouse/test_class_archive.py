"""The archive of Spark's classes: written once, used afterwards, never in the way."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from vde_dagster.lakehouse.spark.jars import archive_options
from vde_dagster.lakehouse.spark.java import Java, Origin

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


def test_it_is_left_out_when_unwanted_or_impossible(
    tmp_path: Path, spark_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    assert archive_options(tmp_path / "file" / "cache", JAVA, spark_folder, []) == ()
    cannot = replace(JAVA, executable=tmp_path / "file", origin=Origin.PACKAGE)
    assert archive_options(tmp_path / "cache", cannot, spark_folder, []) == ()
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setenv("VDE_CLASS_ARCHIVE", "off")
    assert archive_options(tmp_path / "cache", JAVA, spark_folder, []) == ()
