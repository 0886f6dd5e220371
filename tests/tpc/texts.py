"""TPC-H and TPC-DS as a project has them: sources with their columns, and a query a model."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

HERE: Final = Path(__file__).parent
SETS: Final = {"tpch": 22, "tpcds": 99}
"""The benchmarks and how many queries each has; the sources are in a namespace of this name."""
NAMELESS: Final = {
    "tpch": (18,),
    "tpcds": (2, 8, 13, 15, 35, 38, 42, 45, 48, 61, 79, 85, 87, 96),
}
"""Queries that cannot be models as they are: a column has no name. As models, they give it one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarks:
    """What both benchmarks consist of.

    Attributes:
        tables: The Parquet file of each source, by schema.name.
        written: Spark's text of each query, by schema.name of its model; tables have their schema.
        queries: The same as models, with names for columns that have none (`NAMELESS`).
    """

    tables: Mapping[str, Path]
    written: Mapping[str, str]
    queries: Mapping[str, str]

    def columns(self) -> dict[str, dict[str, str]]:
        """The columns of each source with their types in Spark."""
        return {
            name: {field.name: _spark_type(str(field.type)) for field in pq.read_schema(path)}
            for name, path in self.tables.items()
        }


def generate(folder: Path) -> Benchmarks:
    """Make both in an environment of their own, which needs a package registry."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([python, *install, "-r", HERE / "requirements.txt"], check=True)
    subprocess.run([python, HERE / "in_own_duckdb.py", folder / "made"], check=True)
    written, queries = {}, {}
    for name in SETS:
        for number, text in json.loads((folder / "made" / f"{name}.json").read_text("utf-8")):
            query = _over_schema(text, name)
            written[model := f"{name}_models.q{number}"] = query.sql("spark", pretty=True)
            if number in NAMELESS[name]:
                _name_columns(query)
            queries[model] = query.sql("spark", pretty=True)
    tables = {
        f"{path.parent.name}.{path.stem}": path for path in (folder / "made").rglob("*.parquet")
    }
    return Benchmarks(tables=tables, written=written, queries=queries)


def _over_schema(text: str, schema: str) -> exp.Query:
    """A query of DuckDB, over tables of a schema."""
    [query] = sqlglot.parse(text, read="duckdb")
    assert isinstance(query, exp.Query)
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name.lower() not in ctes:
            table.set("db", exp.to_identifier(schema))
    return query


def _name_columns(query: exp.Query) -> None:
    for number, column in enumerate(query.selects):
        if not column.output_name:
            column.replace(exp.alias_(column.copy(), f"column_{number}"))


def _spark_type(arrow: str) -> str:
    """Spark's word for a type that one of the benchmarks' tables has."""
    words = {"int32": "int", "int64": "bigint", "date32[day]": "date", "string": "string"}
    return words.get(arrow) or arrow.replace("decimal128", "decimal")
