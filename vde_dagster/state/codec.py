"""Values as JSON texts and back, without loss.

Instants are whole microseconds in UTC, sums of hash lanes are decimal texts (they exceed what
databases and most JSON readers take for an integer), mappings keep their order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import FIRST_ALGORITHM, RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation, Standing, Trace
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.last_look import LastLook, SeenInput
from vde_dagster.core.ledger.late_data import HighWaterMark, Load, ProcessingUri
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval

_MICROSECOND: Final = timedelta(microseconds=1)

Json = dict[str, Any]
"""A JSON object; what its members are is known to the pair of functions that made it."""


def encode_instant(instant: datetime) -> int:
    """An aware instant as microseconds since 1970 in UTC."""
    return (instant - EPOCH) // _MICROSECOND


def decode_instant(microseconds: int) -> datetime:
    """The instant, in UTC."""
    return EPOCH + microseconds * _MICROSECOND


def encode_model(name: ModelName) -> str:
    """A model's name as ``schema.name``, or ``catalog.schema.name``."""
    return str(name)


@lru_cache(maxsize=65_536)
def decode_model(text: str) -> ModelName:
    """The name that was encoded; it was checked when it was made. A ledger repeats its names."""
    *catalog, schema, name = text.split(".")
    return ModelName(schema, name, *catalog)


def encode_columns(columns: tuple[Column, ...]) -> str:
    """Columns as a JSON text."""
    return _dump(_columns_json(columns))


@lru_cache(maxsize=1024)
def decode_columns(text: str) -> tuple[Column, ...]:
    """The columns. Equal texts give one shared value: a ledger repeats them in every entry."""
    return _columns(json.loads(text))


def encode_reasons(reasons: tuple[str, ...]) -> str:
    """A snapshot's reasons as a JSON text."""
    return _dump(list(reasons))


def decode_reasons(text: str) -> tuple[str, ...]:
    """The reasons."""
    return tuple(json.loads(text))


def encode_source(source: ModelSource) -> str:
    """A model's source as a JSON text."""
    return _dump(
        {
            "path": source.path.as_posix(),
            "text": source.text,
            "defaults": dict(source.defaults),
            "attachments": dict(source.attachments),
        }
    )


@lru_cache(maxsize=8192)
def decode_source(text: str) -> ModelSource:
    """The source. A plan meets those of what is stored and of what is shown, which are equal."""
    found: Json = json.loads(text)
    return ModelSource(
        path=Path(found["path"]),
        text=found["text"],
        defaults=found["defaults"],
        attachments=found["attachments"],
    )


def encode_trace(trace: Trace | None) -> str | None:
    """A trace as a JSON text; nothing where there is none."""
    return None if trace is None else _dump(_trace_json(trace))


def decode_trace(text: str | None) -> Trace | None:
    """The trace."""
    return None if text is None else _trace(json.loads(text))


def encode_holding(holding: Holding) -> str:
    """What a version holds as a JSON text, without the numbers of its changes."""
    return _dump(
        {
            "computed": _intervals_json(holding.computed),
            "outdated": _intervals_json(holding.outdated),
            "empty": _intervals_json(holding.empty),
            "columns": _columns_json(holding.columns),
        }
    )


def decode_holding(text: str, *, number: int, removed: int) -> Holding:
    """What a version holds after the change of this number."""
    found: Json = json.loads(text)
    return Holding(
        number=number,
        removed=removed,
        computed=_intervals(found["computed"]),
        outdated=_intervals(found["outdated"]),
        empty=_intervals(found["empty"]),
        columns=_columns(found["columns"]),
    )


def encode_look(look: LastLook) -> str:
    """A look at a version's inputs as a JSON text."""
    return _dump(
        {
            "definition": look.definition,
            "number": look.number,
            "inputs": {encode_model(name): [e.table, e.number] for name, e in look.inputs.items()},
            "stale": _intervals_json(look.stale),
        }
    )


def decode_look(text: str) -> LastLook:
    """The look."""
    found: Json = json.loads(text)
    return LastLook(
        definition=found["definition"],
        number=found["number"],
        inputs={
            decode_model(name): SeenInput(table=table, number=number)
            for name, (table, number) in found["inputs"].items()
        },
        stale=_intervals(found["stale"]),
    )


def encode_mark(mark: HighWaterMark) -> str:
    """A high-water mark as a JSON text."""
    return _dump(_mark_json(mark))


def decode_mark(text: str) -> HighWaterMark:
    """The high-water mark."""
    return _mark(json.loads(text))


def encode_intent(intent: Intent) -> str:
    """An intent as a JSON text."""
    return _dump(
        {
            "work_id": intent.work_id,
            "model": encode_model(intent.key.model),
            "version": intent.key.version,
            "environment": intent.environment,
            "intervals": _intervals_json(intent.intervals),
            "inputs": {encode_model(name): pinned for name, pinned in intent.inputs.items()},
            "base": intent.base,
            "execution_time": encode_instant(intent.execution_time),
            "session": None if intent.session is None else _load_json(intent.session),
            "drifted": intent.drifted,
        }
    )


def decode_intent(text: str) -> Intent:
    """The intent."""
    found: Json = json.loads(text)
    return Intent(
        work_id=found["work_id"],
        key=VersionKey(decode_model(found["model"]), found["version"]),
        environment=found["environment"],
        intervals=_intervals(found["intervals"]),
        inputs={decode_model(name): pinned for name, pinned in found["inputs"].items()},
        base=found["base"],
        execution_time=decode_instant(found["execution_time"]),
        session=None if found["session"] is None else _load(found["session"]),
        drifted=found.get("drifted", False),
    )


