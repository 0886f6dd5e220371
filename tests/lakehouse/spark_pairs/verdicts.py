"""The package's verdict on the queries of two models: whether they are the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final

from tests.core.conftest import external, read
from tests.core.graph.rendered import full
from tests.lakehouse.spark_pairs.expressions import COLUMNS
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.traces import why_nondeterministic
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName

NAME: Final = ModelName("m", "x")

Judge = Callable[[str], str | None]
"""A verdict that is proved right, or a planted one that must be found wrong: queries with one value
count as the same; None if a query is refused."""


@lru_cache(maxsize=1 << 14)
def data_hash(query: str) -> str | None:
    """The verdict that is proved: the data hash of the model that a query makes."""
    try:
        return _graph(query)[NAME].fingerprint.data
    except Refused:
        return None


def is_deterministic(query: str) -> bool:
    """Whether the product says that a query's rows are the same whenever its inputs are."""
    try:
        return not why_nondeterministic(_graph(query), NAME)
    except Refused:
        return False


def _graph(query: str) -> Graph:
    return build_graph([_table(), read(str(NAME), full(query))])


@cache
def _table() -> Model:
    return external("raw.t", COLUMNS)
