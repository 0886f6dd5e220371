"""One codec for stored values: plain JSON from values of declared types and back, without loss.

For each type a pair of functions is derived once, from the types that the fields of its dataclasses
declare. All fields of a dataclass are written: there is no list from which one could be missing. A
type without a form is an error as soon as anything of its dataclass is written or read. Other forms
than the derived ones, such as shorter ones or those of earlier releases, are registered.

Each store has a `Codec` of its own: saved plans (`vde_dagster.core.planning.plan_file`), the state
(`vde_dagster.state.codec`) and the cache of models (`vde_dagster.project.cache.values`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from vde_dagster.core import json_forms
from vde_dagster.core.json_forms import (
    AS_IT_IS,
    LEAVES,
    SCALARS,
    FieldForm,
    Form,
    Plain,
    default_of,
)

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """How a store writes values of declared types as plain JSON, and reads them.

    The types are bool, int, float, str, `datetime`, `Path`, `ModelName`, enums, dataclasses, those
    of ``forms``, and unions, tuples, frozensets and mappings of such. Fields that are missing
    have their defaults, so that what was written before there was a field can still be read.

    - ``forms`` are those of types, and of what inherits from them.
    - ``left_out`` are fields that are not written; the reader supplies them.
    - ``derived`` are properties that are written like fields. What has any cannot be read.
    - ``is_checked`` if people or other programs may have written what is read: each scalar must be
      of its type, and every field known. Otherwise unknown fields are ignored.
    - ``is_sparse`` if fields that equal their defaults are not written.
    """

    forms: Mapping[object, Form] = field(default_factory=dict)
    left_out: Mapping[type, Collection[str]] = field(default_factory=dict)
    derived: Mapping[type, Collection[str]] = field(default_factory=dict)
    is_checked: bool = True
    is_sparse: bool = False
    _derived: dict[object, Form] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def write(self, kind: object, value: object) -> Plain:
        """A value of a type as plain JSON.

        Raises:
            TypeError: The type has no plain form.
        """
        return self.form_of(kind).write(value)

    @overload
    def read(self, kind: type[_Value], plain: object, **given: object) -> _Value: ...
    @overload
    def read(self, kind: object, plain: object, **given: object) -> object: ...
    def read(self, kind: object, plain: object, **given: object) -> object:
        """The value of a type that `write` made plain.

        Args:
            kind: The type.
            plain: What was written.
            given: The fields of a dataclass that are left out.

        Raises:
            NotPlain: It is not a value of this type.
            TypeError: The type has no plain form.
        """
        found = self.form_of(kind)
        if found.fields is None or not given:
            return found.read(plain)
        return json_forms.construct(cast("type", kind), {**found.fields(plain), **given})

    def form_of(self, kind: object) -> Form:
        """The form of a type, which is derived when it is first asked for.

        Raises:
            TypeError: It has none.
        """
        found = self._derived.get(kind)
        if found is None:
            found = self._derived[kind] = self._derive(kind)
        return found

    def _derive(self, kind: object) -> Form:
        members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        kinds = [each for each in members if each is not NoneType]
        if all(each in SCALARS for each in kinds):
            found = json_forms.scalar(kinds) if self.is_checked else AS_IT_IS
        elif len(kinds) == 1:
            found = self._of_class(kinds[0])
        else:
            found = json_forms.one_of({each: self.form_of(each) for each in kinds})
        return found if len(kinds) == len(members) else json_forms.optional(found)

    def _of_class(self, kind: object) -> Form:
        for each in (kind, *(kind.__mro__[:-1] if isinstance(kind, type) else ())):
            if each in self.forms:
                return self.forms[each]
        if kind in LEAVES:
            return LEAVES[kind]
        if isinstance(kind, type) and issubclass(kind, Enum):
            return json_forms.member(kind)
        if isinstance(kind, type) and is_dataclass(kind):
            return self._of_dataclass(kind)
        return self._of_container(kind)

    def _of_container(self, kind: object) -> Form:
        inner = [self.form_of(each) for each in get_args(kind) if each is not Ellipsis]
        origin = get_origin(kind)
        if origin is Mapping:
            return json_forms.mapping(*inner)
        if origin is tuple and Ellipsis not in get_args(kind):
            return json_forms.row(inner)
        if origin in (tuple, Sequence):
            return json_forms.items(inner[0], tuple)
        if origin is frozenset:
            return json_forms.items(inner[0], frozenset)
        raise TypeError(f"{getattr(kind, '__name__', kind)} has no plain form")

    def _of_dataclass(self, kind: type) -> Form:
        assert is_dataclass(kind)
        hints, left_out = get_type_hints(kind), self.left_out.get(kind, ())
        parts = [
            FieldForm(
                name=each.name,
                form=self.form_of(hints[each.name]),
                default=default_of(each),
            )
            for each in fields(kind)
            if each.name not in left_out
        ]
        for name in self.derived.get(kind, ()):
            returned = get_type_hints(getattr(kind, name).fget)["return"]
            parts.append(FieldForm(name=name, form=self.form_of(returned), default=MISSING))
        return json_forms.record(kind, parts, is_checked=self.is_checked, is_sparse=self.is_sparse)
