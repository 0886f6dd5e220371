"""INCREMENTAL_BY_UNIQUE_KEY: new rows are inserted or update those of the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.kinds.written_merge import WrittenMerge
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ChangeOrder, MergeRows, Write
from vde_dagster.core.sql.dialects import transpiled
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.places import macros_placed
from vde_dagster.core.time.intervals import IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByUniqueKey(KindFacts):
    """Rows with a new key are inserted; rows with a known key are updated.

    ``unique_key`` are columns or expressions, ``when_matched`` WHEN MATCHED clauses in order,
    ``merge_filter`` is a condition; the last two name their sides ``source`` and ``target``, and
    may have time macros. Without clauses all columns are updated. ``written`` is what runs of them.

    With ``sequence_by`` rows are changes: of each key the one with the highest sequence counts,
    whatever order they come in, and the one that ``delete_when`` is true of deletes its key.
    """

    keyword: ClassVar[str] = "INCREMENTAL_BY_UNIQUE_KEY"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.SEQUENTIAL
    unique_key: tuple[str, ...]
    """A column, an expression, or several of them in parentheses."""
    when_matched: tuple[exp.When, ...] = ()
    """WHEN MATCHED clauses, in order. By default all columns are updated."""
    merge_filter: exp.Expr | None = None
    """Condition on `source` and `target` that limits the rows of the table that are compared."""
    written: WrittenMerge = field(default=WrittenMerge(), compare=False)
    sequence_by: tuple[str, ...] = ()
    """Columns that [order the changes of a key](#the-order-of-changes), in parentheses if there
    are several.
    """
    delete_when: HiddenRows | None = None
    """Condition on a change that deletes its key; needs `sequence_by`."""
    lookback: int = 0
    batch_size: int | None = None
    forward_only: bool = False
    disable_restatement: bool = False

    def write(self, what: Evaluation) -> Write:
        """Insert and update rows by their key."""
        times = TimeRange.of(what.interval, execution_time=what.execution_time)
        clauses = self.written.when_matched or " ".join(map(transpiled, self.when_matched))
        condition = self.written.merge_filter
        if not condition and self.merge_filter is not None:
            condition = transpiled(self.merge_filter)
        return MergeRows(
            interval=what.interval,
            key=self.written.key or self.unique_key,
            when_matched=macros_placed(clauses).with_times(times).text,
            merge_filter=macros_placed(condition).with_times(times).text,
            order=self.order,
        )

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """Changes with an order are few beside what is there."""
        return storage.merged_by_position if self.sequence_by else storage

    @property
    def order(self) -> ChangeOrder | None:
        """In which order the changes of a key count; None where the last evaluation wins."""
        if not self.sequence_by:
            return None
        return ChangeOrder(by=self.sequence_by, deletes=self.delete_when)

    @property
    def hidden_rows(self) -> HiddenRows | None:
        """The hidden rows of the table."""
        return self.delete_when
