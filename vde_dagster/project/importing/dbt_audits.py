"""Data tests and constraints of dbt as audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlglot import exp

from vde_dagster.project.importing.dbt_models import WITHOUT_ROWS
from vde_dagster.project.importing.dbt_nodes import Node, Project, name_in, plain
from vde_dagster.project.importing.draft import Group, ModelDraft
from vde_dagster.project.importing.spark_sql import NotTranslated, quoted, spark_tree
from vde_dagster.project.importing.writing import audit_text

Call = tuple[str, Mapping[str, str]]
_WARNS: Final = "_non_blocking"
_ANY: Final = ("!= 0", "!=0", "> 0", ">0", None)
_BY_HAND: Final = "reference/audits in the docs lists what an audit may read."


@dataclass(frozen=True, slots=True)
class Audits:
    """Models that gain audits, and files of those that are not built in."""

    project: Project
    models: dict[str, ModelDraft]
    files: dict[str, str]

    def gather(self) -> int:
        """Give each model its audits; returns how many tests and constraints came along."""
        tests = [self._test(node) for node in self.project.nodes("test")]
        constraints = [self._constraints(self.project.node(each)) for each in list(self.models)]
        return sum(tests) + sum(constraints)

    def _test(self, node: Node) -> bool:
        built_in = self._built_in(node)
        attached = node.get("attached_node")
        is_warning = str(node["config"].get("severity", "error")).lower() == "warn"
        if built_in is not None and attached in self.models:
            name, arguments = built_in
            self._note_config(node)
            self._note_parts(node, attached, name)
            self._add(attached, (f"{name}{_WARNS if is_warning else ''}", arguments))
            return True
        found = self._own(node, attached)
        if found is None:
            self._left_out(node)
            return False
        unique_id, query, added = found
        name = plain(node["name"]).rstrip("_")
        self.files[f"audits/{name}.sql"] = audit_text(
            name,
            query,
            {},
            blocking=not is_warning,
            description=str(node.get("description") or "").strip(),
        )
        self._note_config(node)
        self._add(unique_id, (name, {}))
        self._depend(node, unique_id, added)
        return True

    def _built_in(self, node: Node) -> Call | None:
        """The audit that is built in and means the same."""
        about = node.get("test_metadata") or {}
        name, given = about.get("name"), about.get("kwargs", {})
        where = node["config"].get("where")
        is_dbts = f"macro.dbt.test_{name}" in node.get("depends_on", {}).get("macros", ())
        if about.get("namespace") or not is_dbts or "{" in str(where):
            return None
        column = self._column(node, str(given.get("column_name")))
        conditions = [f"({self.project.expression(node, where)})"] if where else []
        arguments: dict[str, str] = {}
        if name == "not_null":
            arguments = {"columns": f"({column})"}
        elif name == "unique":
            arguments = {"columns": f"({column})"}
            conditions = [f"{column} IS NOT NULL", *conditions]
        elif name == "accepted_values":
            is_text = given.get("quote", True)
            values = [quoted(str(each)) if is_text else str(each) for each in given["values"]]
            arguments = {"column": column, "is_in": f"({', '.join(values)})"}
        else:
            return None
        names = {"unique": "unique_values"}
        condition = {"condition": " AND ".join(conditions)} if conditions else {}
        return names.get(name, name), {**arguments, **condition}

    def _own(self, node: Node, attached: str | None) -> tuple[str, str, list[str]] | None:
        """A model, the query that audits it, and what it has to depend on for that."""
        try:
            tree = self.project.tree(node.get("compiled_code") or "")
        except NotTranslated:
            return None
        read = {name_in(each) for each in tree.find_all(exp.Table)}
        ids = [each for each in self.models if self.models[each].name in read]
        candidates = [attached] if attached else node.get("depends_on", {}).get("nodes", [])
        for unique_id in candidates:
            others = [each for each in ids if each != unique_id]
            if unique_id not in ids or not self._is_readable(read):
                continue
            missing = [each for each in others if each not in self._reads(unique_id)]
            if self._may_depend(unique_id, missing):
                names = [self.models[each].name for each in missing]
                query = _of_this_model(tree, self.models[unique_id].name)
                try:
                    return unique_id, spark_tree(query, self.project.dialect).spark, names
                except NotTranslated:
                    return None
        return None

    def _is_readable(self, read: set[str]) -> bool:
        """Whether all that has a schema is a model here, or a source."""
        known = set(self.project.names.values())
        return all(each in known for each in read if "." in each)

    def _reads(self, unique_id: str) -> Sequence[str]:
        found: Sequence[str] = self.project.node(unique_id).get("depends_on", {}).get("nodes", ())
        return found

    def _may_depend(self, unique_id: str, missing: Sequence[str]) -> bool:
        """Whether a model may wait for others: it has rows of its own, and they do not read it."""
        if not missing:
            return True
        kinds = (*WITHOUT_ROWS, "SEED")
        if self.models[unique_id].kind in kinds:
            return False
        return not any(
            unique_id in self._upstream(each) or self.models[each].kind == "EMBEDDED"
            for each in missing
        )

    def _upstream(self, unique_id: str) -> set[str]:
        found: set[str] = set()
        waiting = [unique_id]
        while waiting:
            new = set(self._reads(waiting.pop())) - found
            found |= new
            waiting += new
        return found

    def _depend(self, node: Node, unique_id: str, names: Sequence[str]) -> None:
        if not names:
            return
        model = self.models[unique_id]
        before = model.properties.get("depends_on", "").strip("()")
        every = sorted({*names, *([each.strip() for each in before.split(",")] if before else [])})
        properties = {**model.properties, "depends_on": f"({', '.join(every)})"}
        self.models[unique_id] = replace(model, properties=properties)
        message = f"{model.name} now depends on {', '.join(names)}, which its audit reads"
        self.project.note(
            node, Group.CHANGED, message, "Remove both if the model need not wait for it."
        )

    def _add(self, unique_id: str, call: Call) -> None:
        model = self.models[unique_id]
        if call not in model.audits:
            self.models[unique_id] = replace(model, audits=(*model.audits, call))

    def _column(self, node: Node, name: str) -> str:
        is_plain = name.isidentifier()
        return name.lower() if is_plain else self.project.expression(node, self._quoted(node, name))

    def _quoted(self, node: Node, name: str) -> str:
        """A name that dbt quotes, or an expression as it is."""
        attached = self.project.node(str(node.get("attached_node")))
        known = {*self.project.types(attached), *attached.get("columns", {})} if attached else set()
        column = exp.to_identifier(name, quoted=True).sql(self.project.dialect)
        return column if name in known else name

    def _constraints(self, node: Node) -> int:
        """Audits for what a contract's constraints say; without a contract they say nothing."""
        unique_id = node["unique_id"]
        every = [
            ([name], each)
            for name, column in node.get("columns", {}).items()
            for each in column.get("constraints", ())
        ]
        every += [(each.get("columns", []), each) for each in node.get("constraints", ())]
        if not node.get("contract", {}).get("enforced"):
            if every:
                message = "constraints without an enforced contract were left out"
                self.project.note(node, Group.MISSING, message, "dbt does not check them either.")
            return 0
        count = 0
        for columns, constraint in every:
            calls = self._constraint(node, columns, constraint)
            for call in calls:
                self._add(unique_id, call)
            count += bool(calls)
        return count

    def _constraint(
        self, node: Node, columns: Sequence[str], constraint: Mapping[str, Any]
    ) -> list[Call]:
        names = [exp.to_identifier(each).sql("spark") for each in columns]
        given = f"({', '.join(names)})"
        match constraint["type"]:
            case "not_null":
                return [("not_null", {"columns": given})]
            case "unique":
                condition = " AND ".join(f"{each} IS NOT NULL" for each in names)
                return [("unique_combination_of_columns" if len(names) > 1 else "unique_values",
                         {"columns": given, "condition": condition})]  # fmt: skip
            case "primary_key":
                unique = ("unique_combination_of_columns", {"columns": given})
                return [("not_null", {"columns": given}), unique]
            case "check":
                criteria = self.project.expression(node, constraint["expression"])
                return [("forall", {"criteria": f"({criteria})"})]
        message = f"the constraint {constraint['type']} of {given} was left out"
        self.project.note(node, Group.MISSING, message, _BY_HAND)
        return []

    def _note_config(self, node: Node) -> None:
        """Say what of a test's configuration has no counterpart."""
        config = node["config"]
        found = [key for key in ("warn_if", "error_if") if config.get(key) not in _ANY]
        found += [key for key in ("limit", "store_failures") if config.get(key)]
        found += ["fail_calc"] if config.get("fail_calc", "count(*)") != "count(*)" else []
        found += [key for key in ("tags", "meta") if config.get(key)]
        if found:
            shown = ", ".join(f"{key} {config[key]}" for key in found)
            message = f"{shown} of the test {node['name']} was left out"
            advice = "Any row fails the audit, and the first 20 rows are kept."
            self.project.note(node, Group.MISSING, message, advice)

    def _note_parts(self, node: Node, unique_id: str, name: str) -> None:
        """Say where an audit looks at a part of the table."""
        kinds = ("INCREMENTAL_BY_TIME_RANGE", "INCREMENTAL_UNMANAGED")
        if name == "unique_values" and self.models[unique_id].kind in kinds:
            message = "uniqueness is checked only among rows that are loaded together"
            self.project.note(node, Group.LOOK, message, "dbt checks the whole table.")

    def _left_out(self, node: Node) -> None:
        text = " ".join(str(node.get("compiled_code", "")).split())
        sources = node.get("attached_node") is None and node.get("test_metadata")
        why = ", since the table is written outside the project" if sources else ""
        advice = "Add it to a model that reads the table." if sources else _BY_HAND
        message = f"the test {node['name']} was left out{why}: `{text}`"
        self.project.note(node, Group.MISSING, message, advice)


def _of_this_model(tree: exp.Expr, name: str) -> exp.Expr:
    """A query in which a model stands for its staged rows."""
    query = tree.copy()
    for table in list(query.find_all(exp.Table)):
        if name_in(table) == name:
            alias = table.alias or table.name
            table.set("this", exp.to_identifier("vde__this_model"))
            table.set("db", None)
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return query
