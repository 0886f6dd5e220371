"""Types, and values of them that follow from a seed, for the proofs of the D-SHA algorithms.

A value is a plain Python object: None, bool, int, float, Decimal, str, bytes, date, datetime (aware
for timestamp), a list for an array, a tuple for a struct, a list of pairs for a map (their order
means nothing), and JSON text for a variant.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Final, cast


@dataclass(frozen=True, slots=True)
class Plain:
    """A type without parts, under the name that Spark gives it."""

    ddl: str


@dataclass(frozen=True, slots=True)
class Digits:
    """A decimal."""

    precision: int
    scale: int

    @property
    def ddl(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    element: Type

    @property
    def ddl(self) -> str:
        return f"array<{self.element.ddl}>"


@dataclass(frozen=True, slots=True)
class Map:
    key: Type
    item: Type

    @property
    def ddl(self) -> str:
        return f"map<{self.key.ddl},{self.item.ddl}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields are named f0, f1, ..., or with another prefix."""

    fields: tuple[Type, ...]
    prefix: str = "f"

    @property
    def names(self) -> list[str]:
        return [f"{self.prefix}{number}" for number in range(len(self.fields))]

    @property
    def ddl(self) -> str:
        named = zip(self.names, self.fields, strict=True)
        return f"struct<{','.join(f'{name}:{each.ddl}' for name, each in named)}>"


Type = Plain | Digits | Array | Map | Struct

INT, LONG, STRING, BINARY = Plain("int"), Plain("bigint"), Plain("string"), Plain("binary")
DATE, TIMESTAMP, VARIANT = Plain("date"), Plain("timestamp"), Plain("variant")

TYPES: Final[dict[str, Type]] = {
    "boolean": Plain("boolean"),
    "tinyint": Plain("tinyint"),
    "smallint": Plain("smallint"),
    "int": INT,
    "bigint": LONG,
    "float": Plain("float"),
    "double": Plain("double"),
    "decimal": Digits(9, 2),
    "wide_decimal": Digits(38, 10),
    "string": STRING,
    "char": Plain("char(8)"),
    "varchar": Plain("varchar(8)"),
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": Plain("timestamp_ntz"),
    "variant": VARIANT,
    "array": Array(INT),
    "array_of_strings": Array(STRING),
    "array_of_arrays": Array(Array(LONG)),
    "map": Map(STRING, INT),
    "map_of_decimals": Map(INT, Digits(38, 10)),
    "struct": Struct((INT, STRING, Plain("double"))),
    "struct_of_structs": Struct((Struct((STRING, BINARY)), Struct((STRING, DATE)))),
    "array_of_structs_of_maps": Array(Struct((Map(STRING, Array(INT)), TIMESTAMP))),
    "array_of_structs_of_variants": Array(Struct((VARIANT, Map(STRING, VARIANT)))),
}
"""The types that an Iceberg table can store, by a name; not intervals and TIME."""

BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_LETTERS: Final = "aAbz09 \0é\U0001f40d"
MICROSECOND: Final = timedelta(microseconds=1)


def value(of: Type, rng: Random) -> object:
    """A value that is not NULL; inside it there may be NULL."""
    match of:
        case Digits():
            return _decimal(
                rng.randrange(10 ** rng.randint(1, of.precision)), rng.random() < 0.5, of
            )
        case Array():
            return [field(of.element, rng) for _ in range(rng.randint(0, 4))]
        case Map():
            keys = {meaning(of.key, key): key for key in (value(of.key, rng) for _ in range(4))}
            return [(key, field(of.item, rng)) for key in list(keys.values())[: rng.randint(0, 4)]]
        case Struct():
            return tuple(field(each, rng) for each in of.fields)
        case Plain():
            return _plain(of.ddl, rng)


def field(of: Type, rng: Random) -> object:
    """A value or, one time in six, NULL."""
    return None if rng.random() < 1 / 6 else value(of, rng)


