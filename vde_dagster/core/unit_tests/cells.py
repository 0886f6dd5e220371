"""Values as a file writes them, read as one of Spark's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from vde_dagster.core.model.seed_rows import cell_parser

Raw = None | str | Sequence["Raw"] | Mapping[str, "Raw"]
"""A value as it is written: nothing (NULL), a single value's text, a list or a mapping."""

NULL_TYPE: Final = "void"
"""The type of a column that has nothing but NULL."""
_WIDEST: Final = 60
_BITS: Final = exp.DataType.Type
_NUMBERS: Final = (
    *(_BITS.TINYINT, _BITS.SMALLINT, _BITS.INT, _BITS.BIGINT),
    *(_BITS.FLOAT, _BITS.DOUBLE, _BITS.DECIMAL),
)
_TIMES: Final = (_BITS.DATE, _BITS.DATETIME, _BITS.TIMESTAMP, _BITS.TIMESTAMPTZ, _BITS.TIMESTAMPNTZ)
_YAML_FLOATS: Final = {".nan": "nan", ".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}
_FAMILIES: Final = ((_NUMBERS, "double"), (_TIMES, "timestamp"), ((_BITS.BOOLEAN,), "boolean"))
"""Types whose values may equal each other, and one in which all of them can be read."""


class WrongValue(ValueError):
    """A value cannot be read as its type; the text says which value and which type."""


def read_cell(raw: Raw, kind: str) -> object:
    """A written value as a value of one of Spark's types. The type decides, not the quotes.

    A STRUCT and a MAP are dictionaries, an ARRAY a list. A field of a STRUCT that is left out is
    NULL. BINARY is written in hexadecimal digits. A TIMESTAMP without an offset is UTC.

    Raises:
        WrongValue: It cannot be read so.
    """
    parsed = type_of(kind)
    if parsed is None:
        raise WrongValue(f"values of the type {kind} cannot be written in a test")
    return _read(raw, parsed)


def may_be(raw: Raw, kind: str) -> bool:
    """Whether a written value is of the family of a type, which is known by rules only.

    Where it says no, no value of a type of that family equals it: a number is never a date, but an
    integer may turn out to be a decimal. Of types that are not known it says yes.
    """
    parsed = type_of(kind)
    if raw is None or parsed is None or parsed.is_type(_BITS.BINARY):
        return True
    if parsed.is_type(_BITS.ARRAY):
        return not isinstance(raw, str | Mapping)
    if parsed.is_type(_BITS.STRUCT, _BITS.MAP):
        return isinstance(raw, Mapping)
    widest = next((wide for kinds, wide in _FAMILIES if parsed.is_type(*kinds)), None)
    return isinstance(raw, str) and (widest is None or _fits(raw, widest))


def _fits(raw: Raw, kind: str) -> bool:
    try:
        read_cell(raw, kind)
    except WrongValue:
        return False
    return True


@cache
def type_of(kind: str) -> exp.DataType | None:
    """One of Spark's types as a tree; None where a text names none whose values can be written."""
    try:
        parsed = exp.DataType.build(kind, dialect="spark")
    except SqlglotError:
        return None
    parts = [each for each in parsed.find_all(exp.DataType) if not each.args.get("nested")]
    known = all(
        cell_parser(_spelled(each)) is not None or each.is_type(_BITS.BINARY) for each in parts
    )
    nested = parsed.is_type(_BITS.ARRAY, _BITS.MAP, _BITS.STRUCT)
    return parsed if known and (not nested or parsed.expressions) else None


def _spelled(of: exp.DataType) -> str:
    """A type as Spark spells it."""
    if of.is_type(_BITS.TIMESTAMPTZ, _BITS.TIMESTAMP):
        return "timestamp"
    return of.sql("spark").lower().replace(" ", "")


def _read(raw: Raw, of: exp.DataType) -> object:
    if raw is None:
        return None
    if of.is_type(_BITS.ARRAY):
        if isinstance(raw, str | Mapping):
            raise WrongValue(f"{_shown(raw)} is not a list, which {_spelled(of)} needs")
        return [_read(each, of.expressions[0]) for each in raw]
    if of.is_type(_BITS.MAP):
        key, value = of.expressions
        return {_read(name, key): _read(each, value) for name, each in _mapping(raw, of).items()}
    if of.is_type(_BITS.STRUCT):
        return _struct(_mapping(raw, of), of)
    if not isinstance(raw, str):
        raise WrongValue(f"{_shown(raw)} is not a single value, which {_spelled(of)} needs")
    return _single(raw, of)


def _single(text: str, of: exp.DataType) -> object:
    try:
        if of.is_type(_BITS.BINARY):
            return bytes.fromhex(text)
        if of.is_type(_BITS.FLOAT, _BITS.DOUBLE) and text.lower() in _YAML_FLOATS:
            return float(_YAML_FLOATS[text.lower()])
        parse = cell_parser(_spelled(of))
        assert parse is not None, "the type is one that texts are read as"
        return parse(text)
    except (ValueError, ArithmeticError, KeyError) as error:
        raise WrongValue(f"{_shown(text)} is not a valid {_spelled(of)}") from error


def _mapping(raw: Raw, of: exp.DataType) -> Mapping[str, Raw]:
    if not isinstance(raw, Mapping):
        raise WrongValue(f"{_shown(raw)} is not a mapping, which {_spelled(of)} needs")
    return raw


def _struct(raw: Mapping[str, Raw], of: exp.DataType) -> dict[str, object]:
    kinds = {each.name: each.args["kind"] for each in of.expressions}
    names = {name.lower(): name for name in kinds}
    unknown = [name for name in raw if name.lower() not in names]
    if unknown:
        raise WrongValue(f"{', '.join(unknown)} is not a field of {_spelled(of)}")
    given = {names[name.lower()]: each for name, each in raw.items()}
    return {name: _read(given.get(name), kind) for name, kind in kinds.items()}


def _shown(raw: Raw) -> str:
    text = repr(raw)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."
