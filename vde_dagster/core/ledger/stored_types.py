"""Types as Iceberg stores them, and what a column's type can become in place (rule R11).

Iceberg promotes some types to wider ones, and structs get fields, at any depth (specification,
*Schema Evolution*). Fields are compared by their names, without case; their order says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.spark.scopes import type_named
from vde_dagster.core.sql.spark.type_spelling import field_name, spelled

UNKNOWN: Final = "unknown"
"""How the type of a column is written whose type is not known."""


def is_widening(before: str, after: str) -> bool:
    """Whether a type of Spark becomes another one that holds all of its values, in place."""
    return holds(after, before) and not holds(before, after)


def same_type(one: str, other: str) -> bool:
    """Whether Iceberg stores two types of Spark as one."""
    return _is_same(_read(one), _read(other))


def same_layout(one: str, other: str) -> bool:
    """Whether Iceberg stores two types as one, with the fields of structs in one order."""
    return str(_read(one)).lower() == str(_read(other)).lower()


def holds(wide: str, narrow: str) -> bool:
    """Whether every value of one type of Spark can be one of another, by what Iceberg promotes.

    A struct holds one that lacks some of its fields.
    """
    return _holds(_read(wide), _read(narrow))


def fits(stored: str, wanted: str) -> bool:
    """Whether a column of one type can be made to hold values of another, too, in place."""
    return _grown(_read(stored), _read(wanted), adds=True) is not None


def grown(stored: str, wanted: str, *, adds: bool = True) -> str:
    """The type of a column that is made to hold values of another type, too.

    Fields that it lacks follow its own ones. It stays as it is where the other one does not fit.

    Args:
        stored: The column's type.
        wanted: The other one.
        adds: Whether it gets the fields that it lacks; else types are widened alone.
    """
    new = _grown(_read(stored), _read(wanted), adds=adds)
    return stored if new is None else str(new)


def shown_as(stored: str, wanted: str) -> str:
    """A column's type as a view of a type shows it: wider, and without the fields that it lacks.

    Args:
        stored: The column's type.
        wanted: The view's; where it is another one, or not known, the column is shown as it is.
    """
    return str(_shown(_read(stored), _read(wanted)))


def is_known(written: str) -> bool:
    """Whether a type is known at all."""
    return _stored_name(written) != UNKNOWN


def is_nested(written: str) -> bool:
    """Whether a type has others inside."""
    return _NESTED.match(written) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nested:
    """A type that has others inside, by name: a struct, an array or a map."""

    kind: str
    names: tuple[str, ...]
    types: tuple[_Type, ...]

    @property
    def inside(self) -> dict[str, _Type]:
        """What is inside, by names in lower case."""
        return dict(zip(map(str.lower, self.names), self.types, strict=True))

    def __str__(self) -> str:
        if self.kind != "struct":
            return f"{self.kind}<{','.join(map(str, self.types))}>"
        fields = zip(map(field_name, self.names), self.types, strict=True)
        return f"struct<{','.join(f'{name}:{type_}' for name, type_ in fields)}>"


_Type = str | _Nested
"""A type; one that has none inside by its name."""
_KEY: Final = "key"
_PARTS: Final = {"array": ("element",), "map": (_KEY, "value")}
_PROMOTIONS: Final = (("int", "bigint"), ("float", "double"))
"""What Iceberg's format version 2 promotes, apart from decimals of more digits."""
_STORED_AS: Final = {
    "tinyint": "int",
    "byte": "int",
    "smallint": "int",
    "short": "int",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "": UNKNOWN,
}
"""Types of Spark that Iceberg stores as another one."""
_NESTED: Final = re.compile(r"\s*(array|map|struct)\s*<", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT: Final = re.compile(r"(var)?char\(\d+\)")


@lru_cache(maxsize=4096)
def _read(written: str) -> _Type:
    return _of_tree(type_named(written)) if is_nested(written) else _stored_name(written)


def _of_tree(tree: exp.DataType) -> _Type:
    kind = tree.this.name.lower()
    if kind == "struct":
        names = tuple(each.name for each in tree.expressions)
        types = tuple(_of_tree(each.args["kind"]) for each in tree.expressions)
        return _Nested(kind=kind, names=names, types=types)
    if kind in _PARTS:
        return _Nested(kind=kind, names=_PARTS[kind], types=tuple(map(_of_tree, tree.expressions)))
    return _stored_name(spelled(tree) or tree.sql("spark"))


def _stored_name(written: str) -> str:
    """A type of Spark that has none inside as Iceberg has it, without white space."""
    name = "".join(written.lower().split())
    if _TEXT.fullmatch(name):
        return "string"
    if name == "decimal":
        return "decimal(10,0)"
    return _STORED_AS.get(name, name)


def _is_same(one: _Type, other: _Type) -> bool:
    return _holds(one, other) and _holds(other, one)


def _holds(wide: _Type, narrow: _Type) -> bool:
    if isinstance(wide, str) or isinstance(narrow, str):
        return wide == narrow or (not isinstance(wide, _Nested) and _promotes(narrow, wide))
    there, own = wide.inside, narrow.inside
    return (
        wide.kind == narrow.kind
        and own.keys() <= there.keys()
        and all(_holds(there[name], own[name]) for name in own)
        and _has_same_key(wide, narrow)
    )


def _has_same_key(one: _Nested, other: _Nested) -> bool:
    """Iceberg changes no key of a map."""
    return one.kind != "map" or _is_same(one.inside[_KEY], other.inside[_KEY])


def _promotes(narrow: _Type, wide: str) -> bool:
    if isinstance(narrow, _Nested):
        return False
    if (narrow, wide) in _PROMOTIONS:
        return True
    new, old = _DECIMAL.fullmatch(wide), _DECIMAL.fullmatch(narrow)
    return new is not None and old is not None and new[2] == old[2] and int(new[1]) >= int(old[1])


def _grown(stored: _Type, wanted: _Type, *, adds: bool) -> _Type | None:
    """See `grown`; None where it does not fit."""
    if isinstance(stored, str) or isinstance(wanted, str):
        return stored if _holds(stored, wanted) else wanted if _holds(wanted, stored) else None
    if stored.kind != wanted.kind or not _has_same_key(stored, wanted):
        return None
    own, other = stored.inside, wanted.inside
    types = [
        _grown(each, other[name], adds=adds) if name in other else each
        for name, each in own.items()
    ]
    known = [each for each in types if each is not None]
    if len(known) < len(types):
        return None
    added = [name for name in wanted.names if adds and name.lower() not in own]
    return replace(
        stored,
        names=(*stored.names, *added),
        types=(*known, *(other[name.lower()] for name in added)),
    )


def _shown(stored: _Type, wanted: _Type) -> _Type:
    if isinstance(stored, str) or isinstance(wanted, str):
        return wanted if _holds(wanted, stored) else stored
    if stored.kind != wanted.kind:
        return stored
    other = wanted.inside
    kept = [
        (name, each if name == _KEY and stored.kind == "map" else _shown(each, other[name.lower()]))
        for name, each in zip(stored.names, stored.types, strict=True)
        if name.lower() in other
    ]
    if not kept:
        return stored
    return replace(stored, names=tuple(n for n, _ in kept), types=tuple(each for _, each in kept))
