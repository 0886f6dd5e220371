"""Forms of values as plain JSON: how a value of a type is written, and read back.

`vde_dagster.core.codec` puts them together as the types of dataclasses' fields say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Final, TypeVar, cast

from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""What JSON has."""

Write = Callable[[object], Plain]
Read = Callable[[object], object]
_Value = TypeVar("_Value")
_Written = TypeVar("_Written")


class NotPlain(ValueError):
    """Plain JSON that is not a value of a type; the text says where and why.

    Args:
        what: What is wrong, as it follows the place, such as `` is not an int``.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.place = ""

    def within(self, place: str) -> None:
        """Note of what the wrong value is a field, a key or an item (``[3]``)."""
        dot = "." if self.place and not self.place.startswith("[") else ""
        self.place = f"{place}{dot}{self.place}"

    def __str__(self) -> str:
        return f"{self.place or 'it'}{self.args[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the values of a type are written, and read back.

    ``fields`` reads the fields of a dataclass without making it; None for all other types.
    """

    write: Write
    read: Read
    fields: Callable[[object], dict[str, object]] | None = None


def form(write: Callable[[_Value], Plain], read: Callable[[_Written], _Value]) -> Form:
    """The form of a type whose values ``write`` makes plain, and ``read`` makes of that again."""
    return Form(write=cast("Write", write), read=cast("Read", read))


# Scalars
_INVALID: Final = (ValueError, OverflowError, VdeError)
"""What classes and readers of texts raise for what is none of their values."""

SCALARS: Final = (bool, int, float, str)
AS_IT_IS: Final = Form(write=lambda value: cast("Plain", value), read=lambda plain: plain)
"""The form of scalars where what is read is known to be what was written."""


def scalar(kinds: Sequence[object]) -> Form:
    """Scalars that are exactly of one of these types."""
    names = " or ".join(each.__name__ for each in SCALARS if each in kinds)

    def read(plain: object) -> object:
        if type(plain) not in kinds:
            raise NotPlain(f" is not {names}")
        return plain

    return Form(write=AS_IT_IS.write, read=read)


def member(kind: type[Enum]) -> Form:
    """The members of an enum by their values."""
    return form(lambda each: cast("Plain", each.value), _checked(kind))


_TEXT: Final = scalar([str])


def text(write: Callable[[_Value], str], read: Callable[[str], _Value]) -> Form:
    """Values that are written as texts."""
    return form(write, _checked(lambda plain: read(cast("str", _TEXT.read(plain)))))


def _checked(read: Callable[[object], _Value]) -> Callable[[object], _Value]:
    """What reads a value, or says why there is none."""

    def checked(plain: object) -> _Value:
        try:
            return read(plain)
        except NotPlain:
            raise
        except _INVALID as error:
            raise NotPlain(f": {error}") from error

    return checked


def _instant(written: str) -> datetime:
    instant = datetime.fromisoformat(written)
    if instant.utcoffset() != timedelta(0):
        raise NotPlain(f": {written!r} is not an instant in UTC")
    return instant.replace(tzinfo=UTC)


LEAVES: Final[Mapping[object, Form]] = {
    datetime: text(lambda instant: instant.astimezone(UTC).isoformat(), _instant),
    Path: text(lambda path: path.as_posix(), Path),
    ModelName: text(str, ModelName.parse),
}
"""The forms of classes that are neither enums nor written by their fields."""


@lru_cache(maxsize=65_536)
def known_name(written: str) -> ModelName:
    """The model's name of a text that was checked when it was made; stores repeat their names."""
    *catalog, schema, name = written.split(".")
    return ModelName(schema, name, *catalog)


# Containers
def items(inner: Form, made: type[tuple[object, ...] | frozenset[object]]) -> Form:
    """Tuples or frozensets of one type, as lists; those of frozensets are sorted."""

    def write(value: object) -> Plain:
        written = [inner.write(each) for each in cast("Iterable[object]", value)]
        return written if made is tuple else sorted(written, key=str)

    return Form(write=write, read=lambda plain: made(_read_each(repeat(inner.read), _list(plain))))


def row(inner: Sequence[Form]) -> Form:
    """Tuples of several types, as lists."""
    writes, reads = [each.write for each in inner], [each.read for each in inner]

    def write(value: object) -> Plain:
        values = cast("Iterable[object]", value)
        return [write_one(each) for write_one, each in zip(writes, values, strict=True)]

    def read(plain: object) -> object:
        written = _list(plain)
        if len(written) != len(reads):
            raise NotPlain(f": {len(reads)} values are expected, there are {len(written)}")
        return tuple(_read_each(reads, written))

    return Form(write=write, read=read)


def _read_each(reads: Iterable[Read], written: Sequence[object]) -> list[object]:
    found: list[object] = []
    try:
        for read, each in zip(reads, written, strict=False):
            found.append(read(each))
    except NotPlain as error:
        error.within(f"[{len(found)}]")
        raise
    return found


