"""A model as a value: what a file of the project says, checked, before any fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlglot import exp

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.intervals import IntervalUnit
from vde_dagster.core.kind import IncrementalByTimeRange, Kind
from vde_dagster.core.late_data import LateDataPolicy
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """The text that a model was read from: enough to read the same model again anywhere.

    ``text`` is the whole file (for a source declared in ``external_models.yaml``, its entry as
    JSON), ``path`` is relative to the project, ``defaults`` are the project's settings that the
    text alone does not hold, and ``attachments`` are files that belong to it, by relative path.
    """

    path: Path
    text: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    attachments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A SQL model's query as written: parsed in the model's dialect, time macros unresolved."""

    expression: exp.Query
    dialect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunction:
    """A Python model: the module's source, and the function in it to call with a context."""

    source: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRows:
    """A seed's CSV text; the header names the columns."""

    text: str


Body = Query | PythonFunction | SeedRows | None
"""What makes a model's rows; None for a table that others write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of a project.

    ``start`` is the first instant that the model's intervals may cover (inherited from the project
    where the model has none). ``columns`` are the declared ones, empty where none are declared.
    """

    name: ModelName
    kind: Kind
    body: Body
    source: ModelSource
    place: Place
    parents: tuple[ModelName, ...] = ()
    unit: IntervalUnit = IntervalUnit.DAY
    cron: str = "@daily"
    start: datetime
    columns: tuple[Column, ...] = ()
    owner: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    grain: tuple[str, ...] = ()
    late_data: LateDataPolicy | None = None

    @property
    def time_column(self) -> str | None:
        """The column by which rows belong to intervals; None for kinds without intervals."""
        return self.kind.time_column if isinstance(self.kind, IncrementalByTimeRange) else None
