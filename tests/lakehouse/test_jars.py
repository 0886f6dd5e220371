"""The cache of jars: when a jar counts as cached, and what happens if none can be resolved."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.spark.jars import EMBEDDED_COORDINATES, jars_cache, resolve_jars

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for a second: the optimizing compiler would cost more than it saves."""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VDE_JARS", "VDE_JARS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)


@pytest.fixture(scope="module")
def warm() -> Path:
    """The user's cache with the embedded jars in it: resolved at most once on this machine."""
    resolve_jars()
    return jars_cache()


@pytest.fixture
def repository(tmp_path: Path, warm: Path) -> dict[str, str]:
    """Spark's settings for a repository on this disk that has one small artifact and no network."""
    folder = tmp_path / "repository" / "org" / "example" / "thing" / "1.0"
    folder.mkdir(parents=True)
    (folder / "thing-1.0.jar").write_bytes(b"PK\x05\x06" + bytes(18))  # an empty archive
    (folder / "thing-1.0.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
        "<artifactId>thing</artifactId><version>1.0</version></project>"
    )
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="disk"/><resolvers><ibiblio name="disk" '
        f'm2compatible="true" root="{(tmp_path / "repository").as_uri()}"/></resolvers>'
        "</ivysettings>"
    )
    return {"spark.jars.ivySettings": str(settings), "spark.driver.memory": "1g"}


THING = "org.example:thing:1.0"


def forbid_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "/there/is/no/java")


@pytest.mark.full
def test_a_warm_cache_needs_neither_java_nor_network(
    monkeypatch: pytest.MonkeyPatch, warm: Path
) -> None:
    forbid_java(monkeypatch)
    paths = resolve_jars(EMBEDDED_COORDINATES, cache=warm)
    assert [path.name.split("-")[0].split("_")[-1] for path in paths] == ["iceberg", "sqlite"]
    for path in paths:
        manifest = json.loads((path.parent / "manifest.json").read_text("utf-8"))
        (entry,) = manifest["files"]
        assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.full
def test_a_repository_is_configured_in_sparks_own_words_and_a_damaged_folder_is_mended(
    repository: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "a cache"
    damaged = cache / "org.example_thing_1.0"
    damaged.mkdir(parents=True)
    (damaged / "org.example_thing-1.0.jar").write_bytes(b"PK")

    (path,) = resolve_jars([THING], cache=cache, conf=repository)

    assert path == damaged / "org.example_thing-1.0.jar"
    assert path.stat().st_size == 22
    assert [each.name for each in cache.iterdir()] == [damaged.name]
    reported = capfd.readouterr()
    assert (reported.out, reported.err) == ("", "Resolving Spark's jars, once (thing) ...\n")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"files": [{"name"'),
        lambda folder: (folder / "manifest.json").write_text('{"files": []}'),
        lambda folder: (folder / "org.example_thing-1.0.jar").write_bytes(b"PK"),
        lambda folder: (folder / "org.example_thing-1.0.jar").unlink(),
        shutil.rmtree,
    ],
    ids=["no manifest", "cut manifest", "empty manifest", "cut jar", "no jar", "nothing"],
)
def test_a_half_written_folder_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    whole = tmp_path / "org.example_thing_1.0"
    whole.mkdir()
    (whole / "org.example_thing-1.0.jar").write_bytes(b"PK..")
    entry = {"name": "org.example_thing-1.0.jar", "size": 4, "sha256": "not read here"}
    (whole / "manifest.json").write_text(json.dumps({"coordinate": THING, "files": [entry]}))
    forbid_java(monkeypatch)
    assert resolve_jars([THING], cache=tmp_path) == (whole / "org.example_thing-1.0.jar",)

    damage(whole)

    with pytest.raises(SetupError, match="which has no bin/java"):
        resolve_jars([THING], cache=tmp_path)


def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Java does for two that resolve, without Java: both jars are there before one is kept."""
    both = Barrier(2)

    def resolved(coordinate: str, folder: Path, *_: object) -> None:
        (folder / "jars").mkdir()
        jar = folder / "jars" / f"{coordinate.replace(':', '_', 1).replace(':', '-')}.jar"
        jar.write_bytes(b"PK\x05\x06" + bytes(18))
        both.wait(60)

    monkeypatch.setattr("vde_dagster.lakehouse.spark.jars._run_ivy", resolved)


def test_two_that_resolve_at_once_end_with_the_same_whole_jar(
    monkeypatch: pytest.MonkeyPatch,
    repository: dict[str, str],
    tmp_path: Path,
) -> None:
    together(monkeypatch)

    def resolve(_: int) -> tuple[Path, ...]:
        return resolve_jars([THING], cache=tmp_path / "cache", conf=repository)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(resolve, range(2))
    assert first == second
    assert first[0].stat().st_size == 22
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_what_cannot_be_resolved_says_so_with_the_settings_that_help(
    repository: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(SetupError) as refused:
        resolve_jars(["org.example:thing:2.0"], cache=tmp_path / "cache", conf=repository)
    message = str(refused.value)
    assert message.startswith("org.example:thing:2.0 could not be resolved:\n")
    assert "org.example#thing;2.0: not found" in message
    assert "at org.apache" not in message
    for setting in ("JAVA_TOOL_OPTIONS", "VDE_JARS", "spark.jars.ivySettings"):
        assert setting in message
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_cache_is_the_users_unless_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path))
    assert jars_cache() == tmp_path / "jars"
    monkeypatch.setenv("VDE_JARS_CACHE", str(tmp_path / "named"))
    assert jars_cache() == tmp_path / "named"
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="VDE_JARS_CACHE"):
        resolve_jars([THING], cache=tmp_path / "file" / "cache")


def test_given_jars_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forbid_java(monkeypatch)
    given = [tmp_path / "b.jar", tmp_path / "a.jar"]
    for each in given:
        each.touch()
    monkeypatch.setenv("VDE_JARS", os.pathsep.join(map(str, given)))
    assert resolve_jars() == tuple(given)
    given[0].unlink()
    with pytest.raises(SetupError, match=r"VDE_JARS names files that do not exist: .*b\.jar"):
        resolve_jars()
