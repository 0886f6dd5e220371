"""What a row is hashed to by both D-SHA algorithms, in plain Python, from their descriptions.

The descriptions are the docstrings of `vde_dagster.lakehouse.digest.murmur_rows` and of
`vde_dagster.lakehouse.digest.native`, and, for the latter, what Spark's documentation and sources
say of its function ``xxhash64``. The hash functions of byte strings are those of two libraries in
C; no code is shared with the package. Types and values are those of `rows`.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import cast

import mmh3
import xxhash

from tests.lakehouse.digest.rows import Array, Digits, Map, Plain, Struct, Type

Fields = Sequence[tuple[Type, object]]
"""Types and values of the columns of a row, of the fields of a struct, and so on."""


def murmur3_128(row: Fields) -> int:
    """The hash of a row under `murmur3_128`, as a number of 128 bits."""
    return mmh3.mmh3_x64_128_uintdigest(record(row))


def xxhash64x2(row: Fields) -> int:
    """The hash of a row under `xxhash64x2`, as a number of 128 bits."""
    upper, lower = (_chain(int.from_bytes(salt, "big"), row) for salt in (b"vde_high", b"vde_low_"))
    return upper << 64 | lower


# ---- murmur3_128: the canonical bytes ----


def record(fields: Fields) -> bytes:
    """A record: its head, filled to a multiple of 16 bytes, and what follows it."""
    head, behind = _head(fields)
    return b"".join(_filled(each) for each in (head, *behind))


def _head(fields: Fields) -> tuple[bytes, list[bytes]]:
    head, behind = _flags([each is not None for _, each in fields]), list[bytes]()
    for of, found in fields:
        fixed, rest = _field(of, found)
        head += fixed
        behind += rest
    return head, behind


def _flags(present: Sequence[bool]) -> bytes:
    words = [present[at : at + 64] for at in range(0, len(present), 64)]
    return b"".join(_word(sum(1 << n for n, each in enumerate(word) if each)) for word in words)


def _field(of: Type, found: object) -> tuple[bytes, list[bytes]]:
    match of:
        case Struct():
            found = (None,) * len(of.fields) if found is None else found
            return _head(list(zip(of.fields, cast("tuple[object, ...]", found), strict=True)))
        case Array() | Map() | Plain("string" | "char(8)" | "varchar(8)" | "binary"):
            data = b"" if found is None else _bytes(of, found)
            return _word(len(data)), [data]
        case Plain("variant"):
            texts = (None, None) if found is None else variant_texts(cast("str", found))
            return _field(Struct((Plain("string"), Plain("string"))), texts)
        case Digits() if of.precision > 18:
            return (0 if found is None else unscaled(found)).to_bytes(16, "little", signed=True), []
        case _:
            return _word(0 if found is None else _number(of, found)), []


def _bytes(of: Type, found: object) -> bytes:
    match of, found:
        case Array(), list():
            return b"".join(record([(of.element, each)]) for each in found)
        case Map(), list():
            entries = [record([(of.key, key), (of.item, item)]) for key, item in found]
            return b"".join(sorted(entries, key=mmh3.mmh3_x64_128_uintdigest))
        case Plain(), str():
            return found.encode()
        case _:
            return cast("bytes", found)


def _number(of: Type, found: object) -> int:
    match of, found:
        case Plain("float" | "double"), float():
            return int.from_bytes(_double(found), "little")
        case Digits(), Decimal():
            return unscaled(found)
        case _, datetime():
            return micros(found)
        case _, date():
            return days(found)
        case _:
            return int(cast("int", found))


def _word(number: int) -> bytes:
    return (number % 2**64).to_bytes(8, "little")


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % 16)


# ---- xxhash64x2: chains of xxHash64, in which Spark hashes a value with what came before as seed


def _chain(salt: int, fields: Fields) -> int:
    so_far = _long(salt, 42)  # Spark's own seed
    for at in range(0, len(fields), 62):
        word = fields[at : at + 62]
        so_far = _long(sum(1 << n for n, (_, each) in enumerate(word) if each is None), so_far)
    for of, found in fields:
        so_far = so_far if found is None else _hashed(salt, of, found, so_far)
    return so_far


def _hashed(salt: int, of: Type, found: object, so_far: int) -> int:  # noqa: PLR0911, PLR0912 - by type
    match of, found:
        case Struct(), tuple():
            return _long(_chain(salt, list(zip(of.fields, found, strict=True))), so_far)
        case Array(), list():
            elements = [_chain(salt, [(of.element, each)]) for each in found]
            return _long(_listed(salt, elements), so_far)
        case Map(), list():
            entries = [_chain(salt, [(of.key, key), (of.item, item)]) for key, item in found]
            return _long(_listed(salt, sorted(entries, key=_signed)), so_far)
        case Plain("variant"), str():
            for text in variant_texts(found):
                so_far = _xxhash(text.encode(), so_far)
            return so_far
        case Plain("float"), float():
            return _xxhash(_single(found), so_far)
        case Plain("double"), float():
            return _xxhash(_double(found), so_far)
        case Digits(), Decimal() if of.precision <= 18:
            return _long(unscaled(found), so_far)
        case Digits(), Decimal():
            return _xxhash(_shortest(unscaled(found)), so_far)
        case Plain("bigint" | "timestamp" | "timestamp_ntz"), _:
            return _long(_number(of, found), so_far)
        case _, str():
            return _xxhash(found.encode(), so_far)
        case _, bytes():
            return _xxhash(found, so_far)
        case _:  # booleans, smaller integers and dates are hashed as an int
            return _int(_number(of, found), so_far)


def _listed(salt: int, hashes: Sequence[int]) -> int:
    so_far = _int(len(hashes), _long(salt, 42))
    for each in hashes:
        so_far = _long(each, so_far)
    return so_far


def _int(number: int, seed: int) -> int:
    return _xxhash((number % 2**32).to_bytes(4, "little"), seed)


def _long(number: int, seed: int) -> int:
    return _xxhash(_word(number), seed)


def _xxhash(data: bytes, seed: int) -> int:
    return xxhash.xxh64_intdigest(data, seed)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _shortest(number: int) -> bytes:
    """Java's ``BigInteger.toByteArray``."""
    bits = (number if number >= 0 else -number - 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


# ---- both ----


def unscaled(found: object) -> int:
    sign, digits, _ = cast("Decimal", found).as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def days(found: date) -> int:
    return (found - date(1970, 1, 1)).days


def micros(found: datetime) -> int:
    return (found.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


def variant_texts(text: str) -> tuple[str, str]:
    """JSON text and schema of a variant, as Spark writes them."""
    parsed = json.loads(text)
    return json.dumps(parsed, separators=(",", ":"), sort_keys=True), _schema(parsed)


def _schema(parsed: object) -> str:
    match parsed:
        case None:
            return "VOID"
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case dict():
            fields = (f"{key}: {_schema(each)}" for key, each in sorted(parsed.items()))
            return f"OBJECT<{', '.join(fields)}>"
        case _:
            return "STRING"


def _single(found: float) -> bytes:
    return struct.pack("<f", math.nan if math.isnan(found) else found + 0.0)


def _double(found: float) -> bytes:
    return struct.pack("<d", math.nan if math.isnan(found) else found + 0.0)
