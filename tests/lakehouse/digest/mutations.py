"""Values that differ from others, mostly by little; see `rows`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from tests.lakehouse.digest.rows import (
    BITS,
    MICROSECOND,
    Array,
    Digits,
    Map,
    Plain,
    Struct,
    Type,
    field,
    meaning,
    value,
)


def other(of: Type, found: object, rng: Random) -> object:
    """A value that means something else, mostly something close."""
    while True:
        near = found is not None and rng.random() < 0.8
        changed = _near(of, found, rng) if near else value(of, rng)
        if meaning(of, changed) != meaning(of, found):
            return changed


def _near(of: Type, found: object, rng: Random) -> object:  # noqa: PLR0911 - a case for each type
    match of, found:
        case Digits(), Decimal():
            sign, digits, _ = found.as_tuple()
            last = (digits[-1] + rng.choice((1, 9))) % 10
            return Decimal((sign, (*digits[:-1], last), -of.scale))
        case Array(), list():
            return _changed_list(
                found, lambda: field(of.element, rng), _changer(of.element, rng), rng
            )
        case Struct(), tuple():
            at = rng.randrange(len(found))
            return (*found[:at], other(of.fields[at], found[at], rng), *found[at + 1 :])
        case Map(), list():
            return _changed_entries(of, found, rng)
        case Plain("boolean"), bool():
            return not found
        case Plain("float" | "double" | "variant"), _:
            return value(of, rng)
        case Plain(), int():
            return found ^ (1 << rng.randrange(BITS[of.ddl] - 1))
        case Plain(), str():
            return rng.choice(
                (found + " ", found + "\0", found[:-1], found.swapcase(), found[::-1])
            )
        case Plain(), bytes():
            return rng.choice((found + b"\0", found[:-1], b"\0" + found, found[::-1]))
        case Plain(), datetime():
            return found + MICROSECOND * rng.choice((1, -1, 1000, 3_600_000_000, 86_400_000_000))
        case Plain(), date():
            return found + timedelta(days=rng.choice((1, -1, 365)))
    raise AssertionError(f"{found!r} is no value of {of.ddl}")


def _changer(of: Type, rng: Random) -> Callable[[object], object]:
    return lambda found: other(of, found, rng)


def _changed_list(
    found: list[object], new: Callable[[], object], change: Callable[[object], object], rng: Random
) -> list[object]:
    at = rng.randint(0, len(found))
    match rng.choice(("more", "fewer", "turned", "other")):
        case "more":
            return [*found[:at], new(), *found[at:]]
        case "fewer":
            return [*found[:at], *found[at + 1 :]]
        case "turned":
            return found[::-1]
        case _:
            return [change(each) if number == at else each for number, each in enumerate(found)]


def _changed_entries(of: Map, found: list[tuple[object, object]], rng: Random) -> object:
    new = (value(of.key, rng), field(of.item, rng))
    if not found:
        return [new]
    keys, items = [key for key, _ in found], [item for _, item in found]
    at = rng.randrange(len(found))
    match rng.choice(("key", "item", "fewer", "turned", "more")):
        case "key":
            keys[at] = other(of.key, keys[at], rng)
        case "item":
            items[at] = other(of.item, items[at], rng)
        case "fewer":
            del keys[at], items[at]
        case "turned":
            items = items[1:] + items[:1]
        case _:
            keys, items = [*keys, new[0]], [*items, new[1]]
    entries = zip(keys, items, strict=True)
    return list({meaning(of.key, key): (key, item) for key, item in entries}.values())
