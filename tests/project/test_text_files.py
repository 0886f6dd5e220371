"""Files of a project that would hang or flood whoever reads them are refused with their place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.calling import call
from vde_dagster.project.text_files import LARGEST_BYTES, NotReadable, project_text


def test_a_pipe_is_no_model_and_nobody_waits_for_it(tmp_path: Path) -> None:
    assert call("init", tmp_path / "shop").exit_code == 0
    os.mkfifo(tmp_path / "shop" / "models" / "pipe.sql")
    done = call("plan", "--project", tmp_path / "shop")
    assert done.exit_code == 1
    assert "models/pipe.sql:1: this is no regular file" in done.stderr


def test_a_file_of_more_than_the_limit_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a" * LARGEST_BYTES)
    assert len(project_text(file)) == LARGEST_BYTES
    with file.open("ab") as more:
        more.write(b"a" * 1024 * 1024)
    with pytest.raises(NotReadable, match="11 MB, and 10 MB is the limit"):
        project_text(file)
    (tmp_path / "vde.yaml").write_text(f"name: {'x' * 2 * LARGEST_BYTES}", encoding="utf-8")
    done = call("plan", "--project", tmp_path)
    assert done.exit_code == 1
    assert "10 MB is the limit" in done.stderr


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
