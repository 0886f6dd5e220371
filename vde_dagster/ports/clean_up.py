"""The part of the state for removing what nothing refers to (rule R12)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from vde_dagster.core.clean_up.pinning import Named
from vde_dagster.core.clean_up.references import ReadingView, References, Times, Tombstone
from vde_dagster.core.clean_up.sweeping import Sweep
from vde_dagster.core.errors import Conflict
from vde_dagster.core.model.snapshot import VersionKey

if TYPE_CHECKING:
    from vde_dagster.ports.state import Lease


class BeingDropped(Conflict):
    """A version is being dropped, so nothing can refer to it; nothing was written."""


class CleanUp(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`.

    While one of these methods decides what nothing refers to, no other transaction adds a
    reference: neither a plan that is stored, nor a promotion, nor a unit of work.
    """

    def identity(self) -> str:
        """The id of this state, which the tables and views that it made carry as a property."""
        ...

    def release_unfilled(self, environment: str, *, lease: Lease) -> None:
        """Release what an environment owns and nothing came of (rule R9).

        That is each version that no environment shows, of which nothing is recorded or was refused
        by an audit, so that a person may publish it, and that no process writes: neither a process
        that has its lease nor an open unit of work.

        Raises:
            LeaseLost: The lease on the environment is not held any more; nothing was changed.
        """
        ...

    def references(self) -> References:
        """Everything that refers to versions now."""
        ...

    def used(self) -> Mapping[str, datetime]:
        """When each environment was planned or promoted last, by the database's clock."""
        ...

    def record_sweep(self, views: Sequence[ReadingView], times: Times) -> Sweep:
        """Decide what is unreachable, and record it: the first of two phases.

        Revisions whose time is over leave the history of their environment, unreachable versions
        get a tombstone, and those that something refers to again lose theirs. Nothing is dropped.
        """
        ...

    def begin_drop(
        self,
        key: VersionKey,
        views: Sequence[ReadingView],
        times: Times,
        *,
        lease: Lease,
        uuid: str = "",
        location: str = "",
    ) -> bool:
        """Forget a version if it may still be dropped: the second phase. Returns whether it may.

        Everything that the state knows of it goes in this transaction, except for a note that its
        files are to be deleted. Until `finish_drop` no plan can show it and no work can write it.

        Args:
            key: The version.
            views: The views of the catalog that read it, also through others. Others may be among
                them.
            times: How long it is kept.
            lease: On the version.
            uuid: That of its table or view; empty if there is none.
            location: Where its files are.

        Raises:
            LeaseLost: The lease on the version is not held any more; nothing was changed.
        """
        ...

    def drops(self) -> tuple[Tombstone, ...]:
        """The versions whose drop was started and not finished, sorted."""
        ...

    def finish_drop(self, key: VersionKey) -> None:
        """Record that nothing is left of a version. Repeating it is not an error."""
        ...

    def named_snapshots(self) -> Named:
        """Everything that names Iceberg snapshots now."""
        ...

    def named_since(self, number: int, key: VersionKey | None = None) -> Named:
        """What may name Iceberg snapshots of a version, or of others, since `named_snapshots`.

        That is units of work that began after the one of this number, whatever became of them, and
        all that may publish, as such; the marks; and the head and entries of the version itself,
        whose lease the caller holds. Those of other versions name nothing of it.

        Args:
            number: That of the newest unit of work then.
            key: The version; None for a table of no model.
        """
        ...

    def closed_before(self, work_ids: Collection[str], ttl: timedelta) -> frozenset[str]:
        """Those of these units of work that were closed longer ago than this."""
        ...

    def prune(self, ttl: timedelta, *, branches: Collection[str] = ()) -> int:
        """Delete what was closed longer ago than this and nothing needs; returns how much.

        It is units of work that are done or abandoned, with what their sessions were decided from,
        and versions that failed plans were to show. Kept are the last unit of work of a version,
        those that its ledger, its marks or lists of late data name, those whose rows a person
        accepted, and those with ``branches``.

        Of those that are kept and that old, what they published is forgotten, unless they are
        sessions or the last of their version: the ledger has it. What old sessions that are done
        were decided from goes, too, and one row for each day stands for what a version reused then.
        """
        ...
