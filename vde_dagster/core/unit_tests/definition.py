"""A unit test of a model as a value: given rows, what is expected, and the frozen times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.cells import Raw


class NeedsEngine(Exception):
    """Only an engine that must not be started tells the types of given rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRows:
    """Rows that stand for a table: each has a value, in Spark's types, for every column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuery:
    """A query in Spark's dialect, over no table, whose rows stand for a table."""

    sql: str


Given = GivenRows | GivenQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow:
    """One row as the file writes it, by column, and where."""

    values: Mapping[str, Raw]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Rows that a query is expected to return.

    With ``partial`` only the columns that a row names are compared, else a column that no row names
    is expected to be NULL.
    """

    rows: tuple[ExpectedRow, ...]
    place: Place
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTest:
    """A test of a model.

    ``inputs`` are the rows of the tables that it reads. ``query`` is what the whole query or
    function is expected to return, ``ctes`` what common table expressions of it are, by name.
    ``interval`` and ``execution_time`` are what time macros stand for; None where the test does not
    say. ``variables`` replace those of the project.
    """

    name: str
    place: Place
    model: ModelName
    inputs: Mapping[ModelName, Given]
    query: Expected | None = None
    ctes: Mapping[str, Expected] = field(default_factory=dict)
    interval: Interval | None = None
    execution_time: datetime | None = None
    variables: Mapping[str, object] = field(default_factory=dict)
    description: str = ""

    @property
    def identity(self) -> str:
        """How a command names the test: ``tests/revenue.yaml::test_revenue``."""
        return f"{self.place.path.as_posix()}::{self.name}"
