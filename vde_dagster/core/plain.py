"""Values as plain JSON and back, without loss, by the types that their fields declare.

Whatever a dataclass has is written: there is no list of fields that could be forgotten. A field of
a type that has no plain form is an error as soon as a value of its dataclass is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Final, Union, cast, get_args, get_origin, get_type_hints

from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]
"""What JSON has, but for fractions."""

_CLASS: Final = "is"
"""The key that names the class of a value where its field allows several."""


class NotPlain(ValueError):
    """Plain JSON that is no value of a type; the text says where and why."""


def to_plain(kind: object, value: object, *, without: frozenset[object] = frozenset()) -> Plain:
    """A value of a type as plain JSON.

    Args:
        kind: The value's type: None, bool, int, str, `datetime`, `Path`, `ModelName`, an enum, a
            dataclass, or a union, tuple, frozenset or mapping of such.
        value: The value.
        without: Types whose fields are left out; `from_plain` is given their values.

    Raises:
        TypeError: The type has no plain form.
    """
    if isinstance(value, Mapping):
        _, inner = _arguments(kind, 2)
        return {str(key): to_plain(inner, each, without=without) for key, each in value.items()}
    if isinstance(value, tuple | frozenset):
        items = value if isinstance(value, tuple) else sorted(value, key=str)
        kinds = _of_items(kind, len(items))
        pairs = zip(kinds, items, strict=True)
        return [to_plain(inner, each, without=without) for inner, each in pairs]
    if is_dataclass(value) and not isinstance(value, type | ModelName):
        named: dict[str, Plain] = {}
        if len(_classes(kind)) > 1:
            named[_CLASS] = type(value).__name__
        for name, (_, inner) in _fields(type(value)).items():
            if inner not in without:
                named[name] = to_plain(inner, getattr(value, name), without=without)
        return named
    return _leaf(value)


def _leaf(value: object) -> Plain:
    match value:
        case None | bool() | int() | str():
            return value
        case Enum():
            return _leaf(value.value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Path():
            return value.as_posix()
        case ModelName():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no plain form")


def from_plain(
    kind: object, plain: object, *, given: Mapping[object, object] | None = None, at: str = ""
) -> object:
    """The value of a type that was written by `to_plain`.

    Fields that are not there have their defaults, so that what was written before there was a field
    can still be read.

    Args:
        kind: The type.
        plain: What was written.
        given: Values of the types that were left out.
        at: Where it stands, for messages.

    Raises:
        NotPlain: It is no value of this type.
    """
    given = given or {}
    if kind in given:
        return given[kind]
    if plain is None and NoneType in _members(kind):
        return None
    classes = _classes(kind)
    if len(classes) > 1:
        return _one_of(classes, plain, given, at)
    try:
        return _value(classes[0], plain, given, at)
    except NotPlain:
        raise
    except (ValueError, OverflowError, VdeError) as error:
        raise NotPlain(f"{at or 'it'}: {error}") from error


def _value(kind: object, plain: object, given: Mapping[object, object], at: str) -> object:
    origin = get_origin(kind) or kind
    if origin is Mapping:
        keys, values = _arguments(kind, 2)
        return {
            from_plain(keys, key, at=at): from_plain(values, each, given=given, at=f"{at}.{key}")
            for key, each in _object(plain, at).items()
        }
    if origin in (tuple, frozenset):
        items = _list(plain, at)
        inner = _of_items(kind, len(items))
        if len(inner) != len(items):
            raise NotPlain(f"{at}: {len(inner)} values are expected, there are {len(items)}")
        made = [
            from_plain(each, item, given=given, at=f"{at}[{number}]")
            for number, (each, item) in enumerate(zip(inner, items, strict=True))
        ]
        return tuple(made) if origin is tuple else frozenset(made)
    if not isinstance(kind, type):
        raise TypeError(f"{kind} has no plain form")
    if kind not in (datetime, Path, ModelName) and is_dataclass(kind):
        return _dataclass(kind, plain, given, at)
    return _scalar(kind, plain, at)


def _scalar(kind: type, plain: object, at: str) -> object:
    if kind in (bool, int, str):
        return _exactly(kind, plain, at)
    if issubclass(kind, Enum):
        return kind(plain)
    text = str(_exactly(str, plain, at))
    if kind is datetime:
        instant = datetime.fromisoformat(text)
        if instant.utcoffset() != timedelta(0):
            raise NotPlain(f"{at}: {text!r} is no instant in UTC")
        return instant.replace(tzinfo=UTC)
    if kind is Path:
        return Path(text)
    if kind is ModelName:
        return ModelName.parse(text)
    raise TypeError(f"{kind.__name__} has no plain form")


def _dataclass(kind: type, plain: object, given: Mapping[object, object], at: str) -> object:
    written, known = _object(plain, at), _fields(kind)
    unknown = sorted(set(written) - set(known) - {_CLASS})
    if unknown:
        raise NotPlain(f"{at or 'it'} has {', '.join(unknown)}, which is unknown here")
    values: dict[str, object] = {}
    for name, (field, inner) in known.items():
        if name in written or inner in given:
            values[name] = from_plain(inner, written.get(name), given=given, at=_below(at, name))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise NotPlain(f"{at or 'it'} lacks {name}")
    return cast("Callable[..., object]", kind)(**values)


def _one_of(
    classes: tuple[object, ...], plain: object, given: Mapping[object, object], at: str
) -> object:
    named = _object(plain, at).get(_CLASS)
    for each in classes:
        if isinstance(each, type) and is_dataclass(each) and each.__name__ == named:
            return from_plain(each, plain, given=given, at=at)
    raise NotPlain(f"{at}: {named!r} is none of {', '.join(map(str, classes))}")


@cache
def _fields(kind: type) -> dict[str, tuple[Field[object], object]]:
    """The fields of a dataclass with their types, in order."""
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    return {each.name: (each, hints[each.name]) for each in fields(kind)}


def _members(kind: object) -> tuple[object, ...]:
    """The types of a union; else the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _classes(kind: object) -> tuple[object, ...]:
    """The types that a field allows beside None."""
    return tuple(each for each in _members(kind) if each is not NoneType)


def _arguments(kind: object, count: int) -> tuple[object, ...]:
    """What a generic type is of, seen through ``| None``."""
    found = [get_args(each) for each in _classes(kind)]
    if len(found) != 1 or len(found[0]) != count:
        raise TypeError(f"{kind} does not say what it is made of")
    return found[0]


def _of_items(kind: object, length: int) -> tuple[object, ...]:
    """The types of the items of a tuple or frozenset."""
    (given,) = [(get_origin(each), get_args(each)) for each in _classes(kind)]
    origin, arguments = given
    if origin is frozenset or (len(arguments) == 2 and arguments[1] is Ellipsis):
        return (arguments[0],) * length
    return tuple(arguments)


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _exactly(kind: type, plain: object, at: str) -> object:
    if type(plain) is not kind:
        raise NotPlain(f"{at or 'it'} is no {kind.__name__}")
    return plain


def _object(plain: object, at: str) -> dict[str, object]:
    return cast("dict[str, object]", _exactly(dict, plain, at))


def _list(plain: object, at: str) -> list[object]:
    return cast("list[object]", _exactly(list, plain, at))
