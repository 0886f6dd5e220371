"""Values of the core as JSON, and back: the classes that are named here, and nothing else.

A tuple is a list, everything that JSON has no form for an object with the name of its class under
``!``. Of a dataclass only what differs from its defaults is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast, get_args

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.kinds import Kind, WrittenMerge
from vde_dagster.core.model.late_data import (
    LateDataMode,
    LateDataPolicy,
    LoadType,
    OnSourceRewrite,
    TrackedSource,
)
from vde_dagster.core.model.model import AuthorsText, Call, OwnAudit, UpdatesOn
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.meaning.parts import Meaning, Part, Read, Rows
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.windows import Window
from vde_dagster.project.cache.trees import Json, Unkept, nodes_of, tree_of

_DATACLASSES: Final = (
    *get_args(Kind),
    AuthorsText,
    Call,
    Column,
    WrittenMerge,
    LateDataPolicy,
    Meaning,
    ModelName,
    OwnAudit,
    Part,
    PartitionField,
    Place,
    Problem,
    Rows,
    Storage,
    TrackedSource,
    Window,
)
_ENUMS: Final = (IntervalUnit, LateDataMode, LoadType, OnSourceRewrite, Transform, UpdatesOn)
_CLASS: Final = "!"
_VALUE: Final = "="


def pack(value: object) -> Json:
    """A value as JSON.

    Raises:
        Unkept: It has a part of a class that is not known here.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Read():
            return _named("Read", [pack(value.model), value.column])
        case tuple():
            return [pack(each) for each in value]
        case list():
            return _named("list", [pack(each) for each in value])
        case Mapping():
            return _named("mapping", [[pack(key), pack(each)] for key, each in value.items()])
        case _:
            return _packed(value)


def _packed(value: object) -> Json:
    made: type = type(value)
    if made in _DATACLASSES:
        given = {
            name: pack(each)
            for name, default in _defaults(made)
            if (each := getattr(value, name)) != default
        }
        return {_CLASS: made.__name__, **given}
    if isinstance(value, Enum) and made in _ENUMS:
        return _named(made.__name__, value.value)
    return _named(*_plain(value))


def _plain(value: object) -> tuple[str, Json]:
    """The name and the form of a value whose class Python or sqlglot defines."""
    match value:
        case frozenset():
            return "frozenset", [pack(each) for each in value]
        case bytes():
            return "bytes", value.hex()
        case datetime():
            return "datetime", value.isoformat()
        case timedelta():
            return "timedelta", [value.days, value.seconds, value.microseconds]
        case Path():
            return "Path", value.as_posix()
        case exp.Expr():
            return "tree", cast("Json", nodes_of(value))
        case _:
            raise Unkept(type(value).__name__)


def _named(name: str, value: Json) -> Json:
    return {_CLASS: name, _VALUE: value}


@lru_cache(maxsize=64)
def _defaults(made: type) -> tuple[tuple[str, object], ...]:
    """The fields of a dataclass with their defaults, where they have one."""
    return tuple(
        (
            each.name,
            each.default_factory() if each.default_factory is not MISSING else each.default,
        )
        for each in fields(made)
    )


def unpack(packed: Json) -> Any:  # noqa: ANN401 - of the class that was packed
    """The value that `pack` was given; mappings come back as dictionaries."""
    if type(packed) is list:
        return tuple([unpack(each) for each in packed])
    if type(packed) is not dict:
        return packed
    name = cast("str", packed.pop(_CLASS))
    made = _MAKERS.get(name)
    if made is not None:
        return made(packed[_VALUE])
    return _BY_NAME[name](**{key: unpack(each) for key, each in packed.items()})


_BY_NAME: Final[dict[str, Any]] = {each.__name__: each for each in _DATACLASSES}
_MAKERS: Final[dict[str, Callable[[Any], object]]] = {
    "Read": lambda given: Read(unpack(given[0]), given[1]),
    "list": lambda given: [unpack(each) for each in given],
    "mapping": lambda given: {unpack(key): unpack(each) for key, each in given},
    "frozenset": lambda given: frozenset(unpack(each) for each in given),
    "bytes": bytes.fromhex,
    "datetime": datetime.fromisoformat,
    "timedelta": lambda given: timedelta(*given),
    "Path": Path,
    "tree": tree_of,
    **{each.__name__: each for each in _ENUMS},
}
