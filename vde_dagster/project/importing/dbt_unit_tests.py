"""Unit tests of dbt as ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml
from sqlglot import exp

from vde_dagster.project.importing.dbt_nodes import Node, Project, plain
from vde_dagster.project.importing.draft import Group, ModelDraft
from vde_dagster.project.importing.spark_sql import NotTranslated, spark_text, statement

_TEXT: Final = re.compile(r"['\"]([^'\"]+)['\"]")
_VERSION: Final = re.compile(r"\bv(?:ersion)?\s*=\s*['\"]?(\w+)")
_MACROS: Final = re.compile(r"@(start|end)_")
_ALWAYS: Final = {"start": "1970-01-01", "end": "2099-12-31"}


class NotCarried(Exception):
    """A test that has no counterpart; the text says why."""


def unit_tests(project: Project, models: Mapping[str, ModelDraft]) -> dict[str, dict[str, Any]]:
    """The tests that have a counterpart, by file and name; all others are noted."""
    found: dict[str, dict[str, Any]] = {}
    for node in project.target.manifest.get("unit_tests", {}).values():
        model = models.get(node["depends_on"]["nodes"][0])
        if model is None:
            project.note(node, Group.MISSING, f"the unit test {node['name']} was left out")
            continue
        try:
            test = _Reading(project, node, model).test()
        except (NotCarried, NotTranslated) as error:
            message = f"the unit test {node['name']} was left out: {error}"
            project.note(
                node,
                Group.MISSING,
                message,
                "how-to/unit-tests in the docs describes the format.",
            )
            continue
        path = f"tests/{model.name.rpartition('.')[2]}.yaml"
        found.setdefault(path, {})[plain(node["name"])] = test
        for key in ("tags", "meta"):
            if value := node.get("config", {}).get(key):
                message = f"{key} ({value}) of the unit test {node['name']} was left out"
                project.note(node, Group.MISSING, message)
    return found


def texts_of(tests: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The files of tests."""
    return {
        path: yaml.safe_dump(dict(each), sort_keys=False, allow_unicode=True)
        for path, each in tests.items()
    }


@dataclass(frozen=True, slots=True)
class _Reading:
    """A unit test, and the model that it is about."""

    project: Project
    node: Node
    model: ModelDraft

    def test(self) -> dict[str, Any]:
        """The test in our words."""
        is_ranged = self._check_overrides()
        waited_for = self.model.properties.get("depends_on", "()").strip("()").split(", ")
        inputs: dict[str, Any] = {name: [] for name in waited_for if name}
        inputs |= dict(self._input(each) for each in self.node.get("given", ()))
        description = str(self.node.get("description") or "").strip()
        return {
            "model": self.model.name,
            **({"description": description} if description else {}),
            "inputs": inputs,
            "outputs": self._outputs(self.node["expect"]),
            **({"vars": dict(_ALWAYS)} if is_ranged else {}),
        }

    def _check_overrides(self) -> bool:
        """Whether the model reads an interval; what a test replaces has to be in the model."""
        overrides = self.node.get("overrides") or {}
        macros = dict(overrides.get("macros") or {})
        is_incremental = macros.pop("is_incremental", False)
        replaced = [*macros, *(overrides.get("vars") or {}), *(overrides.get("env_vars") or {})]
        if replaced:
            raise NotCarried(f"{', '.join(replaced)} was expanded, so a test cannot replace it")
        is_ranged = bool(self.model.query and _MACROS.search(self.model.query.spark))
        reads_itself = any(each["input"] == "this" for each in self.node.get("given", ()))
        if is_incremental or reads_itself:
            raise NotCarried("with is_incremental() the model has another query here")
        return is_ranged

    def _input(self, given: Mapping[str, Any]) -> tuple[str, Any]:
        name = self._name(str(given["input"]))
        if given.get("format") == "sql":
            return name, {"query": spark_text(str(given["rows"]), self.project.dialect).spark}
        return name, self._rows(given)

    def _outputs(self, expected: Mapping[str, Any]) -> dict[str, Any]:
        if expected.get("format") == "sql":
            return {"query": self._literal_rows(str(expected["rows"]))}
        return {"partial": True, "query": self._rows(expected)}

    def _rows(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows as they are; an empty cell of CSV is NULL."""
        is_csv = given.get("format") == "csv"
        return [
            {name: None if is_csv and value == "" else value for name, value in row.items()}
            for row in given.get("rows") or ()
        ]

    def _literal_rows(self, text: str) -> list[dict[str, Any]]:
        """The rows of a query that only writes them down."""
        tree = statement(text, self.project.dialect)
        selects = list(tree.find_all(exp.Select, bfs=False))
        plain_unions = all(not each.args.get("distinct") for each in tree.find_all(exp.Union))
        if not plain_unions or tree.find(exp.Table) or not isinstance(tree, exp.Query):
            raise NotCarried("the expected rows are a query, and have to be written out")
        names = [each.alias_or_name for each in selects[0].selects]
        return [dict(zip(names, map(_literal, each.selects), strict=True)) for each in selects]

    def _name(self, written: str) -> str:
        """The table that `ref(...)`, `source(...)` or `this` stands for."""
        texts = _TEXT.findall(written)
        version = _VERSION.search(written)
        manifest = self.project.target.manifest
        if written.startswith("source"):
            every = manifest["sources"].values()
            ids = [
                each["unique_id"] for each in every if [each["source_name"], each["name"]] == texts
            ]
        else:
            name = texts[1] if len(texts) > 1 and version is None else texts[0]
            ids = [
                each["unique_id"]
                for each in self.project.nodes("model", "seed", "snapshot")
                if each["name"] == name
                and str(each.get("version"))
                == (version[1] if version else str(each.get("latest_version")))
            ]
        if not ids:
            raise NotCarried(f"{written} is not known")
        return self.project.names[ids[0]]


def _literal(value: exp.Expr) -> Any:  # noqa: ANN401 - YAML
    """What a literal says, as YAML has it."""
    inner = value.unalias()
    while isinstance(inner, exp.Cast | exp.Paren):
        inner = inner.this
    match inner:
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(inner.this)
        case exp.Literal(is_string=True):
            return inner.name
        case exp.Literal() | exp.Neg():
            number = inner.sql()
            return float(number) if "." in number else int(number)
    raise NotCarried(f"`{inner.sql()}` is not a literal")
