"""Which rows that a version holds a person accepted against its audits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import Acceptance
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedRows:
    """Intervals whose rows a person accepted, and that nothing has written since, merged."""

    intervals: tuple[Interval, ...]
    acceptance: Acceptance


def accepted_rows(
    services: Services, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[AcceptedRows, ...]]:
    """What of these versions was accepted, by version; versions without any are absent."""
    found: dict[VersionKey, tuple[AcceptedRows, ...]] = {}
    for key, works in services.state.accepted(keys).items():
        said = {each.intent.work_id: each.intent.accepted for each in works}
        times = merge(each for work in works for each in work.intent.intervals)
        held: dict[str, list[Interval]] = {}
        for entry in services.state.entries_within(key, times):
            held.setdefault(entry.work_id, []).append(entry.interval)
        rows = tuple(
            AcceptedRows(intervals=merge(held[work_id]), acceptance=acceptance)
            for work_id, acceptance in said.items()
            if work_id in held and acceptance is not None
        )
        if rows:
            found[key] = rows
    return found
