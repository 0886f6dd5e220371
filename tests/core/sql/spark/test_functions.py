"""What is known of functions by their names, and what an added column of each means."""

from __future__ import annotations

import pytest

from tests.core.planning.changes.case import Source, graph_of
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.sql.spark.functions import AGGREGATES, GENERATORS, NONDETERMINISTIC, SCALARS

SOURCE = Source(columns={"a": "int", "e": "array<int>"})
ARGUMENTS = {
    "collations": "",
    "python_worker_logs": "",
    "sql_keywords": "",
    "json_tuple": "e, 'x'",
    "stack": "1, a",
}
SPELLINGS = ("{}({}) AS k", "{}({}) AS (k, l)", "`{}`({}) AS k", "{}({}) OVER () AS k")


@pytest.mark.parametrize("name", sorted(GENERATORS))
@pytest.mark.parametrize("kept", ["a", "1 AS a", "MAX(a) AS a", "a AS a, e"])
def test_an_added_column_of_a_generator_reaches_every_reader(name: str, kept: str) -> None:
    for spelling in SPELLINGS:
        call = spelling.format(name, ARGUMENTS.get(name, "e"))
        before, after = (
            graph_of({"raw.q": SOURCE, "m.x": f"SELECT {columns} FROM raw.q", "m.y": READER})
            for columns in (kept, f"{kept}, {call}")
        )
        found = compare_graphs(before, after)
        assert found[ModelName("m", "x")].category is Category.BREAKING, call
        assert found[ModelName("m", "y")].category is Category.INDIRECT_BREAKING, call


READER = "SELECT a FROM m.x"


def test_a_function_does_one_thing_to_rows() -> None:
    kinds = [AGGREGATES, GENERATORS, SCALARS, NONDETERMINISTIC]
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
