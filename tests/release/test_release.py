"""`./run release` refuses what must not be released, and says why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.release.__main__ import (
    ROOT,
    ReleaseError,
    differences,
    foreign,
    require_clean,
    require_section,
)
from vde_dagster.version import __version__


def test_a_clean_tree_is_accepted_and_a_dirty_one_is_listed() -> None:
    require_clean("")
    with pytest.raises(ReleaseError, match="uncommitted files") as raised:
        require_clean("".join(f"?? file{number}\n" for number in range(12)))
    assert "  ?? file9\n  and 2 more\n" in str(raised.value)
    assert "./run release --allow-dirty" in str(raised.value)


@pytest.mark.parametrize(
    "text,printed",
    [
        ("# Changelog\n\n## 1.2.0 (2026-01-31)\n\nText\n\n## 1.1.0 (unreleased)\n", ""),
        ("## 1.2.0 (unreleased)\n", "note: CHANGELOG.md still says '1.2.0 (unreleased)'"),
    ],
)
def test_the_newest_section_of_the_changelog_is_the_version(
    capsys: pytest.CaptureFixture[str], text: str, printed: str
) -> None:
    require_section(text, "1.2.0")
    assert capsys.readouterr().out.startswith(printed)


@pytest.mark.parametrize("text", ["", "## 1.3.0\n\n## 1.2.0\n", "## 1.2.0rc1\n"])
def test_a_changelog_without_it_is_refused(text: str) -> None:
    with pytest.raises(ReleaseError, match=r"section '## 1\.2\.0'"):
        require_section(text, "1.2.0")


@pytest.mark.parametrize(
    "folder,name,belongs",
    [
        ("vde_dagster", "cli/commands.py", True),
        ("vde_dagster", "examples/nyc_flights/vde.yaml", True),
        ("vde_dagster", "project/template/tests/revenue.yaml", True),
        ("vde_dagster-1.2.0.dist-info", "METADATA", True),
        ("vde_dagster", "tests/conftest.py", False),
        ("vde_dagster", "docs/reference/kinds.md", False),
        ("vde_dagster", ".vde/lake.db", False),
        ("vde_dagster", "__pycache__/version.pyc", False),
        (".", "tests/conftest.py", False),
        (".", "docs/reference/kinds.md", False),
    ],
)
def test_what_belongs_in_the_wheel(folder: str, name: str, belongs: bool) -> None:
    assert (foreign([str(PurePosixPath(folder, name))]) == []) == belongs


def test_wheels_differ_by_missing_and_changed_files() -> None:
    assert differences({"a": 1, "b": 2}, {"b": 2, "a": 1}) == []
    assert differences({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9, "d": 4}) == ["b", "c", "d"]


def test_it_builds_nothing_from_a_dirty_tree(tmp_path: Path) -> None:
    copied = tmp_path / "tests" / "release" / "__main__.py"
    copied.parent.mkdir(parents=True)
    shutil.copy(ROOT / copied.relative_to(tmp_path), copied)
    (tmp_path / "CHANGELOG.md").write_text("## 0.0.0\n")
    git(tmp_path, "init", "--quiet")
    assert "?? CHANGELOG.md" in refused(tmp_path)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "All")
    assert f"does not begin with a section '## {__version__}'" in refused(tmp_path)
    assert not (tmp_path / "dist").exists()


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True)


def refused(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tests.release"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


@pytest.mark.full
@pytest.mark.spark
def test_the_built_files_pass_every_check_in_an_empty_environment(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "run", "release", "--allow-dirty", "--pinned", "--full", "--to", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the source distribution builds the same wheel\n" in done.stdout
    assert "demo.py demo: done\nEverything passed." in done.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        f"vde_dagster-{__version__}-py3-none-any.whl",
        f"vde_dagster-{__version__}.tar.gz",
    ]
