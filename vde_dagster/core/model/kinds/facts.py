"""What every kind of model answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import ClassVar, assert_never

from vde_dagster.core.columns import Column
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ChangeOrder, TimeAxisSpec, Write
from vde_dagster.core.time import schedule
from vde_dagster.core.time.intervals import ALWAYS, Interval, IntervalUnit, covers
from vde_dagster.core.time.schedule import Scheduled


class Role(Enum):
    """What exists in the lakehouse for a version of a model."""

    SOURCE = "a table that other programs write"
    EMBEDDED = "nothing: its query is inlined in downstream queries"
    VIEW = "a view of its query"
    TABLE = "a table with rows that vde writes"


class Loading(Enum):
    """When rows are loaded."""

    BY_INTERVAL = "each interval separately, in any order"
    SEQUENTIAL = "each interval once, on top of the ones before it"
    APPENDED = "each interval once, appended to existing rows"
    WHOLE = "all rows together, again for each cron period"
    ONCE = "once for each version"
    REFRESHED = "once by a plan, then again when its inputs have changed"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One evaluation of a model.

    ``columns`` are the model's, with types where these are known; ``unit`` is its interval unit.
    """

    interval: Interval
    execution_time: datetime
    columns: tuple[Column, ...]
    unit: IntervalUnit


class KindFacts(ABC):
    """What every kind answers, so that no other module lists the kinds. All of it is pure.

    A kind defines its keyword, its role, how it is loaded and what an evaluation writes. Everything
    else follows from that, or has the value that most kinds have.
    """

    __slots__ = ()

    keyword: ClassVar[str]
    role: ClassVar[Role]
    loading: ClassVar[Loading]

    @abstractmethod
    def write(self, what: Evaluation) -> Write:
        """What an evaluation does to the table.

        Raises:
            ValueError: The kind has nothing that is written to.
        """

    def missing(
        self,
        model: Scheduled,
        loaded: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """The contiguous ranges that have to be evaluated at ``now``.

        Args:
            model: The model.
            loaded: What its version's table holds.
            now: The project's clock.
            blocked: Times for which what the model reads is not whole.
        """
        match self.loading:
            case Loading.BY_INTERVAL | Loading.APPENDED:
                return schedule.missing(model, loaded, now, blocked)
            case Loading.SEQUENTIAL:
                return schedule.missing_sequential(model, loaded, now, blocked)
            case Loading.WHOLE:
                wanted = schedule.due_at_once(model, now, blocked)
                return (wanted,) if wanted and not covers(loaded, wanted) else ()
            case Loading.ONCE | Loading.REFRESHED:
                return () if loaded else (ALWAYS,)
            case Loading.NEVER:
                return ()
            case unreachable:
                assert_never(unreachable)

    @property
    def is_source(self) -> bool:
        """Whether others write it."""
        return self.role is Role.SOURCE

    @property
    def is_embedded(self) -> bool:
        """Whether it has no table or view: its query is inlined in the queries that read it."""
        return self.role is Role.EMBEDDED

    @property
    def is_view(self) -> bool:
        """Whether it is a view without rows of its own."""
        return self.role is Role.VIEW

    @property
    def is_inlined(self) -> bool:
        """Whether its query is run by what reads it."""
        return self.role in (Role.VIEW, Role.EMBEDDED)

    @property
    def is_physical(self) -> bool:
        """Whether each version has a physical table or view."""
        return self.role in (Role.VIEW, Role.TABLE)

    @property
    def stores_rows(self) -> bool:
        """Whether versions of this kind are tables with rows that we write."""
        return self.role is Role.TABLE

    @property
    def is_partitioned(self) -> bool:
        """Whether intervals are evaluated one by one, and shown as partitions."""
        return self.loading is Loading.BY_INTERVAL

    @property
    def is_sequential(self) -> bool:
        """Whether a batch builds on what those before it wrote, so that order counts."""
        return self.loading in (Loading.SEQUENTIAL, Loading.APPENDED)

    @property
    def is_by_interval(self) -> bool:
        """Whether a model is loaded interval by interval, so that its intervals are counted.

        So are all incremental kinds. A FULL table, a view and a seed are made at once.
        """
        return self.is_partitioned or self.is_sequential

    @property
    def range_shapes_rows(self) -> bool:
        """Whether rows may follow from where the model's intervals start, not only from each one.

        A piece of a time range, or what is appended for it, has its rows whenever the model starts.
        The other kinds merge each piece into what the ones before it left, or are evaluated as a
        whole.
        """
        return self.loading not in (Loading.BY_INTERVAL, Loading.APPENDED)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are made at once for each cron period, from the model's start on."""
        return self.loading is Loading.WHOLE

    @property
    def is_timeless(self) -> bool:
        """Whether no time makes anything due: what there is of it does not depend on time."""
        return not (self.is_by_interval or self.is_whole)

    @property
    def restates_whole(self) -> bool:
        """Whether the kind can only be restated as a whole (seed 001, *only full restatements*)."""
        return not self.is_partitioned

    @property
    def follows_upstream(self) -> bool:
        """Whether its rows are stale when something upstream has changed (rule R14)."""
        return self.stores_rows and not self.is_seed

    @property
    def is_seed(self) -> bool:
        """Whether its rows are those of a file of the project."""
        return self.stores_rows and self.loading is Loading.ONCE

    @property
    def is_loaded_again(self) -> bool:
        """Whether further rows are computed for a version that has some.

        So an edit can keep the table, and count from then on.
        """
        return self.stores_rows and self.loading is not Loading.ONCE

    @property
    def is_refreshed(self) -> bool:
        """Whether it is kept fresh automatically, in any plan."""
        return self.loading is Loading.REFRESHED

    @property
    def lookback(self) -> int:
        """Number of intervals before each new one that are evaluated again."""
        return 0

    @property
    def batch_size(self) -> int | None:
        """Most intervals of one evaluation. By default each contiguous range is one."""
        return None

    @property
    def forward_only(self) -> bool:
        """Whether an edit keeps the table and its rows."""
        return False

    @property
    def disable_restatement(self) -> bool:
        """Whether loaded rows are kept when the model or an upstream model is restated."""
        return False

    @property
    def independent(self) -> bool:
        """Your promise that an interval has the same rows whatever is evaluated with it.

        The query may [show it](../reference/reuse.md#rows-that-do-not-depend-on-the-batch) itself.
        """
        return False

    @property
    def time_column(self) -> str | None:
        """The column by which rows belong to intervals, in lower case; None where there is none."""
        return None

    @property
    def keeps_history(self) -> bool:
        """Whether rows have the time in which they were valid."""
        return False

    @property
    def order(self) -> ChangeOrder | None:
        """In which order the changes of a key count, if rows are changes that have an order."""
        return None

    @property
    def hidden_rows(self) -> HiddenRows | None:
        """The hidden rows of the table, if there may be any."""
        return None

    @property
    def added_columns(self) -> Mapping[str, Column]:
        """The columns of the table behind those of the query, by the option that names each."""
        return {}

    def time_axis(self, columns: Sequence[Column], unit: IntervalUnit) -> TimeAxisSpec | None:
        """How rows belong to intervals; None for kinds whose rows belong to none."""
        return None

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """The layout of a model's table: what the model says, and what its kind adds to it."""
        return storage
