"""What SQLMesh knows of a project, as JSON. A script that runs where SQLMesh is installed.

It needs nothing of vde_dagster: ``python sqlmesh_dump.py FOLDER [FOLDER ...] > project.json``.
SQLMesh loads the project and fills in its macros, Jinja and blueprints. A name such as
``vde__start_ds`` stands where a time macro stood.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlmesh import Context
from sqlmesh import __version__ as version
from sqlmesh.core import dialect as parsing
from sqlmesh.core.renderer import ExpressionRenderer
from sqlmesh.utils.errors import SQLMeshError

_FORMS = ("ds", "date", "dt", "dtntz", "ts", "tstz", "epoch", "millis", "hour")
TIMES = [f"{when}_{form}" for when in ("start", "end", "execution") for form in _FORMS]
_QUOTED = re.compile("@(" + "|".join(TIMES) + r")\b")
_NOT_PROPERTIES = {
    "name", "kind", "dialect", "default_catalog", "audits", "signals", "columns", "query",
    "pre_statements", "post_statements", "on_virtual_update", "python_env", "jinja_macros",
    "audit_definitions", "mapping_schema", "seed", "expressions", "entrypoint", "source_type",
    "is_hydrated", "column_hashes", "depends_on", "project", "physical_schema_override",
}  # fmt: skip


def plain(value: Any, dialect: str) -> Any:
    """A value of a model as JSON: expressions and types as SQL of the dialect."""
    if isinstance(value, exp.Expression):
        return value.transform(with_stand_ins).sql(dialect=dialect, comments=False)
    if hasattr(value, "dict"):
        return plain(value.dict(), dialect)
    if isinstance(value, dict):
        keys = [getattr(key, "pattern", key) for key in value]
        return {
            str(key): plain(one, dialect) for key, one in zip(keys, value.values(), strict=True)
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        found = [plain(each, dialect) for each in value]
        return sorted(found, key=str) if isinstance(value, (set, frozenset)) else found
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(getattr(value, "value", value))


def stand_in(name: str) -> exp.Expression:
    """What stands for a macro until our side writes it again."""
    return exp.column(f"vde__{name}")


def with_stand_ins(node: exp.Expression) -> exp.Expression:
    """A node of an option or argument, in which time macros stay what they are."""
    is_time = isinstance(node, (parsing.MacroVar, exp.Parameter)) and node.name in TIMES
    return stand_in(node.name) if is_time else node


class Rendering:
    """The texts of one model or audit with their macros filled in.

    Args:
        owner: The model or audit.
        python_env: The functions that its macros call.
        names: What stays a name, as the arguments of an audit do.
        own: The name of the model that an audit is about, which becomes ``@this_model``.
    """

    def __init__(self, owner: Any, python_env: Any, names: dict[str, Any], own: str = "") -> None:
        self.owner = owner
        self.own = own
        self.env = python_env
        self.names = {**{name: exp.Parameter(this=exp.var(name)) for name in TIMES}, **names}
        self.uncertain = False

    def texts(self, expression: Any) -> list[str]:
        """The statements that an expression becomes; none where its macros leave nothing."""
        try:
            return [self._text(each) for each in self._rendered(expression, self.names) if each]
        except SQLMeshError:
            self.uncertain = True  # a macro computes with the times themselves
            kept = {key: value for key, value in self.names.items() if key not in TIMES}
            return [self._text(each) for each in self._rendered(expression, kept) if each]

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of an audit or a signal as SQL."""
        calls = (parsing.MacroFunc, parsing.MacroVar)
        return {
            key: "".join(self.texts(value))
            if isinstance(value, exp.Expression) and value.find(*calls)
            else plain(value, self.owner.dialect)
            for key, value in given.items()
        }

    def _rendered(self, expression: Any, names: dict[str, Any]) -> list[Any]:
        renderer = ExpressionRenderer(
            expression.copy(),
            self.owner.dialect,
            getattr(self.owner, "macro_definitions", []),
            path=getattr(self.owner, "_path", None),
            jinja_macro_registry=self.owner.jinja_macros,
            python_env=self.env,
            schema=getattr(self.owner, "mapping_schema", {}),
            quote_identifiers=False,
            normalize_identifiers=False,
        )
        return renderer.render(start="2001-02-03", end="2001-02-03", **names) or []

    def _text(self, expression: exp.Expression) -> str:
        with_names = expression.transform(self._named)
        return str(with_names.sql(dialect=self.owner.dialect, pretty=True))

    def _named(self, node: Any) -> Any:
        if isinstance(node, exp.Parameter) and node.name in self.names:
            return stand_in(node.name)
        is_own = isinstance(node, exp.Table) and exp.table_name(node).lower() == self.own
        if self.own and is_own:
            return exp.to_table("vde__this_model").as_(node.alias_or_name, table=True)
        if isinstance(node, exp.Literal) and node.is_string and _QUOTED.search(node.this):
            if _QUOTED.fullmatch(node.this):
                return stand_in(node.this[1:])  # Jinja filled it into a text
            self.uncertain = True
        return node


