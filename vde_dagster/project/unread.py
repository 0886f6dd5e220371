"""The names that files which could not be read seem to declare.

That something of such a name is missing follows from the file's own problem, and is not reported.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from vde_dagster.core.model.model import Model
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName

_DECLARED: Final = re.compile(
    r"(?:\bname(?:\s*:?=\s*|\s+)|\b(?:model|macro|signal)\s*\(\s*(?!name\b)|\bdef\s+)"
    r"""(?:f(?=["']))?(["'`]?[\w@{][\w.@{}"'`]*)""",
    re.IGNORECASE,
)
_QUOTES: Final = str.maketrans("", "", "\"'`")
_FILLED_IN: Final = re.compile(r"@?\\\{\w+\\\}")
"""Where a name has a part that is filled in, such as ``@{customer}.orders``, as a pattern."""


def declared_names(text: str, path: Path) -> frozenset[str]:
    """The lower-case names that a file of SQL or Python seems to declare, and that of the file."""
    written = [name.translate(_QUOTES).lower() for name in _DECLARED.findall(text)]
    return frozenset((path.stem.lower(), *(_constant(name, text) for name in written)))


def _constant(name: str, text: str) -> str:
    """The text that a Python file gives to a name; the name itself if there is none."""
    pattern = rf"^{re.escape(name)}\s*=\s*[\"']([\w.]+)"
    given = re.search(pattern, text, re.IGNORECASE | re.MULTILINE)
    return given[1].lower() if given is not None else name


class Unread:
    """Which models may be in the files that could not be read, as far as is known.

    ``flawed`` are models that were read in spite of problems in their files.
    """

    def __init__(self) -> None:
        self.every = False
        self.flawed: list[Model] = []
        self._names: set[str] = set()
        self._patterns: set[re.Pattern[str]] = set()

    def add(self, path: Path, text: str) -> None:
        """A file: the name that its path gives, and those that its text seems to declare."""
        for written in (".".join(path.with_suffix("").parts[1:][-2:]), *declared_names(text, path)):
            self.add_name(written)

    def add_name(self, written: str) -> None:
        """A model's name, with or without its catalog."""
        parts = [DEFAULT_SCHEMA, *written.lower().split(".")]
        name = ".".join(parts[-2:])
        pattern, filled_in = _FILLED_IN.subn(r"\\w+", re.escape(name))
        if filled_in:
            self._patterns.add(re.compile(pattern))
        else:
            self._names.add(name)

    def __contains__(self, name: object) -> bool:
        if self.every or not isinstance(name, ModelName):
            return self.every
        known = f"{name.schema}.{name.name}"
        return known in self._names or any(each.fullmatch(known) for each in self._patterns)
