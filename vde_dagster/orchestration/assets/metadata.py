"""The metadata and tags of materializations, under Dagster's own keys and ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.lineage import column_lineage
from vde_dagster.core.ledger.dsha import combined_dsha, total
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.ledger.savings import Saved, total_saved
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.assets.partitions import is_partitioned, partition_key
from vde_dagster.orchestration.assets.translator import bound_metadata, table_schema
from vde_dagster.orchestration.keys import AssetKey, EventKey, RunTag

DATA_VERSION: Final = "dagster/data_version"
CODE_VERSION: Final = "dagster/code_version"
USER_PROVIDED: Final = "dagster/data_version_is_user_provided"
PROVENANCE: Final = ("dagster/input_data_version/", "dagster/input_event_pointer/")

PARENT_RUN: Final = "dagster/parent_run_id"
"""The tag of a run that repeats another one."""

Keys = Mapping[ModelName, dg.AssetKey]
Metadata = dict[str, Any]
"""What Dagster takes as metadata values has no published type."""


def run_tags(project: str, environment: str) -> dict[str, str]:
    """The tags of a run about an environment of a project, by their names."""
    return {RunTag.PROJECT: project, RunTag.ENVIRONMENT: environment}


def data_version(entries: Sequence[LedgerEntry]) -> str:
    """The data version of these entries: the D-SHA, or one combined from several."""
    digests = [entry.digest for entry in entries]
    return digests[0] if len(digests) == 1 else combined_dsha(digests)


def entries_metadata(
    binding: Binding, node: Node, entries: Sequence[LedgerEntry], keys: Keys
) -> Metadata:
    """The metadata of a table's intervals, of any writer."""
    return {**_status(binding, node, entries[-1], keys), **_loaded(node, entries)}


def entries_events(
    binding: Binding,
    node: Node,
    keys: Keys,
    groups: Sequence[Sequence[LedgerEntry]],
    *,
    more: Metadata | None = None,
    provenance: Mapping[str, str] | None = None,
    description: str | None = None,
) -> list[dg.AssetMaterialization]:
    """An event for each group of entries: of one partition, or all of a table without partitions.

    Args:
        binding: What the environment runs.
        node: The model.
        keys: The assets of models and sources.
        groups: The entries, as they are loaded.
        more: What is said of all of them besides.
        provenance: Which results of its inputs were read.
        description: What happened, for people.
    """
    if not groups:
        return []
    shared = _status(binding, node, groups[-1][-1], keys) | (more or {})
    return [
        dg.AssetMaterialization(
            asset_key=keys[node.name],
            description=description,
            partition=partition_of(node, entries[-1]),
            metadata={**shared, **_loaded(node, entries)},
            tags={
                **(provenance or {}),
                DATA_VERSION: data_version(entries),
                CODE_VERSION: binding.snapshots[node.name].version,
                USER_PROVIDED: "true",
            },
        )
        for entries in groups
    ]


def partition_of(node: Node, entry: LedgerEntry) -> str | None:
    """The key of the partition of an entry; None for a model without partitions."""
    return partition_key(node.model.unit, entry.interval) if is_partitioned(node) else None


def _status(binding: Binding, node: Node, entry: LedgerEntry, keys: Keys) -> Metadata:
    """What is the same for every interval that one unit of work wrote."""
    snapshot = binding.snapshots[node.name]
    metadata: Metadata = {
        AssetKey.COLUMN_SCHEMA: table_schema(entry.columns, node),
        AssetKey.FINGERPRINT: snapshot.fingerprint.digest,
        AssetKey.PHYSICAL_TABLE: str(snapshot.key.table),
        **bound_metadata(snapshot),
    }
    if lineage := lineage_of(node, keys):
        metadata[EventKey.COLUMN_LINEAGE] = dg.TableColumnLineage(deps_by_column=lineage)
    return metadata


def _loaded(node: Node, entries: Sequence[LedgerEntry]) -> Metadata:
    last = entries[-1]
    metadata: Metadata = {
        EventKey.DSHA: data_version(entries),
        EventKey.WORK_ID: last.work_id,
    }
    if last.iceberg_snapshot_id is not None:  # a VIEW has no rows of its own
        rows = total(entry.rows for entry in entries).rows
        metadata[EventKey.ROWS] = rows
        metadata[EventKey.ICEBERG_SNAPSHOT_ID] = str(last.iceberg_snapshot_id)
        if not is_partitioned(node):
            metadata[EventKey.ROW_COUNT] = rows
        elif len(entries) == 1:
            metadata[EventKey.PARTITION_ROW_COUNT] = rows
    return metadata


