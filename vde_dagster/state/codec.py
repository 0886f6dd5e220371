"""Values as JSON texts and back, without loss.

The format is that of earlier releases: instants are whole microseconds in UTC, sums of hash lanes
are decimal texts (they exceed what databases and most JSON readers take for an integer), intervals
and columns are lists, mappings keep their order.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, TypeVar, cast, overload

from vde_dagster.core.codec import Codec
from vde_dagster.core.columns import Column
from vde_dagster.core.json_forms import Plain, form, known_name
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import Trace
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.staleness import SeenInput
from vde_dagster.core.ledger.unit_of_work import Intent
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval

_Value = TypeVar("_Value")

_MICROSECOND: Final = timedelta(microseconds=1)


def encode_instant(instant: datetime) -> int:
    """An aware instant as microseconds since 1970 in UTC."""
    return (instant - EPOCH) // _MICROSECOND


def decode_instant(microseconds: int) -> datetime:
    """The instant, in UTC."""
    return EPOCH + microseconds * _MICROSECOND


def encode_model(name: ModelName) -> str:
    """A model's name as ``schema.name``, or ``catalog.schema.name``."""
    return str(name)


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


def _decode_length(microseconds: int) -> timedelta:
    return microseconds * _MICROSECOND


_CODEC: Final = Codec(
    forms={
        datetime: form(encode_instant, decode_instant),
        timedelta: form(lambda each: each // _MICROSECOND, _decode_length),
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


def encode(kind: object, value: object) -> str:
    """A value of a type as a JSON text."""
    return _dump(_CODEC.write(kind, value))


@overload
def decode(kind: type[_Value], text: str) -> _Value: ...
@overload
def decode(kind: object, text: str) -> object: ...
def decode(kind: object, text: str) -> object:
    """The value of a type that `encode` wrote."""
    return _CODEC.read(kind, json.loads(text))


@lru_cache(maxsize=1024)
def decode_columns(text: str) -> tuple[Column, ...]:
    """The columns. Equal texts give one shared value: a ledger repeats them in every entry."""
    return decode(tuple[Column, ...], text)


@lru_cache(maxsize=8192)
def decode_source(text: str) -> ModelSource:
    """The source. Equal texts, of stored and of shown snapshots, give one shared value."""
    return decode(ModelSource, text)


def decode_trace(text: str | None) -> Trace | None:
    """The trace."""
    return None if text is None else decode(Trace, text)


@lru_cache(maxsize=8192)
def decode_holding(text: str, number: int, removed: int) -> Holding:
    """A ledger's summary after the change of this number. Equal texts give one shared value."""
    return _CODEC.read(Holding, json.loads(text), number=number, removed=removed)


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


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
