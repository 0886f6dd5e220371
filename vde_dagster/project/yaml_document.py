"""YAML with the line of every key and value, so that each problem can name its place."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import yaml

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.text_files import NotReadable, project_text

VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable in a text."""

MAX_ENTRIES: Final = 100_000
MAPPING_ADVICE: Final = "Write each on a line of its own, as `key: value`."
_YAML_ADVICE: Final = "Check the indentation and the quotes near this line."


class _TooMany(Exception):
    """A text has more entries than a file of a project has, or its aliases stand for more."""


class _Loader(yaml.SafeLoader):
    """Composes a text, and stops where it has too many entries: millions would take minutes."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """One node with those in it; a key is one, too."""
        self._nodes += 1
        if self._nodes > 2 * MAX_ENTRIES:
            raise _TooMany
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A mapping, a list, a scalar or nothing of a YAML file.

    ``place`` is that of the key if the entry is a value of a mapping. An empty value (null) is
    like an empty mapping or list. ``tag`` is YAML's name of its type, such as ``str`` or ``seq``.
    ``from_outside`` says whether a part of it is the value of an environment variable.
    """

    value: object
    place: Place
    children: Mapping[str, Entry] = field(default_factory=dict)
    items: tuple[Entry, ...] = ()
    tag: str = "str"
    from_outside: bool = False

    @property
    def texts(self) -> object:
        """Mappings, lists and nothing as they are, with each single value as its text."""
        match self.tag:
            case "map":
                return {key: child.texts for key, child in self.children.items()}
            case "seq":
                return [item.texts for item in self.items]
            case _:
                return self.value

    @property
    def outside(self) -> frozenset[str]:
        """The keys whose value is, or contains, that of an environment variable."""
        return frozenset(key for key, child in self.children.items() if child.from_outside)

    def at(self, *keys: str | int) -> Entry:
        """What is below keys; nothing, at the nearest place, where that is not written."""
        if not keys:
            return self
        key, *rest = keys
        if isinstance(key, int):
            child = self.items[key] if key < len(self.items) else None
        else:
            child = self.children.get(key)
        return Entry(value=None, place=self.place) if child is None else child.at(*rest)

    @property
    def is_mapping(self) -> bool:
        """Whether there is nothing, or keys with values."""
        return self.value is None and not self.items


def unknown_key(where: str, key: str, known: Sequence[str]) -> tuple[str, str]:
    """What is said of a key that is none of a mapping, and what to do."""
    close = difflib.get_close_matches(key, known, n=1)
    advice = f"Did you mean {close[0]!r}? " if close else ""
    return f"{where} has the unknown key {key!r}", f"{advice}Known keys: {', '.join(known)}."


