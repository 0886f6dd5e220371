"""The project `dbt_shop`, built by dbt on DuckDB, and its rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.project.importing.peers import Peer, dbt

VARS: Final = ("--vars", "{with_overwrite: true}")
"""A model that DuckDB cannot build is compiled with the others."""
_DBT: Final = "from dbt.cli.main import cli; cli()"
_ROWS: Final = """
import json, sys, duckdb
database = duckdb.connect()
for name in ("shop", "landing"):
    database.execute(f"ATTACH '{name}.duckdb' AS {name} (READ_ONLY)")
database.execute("SET timezone = 'UTC'")
found = {}
for text in sys.argv[1:]:
    frame = database.execute(f"SELECT * FROM {text}").df()
    found[text] = json.loads(frame.to_json(orient="records", date_format="iso", date_unit="us"))
json.dump(found, sys.stdout)
"""
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Shop:
    """A copy of the project, in which dbt has built everything that it can on DuckDB."""

    folder: Path
    peer: Peer

    def run(self, *arguments: str | Path) -> str:
        """What Python printed in the project's folder, where dbt is."""
        return self.peer.run(*arguments, cwd=self.folder)

    def dbt(self, *arguments: str) -> None:
        """A command of dbt."""
        options = ("--profiles-dir", ".", "--no-send-anonymous-usage-stats", "--quiet")
        self.run("-c", _DBT, *arguments, *options)

    def rows(self, *relations: str) -> dict[str, Rows]:
        """The rows of tables and views of the warehouse and of the landing zone."""
        found: dict[str, Rows] = json.loads(self.run("-c", _ROWS, *relations))
        return found


def built_shop(folder: Path) -> Shop:
    """The project with its sources, built once, and described by `dbt docs generate`."""
    target = shutil.copytree(Path(__file__).with_name("dbt_shop"), folder / "theirs")
    shop = Shop(target, dbt())
    shop.run("make_data.py")
    shop.dbt("deps")
    days = ("--event-time-start", "2025-03-01", "--event-time-end", "2025-03-12")
    kinds = ("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test")
    shop.dbt("build", *kinds, *days)
    shop.dbt("docs", "generate")
    return shop
