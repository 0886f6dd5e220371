"""The kinds of models and their options (seed 001). What a kind does stands in ``kinds/``.

Every option is a canonical value: names of columns in lower case, keys as SQL in Spark's dialect,
time formats as Python's. So two ways to write one option are equal values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from sqlglot import exp

EVERY_COLUMN: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByTimeRange:
    """Rows belong to intervals by their time column; only missing intervals are evaluated.

    ``time_format`` is empty for a column of a date or timestamp type, and for a text column in
    ISO dates; otherwise it is how the column's text (or number) writes an instant, in the codes of
    Python's ``strftime``. ``written_format`` is that format as the model has it, for people only.
    ``lookback`` and ``batch_size`` count interval units. ``independent`` is its author's word that
    the rows of a unit are the same whatever else is evaluated with it.
    """

    keyword: ClassVar[str] = "INCREMENTAL_BY_TIME_RANGE"
    time_column: str
    time_format: str = ""
    written_format: str = field(default="", compare=False)
    lookback: int = 0
    batch_size: int | None = None
    forward_only: bool = False
    disable_restatement: bool = False
    partition_by_time_column: bool = True
    independent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMerge:
    """Keys, clauses and the condition of a merge as their author wrote them (rule R13).

    Sides are called ``source`` and ``target``. Each is empty where there is none, and in other
    dialects than Spark's.
    """

    key: tuple[str, ...] = ()
    when_matched: str = ""
    merge_filter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByUniqueKey:
    """New rows are inserted, and rows whose key is there already are updated.

    ``unique_key`` are columns or expressions, ``when_matched`` WHEN MATCHED clauses in order,
    ``merge_filter`` is a condition; the last two name their sides ``source`` and ``target``, and
    may have time macros. Without clauses all columns are updated. ``written`` is what runs of them.
    """

    keyword: ClassVar[str] = "INCREMENTAL_BY_UNIQUE_KEY"
    unique_key: tuple[str, ...]
    when_matched: tuple[exp.When, ...] = ()
    merge_filter: exp.Expr | None = None
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    lookback: int = 0
    batch_size: int | None = None
    forward_only: bool = False
    disable_restatement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByPartition:
    """The partitions that the new rows belong to are replaced; the others stay."""

    keyword: ClassVar[str] = "INCREMENTAL_BY_PARTITION"
    forward_only: bool = True
    disable_restatement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalUnmanaged:
    """What the query returns is appended, once per interval."""

    keyword: ClassVar[str] = "INCREMENTAL_UNMANAGED"
    forward_only: bool = True
    disable_restatement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """The whole table is made anew by each evaluation."""

    keyword: ClassVar[str] = "FULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """No rows of its own: a view over what its query reads."""

    keyword: ClassVar[str] = "VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """No object at all: its query stands as a sub-query in every model that reads it."""

    keyword: ClassVar[str] = "EMBEDDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The rows of a CSV file of the project. ``path`` is relative to the model's file."""

    keyword: ClassVar[str] = "SEED"
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScdType2ByTime:
    """History of rows that carry the time of their last change.

    ``time_data_type`` is the Spark type of the columns ``valid_from_name`` and ``valid_to_name``.
    """

    keyword: ClassVar[str] = "SCD_TYPE_2_BY_TIME"
    unique_key: tuple[str, ...]
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    updated_at_name: str = "updated_at"
    updated_at_as_valid_from: bool = False
    valid_from_name: str = "valid_from"
    valid_to_name: str = "valid_to"
    time_data_type: str = "timestamp"
    invalidate_hard_deletes: bool = False
    batch_size: int | None = None
    forward_only: bool = True
    disable_restatement: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ScdType2ByColumn:
    """History of rows, a change told by comparing ``columns`` (``*`` for all of them)."""

    keyword: ClassVar[str] = "SCD_TYPE_2_BY_COLUMN"
    unique_key: tuple[str, ...]
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    columns: tuple[str, ...]
    execution_time_as_valid_from: bool = False
    updated_at_name: str | None = None
    valid_from_name: str = "valid_from"
    valid_to_name: str = "valid_to"
    time_data_type: str = "timestamp"
    invalidate_hard_deletes: bool = False
    batch_size: int | None = None
    forward_only: bool = True
    disable_restatement: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """A table that others write; only its columns are known here."""

    keyword: ClassVar[str] = "EXTERNAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """A table that the platform keeps fresh by itself, as ``physical_properties`` say."""

    keyword: ClassVar[str] = "MANAGED"


ScdType2 = ScdType2ByTime | ScdType2ByColumn
Kind = (
    IncrementalByTimeRange
    | IncrementalByUniqueKey
    | IncrementalByPartition
    | IncrementalUnmanaged
    | Full
    | View
    | Embedded
    | Seed
    | ScdType2ByTime
    | ScdType2ByColumn
    | External
    | Managed
)
