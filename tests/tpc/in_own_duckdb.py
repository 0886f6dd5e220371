"""Data and texts of TPC-H and TPC-DS: ``python in_own_duckdb.py FOLDER``.

DuckDB's extensions generate both. Those that packages have fit one version of DuckDB, which need
not be the one that the project runs on: so this is a program for an environment of its own,
with the packages of requirements.txt.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import duckdb

SCALE = 0.05
GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}


def main(folder: Path) -> None:
    """Write NAME/TABLE.parquet for each table, and NAME.json with the queries as [number, text]."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    for name, generator in GENERATORS.items():
        package = Path(str(importlib.import_module(f"duckdb_extension_{name}").__file__)).parent
        [extension] = package.rglob(f"{name}.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"USE {name}")
        connection.execute(f"CALL {generator}(sf={SCALE})")
        (folder / name).mkdir(parents=True)
        for (table,) in connection.execute("SHOW TABLES").fetchall():
            path = folder / name / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{path}' (FORMAT parquet)")
        queries = connection.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall()
        (folder / f"{name}.json").write_text(json.dumps(queries), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
