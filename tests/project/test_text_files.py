"""Files of a project that would hang or flood whoever reads them are refused with their place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.calling import call
from vde_dagster.project import yaml_document
from vde_dagster.project.text_files import LARGEST_BYTES, NotReadable, project_text


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/full")


def _broken(path: Path) -> None:
    path.symlink_to("nowhere.yaml")


@pytest.mark.parametrize("put", [_pipe, _device, _broken])
@pytest.mark.parametrize(
    "name, command", [("tests/x.yaml", "test"), ("external_models.yaml", "fingerprint")]
)
def test_what_is_no_file_of_tests_or_sources_is_said(
    tmp_path: Path, name: str, command: str, put: Callable[[Path], None]
) -> None:
    project = tmp_path / "shop"
    assert call("init", project).exit_code == 0
    put(project / name)
    done = call(command, "--project", project)
    assert done.exit_code == 1
    assert f"{name}:1: th" in done.stderr
    assert "regular file" in done.stderr or "cannot be read" in done.stderr


@pytest.mark.timeout(30)
@pytest.mark.parametrize("put", [_pipe, _device])
def test_nobody_waits_for_a_module_that_is_no_file(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    (tmp_path / "vde.yaml").write_text("name: shop\n")
    (tmp_path / "models/mart").mkdir(parents=True)
    (tmp_path / "models/mart/x.py").write_text(
        "from vde_dagster import model\nfrom held import n\n\n"
        "@model('mart.x', kind='FULL', columns={'n': 'bigint'})\n"
        "def x(context):\n    return context.spark.range(n)\n"
    )
    put(tmp_path / "held.py")
    done = call("fingerprint", "--project", tmp_path)
    assert done.exit_code == 1
    assert "models/mart/x.py:2:" in done.stderr
    assert "held" in done.stderr


def test_a_file_of_more_than_the_limit_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a" * LARGEST_BYTES)
    assert len(project_text(file)) == LARGEST_BYTES
    with file.open("ab") as more:
        more.write(b"a" * 1024 * 1024)
    with pytest.raises(NotReadable, match="11 MB, but the limit is 10 MB"):
        project_text(file)
    (tmp_path / "vde.yaml").write_text(f"name: {'x' * 2 * LARGEST_BYTES}", encoding="utf-8")
    done = call("plan", "--project", tmp_path)
    assert done.exit_code == 1
    assert "the limit is 10 MB" in done.stderr


def test_a_yaml_text_of_too_many_entries_is_not_composed_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    composed = 0
    compose = yaml.SafeLoader.compose_scalar_node

    def counted(loader: yaml.SafeLoader, anchor: dict[object, yaml.Node]) -> yaml.ScalarNode:
        nonlocal composed
        composed += 1
        return compose(loader, anchor)

    monkeypatch.setattr(yaml.SafeLoader, "compose_scalar_node", counted)
    monkeypatch.setattr(yaml_document, "MAX_ENTRIES", 100)
    reader = yaml_document.Reader()
    text = "\n".join(f"k{number}: {number}" for number in range(5_000))
    assert reader.document(text, Path("a.yaml")) is None
    (problem,) = reader.problems
    assert str(problem.place) == "a.yaml:1"
    assert problem.message == "this is nested too deeply, or has more than 100 entries"
    assert problem.advice.startswith("Put data into a seed or a table")
    assert composed <= 2 * 100


def test_what_a_macro_prints_does_not_break_json(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert call("init", folder).exit_code == 0
    (folder / "macros").mkdir(exist_ok=True)
    (folder / "macros" / "loud.py").write_text(
        "from vde_dagster import macro\n\nprint('imported')\n\n\n"
        "@macro()\ndef loud():\n    print('called')\n    return '1'\n",
        encoding="utf-8",
    )
    (folder / "models" / "loud.sql").write_text(
        "MODEL (name a.loud, kind FULL);\nSELECT @loud() AS id\n", encoding="utf-8"
    )
    done = call("fingerprint", "a.loud", "--format", "json", "--project", folder)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["models"][0]["name"] == "a.loud"


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "\udcff.sql"
    path.write_text("SELECT 1 AS a")
    with pytest.raises(NotReadable, match="name is not UTF-8"):
        project_text(path)
