"""YAML with the line of every key and value, so that each problem can name its place."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from vde_dagster.core.errors import Place, Problem

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A mapping, a list or a scalar of a YAML file. ``lines`` holds a mapping's keys' lines."""

    value: object
    place: Place
    children: Mapping[str, Entry] = field(default_factory=dict)
    items: tuple[Entry, ...] = ()


class Reader:
    """Reads entries and collects every problem on the way."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def document(self, text: str, path: Path) -> Entry | None:
        """The root of a YAML text; None (and a problem) where it is no YAML."""
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            reason = getattr(error, "problem", None) or "it cannot be read"
            self._add(Place(path=path, line=line), f"this is no YAML: {reason}")
            return None
        if node is None:
            return Entry(value={}, place=Place(path=path))
        return self._entry(node, path)

    def _entry(self, node: yaml.Node, path: Path) -> Entry:
        place = Place(path=path, line=node.start_mark.line + 1, column=node.start_mark.column + 1)
        if isinstance(node, yaml.MappingNode):
            children: dict[str, Entry] = {}
            for key_node, value_node in node.value:
                key = str(key_node.value)
                if key in children:
                    line = key_node.start_mark.line + 1
                    self._add(Place(path=path, line=line), f"the key {key!r} is given twice")
                children[key] = self._entry(value_node, path)
            return Entry(value=None, place=place, children=children)
        if isinstance(node, yaml.SequenceNode):
            return Entry(
                value=None,
                place=place,
                items=tuple(self._entry(each, path) for each in node.value),
            )
        return Entry(value=self._expanded(str(node.value), place), place=place)

    def _expanded(self, text: str, place: Place) -> str:
        """``text`` with ${NAME} replaced from the environment of the process."""

        def value(found: re.Match[str]) -> str:
            name = found.group(1)
            if name not in os.environ:
                self._add(place, f"${{{name}}} is not set", f"Export {name}, or write its value.")
            return os.environ.get(name, "")

        return _VARIABLE.sub(value, text)

    def known(self, entry: Entry, keys: Iterable[str], where: str) -> None:
        """Report every key of a mapping that is not among ``keys``."""
        allowed = sorted(keys)
        if entry.value is not None:
            self._add(entry.place, f"{where} is a mapping of {', '.join(allowed)}")
        for key, child in entry.children.items():
            if key not in allowed:
                close = difflib.get_close_matches(key, allowed, n=1)
                advice = f"Did you mean {close[0]!r}? " if close else ""
                self._add(
                    child.place,
                    f"{where} has the unknown key {key!r}",
                    f"{advice}Known keys: {', '.join(allowed)}.",
                )

    def text(self, entry: Entry | None, default: str) -> str:
        """A scalar, or the default where there is none."""
        if entry is None:
            return default
        if not isinstance(entry.value, str):
            self._add(entry.place, "a single value is expected here")
            return default
        return entry.value

    def texts(self, entry: Entry | None) -> tuple[str, ...]:
        """A list of scalars, or one scalar; empty where there is none."""
        if entry is None:
            return ()
        if isinstance(entry.value, str):
            return (entry.value,)
        return tuple(self.text(each, "") for each in entry.items)

    def mapping(self, entry: Entry | None) -> dict[str, str]:
        """A mapping of scalars; empty where there is none."""
        if entry is None:
            return {}
        return {key: self.text(child, "") for key, child in entry.children.items()}

    def flag(self, entry: Entry | None, *, default: bool) -> bool:
        """True or false."""
        written = self.text(entry, str(default)).lower()
        if entry is not None and written not in ("true", "false"):
            self._add(entry.place, f"true or false is expected here, not {written!r}")
        return written == "true"

    def _add(self, place: Place, message: str, advice: str = "") -> None:
        self.problems.append(Problem(place=place, message=message, advice=advice))

    def add(self, place: Place, message: str, advice: str = "") -> None:
        """Report a problem."""
        self._add(place, message, advice)
