"""What the engine promises, and what each kind writes, over Spark Connect.

The files are those of `tests/lakehouse`, in a process whose session is one of a server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import SPARK_REMOTE
from tests.platform.processes import ROOT, environment_for_stories, tell
from tests.platform.programs import required
from tests.platform.spark_servers import connect_server
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf

pytestmark = [pytest.mark.full, pytest.mark.story, pytest.mark.timeout(3000)]

FILES: Final = (
    "lakehouse/kinds/test_by_partition.py",
    "lakehouse/kinds/test_by_time_range.py",
    "lakehouse/kinds/test_by_unique_key.py",
    "lakehouse/kinds/test_scd_type_2.py",
    "lakehouse/kinds/test_sums_from_storage.py",
    "lakehouse/kinds/test_whole_tables.py",
    "lakehouse/kinds/test_written_together.py",
    "lakehouse/test_engine_contract.py",
    "lakehouse/test_model_functions.py",
    "lakehouse/test_own_session.py",
    "lakehouse/test_present_columns.py",
    "lakehouse/test_statements.py",
)
_LINES: Final = 100


def test_the_engine_keeps_its_promises_over_spark_connect(tmp_path: Path) -> None:
    """In the depth of the short form: the other one shows no more of what a server does."""
    required("grpc_status", "the packages of the extra `connect` are not installed")
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


def test_a_session_sees_what_was_published_in_a_catalog_that_the_server_knows(
    tmp_path: Path,
) -> None:
    """By its own settings the server keeps tables, as Iceberg does where nothing is said."""
    required("grpc_status", "the packages of the extra `connect` are not installed")
    database, warehouse = tmp_path / "lake.db", tmp_path / "warehouse"
    told = embedded_catalog_conf("shared", database, warehouse)
    own = {key: each for key, each in told.items() if not key.endswith(".cache-enabled")}
    folder = tmp_path / "project"
    folder.mkdir()
    properties = {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": str(warehouse)}
    with connect_server(tmp_path, own) as address:
        settings = {
            "name": "published",
            "catalog": {"name": "shared", "properties": properties},
            "spark": {"remote": address},
        }
        (folder / "vde.yaml").write_text(json.dumps(settings), encoding="utf-8")
        tell("tests.platform.published", folder)
