"""Loaded intervals keep their rows unless a person says otherwise (rule R8)."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import LedgerChange
from vde_dagster.core.ledger.rows_lost import emptied, made_smaller
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import merge


def rows_lost(
    services: Services,
    key: VersionKey,
    written: Sequence[LedgerChange],
    *,
    rebuilds: bool,
    advice: str,
) -> Refused | None:
    """Why what was staged is not published: an interval that has rows would have none.

    A table that builds on its own rows is rebuilt with at least as many rows as it had.

    Args:
        services: The ports.
        key: The version.
        written: The changes of what was staged.
        rebuilds: Whether the table is rebuilt by several writes that build on each other.
        advice: What to do if the rows are to go.
    """
    times = None if rebuilds else merge(each.interval for each in written)
    entries = services.state.entries_within(key, times)
    lost = made_smaller(written, entries) if rebuilds else emptied(written, entries)
    if not lost:
        return None
    what = "fewer rows than before" if rebuilds else "no rows any more"
    return Refused(
        f"{key.model} was not loaded: what it reads has {what} for {', '.join(map(str, lost))}, "
        "where its table has some",
        advice=f"If that is right, {advice}",
    )