class Reader:
    """Reads entries and collects all problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._left = MAX_ENTRIES

    def document(self, text: str, path: Path) -> Entry | None:
        """The root of a YAML text; None (and a problem) if it is not YAML."""
        try:
            node = yaml.compose(text, Loader=_Loader)
            return (
                Entry(value=None, place=Place(path=path))
                if node is None
                else self._entry(node, path)
            )
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            reason = getattr(error, "problem", None) or "it cannot be read"
            self.add(Place(path=path, line=line), f"this is not valid YAML: {reason}", _YAML_ADVICE)
        except (RecursionError, _TooMany):
            message = f"this is nested too deeply, or has more than {MAX_ENTRIES:,} entries"
            advice = "Put data into a seed or a table, and do not use anchors (&) and aliases (*)."
            self.add(Place(path=path), message, advice)
        return None

    def file(self, path: Path, shown: Path) -> Entry | None:
        """The root of a YAML file that problems call ``shown``; None if it cannot be read."""
        try:
            text = project_text(path)
        except NotReadable as error:
            self.add(Place(path=shown), str(error), error.advice)
            return None
        return self.document(text, shown)

    def _entry(self, node: yaml.Node, path: Path) -> Entry:
        self._left -= 1
        if self._left < 0:
            raise _TooMany
        place = Place(path=path, line=node.start_mark.line + 1, column=node.start_mark.column + 1)
        if isinstance(node, yaml.MappingNode):
            children: dict[str, Entry] = {}
            for key_node, value_node in node.value:
                mark = key_node.start_mark
                at = Place(path=path, line=mark.line + 1, column=mark.column + 1)
                if not isinstance(key_node, yaml.ScalarNode):
                    self.add(at, "a key has to be a single word", "Write it as `key: value`.")
                    continue
                key = str(key_node.value)
                if key in children:
                    self.add(at, f"the key {key!r} is given twice", "Remove one of them.")
                children[key] = replace(self._entry(value_node, path), place=at)
            outside = any(each.from_outside for each in children.values())
            return Entry(
                value=None, place=place, children=children, tag="map", from_outside=outside
            )
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self._entry(each, path) for each in node.value)
            outside = any(each.from_outside for each in items)
            return Entry(value=None, place=place, items=items, tag="seq", from_outside=outside)
        if node.tag == "tag:yaml.org,2002:null":
            return Entry(value=None, place=place, tag="null")
        return self.scalar(str(node.value), place, tag=str(node.tag).rpartition(":")[2])

    def scalar(self, text: str, place: Place, *, tag: str = "str") -> Entry:
        """A single value, with ${NAME} replaced from the environment of the process."""
        return Entry(
            value=self._expanded(text, place),
            place=place,
            tag=tag,
            from_outside=VARIABLE.search(text) is not None,
        )

    def _expanded(self, text: str, place: Place) -> str:
        """``text`` with ${NAME} replaced from the environment of the process."""

        def value(found: re.Match[str]) -> str:
            name = found.group(1)
            if name not in os.environ:
                self.add(
                    place, f"${{{name}}} is not set", f"Export {name}, or write its value here."
                )
            return os.environ.get(name, "")

        return VARIABLE.sub(value, text)

    def below(self, entry: Entry | None, message: str, advice: str) -> Mapping[str, Entry]:
        """What is in a mapping; nothing, with this problem, where something else is given."""
        if entry is not None and not entry.is_mapping:
            self.add(entry.place, message, advice)
        return entry.children if entry is not None else {}

    def known(self, entry: Entry, keys: Iterable[str], where: str) -> None:
        """Report every key of a mapping that is not among ``keys``."""
        allowed = sorted(keys)
        message = f"{where} has to be a mapping of {', '.join(allowed)}"
        for key, child in self.below(entry, message, MAPPING_ADVICE).items():
            if key not in allowed:
                self.add(child.place, *unknown_key(where, key, allowed))

    def text(self, entry: Entry | None, default: str) -> str:
        """A scalar, or the default if there is none."""
        if entry is None:
            return default
        if not isinstance(entry.value, str):
            self.add(entry.place, "a single value is expected here", "Write it as `key: value`.")
            return default
        return entry.value

    def mapping(self, entry: Entry | None) -> dict[str, str]:
        """A mapping of scalars; empty if there is none."""
        children = self.below(entry, "a mapping is expected here", MAPPING_ADVICE)
        return {key: self.text(child, "") for key, child in children.items()}

    def flag(self, entry: Entry | None, *, default: bool) -> bool:
        """True or false."""
        written = self.text(entry, str(default)).lower()
        if entry is not None and written not in ("true", "false"):
            message = f"true or false is expected here, not {written!r}"
            self.add(entry.place, message, "Write true or false, without quotes.")
        return written == "true"

    def plain(self, entry: Entry) -> object:
        """An entry as a plain value: text, number, boolean, None, list or mapping.

        A date stays the text that was written.
        """
        match entry.tag:
            case "map":
                return {key: self.plain(child) for key, child in entry.children.items()}
            case "seq":
                return [self.plain(each) for each in entry.items]
            case "int" | "float" | "bool":
                return self._scalar(entry)
            case _:
                return entry.value

    def _scalar(self, entry: Entry) -> object:
        try:
            found = yaml.safe_load(str(entry.value))
        except (yaml.YAMLError, ValueError):
            found = None
        if isinstance(found, bool | int) or (isinstance(found, float) and math.isfinite(found)):
            return found
        message = f"{entry.value!r} is not a usable {entry.tag}"
        self.add(entry.place, message, "Write a finite number, true or false, or a text in quotes.")
        return None

    def add(self, place: Place, message: str, advice: str) -> None:
        """Report a problem; the advice says what to do about it."""
        self.problems.append(Problem(place=place, message=message, advice=advice))


_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


def read_variables(entry: Entry | None, reader: Reader) -> dict[str, object]:
    """Variables for macros and Python models: texts, numbers, flags, lists and nothing."""
    found: dict[str, object] = {}
    message = "variables has to be a mapping of names to values"
    for key, child in reader.below(entry, message, "Write `name: value`.").items():
        name = key.lower()
        if not _NAME.fullmatch(name) or name in TIME_MACROS:
            message = f"{key!r} is not a valid variable name"
            reader.add(
                child.place, message, "Use letters, digits and _, but not the name of a time macro."
            )
        elif name in found:
            reader.add(child.place, f"the variable {name!r} is given twice", "Remove one of them.")
        else:
            found[name] = reader.plain(child)
            if (inner := _mapping_in(child)) is not None:
                advice = "Make each of its values a variable, or write a list."
                reader.add(inner.place, f"the variable {name!r} contains a mapping", advice)
    return found


def _mapping_in(entry: Entry) -> Entry | None:
    """The first mapping in a value: nothing that a macro could put in a query."""
    if entry.tag == "map":
        return entry
    return next(filter(None, map(_mapping_in, entry.items)), None)
