"""Values as JSON texts and back, without loss.

The format is that of earlier releases: instants are whole microseconds in UTC, sums of hash lanes
are decimal texts (they exceed what databases and most JSON readers take for an integer), intervals
and columns are lists, mappings keep their order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, cast

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.codec import Codec
from vde_dagster.core.columns import Column
from vde_dagster.core.json_forms import Plain, form, known_name
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import Trace
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.staleness import LastLook, SeenInput
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval

_MICROSECOND: Final = timedelta(microseconds=1)


def encode_instant(instant: datetime) -> int:
    """An aware instant as microseconds since 1970 in UTC."""
    return (instant - EPOCH) // _MICROSECOND


def decode_instant(microseconds: int) -> datetime:
    """The instant, in UTC."""
    return EPOCH + microseconds * _MICROSECOND


def _encode_length(length: timedelta) -> int:
    return length // _MICROSECOND


def _decode_length(microseconds: int) -> timedelta:
    return microseconds * _MICROSECOND


def encode_model(name: ModelName) -> str:
    """A model's name as ``schema.name``, or ``catalog.schema.name``."""
    return str(name)


def encode_keys(keys: Iterable[VersionKey]) -> Iterator[tuple[str, str]]:
    """Versions as the texts of their models' names and their own."""
    return ((encode_model(key.model), key.version) for key in keys)


decode_model: Final = known_name
"""The name that was encoded."""


def _encode_interval(interval: Interval) -> list[Plain]:
    return [encode_instant(interval.start), encode_instant(interval.end)]


def _decode_interval(found: tuple[int, int]) -> Interval:
    start, end = found
    return Interval(decode_instant(start), decode_instant(end))


def _decode_column(found: tuple[str, str, str]) -> Column:
    name, type_, description = found
    return Column(name=name, type=type_, description=description)


def _decode_seen(found: tuple[str, int | None]) -> SeenInput:
    table, number = found
    return SeenInput(table=table, number=number)


def _decode_sum(found: tuple[int, str, str]) -> RowSum:
    rows, upper, lower = found
    return RowSum.of_halves(rows, int(upper), int(lower))


_CODEC: Final = Codec(
    forms={
        datetime: form(encode_instant, decode_instant),
        timedelta: form(_encode_length, _decode_length),
        ModelName: form(encode_model, decode_model),
        Interval: form(_encode_interval, _decode_interval),
        Column: form(lambda each: [each.name, each.type, each.description], _decode_column),
        SeenInput: form(lambda each: [each.table, each.number], _decode_seen),
        RowSum: form(lambda each: [each.rows, *map(str, each.halves)], _decode_sum),
    },
    left_out={
        Holding: ("number", "removed"),
        Intent: ("key",),
        Load: ("question",),
        TrackedSource: ("place",),
    },
    is_checked=False,
)


def encode_columns(columns: tuple[Column, ...]) -> str:
    """Columns as a JSON text."""
    return _encode(tuple[Column, ...], columns)


@lru_cache(maxsize=1024)
def decode_columns(text: str) -> tuple[Column, ...]:
    """The columns. Equal texts give one shared value: a ledger repeats them in every entry."""
    return _CODEC.read(tuple[Column, ...], json.loads(text))


def encode_reasons(reasons: tuple[str, ...]) -> str:
    """A snapshot's reasons as a JSON text."""
    return _dump(reasons)


def decode_reasons(text: str) -> tuple[str, ...]:
    """The reasons."""
    return tuple(json.loads(text))


def encode_source(source: ModelSource) -> str:
    """A model's source as a JSON text."""
    return _encode(ModelSource, source)


@lru_cache(maxsize=8192)
def decode_source(text: str) -> ModelSource:
    """The source. Equal texts, of stored and of shown snapshots, give one shared value."""
    return _CODEC.read(ModelSource, json.loads(text))


def encode_trace(trace: Trace | None) -> str | None:
    """A trace as a JSON text; None if there is none."""
    return None if trace is None else _encode(Trace, trace)


def decode_trace(text: str | None) -> Trace | None:
    """The trace."""
    return None if text is None else _CODEC.read(Trace, json.loads(text))


def encode_holding(holding: Holding) -> str:
    """A ledger's summary as a JSON text, without the numbers of its changes."""
    return _encode(Holding, holding)


@lru_cache(maxsize=8192)
def decode_holding(text: str, number: int, removed: int) -> Holding:
    """A ledger's summary after the change of this number. Equal texts give one shared value."""
    return _CODEC.read(Holding, json.loads(text), number=number, removed=removed)


def encode_look(look: LastLook) -> str:
    """A look at a version's inputs as a JSON text."""
    return _encode(LastLook, look)


def decode_look(text: str) -> LastLook:
    """The look."""
    return _CODEC.read(LastLook, json.loads(text))


def encode_mark(mark: HighWaterMark) -> str:
    """A high-water mark as a JSON text."""
    return _encode(HighWaterMark, mark)


def decode_mark(text: str) -> HighWaterMark:
    """The high-water mark."""
    return _CODEC.read(HighWaterMark, json.loads(text))


def encode_pending(pending: tuple[Pending, ...]) -> str:
    """What is pending as a JSON text."""
    return _encode(tuple[Pending, ...], pending)


def decode_pending(text: str) -> tuple[Pending, ...]:
    """What is pending."""
    return _CODEC.read(tuple[Pending, ...], json.loads(text))


def encode_question(question: Question) -> str:
    """What a session is decided from as a JSON text."""
    return _encode(Question, question)


def decode_question(text: str) -> Question:
    """The question."""
    return cast("Question", _CODEC.read(Question, json.loads(text)))


def encode_intent(intent: Intent) -> str:
    """An intent as a JSON text, with model and version as fields of their own after its id."""
    written = cast("dict[str, object]", _CODEC.write(Intent, intent))
    key = {"model": encode_model(intent.key.model), "version": intent.key.version}
    return _dump({"work_id": intent.work_id, **key, **written})


def decode_intent(text: str) -> Intent:
    """The intent."""
    found = json.loads(text)
    key = VersionKey(decode_model(found["model"]), found["version"])
    return _CODEC.read(Intent, found, key=key)


def encode_publication(publication: Publication) -> str:
    """A publication as a JSON text."""
    return _encode(Publication, publication)


def decode_publication(text: str) -> Publication:
    """The publication."""
    return _CODEC.read(Publication, json.loads(text))


def encode_audits(results: Sequence[AuditResult]) -> str:
    """What audits found, as JSON."""
    return _encode(tuple[AuditResult, ...], results)


def decode_audits(text: str) -> tuple[AuditResult, ...]:
    """What `encode_audits` wrote."""
    return _CODEC.read(tuple[AuditResult, ...], json.loads(text))


def _encode(kind: object, value: object) -> str:
    return _dump(_CODEC.write(kind, value))


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
