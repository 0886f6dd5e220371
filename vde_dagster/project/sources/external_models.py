"""Updating ``external_models.yaml`` from the catalog, keeping what people wrote in it.

Only what differs is written. Every other line stays as it is, with its comments and its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.project.sources.external_entries import (
    ColumnChange,
    DeclaredSource,
    SourceTable,
    canonical_type,
    column_changes,
    declared_sources,
    read_root,
    says_the_same,
)

HEADER: Final = (
    "# The tables that models read and that are written outside the project, with their "
    "columns in Spark's types.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A new text of the file, and what differs from the old one.

    ``updated`` names the columns of each entry that differ: none where only their order does.
    ``declared`` are all sources that the old text had.
    """

    text: str
    added: tuple[ModelName, ...]
    updated: Mapping[ModelName, tuple[ColumnChange, ...]]
    declared: tuple[ModelName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """Replace the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def refresh(
    text: str, tables: Mapping[ModelName, SourceTable], *, catalog: str, path: Path
) -> Refreshed:
    """The file's text with these tables as the catalog has them.

    Args:
        text: The file's text; empty if there is none.
        tables: The sources that models read and that the catalog has.
        catalog: The project's own, which names may leave out.
        path: The file, for messages.

    Raises:
        ProjectInvalid: The text is not YAML, or not a list of sources.
        Refused: It is written in a way (anchors, for one) that cannot be edited line by line.
    """
    root = read_root(text, path)
    entries = declared_sources(root, catalog=catalog)
    updated: dict[ModelName, tuple[ColumnChange, ...]] = {}
    edits: list[_Edit | None] = []
    for entry in entries:
        table = tables.get(entry.name)
        if table is not None and not says_the_same(entry.columns, table.columns):
            updated[entry.name] = column_changes(entry.columns, table.columns)
            edits.append(_edit(text, entry, table))
    declared = {entry.name for entry in entries}
    added = tuple(sorted(name for name in tables if name not in declared))
    edits += _additions(text, root, {name: tables[name] for name in added})
    fresh = _applied(text, [each for each in edits if each is not None])
    after = declared_sources(_list(fresh), catalog=catalog)
    _check(after, entries, tables, path=path)
    return Refreshed(
        text=fresh,
        added=added,
        updated=updated,
        declared=tuple(sorted(declared)),
    )


def _edit(text: str, entry: DeclaredSource, table: SourceTable) -> _Edit | None:
    """The edit that gives an entry the catalog's columns; None if the text is too intricate."""
    node, key = entry.columns_node, entry.columns_key
    if node is None or key is None:
        return _columns_inserted(text, entry, table)
    start, end = node.start_mark.index, node.end_mark.index
    if start < key.end_mark.index:
        return None  # an alias: its text is somewhere else
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        return _lines_replaced(text, node, after=key.end_mark.index, table=table)
    if isinstance(node, yaml.CollectionNode):
        gap = "" if start > key.end_mark.index + 1 else " "
        return _Edit(start=start, end=end, text=gap + _flow(table))
    lines = _lines(table, indent=key.start_mark.column + 2, newline=_newline(text))
    return _Edit(start=start, end=end, text=_newline(text) + lines.rstrip("\r\n"))


def _columns_inserted(text: str, entry: DeclaredSource, table: SourceTable) -> _Edit:
    newline = _newline(text)
    column = entry.node.start_mark.column
    at = _line_end(text, entry.name_node.end_mark.index)
    lines = f"{' ' * column}columns:{newline}{_lines(table, indent=column + 2, newline=newline)}"
    return _Edit(start=at, end=at, text=lines if _ends_line(text, at) else newline + lines)


def _lines_replaced(
    text: str, node: yaml.CollectionNode, *, after: int, table: SourceTable
) -> _Edit | None:
    """The lines of a block of columns in the catalog's order; each keeps its comments."""
    newline = _newline(text)
    wanted = {each.name.lower(): each for each in table.columns}
    start = at = _line_end(text, after)
    lines: dict[str, str] = {}
    for pair in node.value:
        if not isinstance(pair, tuple) or not at <= pair[0].start_mark.index:
            return None
        key, value = pair
        first, last = value.start_mark.index, value.end_mark.index
        end = _line_end(text, last)
        if first < key.end_mark.index:
            return None
        name = str(key.value).lower()
        column = wanted.get(name)
        begin, colon = key.start_mark.index, key.end_mark.index
        line = text[at:end]
        if column is not None and canonical_type(column.type) != canonical_type(str(value.value)):
            gap = "" if first > colon + 1 else " "
            line = text[at:first] + gap + _scalar(column.type) + text[last:end]
        if column is not None and column.name != str(key.value):
            line = line[: begin - at] + _scalar(column.name) + line[colon - at :]
        lines[name] = line if line.endswith("\n") else line + newline
        at = end
    indent = node.start_mark.column
    fresh = [
        lines.get(each.name.lower()) or _line(each, indent=indent, newline=newline)
        for each in table.columns
    ]
    return _Edit(start=start, end=at, text="".join(fresh))


def _additions(
    text: str, root: yaml.SequenceNode | None, tables: Mapping[ModelName, SourceTable]
) -> list[_Edit]:
    """New entries after all others."""
    if not tables:
        return []
    newline = _newline(text)
    indent = root.start_mark.column if root is not None else 0
    entries = [
        _entry(name, table, indent=indent, newline=newline) for name, table in tables.items()
    ]
    before = HEADER if not text else "" if _ends_line(text, len(text)) else newline
    return [_Edit(start=len(text), end=len(text), text=before + "".join(entries))]


def _entry(name: ModelName, table: SourceTable, *, indent: int, newline: str) -> str:
    margin = " " * indent
    # A text with ${...} would be read as a variable of the process.
    is_text = bool(table.description) and "${" not in table.description
    remark = "" if is_text else _comment(table.description)
    lines = [f"{margin}- name: {_scalar(str(name))}{remark}"]
    if is_text:
        lines.append(f"{margin}  description: {_scalar(table.description)}")
    lines.append(f"{margin}  columns:")
    return "".join(line + newline for line in lines) + _lines(
        table, indent=indent + 4, newline=newline
    )


def _flow(table: SourceTable) -> str:
    return "{" + ", ".join(f"{_scalar(c.name)}: {_scalar(c.type)}" for c in table.columns) + "}"


def _lines(table: SourceTable, *, indent: int, newline: str) -> str:
    return "".join(_line(each, indent=indent, newline=newline) for each in table.columns)


def _line(column: Column, *, indent: int, newline: str) -> str:
    said = _comment(column.description)
    return f"{' ' * indent}{_scalar(column.name)}: {_scalar(column.type)}{said}{newline}"


def _comment(text: str) -> str:
    """A comment after a value, without characters that YAML refuses; empty if there is none."""
    said = "".join(each for each in " ".join(text.split()) if each.isprintable())
    return f"  # {said}" if said else ""


def _scalar(text: str) -> str:
    """A text as YAML on one line, quoted where it has to be."""
    if not text.isprintable():  # escapes mark it as a text, and keep it on one line
        return str(yaml.safe_dump(text, default_style='"', width=10**9)).strip()
    listed = yaml.safe_dump([text], default_flow_style=True, width=10**9, allow_unicode=True)
    return str(listed).strip().removeprefix("[").removesuffix("]")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, index: int) -> int:
    """Where the next line starts."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _ends_line(text: str, index: int) -> bool:
    return index == 0 or text[index - 1] == "\n"


def _applied(text: str, edits: Iterable[_Edit]) -> str:
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _check(
    after: Iterable[DeclaredSource],
    before: Iterable[DeclaredSource],
    tables: Mapping[ModelName, SourceTable],
    *,
    path: Path,
) -> None:
    """Read the new text again, and compare every entry with what it should say.

    Raises:
        Refused: One differs.
    """
    said = {entry.name: entry.columns for entry in after}
    others = {entry.name: entry.columns for entry in before if entry.name not in tables}
    wrong = [name for name, columns in others.items() if said.get(name) != columns]
    for name, table in tables.items():
        if not says_the_same(said.get(name, ()), table.columns):
            wrong.append(name)
    if wrong:
        raise Refused(
            f"{path} is written in a way that cannot be edited line by line (with anchors, "
            "an explicit end, in brackets, or one name twice); nothing was written",
            advice=f"Write the columns of {', '.join(map(str, sorted(wrong)))} by hand, or "
            "in plain YAML.",
        )


def _list(text: str) -> yaml.SequenceNode | None:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    return node if isinstance(node, yaml.SequenceNode) else None
