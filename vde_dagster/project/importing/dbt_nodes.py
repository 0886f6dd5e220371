"""Nodes of a dbt manifest under our names, and their SQL with these names in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import Dialect, exp

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.project.importing.dbt_target import Target
from vde_dagster.project.importing.draft import Group, Notes
from vde_dagster.project.importing.spark_sql import (
    NotTranslated,
    spark_expression,
    spark_type,
    statement,
)

Node = Mapping[str, Any]
_CTE: Final = "__dbt__cte__"
_DIALECTS: Final = {
    "sqlserver": "tsql",
    "synapse": "tsql",
    "fabric": "tsql",
    "glue": "spark",
    "fabricspark": "spark",
    "vertica": "postgres",
    "greenplum": "postgres",
}
_QUESTION: Final = "«»"
"""The marks around what `dbt_forms` answers in place of a query's result: the query."""
_DATES: Final = (exp.DataType.Type.DATE, exp.DataType.Type.DATE32)
_SPARK_TYPES: Final = {"JSON": "string", "HUGEINT": "bigint", "UHUGEINT": "bigint"}
_READABLE: Final = ("model", "seed", "snapshot")


def plain(text: str) -> str:
    """A part of a name as it may be here."""
    found = text.lower()
    if not re.fullmatch(r"[a-z0-9_]+", found):
        found = re.sub(r"_*[^a-z0-9_]+_*", "_", found).strip("_") or "_"
    return f"_{found}" if found[0].isdigit() else found


def is_ephemeral(node: Node) -> bool:
    """Whether a node has no relation."""
    return bool(node.get("config", {}).get("materialized") == "ephemeral")


