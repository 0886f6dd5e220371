"""The same values under another type, as close as possible; see `rows`."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Final, cast

from tests.lakehouse.digest import reference
from tests.lakehouse.digest.rows import (
    BINARY,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    VARIANT,
    Array,
    Digits,
    Map,
    Plain,
    Struct,
    Type,
)

Convert = Callable[[object], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another type, and how it represents a value that is not NULL."""

    type: Type
    convert: Convert


def other_types(of: Type) -> Iterator[Other]:
    """Other types that can represent every value of a type, the closest first."""
    match of:
        case Digits(precision, scale):
            # The same digits at another scale are another number.
            yield Other(type=Digits(precision, scale + 1), convert=_scaled(scale + 1))
            if precision < 38:
                yield Other(type=Digits(38, scale), convert=_same)
            yield Other(type=STRING, convert=str)
        case Array(element):
            for each in other_types(element):
                yield Other(type=Array(each.type), convert=_in_array(each.convert))
        case Map(key, item):
            (first_key, *_), (first_item, *more) = other_types(key), other_types(item)
            yield Other(type=Map(key, first_item.type), convert=_in_map(_same, first_item.convert))
            yield Other(type=Map(first_key.type, item), convert=_in_map(first_key.convert, _same))
            for each in more:
                yield Other(type=Map(key, each.type), convert=_in_map(_same, each.convert))
        case Struct(fields):
            yield Other(type=Struct(fields, prefix="g"), convert=_same)
            for at in range(len(fields)):
                nearest = next(other_types(fields[at]))
                typed = Struct((*fields[:at], nearest.type, *fields[at + 1 :]))
                yield Other(type=typed, convert=_in_struct(at, nearest.convert))
        case Plain(name):
            yield from (Other(type=type_, convert=convert) for type_, convert in _PLAIN[name])


def _same(found: object) -> object:
    return found


def _maybe(convert: Convert, found: object) -> object:
    return None if found is None else convert(found)


def _scaled(scale: int) -> Convert:
    def scaled(found: object) -> object:
        sign, digits, _ = cast("Decimal", found).as_tuple()
        return Decimal((sign, digits, -scale))

    return scaled


def _in_array(convert: Convert) -> Convert:
    return lambda found: [_maybe(convert, each) for each in cast("list[object]", found)]


def _in_map(key: Convert, item: Convert) -> Convert:
    def converted(found: object) -> object:
        entries = cast("list[tuple[object, object]]", found)
        return [(key(each), _maybe(item, value)) for each, value in entries]

    return converted


def _in_struct(at: int, convert: Convert) -> Convert:
    def converted(found: object) -> object:
        fields = cast("tuple[object, ...]", found)
        return (*fields[:at], _maybe(convert, fields[at]), *fields[at + 1 :])

    return converted


def _encoded(found: object) -> object:
    return cast("str", found).encode()


def _padded(found: object) -> object:
    return cast("str", found).ljust(8)


def _signed_bytes(found: object) -> object:
    data = cast("bytes", found)
    return list(struct.unpack(f"{len(data)}b", data))


def _number(found: object) -> object:
    return int(cast("bool", found))


def _bits(found: object) -> object:
    (bits,) = struct.unpack("<q", struct.pack("<d", cast("float", found)))
    return bits


def _midnight(found: object) -> object:
    return datetime.combine(cast("date", found), time())


def _utc_midnight(found: object) -> object:
    return datetime.combine(cast("date", found), time(), UTC)


def _days(found: object) -> object:
    return reference.days(cast("date", found))


def _micros(found: object) -> object:
    return reference.micros(cast("datetime", found))


def _clock(found: object) -> object:
    return cast("datetime", found).replace(tzinfo=None)


def _instant(found: object) -> object:
    return cast("datetime", found).replace(tzinfo=UTC)


def _canonical(found: object) -> object:
    return reference.variant_texts(cast("str", found))[0]


def _decimal(found: object) -> object:
    return Decimal(cast("int", found))


NTZ: Final = Plain("timestamp_ntz")
_LCASE: Final = Plain("string collate UTF8_LCASE")
_TEXTS: Final[list[tuple[Type, Convert]]] = [(BINARY, _encoded), (_LCASE, _same)]

_PLAIN: Final[dict[str, list[tuple[Type, Convert]]]] = {
    "boolean": [
        (Plain("tinyint"), _number),
        (INT, _number),
        (STRING, lambda found: str(found).lower()),
    ],
    "tinyint": [(Plain("smallint"), _same), (INT, _same), (Digits(3, 0), _decimal)],
    "smallint": [(INT, _same), (LONG, _same), (Digits(5, 0), _decimal)],
    "int": [(LONG, _same), (Digits(10, 0), _decimal), (STRING, str)],
    "bigint": [(Digits(20, 0), _decimal), (STRING, str), (Digits(19, 0), _decimal)],
    "float": [(Plain("double"), _same), (STRING, str), (LONG, _bits)],
    "double": [(LONG, _bits), (STRING, str), (Struct((Plain("double"),)), lambda found: (found,))],
    "string": [*_TEXTS, (VARIANT, json.dumps)],
    "char(8)": [(STRING, _padded), *_TEXTS],
    "varchar(8)": [(STRING, _padded), *_TEXTS],
    "binary": [
        (Array(Plain("tinyint")), _signed_bytes),
        (Struct((BINARY,)), lambda found: (found,)),
    ],
    "date": [(TIMESTAMP, _utc_midnight), (INT, _days), (NTZ, _midnight)],
    "timestamp": [(NTZ, _clock), (LONG, _micros)],
    "timestamp_ntz": [(TIMESTAMP, _instant), (LONG, _micros)],
    "variant": [(STRING, _canonical)],
}