def encode_publication(publication: Publication) -> str:
    """A publication as a JSON text."""
    return _dump(
        {
            "iceberg_snapshot_id": publication.iceberg_snapshot_id,
            "changes": [_change_json(change) for change in publication.changes],
            "columns": _columns_json(publication.columns),
            "mark": None if publication.mark is None else _mark_json(publication.mark),
            "algorithm": publication.algorithm,
        }
    )


def decode_published(text: str) -> int | None:
    """The Iceberg snapshot of a publication, without all that it changes."""
    found: int | None = json.loads(text)["iceberg_snapshot_id"]
    return found


def decode_publication(text: str) -> Publication:
    """The publication."""
    found: Json = json.loads(text)
    return Publication(
        iceberg_snapshot_id=found["iceberg_snapshot_id"],
        changes=tuple(_change(each) for each in found["changes"]),
        columns=_columns(found["columns"]),
        mark=None if found["mark"] is None else _mark(found["mark"]),
        algorithm=found.get("algorithm", FIRST_ALGORITHM),
    )


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _columns_json(columns: tuple[Column, ...]) -> list[list[str]]:
    return [[column.name, column.type, column.description] for column in columns]


def _columns(found: list[list[str]]) -> tuple[Column, ...]:
    return tuple(
        Column(name=name, type=type_, description=description) for name, type_, description in found
    )


def _interval_json(interval: Interval) -> list[int]:
    return [encode_instant(interval.start), encode_instant(interval.end)]


def _interval(found: list[int]) -> Interval:
    start, end = found
    return Interval(decode_instant(start), decode_instant(end))


def _intervals_json(intervals: tuple[Interval, ...]) -> list[list[int]]:
    return [_interval_json(each) for each in intervals]


def _intervals(found: list[list[int]]) -> tuple[Interval, ...]:
    return tuple(_interval(each) for each in found)


def _change_json(change: LedgerChange) -> Json:
    return {
        "operation": change.operation.value,
        "interval": _interval_json(change.interval),
        "rows": [change.rows.rows, *map(str, change.rows.halves)],
        "digest": change.digest,
        "standing": change.standing.value,
        "reason": change.reason,
        "trace": None if change.trace is None else _trace_json(change.trace),
        "kept": None if change.kept is None else _interval_json(change.kept),
    }


def _change(found: Mapping[str, Any]) -> LedgerChange:
    rows, upper, lower = found["rows"]
    return LedgerChange(
        operation=LedgerOperation(found["operation"]),
        interval=_interval(found["interval"]),
        rows=RowSum.of_halves(rows, int(upper), int(lower)),
        digest=found["digest"],
        standing=Standing(found.get("standing", Standing.COMPUTED.value)),
        reason=found.get("reason", ""),
        trace=_trace(trace) if (trace := found.get("trace")) else None,
        kept=_interval(kept) if (kept := found.get("kept")) else None,
    )


def _trace_json(trace: Trace) -> Json:
    inputs = {encode_model(name): token for name, token in trace.inputs.items()}
    return {"key": trace.key, "inputs": inputs, "seconds": trace.seconds}


def _trace(found: Mapping[str, Any]) -> Trace:
    return Trace(
        key=found["key"],
        inputs={decode_model(name): token for name, token in found["inputs"].items()},
        seconds=found["seconds"],
    )


def _mark_json(mark: HighWaterMark) -> Json:
    return {
        "source": encode_model(mark.source),
        "table_uuid": mark.table_uuid,
        "iceberg_snapshot_id": mark.iceberg_snapshot_id,
        "sequence_number": mark.sequence_number,
        "committed_at": encode_instant(mark.committed_at),
        "complete_to": None if mark.complete_to is None else encode_instant(mark.complete_to),
    }


def _mark(found: Mapping[str, Any]) -> HighWaterMark:
    complete_to: int | None = found["complete_to"]
    return HighWaterMark(
        source=decode_model(found["source"]),
        table_uuid=found["table_uuid"],
        iceberg_snapshot_id=found["iceberg_snapshot_id"],
        sequence_number=found["sequence_number"],
        committed_at=decode_instant(found["committed_at"]),
        complete_to=None if complete_to is None else decode_instant(complete_to),
    )


def _load_json(load: Load) -> Json:
    return {
        "before": None if load.before is None else _mark_json(load.before),
        "after": _mark_json(load.after),
        "fill": _intervals_json(load.fill),
        "held": _intervals_json(load.held),
        "evidence": [
            {
                "partition": [list(pair) for pair in uri.partition],
                "files": uri.files,
                "rows": uri.rows,
            }
            for uri in load.evidence
        ],
        "rewrite": load.rewrite,
    }


def _load(found: Mapping[str, Any]) -> Load:
    return Load(
        before=None if found["before"] is None else _mark(found["before"]),
        after=_mark(found["after"]),
        fill=_intervals(found["fill"]),
        held=_intervals(found["held"]),
        evidence=tuple(
            ProcessingUri(
                partition=tuple((name, value) for name, value in uri["partition"]),
                files=uri["files"],
                rows=uri["rows"],
            )
            for uri in found["evidence"]
        ),
        rewrite=found.get("rewrite", ""),
    )


def encode_audits(results: Sequence[AuditResult]) -> str:
    """What audits found, as JSON."""
    return _dump([asdict(each) for each in results])


def decode_audits(text: str) -> tuple[AuditResult, ...]:
    """What `encode_audits` wrote."""
    return tuple(
        AuditResult(
            name=each["name"],
            arguments=tuple((key, value) for key, value in each["arguments"]),
            blocking=each["blocking"],
            failing=each["failing"],
            columns=tuple(each["columns"]),
            sample=tuple(map(tuple, each["sample"])),
            message=each["message"],
        )
        for each in json.loads(text)
    )
