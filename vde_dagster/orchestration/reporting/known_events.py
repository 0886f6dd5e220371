"""What Dagster knows already, and which results of its inputs a result was computed from.

A result that Dagster has is observed, and not materialized once more: Dagster's
``AutomationCondition.eager()`` and its asset sensors run what is downstream after each
materialization, equal or not, and a result that was kept is not news for them. Dagster calls a
partition stale by tags that name the results of its inputs. It writes them for assets' own steps;
the events of jobs, which are not steps of assets, have to bring theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration._unpublished import latest_materializations
from vde_dagster.orchestration.assets.metadata import (
    CODE_VERSION,
    DATA_VERSION,
    PROVENANCE,
    Keys,
    materializations,
)

_NEVER_REPORTED: Final = "INITIAL"
NO_EVENT: Final = "NULL"
"""What Dagster writes for an input without any event: others write it."""


def input_provenance(
    instance: dg.DagsterInstance, inputs: Iterable[dg.AssetKey], *, before: float | None = None
) -> dict[str, str]:
    """The tags that name the latest event of each input, and its data version.

    Args:
        instance: Has the events.
        inputs: The assets that are read.
        before: Events of this time and later (seconds since 1970) are not looked at: what began
            before them has not read their rows.
    """
    version, pointer = PROVENANCE
    tags: dict[str, str] = {}
    for key in inputs:
        event = _latest(instance, key, before)
        tags[f"{version}{key.to_user_string()}"] = (
            event and _data_version(event)
        ) or _NEVER_REPORTED
        tags[f"{pointer}{key.to_user_string()}"] = str(event.storage_id) if event else NO_EVENT
    return tags


def _latest(
    instance: dg.DagsterInstance, key: dg.AssetKey, before: float | None
) -> dg.EventLogRecord | None:
    wanted = dg.AssetRecordsFilter(asset_key=key, before_timestamp=before)
    found = instance.fetch_materializations(wanted, limit=1).records
    found = found or instance.fetch_observations(wanted, limit=1).records
    return found[0] if found else None


_MOST_INPUTS: Final = 50
"""How many newer events of an input are compared; with more, it counts as changed."""
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
    timed: Container[ModelName] = (),
) -> Sequence[Event]:
    """What is reported of a unit of work by a job: an event for each interval.

    Args:
        instance: Has the events so far.
        binding: What the environment runs.
        node: The model.
        keys: The assets of models and sources.
        evaluated: What was done.
        provenance: Which results of its inputs were read.
        timed: The models whose assets have a freshness policy, as far as it is known.
    """
    events = materializations(binding, node, keys, [evaluated], provenance=provenance)
    if not (evaluated.reused and is_no_news(instance, binding, node, keys, events, timed=timed)):
        return events
    return observations(events)


def is_no_news(
    instance: dg.DagsterInstance,
    binding: Binding,
    node: Node,
    keys: Keys,
    events: Sequence[dg.AssetMaterialization],
    *,
    timed: Container[ModelName] = (),
) -> bool:
    """Whether Dagster has the results of these events, and none of their inputs changed since.

    If an input did, a materialization shows that the result was compared with it, and is not stale.
    For a model with a freshness policy each result counts: Dagster looks at the time of the latest
    materialization.
    """
    if node.model.freshness is not None or node.name in timed:
        return False
    latest = latest_events(instance, keys[node.name], [each.partition for each in events])
    if not all(_is_same(latest.get(each.partition), each) for each in events):
        return False
    inputs = [_Input(keys[each], binding.graph[each]) for each in node.model.parents]
    return all(each.is_unchanged(instance, latest.values()) for each in inputs)


def observations(events: Iterable[dg.AssetMaterialization]) -> list[dg.AssetObservation]:
    """The same results as observations."""
    return [
        dg.AssetObservation(
            asset_key=each.asset_key,
            partition=each.partition,
            description=each.description,
            metadata=each.metadata,
            tags={
                key: value
                for key, value in (each.tags or {}).items()
                if not key.startswith(PROVENANCE)
            },
        )
        for each in events
    ]


@dataclass(frozen=True, slots=True)
class _Input:
    """What a model reads. A source may be observed; what is observed of a model is not news."""

    key: dg.AssetKey
    node: Node

    def is_unchanged(
        self, instance: dg.DagsterInstance, events: Iterable[dg.AssetMaterialization]
    ) -> bool:
        """Whether no partition of it got another data version since these events."""
        tag = f"{PROVENANCE[1]}{self.key.to_user_string()}"
        pointers = {(each.tags or {}).get(tag, "") for each in events}
        if not all(each.isdecimal() for each in pointers):
            # one without events, as a source has none, is compared by whether it has some now
            return pointers == {NO_EVENT} and not self._records(instance, 1)
        first = min(map(int, pointers))
        newer = self._records(instance, _MOST_INPUTS, after_storage_id=first)
        return len(newer) < _MOST_INPUTS and all(
            _data_version(each) == self._version_at(instance, each.partition_key, first)
            for each in newer
        )

    def _version_at(
        self, instance: dg.DagsterInstance, partition: str | None, at: int
    ) -> str | None:
        """The data version that a partition had when ``at`` was the latest event of the asset."""
        partitions = [partition] if partition is not None else None
        found = self._records(instance, 1, asset_partitions=partitions, before_storage_id=at + 1)
        return _data_version(found[0]) if found else None

    def _records(
        self,
        instance: dg.DagsterInstance,
        most: int,
        *,
        asset_partitions: Sequence[str] | None = None,
        after_storage_id: int | None = None,
        before_storage_id: int | None = None,
    ) -> list[dg.EventLogRecord]:
        """Materializations, and of a source then observations, each newest first."""
        wanted = dg.AssetRecordsFilter(
            asset_key=self.key,
            asset_partitions=asset_partitions,
            after_storage_id=after_storage_id,
            before_storage_id=before_storage_id,
        )
        found = [*instance.fetch_materializations(wanted, limit=most).records]
        if self.node.model.kind.is_source:
            found += instance.fetch_observations(wanted, limit=most).records
        return found


def _data_version(record: dg.EventLogRecord) -> str | None:
    event = record.asset_materialization or record.asset_observation
    return (event.tags or {}).get(DATA_VERSION) if event is not None else None


def _is_same(known: dg.AssetMaterialization | None, event: dg.AssetMaterialization) -> bool:
    if known is None:
        return False
    tags, own = known.tags or {}, event.tags or {}
    return all(tags.get(each) == own.get(each) for each in (DATA_VERSION, CODE_VERSION))
