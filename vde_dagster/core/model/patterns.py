"""Patterns that mean models: by their names, their tags or their files.

``mart.revenue`` is one model, ``mart.*`` every model whose name is written so, ``tag:nightly``
every model with that tag, ``path:models/raw/*`` every model whose file is written so, relative to
the project. In all of them ``*`` stands for any text, also with dots and slashes in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Final

from vde_dagster.core.names import InvalidName, ModelName


class By(Enum):
    """What of a model a pattern is compared with."""

    NAME = "name"
    TAG = "tag"
    PATH = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPattern:
    """One pattern, taken apart. ``pattern`` is in lower case where it is one of names."""

    by: By
    pattern: str

    @classmethod
    def parse(cls, text: str, *, catalog: str) -> ModelPattern | None:
        """The pattern that a text is; None where it is none.

        Args:
            text: See above. Case does not count, but in tags and paths.
            catalog: The project's own, which a name may begin with.
        """
        inner = text.strip()
        for by in (By.TAG, By.PATH):
            prefix = f"{by.value}:"
            if inner.lower().startswith(prefix):
                pattern = inner[len(prefix) :].strip()
                return cls(by=by, pattern=pattern) if pattern else None
        name = _of_name(inner.lower(), catalog)
        return cls(by=By.NAME, pattern=name) if name else None

    @property
    def is_wild(self) -> bool:
        """Whether it may mean several."""
        return _is_wild(self.pattern)

    def means(self, name: ModelName, tags: Collection[str], path: PurePath) -> bool:
        """Whether it means a model of this name, with these tags, in this file of the project."""
        match self.by:
            case By.NAME:
                return fnmatchcase(str(name), self.pattern)
            case By.TAG:
                return any(fnmatchcase(tag, self.pattern) for tag in tags)
            case By.PATH:
                return fnmatchcase(path.as_posix(), self.pattern)


def _of_name(text: str, catalog: str) -> str | None:
    pattern = text.removeprefix(f"{catalog.lower()}.") if text.count(".") > 1 else text
    if _is_wild(pattern):
        return pattern if ":" not in pattern else None
    try:
        return str(ModelName.parse(pattern).within(catalog))
    except InvalidName:
        return None


def _is_wild(pattern: str) -> bool:
    return any(each in pattern for each in _WILD)


_WILD: Final = "*?["
