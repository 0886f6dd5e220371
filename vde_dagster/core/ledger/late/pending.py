"""What is known of the sources and not loaded: with the high-water marks nothing is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.time.intervals import EVER, Interval, merge, subtract


class PendingReason(Enum):
    """Why rows that were detected are not loaded."""

    INCOMPLETE = "incomplete"
    BEYOND_THRESHOLD = "beyond threshold"
    REMOVED = "removed"
    UNTRACKED = "untracked"

    @property
    def text(self) -> str:
        """The reason for people."""
        return _TEXTS[self]


_TEXTS: Final = {
    PendingReason.INCOMPLETE: "not all sources are complete up to that time",
    PendingReason.BEYOND_THRESHOLD: "it is further back than catchup_threshold",
    PendingReason.REMOVED: (
        "a source has lost rows, which are not removed from the model automatically"
    ),
    PendingReason.UNTRACKED: "the changed source is not listed in late_data",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Time of a model at which its sources have other rows than are loaded, and will not be yet.

    The high-water marks are beyond these changes: mark and pending together lose nothing.
    """

    interval: Interval
    sources: tuple[ModelName, ...]
    reason: PendingReason


def pending_after(
    pending: Sequence[Pending], changes: Iterable[LedgerChange]
) -> tuple[Pending, ...]:
    """What is still pending once a unit of work that is not a session is recorded.

    What it computed was read from the sources as they are, or as of the marks.
    """
    computed = merge(_computed(changes))
    return tuple(
        replace(each, interval=part)
        for each in pending
        for part in subtract([each.interval], computed)
    )


def _computed(changes: Iterable[LedgerChange]) -> Iterator[Interval]:
    for each in changes:
        if each.operation is LedgerOperation.REPLACE_ALL:
            yield EVER
        elif each.operation in (LedgerOperation.REPLACE, LedgerOperation.KEEP):
            yield each.interval


def loading_arguments(
    model: ModelName, environment: str, pending: Pending
) -> tuple[str, ...] | None:
    """The arguments of the `vde` command that loads what is pending in the version's environment.

    None if a session does, once all sources are complete.
    """
    if pending.reason is PendingReason.INCOMPLETE:
        return None
    start, end = pending.interval.start.isoformat(), pending.interval.end.isoformat()
    # Rows that a source has lost are taken from the model only if a person says so (rule R8).
    loses = ("--allow-empty",) if pending.reason is PendingReason.REMOVED else ()
    bounds = ("--start", start, "--end", end)
    # a run computes what is shown, whatever files are checked out; elsewhere only a plan is bounded
    does = "run" if environment == PRODUCTION else "plan"
    return (does, environment, "--restate-model", str(model), *bounds, *loses)


def pending_text(pending: Sequence[Pending]) -> str:
    """Pending time for people, by reason."""
    by_reason: dict[PendingReason, list[Interval]] = {}
    for each in pending:
        by_reason.setdefault(each.reason, []).append(each.interval)
    return "; ".join(
        f"{', '.join(map(str, merge(times)))} ({reason.text})"
        for reason, times in by_reason.items()
    )
