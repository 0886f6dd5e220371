"""Why a plan gives a model a version that is bounded, or one that is not any more."""

from __future__ import annotations

from datetime import datetime

from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.time.intervals import format_instant


def why_bounded(before: ModelSnapshot | None, after: ModelSnapshot) -> tuple[Reason, ...]:
    """What is said of a version that is bounded, or was until now; nothing of all others.

    Args:
        before: What is shown of the model; None for a new one.
        after: What would be.
    """
    was = before.bounded if before is not None else None
    if after.bounded is not None:
        kind = ReasonKind.PREVIEW if after.bounded.is_preview else ReasonKind.BOUNDED
        return (Reason(kind=kind, after=format_instant(after.bounded.since)),)
    if was is None:
        return ()
    kind = ReasonKind.PREVIEW_ENDS if was.is_preview else ReasonKind.BOUND_ENDS
    return (Reason(kind=kind, before=format_instant(was.since)),)


def effective(since: datetime) -> Reason:
    """That a forward-only change counts from an earlier instant on."""
    return Reason(kind=ReasonKind.EFFECTIVE_FROM, after=format_instant(since))


def never_taken(environment: str, shown: ModelSnapshot) -> tuple[Reason, ...]:
    """That a promotion takes another version than the bounded one that an environment shows."""
    if shown.bounded is None:
        return ()
    since = format_instant(shown.bounded.since)
    kind = ReasonKind.PREVIEW_STAYS if shown.bounded.is_preview else ReasonKind.BOUND_STAYS
    return (Reason(kind=kind, before=environment, after=since),)
