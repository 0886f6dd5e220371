"""A query of TPC-H or TPC-DS is never called unchanged where its rows are others."""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

import duckdb
import pytest
import sqlglot

from tests.core.conftest import external, read
from tests.core.graph.rendered import full
from tests.tpc.mutants import EDITS, mutant, places
from tests.tpc.texts import SETS, Benchmarks
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.names import ModelName

pytestmark = pytest.mark.full

MUTANTS: Final = 1_600
NAME: Final = ModelName("m", "x")


class Database:
    """DuckDB with the tables of both benchmarks, and the product's verdict on queries over them."""

    def __init__(self, benchmarks: Benchmarks) -> None:
        self._duckdb = duckdb.connect(config={"threads": 1})
        for schema in SETS:
            self._duckdb.execute(f"CREATE SCHEMA {schema}")
        for name, path in benchmarks.tables.items():
            self._duckdb.execute(f"CREATE TABLE {name} AS FROM '{path}'")
        self._sources = [external(*source) for source in benchmarks.columns().items()]

    def rows(self, text: str) -> Counter[tuple[object, ...]] | None:
        """The rows of a query of Spark; None where DuckDB refuses it."""
        try:
            found = self._duckdb.execute(sqlglot.transpile(text, "spark", "duckdb")[0]).fetchall()
        except duckdb.Error:
            return None
        return Counter(tuple(map(_rounded, row)) for row in found)

    def data_hash(self, text: str) -> str | None:
        """What says that a query is another one; None where the product refuses it."""
        try:
            return build_graph([*self._sources, read(str(NAME), full(text))])[NAME].fingerprint.data
        except Refused:
            return None


@pytest.fixture(scope="module")
def database(benchmarks: Benchmarks) -> Database:
    return Database(benchmarks)


def test_mutants_with_other_rows_are_changes(benchmarks: Benchmarks, database: Database) -> None:
    choices = random.Random(42)
    queries = {name: sqlglot.parse_one(text, "spark") for name, text in benchmarks.queries.items()}
    differ: Counter[str] = Counter()
    wrong = []
    for edit in EDITS:
        found = [(name, place) for name, query in queries.items() for place in places(query, edit)]
        for name, place in choices.sample(found, min(len(found), MUTANTS // len(EDITS))):
            query = mutant(queries[name], edit, place)
            if query is None:
                continue
            text, other = benchmarks.queries[name], query.sql("spark", pretty=True)
            rows = database.rows(other)
            if rows is None or rows == database.rows(text):
                continue
            differ[edit] += 1
            if database.data_hash(other) == database.data_hash(text):
                wrong.append((edit, name, other))
    print(differ.total(), dict(differ))
    assert not wrong
    assert set(differ) == set(EDITS), "each edit has a case"


def test_queries_in_another_form_are_unchanged(benchmarks: Benchmarks, database: Database) -> None:
    wrong = []
    for name, text in benchmarks.queries.items():
        query = sqlglot.parse_one(text, read="spark")
        first = database.data_hash(text)
        assert first is not None, name
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


def _rounded(value: object) -> object:
    """Sums of floats depend on the order of rows."""
    return float(f"{value:.9g}") if isinstance(value, float) else value
