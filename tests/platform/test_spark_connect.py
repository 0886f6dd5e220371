"""What the engine promises, and what each kind writes, over Spark Connect.

The files are those of `tests/lakehouse`, in a process whose session is one of a server.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import SPARK_REMOTE, not_run
from tests.platform.processes import ROOT, environment_for_stories
from tests.platform.spark_servers import connect_server

pytestmark = [pytest.mark.full, pytest.mark.timeout(3000)]

FILES: Final = (
    "lakehouse/kinds/test_by_partition.py",
    "lakehouse/kinds/test_by_time_range.py",
    "lakehouse/kinds/test_by_unique_key.py",
    "lakehouse/kinds/test_scd_type_2.py",
    "lakehouse/kinds/test_sums_from_storage.py",
    "lakehouse/kinds/test_whole_tables.py",
    "lakehouse/test_engine_contract.py",
    "lakehouse/test_model_functions.py",
    "lakehouse/test_own_session.py",
    "lakehouse/test_statements.py",
)
_LINES: Final = 100


def test_the_engine_keeps_its_promises_over_spark_connect(tmp_path: Path) -> None:
    """In the depth of the short form: the other one shows no more of what a server does."""
    if find_spec("grpc_status") is None:
        not_run("the packages of the extra `connect` are not installed")
    options = ["-n", "0", "-q", "-p", "no:cacheprovider", "-m", "not full"]
    options += ["--basetemp", str(tmp_path / "of the files")]
    files = [str(ROOT / "tests" / each) for each in FILES]
    with connect_server(tmp_path) as address:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files],
            env=environment_for_stories({SPARK_REMOTE: address}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-_LINES:])
