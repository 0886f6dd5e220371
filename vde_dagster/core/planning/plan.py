"""A plan: the difference between a project and an environment, and the work that follows.

A plan is a value. Making one reads the state, but starts no Spark and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from vde_dagster.core.errors import with_advice
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.schema_changes import SchemaChange
from vde_dagster.core.model.row_identity import IdentityChange
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot, Revision
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.changes.difference import Change, DecidedBy
from vde_dagster.core.planning.changes.reason_values import Reason
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.time.intervals import Interval, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingVersion:
    """What a model's version holds before the plan, so that it is not computed again.

    ``owner`` is the one environment that may write the version, None where none does yet.
    ``shown_by`` are the environments that show it now: the plan's, production and the owner are
    looked at.
    """

    loaded: tuple[Interval, ...]
    owner: str | None
    shown_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What of a version is behind what it reads now (rule R15).

    - ``intervals`` are behind: what they would be computed from has changed, or may change, since
      what they read is computed first. ``reason`` says what, for people.
    - ``lost`` would be shown as they are, since they cannot be computed again or are left out;
      ``why_lost`` says why. All others of ``intervals`` are evaluated before any view moves.
    - ``session`` says that a catch-up session does that, which adds late rows to intervals.

    One that only keeps rows, as ``reason`` says, has no times.
    """

    intervals: tuple[Interval, ...] = ()
    reason: str = ""
    lost: tuple[Interval, ...] = ()
    why_lost: str = ""
    session: bool = False

    @property
    def has_times(self) -> bool:
        """Whether anything of it is computed by the plan, or would be shown as it is."""
        return bool(self.intervals or self.lost or self.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """What of a version that stays is behind what it would be computed from now (rule R14).

    - ``intervals`` are behind, or follow from what is computed first. Each is compared again
      when its batch is reached, and evaluated if it is behind then. ``reason`` says what has
      changed, and ``inputs`` are the tables that have changed or are computed first.
    - ``kept`` are behind and stay as they are; ``why_kept`` says why, and what to do.
    - ``following`` are those of ``intervals`` that are not behind, but follow from what is computed
      first.
    - ``session`` says that a catch-up session adds late rows to ``intervals``.
    - ``since`` is when the first change came of what is behind by itself. None where that is not
      known, and of what only follows from what is computed first.
    - ``merges`` says that only ``intervals`` are evaluated although the kind is else rebuilt whole,
      if upstream tables only gained rows by then. ``how`` says for people which of both, and why.
    """

    intervals: tuple[Interval, ...] = ()
    reason: str = ""
    kept: tuple[Interval, ...] = ()
    why_kept: str = ""
    following: tuple[Interval, ...] = ()
    session: bool = False
    since: datetime | None = None
    inputs: tuple[ModelName, ...] = ()
    merges: bool = False
    how: str = ""

    @property
    def times(self) -> tuple[Interval, ...]:
        """All that is behind, whether it stays as it is or not."""
        return merge((*self.intervals, *self.kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """What a plan does about one model. All ranges are contiguous and merged.

    - ``missing`` is evaluated, since the version does not hold it. With the option
      ``empty_backfill`` it is recorded instead.
    - ``restated`` is recorded and evaluated again. What is made as a whole may be missing, too,
      for a later time.
    - ``skipped`` is lacking, could be evaluated, and is left out by the plan's options.
    - ``reuse`` is what the version holds already; None where that is nothing.
    - ``may_adopt``: only a parent's rows may have changed, so that the version that there was may
      turn out to hold the same rows (rule R6); then nothing is computed.
    - ``schema_changes`` are those of the table of a version that is kept (rule R11).
    - ``identity_changes`` are what else says otherwise which rows of that table are the same.
    - ``behind`` is what of a version that comes back is behind; None where nothing is.
    - ``staleness`` is what of a version that stays is late or changed upstream; None likewise.
    - ``complete_to`` is up to when everything that the model reads is whole; None where the
      project's clock has no time yet.
    - ``bounded`` is the bound of the version; None where it has none.

    The other fields are those of its difference.
    """

    name: ModelName
    change: Change
    category: Category | None
    reasons: tuple[Reason, ...]
    previous_version: str | None
    version: str | None
    missing: tuple[Interval, ...] = ()
    complete_to: datetime | None = None
    decided_by: DecidedBy = DecidedBy.AUTOMATIC
    undecidable: bool = False
    columns_changed: tuple[str, ...] = ()
    restated: tuple[Interval, ...] = ()
    skipped: tuple[Interval, ...] = ()
    reuse: ExistingVersion | None = None
    may_adopt: bool = False
    schema_changes: tuple[SchemaChange, ...] = ()
    identity_changes: tuple[IdentityChange, ...] = ()
    behind: Behind | None = None
    staleness: Staleness | None = None
    bounded: Bounded | None = None

    @property
    def catches_up(self) -> bool:
        """Whether a catch-up session is run before anything else."""
        return any(each.session for each in (self.behind, self.staleness) if each is not None)

    @property
    def stale(self) -> tuple[Interval, ...]:
        """The ranges that are compared again when reached, and evaluated if behind by then."""
        found = self.staleness
        return () if found is None or found.session else found.intervals

    @property
    def to_evaluate(self) -> tuple[Interval, ...]:
        """The ranges that the plan fills: missing, restated and stale ones."""
        again = (*self.restated, *self.stale)
        return merge((*self.missing, *again)) if again else self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a plan evaluates of one model, and what it leaves out; see `ModelChange`."""

    missing: tuple[Interval, ...] = ()
    restated: tuple[Interval, ...] = ()
    skipped: tuple[Interval, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRestated:
    """A model that would be evaluated again and is not; ``reason`` says why, for people."""

    name: ModelName
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTable:
    """A version's table or physical view that was dropped or changed. Its rows are recorded.

    ``damage`` says for people what is wrong with a table that is there, and ``advice`` what ends
    it; both are empty of one that was dropped. One that ``lacks_files`` is sound again once all of
    it is restated. With an ``owner`` only plans of that environment make it again. ``why`` says for
    people why the rows of a table cannot be computed again; empty where they can, or where that is
    not known.
    """

    name: ModelName
    table: str
    owner: str = ""
    is_view: bool = False
    why: str = ""
    damage: str = ""
    advice: str = ""
    lacks_files: bool = False

    @property
    def what(self) -> str:
        """What it is, for people."""
        return "view" if self.is_view else "table"

    @property
    def told(self) -> str:
        """What is wrong with one that is there, and what to do, for people."""
        return with_advice(self.damage, self.advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What an environment shows of a model and its version of the plan will not hold."""

    name: ModelName
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that applying it needs. ``base_revision`` is its token (architecture.md).

    ``now`` is the project's clock, None where the clock's source has no time yet. ``changes`` are
    in dependency order, removed models last. ``stored`` are models whose snapshots the state has.
    ``views`` are models whose view in the environment is made or shows another version,
    ``removed`` those whose view is dropped, and ``hidden`` those that have no view in it, although
    it binds them (the option ``include_unmodified``). ``left_out`` are models that were edited,
    added or removed, and stay as the environment shows them (the option ``select``).

    One look at the catalog finds what is missing from it, or is not as recorded:
    ``dropped_views`` are models whose view in the environment is missing or was replaced, and is
    made again; ``lost_tables`` stay as they are, and a plan that needs one is refused
    (`vde_dagster.core.planning.setting_aside`). The rows of ``dropped_tables`` are computed again,
    as far as the plan restates them (see `rebuilds`).
    ``unfinished`` are models on whose version an earlier process left work, which is finished or
    undone. ``shown_heads`` are the Iceberg snapshots of what was recorded last on versions that are
    shown, of models that get another one: what is recorded later was not looked at.
    It is ``paced`` where no user asked for it: stale intervals wait as ``freshness`` and
    ``updates_on`` of its model say. ``taken`` is the revision of an environment whose snapshots are
    promoted; None where they are those of a project's files. ``pauses`` are models that it does not
    evaluate, whatever they lack, since a person has paused them in the environment.
    ``effective_from`` has the forward-only changes that count from an earlier instant on: what is
    loaded from there on is among what is restated.
    """

    plan_id: str
    environment: str
    base_revision: int
    now: datetime | None
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    changes: tuple[ModelChange, ...]
    promotes: bool
    options: PlanOptions = DEFAULT_OPTIONS
    stored: frozenset[ModelName] = frozenset()
    views: tuple[ModelName, ...] = ()
    removed: tuple[ModelName, ...] = ()
    hidden: frozenset[ModelName] = frozenset()
    left_out: tuple[ModelName, ...] = ()
    not_restated: tuple[NotRestated, ...] = ()
    gaps: tuple[Gap, ...] = ()
    dropped_views: tuple[ModelName, ...] = ()
    lost_tables: tuple[LostTable, ...] = ()
    dropped_tables: tuple[LostTable, ...] = ()
    unfinished: tuple[ModelName, ...] = ()
    shown_heads: Mapping[ModelName, int] = field(default_factory=dict)
    paced: bool = False
    taken: Revision | None = None
    pauses: tuple[PausedModel, ...] = ()
    effective_from: Mapping[ModelName, datetime] = field(default_factory=dict)

    @property
    def backfills(self) -> tuple[ModelChange, ...]:
        """The models that have something to evaluate or to catch up with, parents first."""
        return tuple(each for each in self.changes if each.to_evaluate or each.catches_up)

    @property
    def rebuilds(self) -> tuple[LostTable, ...]:
        """The dropped tables whose rows the plan computes again."""
        if not self.dropped_tables:
            return ()
        restated = {each.name for each in self.changes if each.restated}
        return tuple(each for each in self.dropped_tables if each.name in restated)

    @property
    def may_adopt(self) -> tuple[ModelName, ...]:
        """The models that are computed at most: see `ModelChange`."""
        return tuple(change.name for change in self.changes if change.may_adopt)

    @property
    def refuses_loss(self) -> bool:
        """Whether the environment is not to show less than it does."""
        return self.environment == PRODUCTION or self.options.no_gaps

    @property
    def is_rollback(self) -> bool:
        """Whether the environment shows again what it showed before."""
        return self.taken is not None and self.taken.environment == self.environment

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the command of `vde` that makes such a plan, without its options."""
        taken = self.taken
        if taken is None:
            return "run" if self.paced else "plan", self.environment
        if self.is_rollback:
            return "rollback", self.environment, "--to", str(taken.number)
        return "promote", taken.environment, self.environment

    @property
    def again(self) -> str:
        """The advice to make such a plan again, where this one does not hold any more."""
        words = " ".join(self.command)
        return f"{'run' if self.paced else 'plan'} again: `vde {words}`."

    @property
    def is_empty(self) -> bool:
        """Whether applying the plan would do nothing."""
        return not (self.promotes or self.backfills or self.dropped_views or self.unfinished)

    @property
    def is_up_to_date(self) -> bool:
        """Whether there is nothing to do, and nothing for other environments either.

        What is paused is not looked at, so that is not known of it.
        """
        behind = any(each.behind or each.staleness for each in self.changes)
        return self.is_empty and not (self.lost_tables or behind or self.pauses)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedTimes:
    """How far the sources go that a stateful model tracks; of those that declare it, nothing.

    A time is None if there is none yet. ``idle`` sources hold the model back no longer.
    """

    times: Mapping[ModelName, datetime | None] = field(default_factory=dict)
    idle: frozenset[ModelName] = frozenset()


NO_TRACKED: Final = TrackedTimes()


def complete_times(
    graph: Graph,
    now: datetime | None,
    *,
    valid_to: Mapping[ModelName, datetime],
    unborn: Collection[ModelName],
    capped: Mapping[ModelName, datetime | None],
    sessions: Mapping[ModelName, TrackedTimes] | None = None,
) -> dict[ModelName, datetime | None]:
    """Up to when all that each model reads is whole, at the project's time.

    Args:
        graph: The project.
        now: The project's clock.
        valid_to: The valid-to times of the sources that declare one (seed 003, VTTS).
        unborn: Sources without any Iceberg snapshot, so without anything that a high-water mark
            could name: models that load them by sessions wait for their first one.
        capped: Up to where versions are loaded that this environment may not write (rule R9).
        sessions: How far the sources go that stateful models track.
    """
    complete_to: dict[ModelName, datetime | None] = {}
    for node in graph:
        own = None if _waits(node, unborn) else valid_to.get(node.name, now)
        own = capped.get(node.name, own)
        tracked = (sessions or {}).get(node.name, NO_TRACKED)
        parents = [each for each in node.model.parents if each not in tracked.idle]
        times = [now, own, *tracked.times.values(), *(complete_to[each] for each in parents)]
        known = [time for time in times if time is not None]
        complete_to[node.name] = min(known) if len(known) == len(times) else None
    return complete_to


def _waits(node: Node, unborn: Collection[ModelName]) -> bool:
    policy = node.model.stateless
    return policy is not None and any(source in unborn for source in policy.sources)
