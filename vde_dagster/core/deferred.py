"""Values some of whose fields are computed when they are first read, such as syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

Makers = Mapping[str, Callable[[], object]]
"""How fields are made, by their names. A maker gives an equal value each time."""


class Deferred:
    """A base of frozen, slotted dataclasses, whose fields may stay empty until they are read.

    From outside there is no difference: reading a field gives its value, and so do comparing,
    hashing, copying and printing.
    """

    __slots__ = ("_makers",)
    _makers: Makers

    @classmethod
    def deferred(cls, makers: Makers, **known: object) -> Self:
        """A value of these known fields, and of others that are made by ``makers``.

        Args:
            makers: One for each field that is not known.
            known: All other fields.
        """
        value = object.__new__(cls)
        for name, each in known.items():
            object.__setattr__(value, name, each)
        object.__setattr__(value, "_makers", makers)
        return value

    if not TYPE_CHECKING:  # a type checker shall go on knowing the fields

        def __getattr__(self, name: str) -> object:
            """A field that is empty so far: Python looks here when it finds nothing."""
            makers = {} if name == "_makers" else getattr(self, "_makers", {})
            if name not in makers:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            made = makers[name]()
            object.__setattr__(self, name, made)
            return made
