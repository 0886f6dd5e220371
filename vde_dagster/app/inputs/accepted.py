"""Rows that a person accepted against audits: they stay, and no lookback asks for them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.unit_of_work import Acceptance
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, common, merge, subtract


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


def without_accepted(
    services: Services,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    again: Mapping[ModelName, tuple[Interval, ...]],
) -> Iterator[tuple[ModelName, tuple[Interval, ...]]]:
    """What a lookback leaves out of what it would evaluate again, by model.

    The audits would refuse the same rows once more, before anything new. Where what they were
    computed from has changed, they are computed again, and the audits are asked about that. Kinds
    that build on their own rows leave out all up to the accepted ones: what comes before would
    undo these.

    Args:
        services: The ports.
        graph: The models.
        snapshots: Their versions.
        again: What a lookback evaluates again, merged; models without any are absent.
    """
    if not again:
        return
    accepted = accepted_rows(services, [snapshots[name].key for name in again])
    for name, times in again.items():
        found = accepted.get(snapshots[name].key, ())
        stays = common(times, merge(each for rows in found for each in rows.intervals))
        if stays:
            states = InputStates(services=services, graph=graph, snapshots=snapshots)
            look = look_within(states, name, stays)
            stays = subtract(stays, merge(each.entry.interval for each in look.stale))
        if stays and graph[name].model.kind.is_sequential:
            stays = tuple(_up_to(times, stays))
        if stays:
            yield name, stays


def _up_to(times: Sequence[Interval], stays: Sequence[Interval]) -> Iterator[Interval]:
    """What of each range is not after all that stays of it."""
    for each in times:
        if inside := common([each], stays):
            yield Interval(each.start, inside[-1].end)
