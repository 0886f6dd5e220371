"""What a unit test asks an engine: rows of a query or function over given rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.unit_of_work import PythonRows, SqlRows
from vde_dagster.core.unit_tests.definition import Given, GivenRows


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOverRows:
    """A query in Spark's dialect. It reads the ``tables`` of these names, each without a schema."""

    rows: SqlRows
    tables: Mapping[str, GivenRows]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOverRows:
    """A Python model's function; ``tables`` are by the names that it declares.

    ``columns`` are those that the model declares.
    """

    rows: PythonRows
    tables: Mapping[str, Given]
    columns: tuple[Column, ...]


Question = QueryOverRows | FunctionOverRows