def work_metadata(done: Sequence[Evaluated]) -> Metadata:
    """The metadata of units of work themselves: time, what was kept, why, warnings, late rows."""
    saved = [each.saved for each in done if each.saved is not None]
    metadata = {
        EventKey.SECONDS: round(sum(each.seconds for each in done), 3),
        EventKey.ROWS_WRITTEN: sum(each.rows for each in done),
        EventKey.REUSED: bool(done) and all(each.reused for each in done),
        **_known(
            {
                EventKey.REASON: "; ".join(dict.fromkeys(e.reason for e in done if e.reason)),
                EventKey.WARNINGS: "\n".join(warning for each in done for warning in each.warnings),
            }
        ),
        **(savings_metadata(total_saved(saved)) if saved else {}),
    }
    for each in done:
        if each.session is not None:
            metadata |= session_metadata(each.session)
    return metadata | merged_metadata(done)


def merged_metadata(done: Sequence[Evaluated]) -> Metadata:
    """What became of changes that have an order; nothing where there were none."""
    merged = [each.merged for each in done if each.merged is not None]
    if not merged:
        return {}
    found = reduce(add, merged)
    return {
        EventKey.ROWS_INSERTED: found.inserted,
        EventKey.ROWS_UPDATED: found.updated,
        EventKey.ROWS_HIDDEN: found.hidden,
        EventKey.CHANGES_WITHOUT_EFFECT: found.without_effect,
    }


def _known(metadata: Mapping[str, object]) -> Metadata:
    """What there is of it: no empty texts, and nothing that is not known."""
    return {key: value for key, value in metadata.items() if value not in (None, "")}


def savings_metadata(saved: Saved) -> Metadata:
    """What was kept: hours only for a model by interval, seconds only if they are known."""
    return _known(
        {
            EventKey.SAVED_INTERVALS: saved.intervals,
            EventKey.SAVED_HOURS: None if saved.hours is None else round(saved.hours, 3),
            EventKey.SAVED_ROWS: saved.rows,
            EventKey.SAVED_SECONDS: None if saved.seconds is None else round(saved.seconds, 3),
        }
    )


def stale_metadata(stale_inputs: Sequence[str]) -> Metadata:
    """The inputs of an evaluation that were stale themselves; empty if none was."""
    return _known({EventKey.STALE_INPUTS: "; ".join(stale_inputs)})


def session_metadata(session: Load) -> Metadata:
    """What a catch-up session found: processing URIs, and the high-water mark it moved."""
    return {
        EventKey.LATE_ROWS_SESSION: sum(uri.rows for uri in session.evidence),
        EventKey.PROCESSING_URIS: dg.MetadataValue.json(
            [json.loads(uri.as_json()) for uri in session.evidence]
        ),
        EventKey.MARK_BEFORE: _marks(each.before for each in session.sources),
        EventKey.MARK_AFTER: _marks(session.marks),
        **_known(
            {
                EventKey.SOURCE_REWRITE: session.rewrite,
                EventKey.PENDING: pending_text(session.pending),
            }
        ),
    }


def lineage_of(node: Node, keys: Keys) -> dict[str, list[dg.TableColumnDep]]:
    """The columns that each column of a SQL model is computed from, by asset."""
    if node.canonical is None:
        return {}
    return {
        column: [
            dg.TableColumnDep(asset_key=keys[parent], column_name=name)
            for parent, name in behind
            if parent in keys
        ]
        for column, behind in column_lineage(node.canonical.expression).items()
    }


def materializations(
    binding: Binding,
    node: Node,
    keys: Keys,
    done: Sequence[Evaluated],
    *,
    provenance: Mapping[str, str] | None = None,
    stale_inputs: Sequence[str] = (),
) -> list[dg.AssetMaterialization]:
    """One event for each interval that was written, as it is loaded now."""
    latest = {entry.interval: entry for each in done for entry in each.entries}
    return entries_events(
        binding,
        node,
        keys,
        [[entry] for _, entry in sorted(latest.items())],
        more=work_metadata(done) | stale_metadata(stale_inputs),
        provenance=provenance,
    )


def _marks(marks: Iterable[HighWaterMark | None]) -> str:
    known = [
        f"{each.source} at Iceberg snapshot {each.iceberg_snapshot_id}"
        for each in marks
        if each is not None
    ]
    return ", ".join(known) or "none"
