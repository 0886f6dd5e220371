"""Any value of a type, by the types that its fields declare: what nobody thought of included."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

_PARTS = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
_INSTANTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1)).map(
    lambda naive: naive.replace(tzinfo=UTC)
)
_LEAVES: dict[object, st.SearchStrategy[Any]] = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers(),
    str: st.text(),
    datetime: _INSTANTS,
    Interval: st.tuples(_INSTANTS, _INSTANTS)
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: Interval(min(pair), max(pair))),
    ModelName: st.builds(ModelName, _PARTS, _PARTS, st.just("") | _PARTS),
    Path: st.lists(_PARTS, min_size=1, max_size=3).map(lambda parts: Path(*parts)),
}


def values_of(kind: object, given: Mapping[object, object] | None = None) -> st.SearchStrategy[Any]:
    """Any value of a type; those of ``given`` types are the given ones."""
    given = given or {}
    if kind in given:
        return st.just(given[kind])
    if kind in _LEAVES:
        return _LEAVES[kind]
    if get_args(kind):
        return _container(get_origin(kind), get_args(kind), given)
    assert isinstance(kind, type), f"no values of {kind} are known"
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert dataclasses.is_dataclass(kind), f"no values of {kind} are known"
    hints = get_type_hints(kind)
    made = {each.name: values_of(hints[each.name], given) for each in dataclasses.fields(kind)}
    return st.builds(kind, **made)


def _container(
    origin: object, inner: tuple[Any, ...], given: Mapping[object, object]
) -> st.SearchStrategy[Any]:
    values = [values_of(each, given) for each in inner if each is not Ellipsis]
    if origin in (Union, UnionType):
        return st.one_of(values)
    if origin is frozenset:
        return st.frozensets(values[0], max_size=2)
    if origin is Mapping:
        return st.dictionaries(*values, max_size=2)
    assert origin is tuple, f"no values of {origin} are known"
    if inner[1:] == (Ellipsis,):
        return st.lists(values[0], max_size=2).map(tuple)
    return st.tuples(*values)