def model(each: Any, roots: list[Path], shared: set[str]) -> dict[str, Any]:
    """One model; ``shared`` are the audits that have files of their own."""
    dialect = each.dialect
    said = each.dict(exclude_defaults=True)
    rendering = Rendering(each, each.python_env, {"this_model": exp.to_table(each.name)})
    found: dict[str, Any] = {
        "name": each.name,
        "path": relative(each._path, roots),
        "class": type(each).__name__,
        "dialect": dialect,
        "kind": each.kind.name.value,
        "options": plain(each.kind.dict(exclude_defaults=True), dialect),
        "properties": {
            key: plain(value, dialect) for key, value in said.items() if key not in _NOT_PROPERTIES
        },
        "declared": bool(said.get("columns")),
        "columns": plain(each.columns_to_types or {}, dialect),
        "depends_on": sorted(plain(said.get("depends_on") or [], dialect)),
        "reads": sorted(plain(each.depends_on, dialect)),
        "reads_itself": getattr(each, "depends_on_self", False),
        "audits": [[name, rendering.arguments(given)] for name, given in each.audits],
        "signals": [[name, rendering.arguments(given)] for name, given in each.signals],
        "entrypoint": getattr(each, "entrypoint", None),
        "own_audits": [
            audit(one, [each]) for one in each.audit_definitions.values() if one.name not in shared
        ],
    }
    if time_column := getattr(each, "time_column", None):
        found["options"]["time_column"] = [time_column.column.name, time_column.format]
    if type(each).__name__ == "SeedModel":
        del found["options"]["path"]
        found["seed"] = relative(each.seed_path, roots)
        found["content"] = each.seed.content
    if type(each).__name__ == "SqlModel":
        found["written"] = str(getattr(each.query_, "sql", "") or "")
        found["query"] = "\n".join(rendering.texts(each.query))
    for name in ("pre_statements", "post_statements", "on_virtual_update"):
        statements = getattr(each, name, None) or []
        found[name] = [
            text
            for one in statements
            if not isinstance(one, parsing.MacroDef)
            for text in rendering.texts(one)
        ]
    return {**found, "uncertain": rendering.uncertain}


def audit(each: Any, models: list[Any]) -> dict[str, Any]:
    """One audit; arguments stay names. Macros are those of a model that calls it."""
    mentioned = {node.name.lower() for node in each.query.find_all(parsing.MacroVar)}
    mentioned |= {name.lower() for name in each.defaults}
    names = {name: exp.Parameter(this=exp.var(name)) for name in mentioned if name not in TIMES}
    names["this_model"] = exp.Parameter(this=exp.var("this_model"))
    callers = [one for one in models if any(name == each.name for name, _ in one.audits)]
    env = callers[0].python_env if callers else {}
    own = callers[0].name.lower() if len(callers) == 1 else ""
    rendering = Rendering(each, env, names, own)
    ctes = {one.alias.lower() for one in each.query.find_all(exp.CTE)}
    tables = {exp.table_name(one).lower() for one in each.query.find_all(exp.Table)}
    return {
        "name": each.name,
        "dialect": each.dialect,
        "blocking": each.blocking,
        "defaults": plain(each.defaults, each.dialect),
        "reads": sorted(tables - ctes - {own, "", "this_model"}),
        "standalone": type(each).__name__ == "StandaloneAudit",
        "query": "\n".join(rendering.texts(each.query)),
        "uncertain": rendering.uncertain,
    }


def relative(path: Any, roots: list[Path]) -> str:
    """A path in the project's folder, or in one of them."""
    for root in roots:
        if path and Path(path).resolve().is_relative_to(root):
            return Path(path).resolve().relative_to(root).as_posix()
    return str(path or "")


def files(roots: list[Path]) -> Iterator[str]:
    """The files that people wrote, so that nothing of them is left out without a word."""
    for root in roots:
        for path in sorted(root.rglob("*")):
            inner = path.relative_to(root)
            hidden = any(part.startswith((".", "__pycache__")) for part in inner.parts)
            if path.is_file() and not hidden and path.stat().st_size:
                yield inner.as_posix()


def settings(config: Any) -> dict[str, Any]:
    """What the configuration says beyond its defaults."""
    said = config.dict(exclude_defaults=True)
    secret = {"gateways", "default_connection", "default_test_connection", "users"}
    found = {key: plain(value, "") for key, value in said.items() if key not in secret}
    return {**found, "gateways": sorted(said.get("gateways") or [])}


def project(folders: list[str]) -> dict[str, Any]:
    """Everything, of one folder or of several that make up one project."""
    roots = [Path(folder).resolve() for folder in folders]
    context = Context(paths=folders)
    models = sorted(context.models.values(), key=lambda each: (str(each._path), each.name))
    audits = [*context._audits.values(), *context.standalone_audits.values()]
    configs = [settings(each) for each in context.configs.values()]
    return {
        "tool": "sqlmesh",
        "version": version,
        "catalog": context.default_catalog,
        "settings": configs,
        "models": [model(each, roots, {one.name for one in audits}) for each in models],
        "audits": [{**audit(each, models), "path": relative(each._path, roots)} for each in audits],
        "files": sorted(set(files(roots))),
        "sources": {
            inner: (root / inner).read_text("utf-8", errors="replace")
            for root in roots
            for inner in files([root])
            if inner.endswith((".py", ".yaml", ".yml", ".sql"))
        },
    }


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump(project(sys.argv[1:]), sys.stdout, indent=1, default=str)
