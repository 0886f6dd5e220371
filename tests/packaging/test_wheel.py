"""What the wheel and the source distribution have in them; the wheel works without the tree."""

from __future__ import annotations

import ast
import email
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vde_dagster.cli.projects.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
in_a_checkout = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="not a git checkout: no list to compare to"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, built by the pinned backend."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("vde_dagster-*-py3-none-any.whl")
    return path


def tracked(folder: str) -> set[str]:
    """Files in a folder of the repository that are committed and still there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {each for each in listed.stdout.split("\0") if each and (ROOT / each).is_file()}


@in_a_checkout
def test_the_wheel_holds_the_package_and_the_examples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    examples = {f"vde_dagster/{each}" for name in EXAMPLES for each in tracked(f"examples/{name}")}
    assert examples
    assert examples | tracked("vde_dagster") <= names
    assert "vde_dagster/py.typed" in names
    assert "vde_dagster/lakehouse/spark/log4j2.properties" in names


def test_nothing_else_is_packed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"vde_dagster"}
    unwanted = [
        name
        for name in names  # unit tests of the example's models lie deeper, and are packed
        if "/.vde" in name or "__pycache__" in name or "tests" in name.split("/")[:2]
    ]
    assert unwanted == []


def test_what_only_tests_need_is_neither_packed_nor_imported(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [each for each in archive.namelist() if each.endswith(".py")]
        texts = {each: archive.read(each).decode("utf-8") for each in names}
        (described,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        needs = email.message_from_bytes(archive.read(described)).get_all("Requires-Dist") or []
    assert not [name for name in names if "memory" in name or "worlds" in name]
    installed = distributions(needs, extras=("", "demo", "postgres"))
    assert "sqlglot" in installed
    assert "hypothesis" not in installed
    come_with = metadata.packages_distributions()
    missing = {
        (name, top)
        for name, text in texts.items()
        for top in imported(text) - {"vde_dagster"} - sys.stdlib_module_names
        if installed.isdisjoint(map(canonicalize_name, come_with.get(top, [])))
    }
    importing = "vde_dagster/project/importing"
    elsewhere = {  # scripts that run there
        (f"{importing}/sqlmesh_dump.py", "sqlmesh"),
        (f"{importing}/dbt_forms.py", "dbt"),
        (f"{importing}/dbt_forms.py", "agate"),
    }
    assert {each for each in missing if not each[0].startswith(EXAMPLE)} == elsewhere


EXAMPLE = Path("vde_dagster", "examples").as_posix() + "/"
"""A project of a user's, whose folder is on the path."""


def distributions(needs: Iterable[str], *, extras: tuple[str, ...] = ("",)) -> set[str]:
    """What is installed for some requirements, with all that this requires in turn."""
    found: set[str] = set()
    waiting = [(Requirement(each), extras) for each in needs]
    while waiting:
        need, given = waiting.pop()
        if need.marker and not any(need.marker.evaluate({"extra": each}) for each in given):
            continue
        name = canonicalize_name(need.name)
        new = {f"{name}[{each}]" for each in need.extras} | {name}
        try:
            own = metadata.requires(name) if not new <= found else None
        except metadata.PackageNotFoundError:  # of an extra that is not installed here
            continue
        found |= new
        waiting += [(Requirement(each), ("", *need.extras)) for each in own or []]
    return found


def imported(text: str) -> set[str]:
    """The packages that a module imports anywhere."""

    def modules() -> Iterator[str]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module

    return {each.partition(".")[0] for each in modules()}


@in_a_checkout
def test_the_source_distribution_is_complete(built: Path) -> None:
    (path,) = built.glob("vde_dagster-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked(".") - names == set()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel and our dependencies in it, but not our source tree."""
    folder = tmp_path_factory.mktemp("installed") / "a venv"
    venv.create(folder, with_pip=False, symlinks=True)
    place = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    zipfile.ZipFile(wheel).extractall(place)  # all that an installer does with it but the script
    (Path(place) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin" / "python"


def run_in(python: Path, code: str, cwd: Path) -> str:
    done = subprocess.run(
        [python, "-I", "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_package_finds_its_example(installed: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.resources as r, vde_dagster; print(vde_dagster.__file__);"
        "print(r.files('vde_dagster').joinpath('examples/nyc_flights/vde.yaml').is_file())"
    )
    place, example = run_in(installed, code, tmp_path).split("\n")[:2]
    assert not Path(place).is_relative_to(ROOT)
    assert example == "True"


def test_the_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from importlib.metadata import entry_points;"
        "(vde,) = entry_points(group='console_scripts', name='vde');"
        "sys.argv = ['vde', '--help']; sys.exit(vde.load()())"
    )
    assert "Usage: vde" in run_in(installed, code, tmp_path)
