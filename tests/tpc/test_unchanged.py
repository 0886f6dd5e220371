"""A query of TPC-H or TPC-DS is never called unchanged where its rows are others."""

from __future__ import annotations

import random
from collections import Counter
from threading import Timer
from typing import Final

import duckdb
import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from tests.core.conftest import external, read
from tests.core.graph.rendered import full
from tests.lakehouse.spark_pairs.edits import Edit, edited
from tests.tpc.texts import NAMELESS, SETS, Benchmarks
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs

pytestmark = pytest.mark.full

ENOUGH, MOST = 80, 400
"""Mutants of a sort are tried until so many have other rows, and no more than there is time for."""
AT_LEAST: Final = 4
SECONDS: Final = 1.0
"""How long a mutant may take in DuckDB; most queries take less than a tenth of that."""
QUERY: Final = ModelName("m", "x")
READER: Final = ModelName("m", "y")

Rows = Counter[tuple[object, ...]]


class Database:
    """DuckDB with the tables of both benchmarks, and the product's verdict on queries over them."""

    def __init__(self, benchmarks: Benchmarks) -> None:
        self._tables = benchmarks.tables
        self._sources = [external(*source) for source in benchmarks.columns().items()]
        self._open()

    def _open(self) -> None:
        self._duckdb = duckdb.connect(config={"threads": 1})
        for schema in SETS:
            self._duckdb.execute(f"CREATE SCHEMA {schema}")
        for name, path in self._tables.items():
            self._duckdb.execute(f"CREATE TABLE {name} AS FROM '{path}'")

    def rows(self, text: str, *, seconds: float = SECONDS) -> Rows | None:
        """The rows of a query of Spark; None where it is none, or takes too long.

        Without a condition of a join a query has more rows than anybody would wait for.
        """
        too_long = Timer(seconds, self._duckdb.interrupt)
        too_long.start()
        try:
            found = self._duckdb.execute(sqlglot.transpile(text, "spark", "duckdb")[0]).fetchall()
        except (duckdb.InternalException, duckdb.FatalException):
            self._open()  # after a fault of its own, DuckDB refuses every query
            return None
        except (duckdb.Error, SqlglotError):
            return None
        finally:
            too_long.cancel()
        return Counter(tuple(map(_rounded, row)) for row in found)

    def graph(self, text: str) -> Graph:
        """A project with the query as a model, and one that reads all its rows."""
        reader = read(str(READER), f"MODEL (kind FULL);\nSELECT * FROM {QUERY}")
        return build_graph([*self._sources, read(str(QUERY), full(text)), reader])

    def data_hash(self, text: str) -> str:
        """What says that a query is another one."""
        return self.graph(text)[QUERY].fingerprint.data


@pytest.fixture(scope="module")
def database(benchmarks: Benchmarks) -> Database:
    return Database(benchmarks)


def test_mutants_with_other_rows_are_changes(benchmarks: Benchmarks, database: Database) -> None:
    queries = benchmarks.queries
    before = {name: database.rows(text, seconds=600) for name, text in queries.items()}
    assert None not in before.values()
    graphs = {name: database.graph(text) for name, text in queries.items()}
    tried, differ = Counter[Edit](), Counter[Edit]()
    wrong = []
    for edit in Edit:
        chance = random.Random(edit.name)
        while tried[edit] < MOST and differ[edit] < ENOUGH:
            tried[edit] += 1
            name = chance.choice([*queries])
            text = edited(queries[name], chance, [edit])
            if (rows := database.rows(text)) is None or rows == before[name]:
                continue
            try:
                difference = compare_graphs(graphs[name], database.graph(text))[READER]
            except Refused:
                continue
            differ[edit] += 1
            if difference.category is not Category.INDIRECT_BREAKING:
                wrong.append((edit, name, text))
    print(f"{differ.total()} of {tried.total()} mutants have other rows: {dict(differ)}")
    assert not wrong
    assert not {edit: differ[edit] for edit in Edit if differ[edit] < AT_LEAST}


def test_queries_in_another_form_are_unchanged(benchmarks: Benchmarks, database: Database) -> None:
    wrong = []
    for name, text in benchmarks.queries.items():
        query = sqlglot.parse_one(text, read="spark")
        first = database.data_hash(text)
        small = query.sql("spark", normalize_functions="lower")
        forms = {
            "on one line": " ".join(text.split()),
            "in small letters": small.replace("SELECT", "select"),
            "with comments": f"-- what it is for\n{text}\n-- its end",
            "with all names quoted": query.sql("spark", identify=True),
        }
        other = {form: database.data_hash(text) for form, text in forms.items()}
        wrong += [(name, form) for form, found in other.items() if found != first]
    assert not wrong


def test_only_queries_whose_columns_have_no_name_cannot_be_models(
    benchmarks: Benchmarks, database: Database
) -> None:
    refused = {}
    for name, text in benchmarks.written.items():
        try:
            database.data_hash(text)
        except Refused as refusal:
            refused[name] = str(refusal)
    assert sorted(refused) == sorted(
        f"{name}_models.q{number}" for name, numbers in NAMELESS.items() for number in numbers
    )
    assert all(" has no name\n" in reason for reason in refused.values())


def _rounded(value: object) -> object:
    """Sums of floats depend on the order of rows."""
    return float(f"{value:.9g}") if isinstance(value, float) else value