def meaning(of: Type, found: object) -> object:  # noqa: PLR0911 - a case for each kind of type
    """Equal for two values exactly if they mean the same: what a D-SHA has to distinguish.

    All NaN are one, 0.0 is -0.0, the entries of a map have no order, and neither have the fields of
    an object in a variant. Blanks at the end of a text count, in a char, too: they are stored.
    """
    match of, found:
        case _, None:
            return None
        case Plain("float" | "double"), float():
            return "nan" if math.isnan(found) else found + 0.0
        case Plain("variant"), str():
            return json.dumps(json.loads(found), sort_keys=True)
        case Array(), list():
            return tuple(meaning(of.element, each) for each in found)
        case Struct(), tuple():
            return tuple(map(meaning, of.fields, found))
        case Map(), list():
            return frozenset((meaning(of.key, key), meaning(of.item, item)) for key, item in found)
        case _:
            return found


def same(of: Type, found: object) -> object:
    """A value that means the same in another form, if there is one."""
    match of, found:
        case Plain("float" | "double"), float() if found == 0 or math.isnan(found):
            return -found
        case Plain("variant"), str() if isinstance(parsed := json.loads(found), dict):
            return json.dumps(dict(reversed(parsed.items())))
        case Array(), list():
            return [same(of.element, each) for each in found]
        case Struct(), tuple():
            return tuple(map(same, of.fields, found))
        case Map(), list():
            return [(same(of.key, key), same(of.item, item)) for key, item in reversed(found)]
        case _:
            return found


def nothing(of: Type) -> object:
    """What is easily taken for NULL: zero, nothing, the first instant, parts that are all NULL."""
    match of:
        case Digits():
            return _decimal(0, False, of)
        case Array() | Map():
            return []
        case Struct():
            return (None,) * len(of.fields)
        case Plain():
            return _NOTHING[of.ddl]


_NOTHING: Final[dict[str, object]] = {
    "boolean": False,
    **dict.fromkeys(BITS, 0),
    "float": 0.0,
    "double": 0.0,
    **dict.fromkeys(("string", "char(8)", "varchar(8)"), ""),
    "binary": b"",
    "date": date(1970, 1, 1),
    "timestamp": datetime(1970, 1, 1, tzinfo=UTC),
    "timestamp_ntz": datetime(1970, 1, 1),
    "variant": "null",
}


def _plain(name: str, rng: Random) -> object:  # noqa: PLR0911 - a case for each type
    if name in BITS:
        return rng.getrandbits(rng.randrange(BITS[name])) - (rng.random() < 0.3)
    match name:
        case "boolean":
            return rng.random() < 0.5
        case "float" | "double":
            return _float(
                name, rng.choice((rng.gauss(0, 1e3), 0.0, -0.0, math.nan, math.inf, 1e-39))
            )
        case "binary":
            return rng.randbytes(rng.choice((0, 1, 3, 8, 15, 16, 17, 31, 32, 33, 64)))
        case "string":
            return "".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 2, 7, 8, 9, 15, 16, 17, 40))))
        case "char(8)":
            return "".join(rng.choices("abz ", k=rng.randint(0, 5))).ljust(7)
        case "varchar(8)":
            return "".join(rng.choices("abz ", k=rng.randint(0, 7)))
        case "date":
            return date.fromordinal(rng.randint(date(1890, 1, 1).toordinal(), 800_000))
        case "timestamp" | "timestamp_ntz":
            zero = cast("datetime", _NOTHING[name])
            return zero + MICROSECOND * rng.randint(-(2**50), 2**52)
        case _:
            return json.dumps(_parsed(rng))


def _parsed(rng: Random) -> object:
    """What JSON text may contain. Numbers are whole, since readers differ in whether 1.0 is 1."""
    scalar = [
        rng.randint(-9, 9),
        "".join(rng.choices("ab 1", k=2)),
        None,
        True,
        str(rng.randint(0, 9)),
    ]
    if rng.random() < 0.5:
        return rng.choice(scalar)
    return {key: rng.choice(scalar) for key in rng.sample("abcd", rng.randint(0, 3))}


def _float(name: str, number: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded if name == "float" else number


def _decimal(unscaled: int, negative: bool, of: Digits) -> Decimal:
    return Decimal((int(negative), tuple(map(int, str(unscaled))), -of.scale))
