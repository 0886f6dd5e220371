"""A test that a machine cannot run is a skip for a person and a failure where all was installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "require_all,status,outcome", [("", 0, "1 skipped"), ("1", 1, "1 error")], ids=["person", "ci"]
)
def test_not_run(tmp_path: Path, require_all: str, status: int, outcome: str) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_one.py").write_text(
        "import pytest\n@pytest.mark.browser\ndef test_page(): raise AssertionError\n"
    )
    options = f"-c {ROOT}/pyproject.toml --rootdir {tmp_path} -p no:cacheprovider".split()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, tmp_path / "test_one.py"],
        env=os.environ | {"VDE_REQUIRE_ALL": require_all, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert f"{outcome} in" in done.stdout
    assert "not run: Chromium is not installed" in done.stdout
