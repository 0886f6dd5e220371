"""The kinds of models and their options (seed 001). What a kind does stands in ``kinds/``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByTimeRange:
    """Rows belong to intervals by their time column; only missing intervals are evaluated."""

    time_column: str
    keyword = "INCREMENTAL_BY_TIME_RANGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """The whole table is made anew by each evaluation."""

    keyword = "FULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """No rows of its own: a view over what its query reads."""

    keyword = "VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The rows of a CSV file of the project. ``path`` is relative to the model's file."""

    path: str
    keyword = "SEED"


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """A table that others write; only its columns are known here."""

    keyword = "EXTERNAL"


Kind = IncrementalByTimeRange | Full | View | Seed | External