def mapping(key: Form, inner: Form) -> Form:
    """Mappings, as objects in the same order. Keys are written as texts."""

    def write(value: object) -> Plain:
        pairs = cast("Mapping[object, object]", value).items()
        return {cast("str", key.write(name)): inner.write(each) for name, each in pairs}

    def read(plain: object) -> object:
        found: dict[object, object] = {}
        for name, each in _object(plain).items():
            known = key.read(name)
            try:
                found[known] = inner.read(each)
            except NotPlain as error:
                error.within(name)
                raise
        return found

    return Form(write=write, read=read)


def optional(inner: Form) -> Form:
    """None, or values of another form."""
    return Form(
        write=lambda value: None if value is None else inner.write(value),
        read=lambda plain: None if plain is None else inner.read(plain),
    )


# Dataclasses
_CLASS: Final = "is"
"""The key that names the class of a value where its field allows several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldForm:
    """A field of a dataclass that is written; ``default`` is `MISSING` where it has none."""

    name: str
    form: Form
    default: object


def default_of(field: Field[object]) -> object:
    """The default of a dataclass' field; `MISSING` where it has none."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def record(kind: type, fields: Sequence[FieldForm], *, is_checked: bool, is_sparse: bool) -> Form:
    """Values of a dataclass as objects of its fields; see `vde_dagster.core.codec.Codec`."""
    read = _fields_reader(fields, is_checked=is_checked)
    return Form(
        write=_fields_writer(fields, is_sparse=is_sparse),
        read=lambda plain: construct(kind, read(plain)),
        fields=read,
    )


def construct(kind: type, values: Mapping[str, object]) -> object:
    """The value of a dataclass with these fields.

    Raises:
        NotPlain: It takes no such values.
    """
    try:
        return cast("Callable[..., object]", kind)(**values)
    except _INVALID as error:
        raise NotPlain(f": {error}") from error


def _fields_writer(fields: Sequence[FieldForm], *, is_sparse: bool) -> Write:
    names = [(each.name, each.default) for each in fields]
    steps = _writes(fields)

    def write(value: object) -> Plain:
        written = {name: getattr(value, name) for name, _ in names}
        for name, write_one in steps:
            written[name] = write_one(written[name])
        return written

    def write_sparse(value: object) -> Plain:
        values = ((name, getattr(value, name), default) for name, default in names)
        written = {name: each for name, each, default in values if each != default}
        for name, write_one in steps:
            if name in written:
                written[name] = write_one(written[name])
        return written

    return write_sparse if is_sparse else write


def _fields_reader(
    fields: Sequence[FieldForm], *, is_checked: bool
) -> Callable[[object], dict[str, object]]:
    steps = _reads(fields)
    known = {each.name for each in fields}
    needed = {each.name: each for each in fields if each.default is MISSING}.keys()

    def read(plain: object) -> dict[str, object]:
        values = _object(plain).copy()
        if not values.keys() <= known:
            unknown = values.keys() - known - {_CLASS}
            if is_checked and unknown:
                raise NotPlain(f" has {', '.join(sorted(unknown))}, which is unknown here")
            values = {name: each for name, each in values.items() if name in known}
        if not values.keys() >= needed:
            raise NotPlain(f" lacks {next(name for name in needed if name not in values)}")
        _read_fields(values, steps)
        return values

    return read


def _writes(fields: Sequence[FieldForm]) -> list[tuple[str, Write]]:
    """The fields that are not written as they are."""
    found = [(each.name, each.form.write) for each in fields]
    return [each for each in found if each[1] is not AS_IT_IS.write]


def _reads(fields: Sequence[FieldForm]) -> list[tuple[str, Read]]:
    """The fields that are not read as they are written."""
    found = [(each.name, each.form.read) for each in fields]
    return [each for each in found if each[1] is not AS_IT_IS.read]


def _read_fields(values: dict[str, object], steps: Sequence[tuple[str, Read]]) -> None:
    name = ""
    try:
        for name, read in steps:
            if name in values:
                values[name] = read(values[name])
    except NotPlain as error:
        error.within(name)
        raise


def one_of(members: Mapping[object, Form]) -> Form:
    """Values of several dataclasses, as objects that name the class, too.

    Raises:
        TypeError: One is not written as an object of its fields.
    """
    names: dict[object, str] = {}
    for kind, each in members.items():
        if not isinstance(kind, type) or each.fields is None:
            raise TypeError(f"{kind} has no plain form among others")
        names[kind] = kind.__name__
    forms = {names[kind]: each for kind, each in members.items()}

    def write(value: object) -> Plain:
        name = names[type(value)]
        return {_CLASS: name, **cast("dict[str, Plain]", forms[name].write(value))}

    def read(plain: object) -> object:
        name = _object(plain).get(_CLASS)
        if not isinstance(name, str) or name not in forms:
            raise NotPlain(f": {name!r} is none of {', '.join(map(str, names))}")
        return forms[name].read(plain)

    return Form(write=write, read=read)


def _object(plain: object) -> dict[str, object]:
    if type(plain) is not dict:
        raise NotPlain(" is not a dict")
    return plain


def _list(plain: object) -> list[object]:
    if type(plain) is not list:
        raise NotPlain(" is not a list")
    return plain