@dataclass(frozen=True, slots=True)
class Project:
    """A manifest, and the names of its nodes here."""

    target: Target
    notes: Notes = field(default_factory=Notes)
    names: dict[str, str] = field(default_factory=dict)
    relations: dict[tuple[str, ...], str] = field(default_factory=dict)
    ephemeral: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, target: Target) -> Project:
        """A project whose nodes have names; a source that a node writes has the node's."""
        project = cls(target)
        for node in project.nodes(*_READABLE):
            project._name(node, str(node["alias"]))
        for source in target.manifest["sources"].values():
            project._name(source, str(source["identifier"]))
        return project

    @property
    def dialect(self) -> str:
        """What sqlglot calls the adapter's; empty where it has none."""
        adapter = str(self.target.manifest["metadata"]["adapter_type"])
        return _DIALECTS.get(adapter, adapter if Dialect.get(adapter) else "")

    def nodes(self, *kinds: str) -> Iterator[Node]:
        """The nodes of some kinds, which were not disabled."""
        for node in self.target.manifest["nodes"].values():
            if node["resource_type"] in kinds:
                yield node

    def node(self, unique_id: str) -> Node:
        """A node or a source."""
        manifest = self.target.manifest
        found: Node = manifest["nodes"].get(unique_id) or manifest["sources"].get(unique_id) or {}
        return found

    def note(
        self, node: Node, group: Group, message: str, advice: str = "", *, line: int = 0
    ) -> None:
        """Note a remark about a node."""
        model = self.names.get(node.get("unique_id", ""), "")
        path = str(node.get("original_file_path", "")).removeprefix("./")
        if node.get("package_name") != self.target.manifest["metadata"]["project_name"]:
            path = f"dbt_packages/{node.get('package_name')}/{path}"
        self.notes.add(group, path, message, advice, line=line, model=model)

    def types(self, node: Node) -> dict[str, str]:
        """The columns with the adapter's types: of the catalog, else those that are declared."""
        declared = {
            name: str(column["data_type"])
            for name, column in node.get("columns", {}).items()
            if column.get("data_type")
        }
        return dict(self.target.catalog.get(node["unique_id"], {})) or declared

    def columns(self, node: Node) -> dict[str, str]:
        """The columns with Spark's types."""
        return {name: self.spark_type(node, kind) for name, kind in self.types(node).items()}

    def spark_type(self, node: Node, kind: str) -> str:
        """A type for Spark; string where there is none, with a remark."""
        try:
            return _SPARK_TYPES.get(kind.upper()) or spark_type(kind, self.dialect)
        except NotTranslated:
            message = f"a column of type {kind} was written as string"
            self.note(node, Group.EDIT, message, "Write a Spark type.")
            return "string"

    def tree(self, text: str) -> exp.Expr:
        """A statement with our names: ephemeral models are tables of their own.

        Raises:
            NotTranslated: sqlglot cannot read it.
        """
        tree = statement(text, self.dialect)
        for literal in list(tree.find_all(exp.Literal)):
            if literal.name[:1] + literal.name[-1:] == _QUESTION:
                asked = self.tree(literal.name.strip(_QUESTION))
                literal.replace(exp.Subquery(this=asked))
        for cte in list(tree.find_all(exp.CTE)):
            if cte.alias.lower() in self.ephemeral:
                cte.pop()
        for clause in list(tree.find_all(exp.With)):
            if not clause.expressions:
                clause.pop()
        for table in list(tree.find_all(exp.Table)):
            self._rename(table)
        return tree

    def expression(self, node: Node, text: str) -> str:
        """An expression for Spark; as it was where it cannot be translated, with a remark."""
        try:
            return spark_expression(text, self.dialect)
        except NotTranslated as error:
            message = f"`{text}` could not be translated"
            self.note(node, Group.EDIT, message, f"Write it for Spark: {error}.")
            return text

    def _name(self, node: Node, identifier: str) -> None:
        unique_id, schema = str(node["unique_id"]), str(node["schema"])
        relation = (str(node.get("database") or ""), schema, identifier)
        whole = tuple(part.lower() for part in relation)
        known = self.relations.get(whole)
        name = f"{re.sub('__+', '_', plain(schema))}.{plain(identifier)}"
        if known is None and name in self.taken:
            message = (
                f"{'.'.join(relation)} would be called {name}, but another table has this name"
            )
            self.note(node, Group.EDIT, message, "Rename one of them.")
        if plain(identifier) != identifier.lower():
            message = f"`{identifier}` was renamed to {name}, since names are plain words"
            is_source = node["resource_type"] == "source"
            advice = "The table has to exist under this name." if is_source else ""
            self.note(node, Group.EDIT if is_source else Group.CHANGED, message, advice)
        self.names[unique_id] = known or name
        self.taken.add(known or name)
        if is_ephemeral(node):
            self.ephemeral[f"{_CTE}{node['alias']}".lower()] = self.names[unique_id]
        else:
            self.relations.setdefault(whole, known or name)
            self.relations.setdefault(whole[1:], known or name)

    def _rename(self, table: exp.Table) -> None:
        if not isinstance(table.this, exp.Identifier):
            return
        parts = tuple(part.name.lower() for part in table.parts)
        name = self.relations.get(parts) or self.relations.get(parts[-2:])
        name = name or (self.ephemeral.get(parts[0]) if len(parts) == 1 else None)
        if name is None:
            return
        schema, _, last = name.rpartition(".")
        if not table.alias and last != parts[-1] and not parts[-1].startswith(_CTE):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("this", exp.to_identifier(last))
        table.set("db", exp.to_identifier(schema))
        table.set("catalog", None)


def data_type(kind: str, dialect: str) -> exp.DataType | None:
    """A type of an adapter; None if sqlglot does not know it."""
    try:
        return exp.DataType.build(kind, dialect=dialect or None)
    except (*SQL_ERRORS, ValueError):
        return None


def is_date(kind: exp.DataType | None) -> bool:
    """Whether a type is that of days."""
    return kind is not None and kind.this in _DATES


def name_in(table: exp.Table) -> str:
    """The name that a table in a tree of `Project.tree` has here."""
    return ".".join(part.name for part in table.parts)
