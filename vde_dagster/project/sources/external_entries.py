"""The entries of ``external_models.yaml``: their places in the text, and how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from sqlglot import exp, parse_one

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.project.yaml_document import Reader

ENTRY_KEYS: Final = ("columns", "description", "name")
"""What an entry says of a source."""

WrittenColumns = tuple[tuple[str, str], ...]
"""Columns of an entry in order, as they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A source in the catalog: its columns in order, and its comment."""

    columns: tuple[Column, ...]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """One column that differs; no ``old`` type if it is new, no ``new`` one if it was dropped."""

    column: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSource:
    """One source of the file, with the YAML nodes of its text."""

    name: ModelName
    columns: WrittenColumns
    node: yaml.MappingNode
    name_node: yaml.Node
    columns_key: yaml.Node | None
    columns_node: yaml.Node | None


def read_root(text: str, path: Path) -> yaml.SequenceNode | None:
    """The root list of a file's text; None if there is none yet.

    Raises:
        ProjectInvalid: The text is not YAML, or not a list of sources, or one has an unknown key.
    """
    reader = Reader()
    document = reader.document(text, path)
    for entry in document.items if document is not None else ():
        reader.known(entry, ENTRY_KEYS, "a source")
    if document is None or reader.problems:
        raise ProjectInvalid(reader.problems)
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if isinstance(node, yaml.SequenceNode):
        return node
    if node is None or (document.value is None and not document.children):
        return None
    raise ProjectInvalid(
        [
            Problem(
                place=Place(path=path, line=node.start_mark.line + 1),
                message=("this file has to be a list of sources, each with `name` and `columns`"),
                advice="Start each source with `- name: schema.name`.",
            )
        ]
    )


def declared_sources(root: yaml.SequenceNode | None, *, catalog: str) -> list[DeclaredSource]:
    """The entries with a valid name; others are reported by the project's loader.

    ``catalog`` is the project's own, which names may leave out.
    """
    nodes = root.value if root is not None else []
    found = [_declared(node, catalog) for node in nodes if isinstance(node, yaml.MappingNode)]
    return [each for each in found if each is not None]


def _declared(node: yaml.MappingNode, catalog: str) -> DeclaredSource | None:
    keys = {key.value: (key, value) for key, value in node.value if _is_scalar(key)}
    if "name" not in keys:
        return None
    key, columns = keys.get("columns", (None, None))
    try:
        name = ModelName.parse(str(keys["name"][1].value)).within(catalog)
    except InvalidName:
        return None
    return DeclaredSource(
        name=name,
        columns=_written(columns),
        node=node,
        name_node=keys["name"][1],
        columns_key=key,
        columns_node=columns,
    )


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)


def _written(node: yaml.Node | None) -> WrittenColumns:
    if not isinstance(node, yaml.MappingNode):
        return ()
    return tuple((str(key.value), str(value.value)) for key, value in node.value)


def says_the_same(written: WrittenColumns, columns: Sequence[Column]) -> bool:
    """Whether an entry agrees with the catalog; two names of one type are the same.

    The case of a column's name, and that of a field, counts: it is data where rows become JSON.
    """
    return [(name, canonical_type(kind) or kind) for name, kind in written] == [
        (each.name, canonical_type(each.type) or each.type) for each in columns
    ]


def canonical_type(kind: str) -> str | None:
    """One spelling for all spellings of a Spark type; None if it is not a type."""
    try:
        found = parse_one(kind, dialect="spark", into=exp.DataType)
    except (*SQL_ERRORS, RecursionError):
        return None
    known = not found.is_type(exp.DataType.Type.UNKNOWN, exp.DataType.Type.USERDEFINED)
    return found.sql() if known else None


def column_changes(written: WrittenColumns, columns: Sequence[Column]) -> tuple[ColumnChange, ...]:
    """The columns that an entry lacks, has too many, or of another type; in the catalog's order."""
    old = dict(written)
    new = {each.name: each.type for each in columns}
    return tuple(
        ColumnChange(column=name, old=old.get(name), new=new.get(name))
        for name in dict.fromkeys((*new, *old))
        if _canonical(old, name) != _canonical(new, name)
    )


def _canonical(types: Mapping[str, str], name: str) -> str | None:
    """A column's type in one spelling; None if there is no such column."""
    return canonical_type(types[name]) or types[name] if name in types else None
