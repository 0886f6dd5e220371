"""What Dagster knows already: a result that it has is observed, and not materialized once more.

Dagster's ``AutomationCondition.eager()`` and its asset sensors run what is downstream after each
materialization, equal or not. A result that was kept is no news for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.graph.graph import Node
from vde_dagster.orchestration._unpublished import latest_materializations
from vde_dagster.orchestration.metadata import (
    CODE_VERSION,
    DATA_VERSION,
    PROVENANCE,
    Keys,
    materializations,
)

_MOST_INPUTS: Final = 200
"""How many newer events of an input are compared; with more, it counts as changed."""

_NO_EVENT: Final = "NULL"
"""How Dagster points to an input without any event."""

Event = dg.AssetMaterialization | dg.AssetObservation


def latest_events(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Collection[str | None]
) -> Mapping[str | None, dg.AssetMaterialization]:
    """The latest materialization of each of these partitions; None is the asset as a whole."""
    named = [each for each in partitions if each is not None]
    found: dict[str | None, dg.AssetMaterialization] = {}
    if named:
        found.update(latest_materializations(instance, key, named))
    if None in partitions:
        event = instance.get_latest_materialization_event(key)
        if event is not None and event.asset_materialization is not None:
            found[None] = event.asset_materialization
    return found


def events_of(
    instance: dg.DagsterInstance,
    binding: Binding,
    node: Node,
    keys: Keys,
    evaluated: Evaluated,
    *,
    provenance: Mapping[str, str],
) -> Sequence[Event]:
    """What is reported of a unit of work by a job: an event for each interval."""
    events = materializations(binding, node, keys, [evaluated], provenance=provenance)
    if not (evaluated.reused and is_no_news(instance, node, keys, events)):
        return events
    return observations(events)


def is_no_news(
    instance: dg.DagsterInstance,
    node: Node,
    keys: Keys,
    events: Sequence[dg.AssetMaterialization],
) -> bool:
    """Whether Dagster has the results of these events, and none of their inputs changed since.

    If an input did, a materialization shows that the result was compared with it, and is not stale.
    For a model with ``freshness`` each result counts: Dagster's freshness policy looks at the time
    of the latest materialization.
    """
    if node.model.freshness is not None:
        return False
    latest = latest_events(instance, keys[node.name], [each.partition for each in events])
    inputs = [keys[each] for each in node.model.parents if each in keys]
    return all(_is_same(latest.get(each.partition), each) for each in events) and has_same_inputs(
        instance, latest.values(), inputs
    )


def observations(events: Iterable[dg.AssetMaterialization]) -> list[dg.AssetObservation]:
    """The same results as observations."""
    return [
        dg.AssetObservation(
            asset_key=each.asset_key,
            partition=each.partition,
            description=each.description,
            metadata=each.metadata,
            tags=_without_inputs(each.tags or {}),
        )
        for each in events
    ]


def has_same_inputs(
    instance: dg.DagsterInstance,
    events: Iterable[dg.AssetMaterialization],
    inputs: Sequence[dg.AssetKey],
) -> bool:
    """Whether no partition of an input got another data version since these events."""
    return all(_is_unchanged(instance, events, each) for each in inputs)


def _is_unchanged(
    instance: dg.DagsterInstance, events: Iterable[dg.AssetMaterialization], key: dg.AssetKey
) -> bool:
    tag = f"{PROVENANCE[1]}{key.to_user_string()}"
    pointers = {(each.tags or {}).get(tag, "") for each in events}
    if not all(each.isdecimal() for each in pointers):
        # an input without events, as a source has none, is compared by whether it has some now
        return pointers == {_NO_EVENT} and not _records(instance, dg.AssetRecordsFilter(key), 1)
    first = min(map(int, pointers))
    newer = _records(instance, dg.AssetRecordsFilter(key, after_storage_id=first), _MOST_INPUTS)
    if len(newer) >= _MOST_INPUTS:
        return False
    return all(
        _data_version(each) == _version_at(instance, key, each.partition_key, first)
        for each in newer
    )


def _version_at(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None, at: int
) -> str | None:
    """The data version that a partition had when ``at`` was the latest event of the asset."""
    wanted = dg.AssetRecordsFilter(
        asset_key=key,
        asset_partitions=[partition] if partition is not None else None,
        before_storage_id=at + 1,
    )
    found = _records(instance, wanted, 1)
    return _data_version(found[0]) if found else None


def _records(
    instance: dg.DagsterInstance, wanted: dg.AssetRecordsFilter, most: int
) -> list[dg.EventLogRecord]:
    """Materializations, then observations, each newest first."""
    return [
        *instance.fetch_materializations(wanted, limit=most).records,
        *instance.fetch_observations(wanted, limit=most).records,
    ]


def _data_version(record: dg.EventLogRecord) -> str | None:
    event = record.asset_materialization or record.asset_observation
    return (event.tags or {}).get(DATA_VERSION) if event is not None else None


def _is_same(known: dg.AssetMaterialization | None, event: dg.AssetMaterialization) -> bool:
    if known is None:
        return False
    tags, own = known.tags or {}, event.tags or {}
    return all(tags.get(each) == own.get(each) for each in (DATA_VERSION, CODE_VERSION))


def _without_inputs(tags: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in tags.items() if not key.startswith(PROVENANCE)}
