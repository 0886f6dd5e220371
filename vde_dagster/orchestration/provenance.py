"""Which results of its inputs a materialization was computed from, in Dagster's own tags.

Dagster writes them for assets' own steps, and calls a partition stale by them. The events of jobs,
which are no steps of assets, have to bring theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import dagster as dg

from vde_dagster.orchestration.metadata import DATA_VERSION, PROVENANCE

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
        tags[f"{version}{key.to_user_string()}"] = _data_version(event)
        tags[f"{pointer}{key.to_user_string()}"] = str(event.storage_id) if event else NO_EVENT
    return tags


def _latest(
    instance: dg.DagsterInstance, key: dg.AssetKey, before: float | None
) -> dg.EventLogRecord | None:
    wanted = dg.AssetRecordsFilter(asset_key=key, before_timestamp=before)
    found = instance.fetch_materializations(wanted, limit=1).records
    found = found or instance.fetch_observations(wanted, limit=1).records
    return found[0] if found else None


def _data_version(event: dg.EventLogRecord | None) -> str:
    reported = event and (event.asset_materialization or event.asset_observation)
    return (reported.tags or {}).get(DATA_VERSION, _NEVER_REPORTED) if reported else _NEVER_REPORTED
