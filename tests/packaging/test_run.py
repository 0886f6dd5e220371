"""The script `run`: when it sets up and how it hands over. The set-up is proved by using it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTEST = ["-m", "pytest", "-n", "2", "--dist", "loadgroup"]
DEMO = "examples/demo/demo.py"
STUB = '#!/bin/sh\nprintf \'%s|\' "${0##*/}" "$PWD" "$@"\n'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks set up; its programs print their name, folder and arguments."""
    folder = tmp_path / "a clone"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(ROOT / "run", folder)
    for name in ("requirements.lock", "pyproject.toml", ".venv/pyvenv.cfg"):
        (folder / name).write_text(name)
    for name in ("vde", "dagster", "python", "ruff", "mypy", "mike"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    text = f"{folder}\nrequirements.lockpyproject.toml.venv/pyvenv.cfg"
    sum_ = subprocess.run(["cksum"], input=text, capture_output=True, text=True, check=True).stdout
    (folder / ".venv" / ".vde-stamp").write_text(sum_)
    return folder


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH without uv and without any Python."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "cat", "cksum", "dirname", "mkdir", "rm", "mv", "grep", "sleep"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return str(folder)


def call(
    clone: Path, *arguments: str, cwd: Path | None = None, path: str = os.environ["PATH"]
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": path}
    return subprocess.run(
        ["/bin/sh", clone / "run", *arguments],
        cwd=cwd or clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_alone_it_lists_the_commands_and_sets_nothing_up(clone: Path, bare_path: str) -> None:
    (clone / ".venv" / ".vde-stamp").unlink()
    done = call(clone, path=bare_path)
    assert (done.returncode, done.stderr) == (0, "")
    listed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("./run")}
    for_developers = {"bench", "defects", "sim", "soak", "lint", "release", "docs"}
    assert listed == {"demo", "test", "vde", "dagster", *for_developers}


def test_an_unknown_command_is_wrong_usage(clone: Path) -> None:
    done = call(clone, "tests")
    assert done.returncode == 2
    assert "there is no command 'tests'" in done.stderr


@pytest.mark.parametrize(
    "arguments,program,at_home,handed_over",
    [
        (["vde", "plan", "a b"], "vde", False, ["plan", "a b"]),
        (["dagster", "dev"], "dagster", False, ["dev"]),
        (["demo"], "python", True, [DEMO]),
        (["demo", "my folder"], "python", False, [DEMO, "my folder"]),
        (["bench", "-q"], "python", True, ["-m", "benchmarks", "-q"]),
        (["defects", "R8"], "python", True, ["-m", "tests.defects", "R8"]),
        (["soak", "--days", "2"], "python", True, ["-m", "tests.soak", "--days", "2"]),
        (["sim", "--seed", "7"], "python", True, ["-m", "tests.simulator", "--seed", "7"]),
        (["docs"], "python", True, ["-m", "mkdocs", "serve", "--no-strict"]),
        (["docs", "build"], "python", True, ["-m", "mkdocs", "build"]),
        (["test"], "python", True, [*PYTEST, "-m", "not full"]),
        (["test", "-k", "a b"], "python", True, [*PYTEST, "-m", "not full", "-k", "a b"]),
        (["test", "-n", "0"], "python", True, [*PYTEST, "-m", "not full", "-n", "0"]),
        (["test", "--full"], "python", True, [*PYTEST, "-m", "not story"]),
        (["test", "--full", "-x"], "python", True, [*PYTEST, "-m", "not story", "-x"]),
    ],
)
def test_where_all_is_current_it_only_hands_over(
    clone: Path,
    tmp_path: Path,
    arguments: list[str],
    program: str,
    at_home: bool,
    handed_over: list[str],
) -> None:
    done = call(clone, *arguments, cwd=tmp_path)
    folder = clone if at_home else tmp_path
    assert done.stderr == ""
    there = [str(clone / each) if each == DEMO else each for each in handed_over]
    assert done.stdout.split("|")[:-1] == [program, str(folder), *there]


def test_a_site_is_deployed_as_the_latest_one_and_is_where_readers_start(clone: Path) -> None:
    done = call(clone, "docs", "deploy", "0.1")
    deployed, default = (each.split("|") for each in done.stdout.split("mike|")[1:])
    assert deployed[1:-1] == ["deploy", "--update-aliases", "0.1", "latest"]
    assert default[1:-1] == ["set-default", "latest"]


@pytest.mark.parametrize("command", ["test", "bench", "defects"])
def test_processes_of_tests_and_benchmarks_keep_what_python_compiled(
    clone: Path, command: str
) -> None:
    (clone / ".venv" / "bin" / "python").write_text("#!/bin/sh\nenv\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        assert "PYTHONDONTWRITEBYTECODE" not in call(clone, command).stdout


def test_lint_runs_all_three(clone: Path) -> None:
    programs = [each for each in call(clone, "lint").stdout.split("|") if each in ("ruff", "mypy")]
    assert programs == ["ruff", "ruff", "mypy"]


def test_a_release_is_handed_the_uv_that_installs_it(clone: Path, tmp_path: Path) -> None:
    (clone / ".venv" / "bin" / "python").write_text(f'{STUB}echo "$UV $UV_DEFAULT_INDEX"\n')
    uv = tmp_path / "programs" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("UV_DEFAULT_INDEX", raising=False)
        patch.setenv("PIP_INDEX_URL", "file:///mirror")
        done = call(clone, "release", "--full", path=f"{uv.parent}:{os.environ['PATH']}")
    handed = f"python|{clone}|-m|tests.release|--full|"
    assert (done.stdout, done.stderr) == (f"{handed}{uv} file:///mirror\n", "")


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml", ".venv/pyvenv.cfg"])
def test_what_changed_is_set_up_again(clone: Path, bare_path: str, changed: str) -> None:
    (clone / changed).write_text("other")
    done = call(clone, "vde", path=bare_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Python 3.11, 3.12 or 3.13 is needed" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_a_file_that_does_not_compile_ends_no_set_up(clone: Path, tmp_path: Path) -> None:
    (clone / ".venv" / ".vde-stamp").unlink()
    fails = 'case "$*" in *compileall*) echo "SyntaxError in half.py" >&2; exit 1;; esac'
    (clone / ".venv" / "bin" / "python").write_text(f"#!/bin/sh\n{fails}\n")
    (clone / ".venv" / "bin" / "activate").write_text(str(clone / ".venv"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").write_text("#!/bin/sh\n")
    (programs / "uv").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    first, second = (call(clone, "lint", path=path) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert "SyntaxError in half.py" in first.stderr
    assert "ruff|" in first.stdout
    assert second.stderr == "", "it is set up"


def test_a_folder_that_was_moved_is_set_up_again(clone: Path, bare_path: str) -> None:
    moved = clone.rename(clone.with_name("elsewhere"))
    assert "is needed" in call(moved, "vde", path=bare_path).stderr
