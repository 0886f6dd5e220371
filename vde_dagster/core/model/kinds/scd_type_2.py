"""SCD_TYPE_2_BY_TIME and SCD_TYPE_2_BY_COLUMN: rows with the time in which they were valid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.history import History
from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.kinds.written_merge import WrittenMerge
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.model.writes import ChangeOrder, KeepHistory, Write
from vde_dagster.core.time.intervals import IntervalUnit


class _History(KindFacts):
    """What both kinds do with a table of history."""

    __slots__ = ()

    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.SEQUENTIAL
    unique_key: tuple[str, ...]
    """A column, an expression, or several of them in parentheses."""
    written: WrittenMerge
    valid_from_name: str
    """Added column: valid from, inclusive."""
    valid_to_name: str
    """Added column: valid to, exclusive; NULL for the row that is valid now."""
    time_data_type: str
    """Type of both added columns: `timestamp`, `timestamp_ntz` or `date`."""
    invalidate_hard_deletes: bool
    """A row that the query no longer returns is closed at the execution time."""
    sequence_by: tuple[str, ...]
    """Columns that order [changes of a feed](#over-a-feed-of-changes)."""
    delete_when: HiddenRows | None
    """Condition on a change that deletes its key; needs `sequence_by`."""

    @property
    @abstractmethod
    def updated_by(self) -> str | None:
        """The column with the time of a row's last change; None where there is none."""

    @property
    @abstractmethod
    def compared(self) -> tuple[str, ...]:
        """The columns that are compared to find what changed; none where a time says it."""

    @property
    @abstractmethod
    def from_epoch(self) -> bool:
        """Whether rows that are new are valid from the beginning of time."""

    def write(self, what: Evaluation) -> Write:
        """Compare what the query returns with the rows that are valid now."""
        return KeepHistory(
            interval=what.interval,
            history=self.history(what.columns),
            execution_time=what.execution_time,
            order=self.order,
        )

    @property
    def order(self) -> ChangeOrder | None:
        """In which order the changes of a key count; None over rows as they are at present."""
        if not self.sequence_by:
            return None
        return ChangeOrder(by=self.sequence_by, deletes=self.delete_when)

    @property
    def hidden_rows(self) -> HiddenRows | None:
        """Changes that make no version of their own: deletes, and what does not change a row."""
        return HiddenRows(column=self.valid_from_name, is_null=True) if self.sequence_by else None

    @property
    def keeps_history(self) -> bool:
        """Whether rows have the time in which they were valid."""
        return True

    @property
    def added_columns(self) -> Mapping[str, Column]:
        """The two columns that say when a row was valid (seed 001, *SCD Type 2*)."""
        return {
            "valid_from_name": Column(name=self.valid_from_name, type=self.time_data_type),
            "valid_to_name": Column(name=self.valid_to_name, type=self.time_data_type),
        }

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """Rows that are valid lie apart from those that are not any more (ADR 7)."""
        apart = _closed_apart(storage, self.valid_to_name)
        return apart.merged_by_position if self.sequence_by else apart

    def history(self, columns: Sequence[Column]) -> History:
        """How the history is kept.

        Args:
            columns: The model's columns, `added_columns` among them; of these the types count,
                since a model's header may declare others than ``time_data_type``.
        """
        added = [_typed_as(each, columns) for each in self.added_columns.values()]
        return History(
            key=self.written.key or self.unique_key,
            updated_at=self.sequence_by[0] if self.sequence_by else self.updated_by,
            compared=self.compared,
            from_epoch=self.from_epoch,
            closes_missing=self.invalidate_hard_deletes,
            valid_from=added[0],
            valid_to=added[1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScdType2ByTime(_History):
    """A history of each key, by the time of its last change.

    ``time_data_type`` is the Spark type of the columns ``valid_from_name`` and ``valid_to_name``.
    """

    keyword: ClassVar[str] = "SCD_TYPE_2_BY_TIME"
    unique_key: tuple[str, ...]
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    updated_at_name: str = "updated_at"
    """Column with the time of the last change."""
    updated_at_as_valid_from: bool = False
    """Rows of the first load are valid from their `updated_at`. By default from 1970-01-01."""
    valid_from_name: str = "valid_from"
    valid_to_name: str = "valid_to"
    time_data_type: str = "timestamp"
    invalidate_hard_deletes: bool = False
    sequence_by: tuple[str, ...] = ()
    delete_when: HiddenRows | None = None
    batch_size: int | None = None
    forward_only: bool = True
    disable_restatement: bool = True

    @property
    def updated_by(self) -> str:
        """The column with the time of a row's last change."""
        return self.updated_at_name

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that are compared to find what changed."""
        return ()

    @property
    def from_epoch(self) -> bool:
        """Whether rows that are new are valid from the beginning of time."""
        return not self.updated_at_as_valid_from


@dataclass(frozen=True, slots=True, kw_only=True)
class ScdType2ByColumn(_History):
    """A history of each key, by comparing columns."""

    keyword: ClassVar[str] = "SCD_TYPE_2_BY_COLUMN"
    unique_key: tuple[str, ...]
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    columns: tuple[str, ...]
    """Columns that are compared; `*` for all."""
    execution_time_as_valid_from: bool = False
    """Rows of the first load are valid from the execution time. By default from 1970-01-01."""
    updated_at_name: str | None = None
    """Column that gives `valid_from`, instead of the execution time."""
    valid_from_name: str = "valid_from"
    valid_to_name: str = "valid_to"
    time_data_type: str = "timestamp"
    invalidate_hard_deletes: bool = False
    sequence_by: tuple[str, ...] = ()
    delete_when: HiddenRows | None = None
    batch_size: int | None = None
    forward_only: bool = True
    disable_restatement: bool = True

    @property
    def updated_by(self) -> str | None:
        """The column with the time of a row's last change; None where there is none."""
        return self.updated_at_name

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that are compared to find what changed."""
        return self.columns

    @property
    def from_epoch(self) -> bool:
        """Whether rows that are new are valid from the beginning of time."""
        return not self.execution_time_as_valid_from


ScdType2 = ScdType2ByTime | ScdType2ByColumn


def _typed_as(added: Column, columns: Sequence[Column]) -> Column:
    types = [each.type for each in columns if each.name.lower() == added.name]
    return replace(added, type=types[0]) if types else added


def _closed_apart(storage: Storage, valid_to: str) -> Storage:
    if any(each.column == valid_to for each in storage.partitioned_by):
        return storage  # every transform puts NULL into a partition of its own
    closed = PartitionField(column=valid_to, transform=Transform.YEARS)
    return replace(storage, partitioned_by=(*storage.partitioned_by, closed))
