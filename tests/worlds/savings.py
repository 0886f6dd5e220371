"""What was not computed, from values in memory: the sums that a database makes of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from vde_dagster.core.ledger import LedgerEntry, Standing
from vde_dagster.core.savings import Saved, Saving, SavingTotal, total_saved
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.core.work import Work
from vde_dagster.ports.state import Environment


def totals_of(savings: Iterable[Saving]) -> tuple[SavingTotal, ...]:
    """Savings summed up by environment, model and kind."""
    each_alone = (
        SavingTotal(
            environment=each.environment, model=each.key.model, kind=each.kind, saved=each.saved
        )
        for each in savings
    )
    ordered = sorted(each_alone, key=lambda each: each.order)
    return tuple(
        SavingTotal(
            environment=first.environment,
            model=first.model,
            kind=first.kind,
            saved=total_saved(each.saved for each in (first, *others)),
        )
        for _, (first, *others) in groupby(ordered, key=lambda each: each.order)
    )


def computed_elsewhere(
    revisions: Sequence[Environment],
    ledger: Mapping[VersionKey, Sequence[LedgerEntry]],
    work: Mapping[str, Work],
    *,
    since: datetime | None,
) -> dict[VersionKey, Saved]:
    """What others computed of the versions of an environment's last revision.

    Args:
        revisions: All that the environment had, in order.
        ledger: What versions hold.
        work: Units of work by their ids.
        since: When it was computed, or first promoted, at the earliest; None for ever.
    """
    found: dict[VersionKey, Saved] = {}
    for key in {each.key for each in revisions[-1].snapshots.values()} if revisions else ():
        first = min(
            each.promoted_at
            for each in revisions
            if any(shown.key == key for shown in each.snapshots.values())
        )
        entries = [
            entry
            for entry in ledger.get(key, ())
            if entry.standing is Standing.COMPUTED
            and _is_of_others(work.get(entry.work_id), revisions[-1].name, first, since=since)
        ]
        if entries:
            found[key] = Saved.by(entries, by_interval=True)
    return found


def _is_of_others(
    work: Work | None, environment: str, first: datetime, *, since: datetime | None
) -> bool:
    """Whether another environment did some work, and it counts; ``first`` is the promotion."""
    if work is None or work.intent.environment == environment:
        return False
    return since is None or first >= since or (work.finished_at or first) >= since
