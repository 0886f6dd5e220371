"""Loaded intervals keep their rows unless a person says otherwise (rule R8)."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange
from vde_dagster.core.ledger.rows_lost import emptied, made_smaller
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import merge


def rows_lost(
    services: Services,
    key: VersionKey,
    written: Sequence[LedgerChange],
    *,
    rebuilds: bool,
    may_shrink: bool,
    advice: str,
    only_outdated: bool = False,
) -> Refused | None:
    """Why what was staged is not published: an interval that has rows would have none.

    A table that builds on its own rows is rebuilt with at least as many rows as it had, or with at
    least one if it ``may_shrink``.

    Args:
        services: The ports.
        key: The version.
        written: The changes of what was staged.
        rebuilds: Whether the table is rebuilt by several writes that build on each other.
        may_shrink: Whether such a table may have fewer rows than before.
        advice: What to do if the rows are to go.
        only_outdated: Whether only intervals that are to be evaluated again have to keep some.
    """
    times = None if rebuilds else merge(each.interval for each in written)
    entries = services.state.entries_within(key, times)
    if only_outdated:
        entries = tuple(each for each in entries if each.status is EntryStatus.OUTDATED)
    lost = made_smaller(written, entries) if rebuilds else emptied(written, entries)
    if rebuilds and may_shrink and any(each.rows.rows for each in written):
        return None
    if not lost:
        return None
    what = "fewer rows than before" if rebuilds else "no rows any more"
    return Refused(
        f"{key.model} was not loaded: what it reads has {what} for {', '.join(map(str, lost))}, "
        "where its table has some",
        advice=f"If that is right, {advice}",
    )
