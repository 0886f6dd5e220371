"""A project of SQLMesh as a draft. What it says comes from `sqlmesh_dump`."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any, Final

from vde_dagster.project.importing.draft import (
    Draft,
    Group,
    ModelDraft,
    Notes,
    NotImportable,
    Source,
)
from vde_dagster.project.importing.python_files import (
    PythonModel,
    beside_models,
    imported_files,
    python_text,
    with_moved_imports,
)
from vde_dagster.project.importing.seed_files import plain_csv
from vde_dagster.project.importing.spark_sql import quoted
from vde_dagster.project.importing.sqlmesh_models import (
    Others,
    SqlmeshModel,
    kind_of,
    reads_with_audits,
)
from vde_dagster.project.importing.sqlmesh_tests import with_whole_ranges
from vde_dagster.project.importing.writing import audit_text

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIMED: Final = "INCREMENTAL_BY_TIME_RANGE"
_METRIC: Final = re.compile(r"^METRIC\s*\(\s*name\s+([\w.]+)", re.IGNORECASE | re.MULTILINE)
_STATEMENTS: Final = "Write statements that models need before or after the query of one of them."
_SETTINGS: Final = {
    "project": "The name in vde.yaml is the name of the new folder.",
    "before_all": _STATEMENTS,
    "after_all": _STATEMENTS,
    "gateways": "All models use the one Spark and the one catalog in vde.yaml.",
    "physical_schema_mapping": "Tables are in schemas of their own, called vde__SCHEMA.",
    "environment_catalog_mapping": "Set environment_suffix_target in vde.yaml.",
    "linter": "Run a SQL linter next to vde.",
    "notification_targets": "Use Dagster's alerts and sensors.",
    "users": "Set permissions in the catalog and in Dagster.",
    "plan": "See `categorize` and `forward_only` in reference/configuration in the docs.",
    "cicd_bot": "how-to/ci in the docs has the steps for pull requests.",
}
_CARRIED: Final = (
    "model_defaults", "variables", "default_gateway", "environment_suffix_target",
    "physical_table_naming_convention",
)  # fmt: skip


def sqlmesh_draft(document: Mapping[str, Any], *, name: str, today: date) -> Draft:
    """What a project of SQLMesh becomes.

    Args:
        document: What `sqlmesh_dump` wrote.
        name: The project's name here.
        today: What relative dates are counted from.

    Raises:
        NotImportable: The document is something else.
    """
    if document.get("tool") != "sqlmesh":
        raise NotImportable(
            "this file was not written by sqlmesh_dump.py",
            advice="`vde import script sqlmesh` prints that script.",
        )
    catalog = str(document.get("catalog") or "").replace('"', "")
    return _Reading(document, today, catalog, _others(document, catalog)).draft(name)


def _others(document: Mapping[str, Any], catalog: str) -> Others:
    """What models have to know of each other."""
    short = [".".join(str(each["name"]).split(".")[-2:]) for each in document["models"]]
    others = Others(keeps_catalogs=len(set(short)) < len(short))
    models = [SqlmeshModel(each, catalog, date.min, Notes(), others) for each in document["models"]]
    python = [each for each in models if each.each["class"] == "PythonModel"]
    shared = {one["name"]: one["reads"] for one in document["audits"]}
    reads, refused = reads_with_audits(models, shared)
    return replace(
        others,
        timed=frozenset(each.name() for each in models if each.each["kind"] == _TIMED),
        sources=frozenset(each.name() for each in models if each.each["kind"] == "EXTERNAL"),
        for_python=frozenset(each.name(one) for each in python for one in each.each["depends_on"]),
        audits=shared,
        reads=reads,
        refused=refused,
        defaults=_defaults(document["settings"]),
    )


def _defaults(settings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The properties of all models; of several projects in one each model has its own."""
    given = settings[0].get("model_defaults", {}) if len(settings) == 1 else {}
    start = str(given.get("start") or "")
    return {"start": start} if _DATE.fullmatch(start) else {}


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is gathered while a document is read: files, and paths of which something came along."""

    document: Mapping[str, Any]
    today: date
    catalog: str
    others: Others
    notes: Notes = field(default_factory=Notes)
    files: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def draft(self, name: str) -> Draft:
        """The whole project."""
        models = [self._model(each) for each in self.document["models"]]
        for each in models:
            each.note_name()
        in_sql = [each for each in models if each.each["class"] in ("SqlModel", "SeedModel")]
        drafts = self._drafts(in_sql)
        self._python([each for each in models if each.each["class"] == "PythonModel"])
        sources = [self._source(each) for each in models if each.each["class"] == "ExternalModel"]
        audits = sum(map(self._audit_file, self.document["audits"]))
        tests = self._tests()
        self._note_settings()
        self._note_left_out()
        kinds = Counter(kind_of(each) for each in self.document["models"])
        return Draft(
            tool=f"SQLMesh {self.document['version']}",
            settings=self._settings(name),
            models=drafts,
            sources=sources,
            files=self.files,
            remarks=tuple(self.notes.found),
            carried={**dict(sorted(kinds.items())), "audits": audits, "files of tests": tests},
        )

    def _model(self, each: Mapping[str, Any]) -> SqlmeshModel:
        self.used.add(each["path"])
        return SqlmeshModel(each, self.catalog, self.today, self.notes, self.others)

    def _drafts(self, models: list[SqlmeshModel]) -> list[ModelDraft]:
        """The models in SQL, each in its old file unless several would share it."""
        by_path = Counter(each.path for each in models)
        drafts: list[ModelDraft] = []
        for each in models:
            path = PurePosixPath(each.path).with_suffix(".sql").as_posix()
            if by_path[each.path] > 1 or path in {one.path for one in drafts}:
                path = f"models/{each.name().replace('.', '/')}.sql"
            drafts.append(self._draft(each, path))
        return drafts

    def _draft(self, model: SqlmeshModel, path: str) -> ModelDraft:
        is_seed = model.each["class"] == "SeedModel"
        own = {one["name"]: self._audit(one, model.path) for one in model.each["own_audits"]}
        if is_seed:  # nothing may follow its block
            self.files.update({f"audits/{name}.sql": text for name, text in own.items()})
        query = [] if is_seed else model.texts("query")
        model.note_statements()
        return ModelDraft(
            name=model.name(),
            path=path,
            kind=model.kind(),
            options=model.options() | ({"path": self._seed(model, path)} if is_seed else {}),
            properties=model.properties(),
            audits=model.audits(),
            signals=model.calls("signals"),
            query=query[0] if query else None,
            before=model.texts("pre_statements"),
            after=model.texts("post_statements"),
            audit_texts=() if is_seed else tuple(own.values()),
        )

    def _seed(self, model: SqlmeshModel, path: str) -> str:
        """The path of a seed's file from that of its model; the file comes along."""
        old, text = str(model.each["seed"]), str(model.each["content"])
        self.used.add(old)
        settings = model.each["options"].get("csv_settings") or {}
        plain = plain_csv(text, settings, model.columns())
        if plain != text:
            model.note(
                Group.CHANGED, f"{old} was rewritten as plain CSV, with NULL as an empty value"
            )
        old = f"seeds/{PurePosixPath(old).name}" if old.startswith("/") else old
        self.files[old] = plain
        return quoted(posixpath.relpath(old, posixpath.dirname(path)))

    def _python(self, models: list[SqlmeshModel]) -> None:
        """Files of Python: models, what they import, and signals."""
        sources = self.document["sources"]
        headers = {each.path: _python_model(each) for each in models}
        signals = {path for path in sources if path.startswith("signals/") and path[-3:] == ".py"}
        helpers = imported_files({*headers, *signals}, sources)
        places = {path: beside_models(path) for path in helpers}
        moved = {old: new for old, new in places.items() if old != new}
        for path in [*headers, *sorted(signals), *helpers]:
            text, remarks = python_text(sources[path], path, headers.get(path))
            is_package = path in signals and path.endswith("__init__.py")
            place = path.replace("__init__", "signals") if is_package else places.get(path, path)
            self.files[place] = with_moved_imports(text, moved)
            self.used.add(path)
            self.notes.found.update(dict.fromkeys(remarks))

    def _source(self, model: SqlmeshModel) -> Source:
        for key, value in model.each["properties"].items():
            if key != "description" and model.others.defaults.get(key) != value:
                model.note(Group.MISSING, f"the property {key} ({value}) was left out")
        for name, arguments in model.each["audits"]:
            given = ", ".join(f"{key} := {value}" for key, value in arguments.items())
            model.note(
                Group.MISSING,
                f"the audit {name} ({given}) was left out, since the table is written "
                "outside the project",
                "Add it to the model that reads the table.",
            )
        description = str(model.each["properties"].get("description") or "")
        return Source(name=model.name(), columns=model.columns(), description=description)

    def _audit_file(self, each: Mapping[str, Any]) -> bool:
        """Write an audit of the project; false where it has no counterpart."""
        path = str(each["path"])
        self.used.add(path)
        if each["standalone"]:
            text = " ".join(str(each["query"]).split())
            self.notes.add(
                Group.MISSING,
                path,
                f"the standalone audit {each['name']} was left out: `{text}`",
                "Add it to a model that it reads, with @this_model instead of the model's name.",
            )
            return False
        self.files[f"audits/{each['name']}.sql"] = self._audit(each, path)
        return True

    def _audit(self, each: Mapping[str, Any], path: str) -> str:
        """An AUDIT block with its query."""
        model = self._model({**each, "path": path, "properties": {}})
        query = model.texts("query")
        model.note_statements()
        defaults = {key: model.expression(str(value)) for key, value in each["defaults"].items()}
        return audit_text(each["name"], query[0].spark, defaults, blocking=each["blocking"])

    def _tests(self) -> int:
        """Copy the unit tests, which are read here as they are."""
        tests = {
            path: text
            for path, text in self.document["sources"].items()
            if path.startswith("tests/") and path.endswith((".yaml", ".yml"))
        }
        self.used.update(tests)
        for path, text in tests.items():
            self.files[f"{path.rpartition('.')[0]}.yaml"] = with_whole_ranges(text)
        return len(tests)

    def _settings(self, name: str) -> dict[str, object]:
        """What vde.yaml says."""
        found: dict[str, object] = {"name": name}
        if self.others.defaults:
            found["defaults"] = dict(self.others.defaults)
        variables: dict[str, object] = {}
        for each in self.document["settings"]:
            variables |= each.get("variables") or {}
            if (suffix := each.get("environment_suffix_target")) is not None:
                found["environment_suffix_target"] = suffix
        return {**found, **({"variables": variables} if variables else {})}

    def _note_settings(self) -> None:
        """Say which settings have no counterpart."""
        for each in self.document["settings"]:
            for key, value in each.items():
                if key in _CARRIED or not value or (key == "gateways" and len(value) == 1):
                    continue
                advice = _SETTINGS.get(
                    key, "reference/configuration in the docs lists the settings of vde.yaml."
                )
                shown = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
                self.notes.add(Group.MISSING, "config", f"{key}: {shown[:300]}", advice)

    def _note_left_out(self) -> None:
        """Name every file of which nothing came along."""
        for path in self.document["files"]:
            if path in self.used or path in self.files or path.startswith("config."):
                continue
            folder = path.partition("/")[0]
            if folder == "macros":
                self.notes.add(Group.CHANGED, path, "macros were expanded where models call them")
            elif names := _METRIC.findall(self.document["sources"].get(path, "")):
                message = f"the metrics {', '.join(names)} were left out"
                self.notes.add(Group.MISSING, path, message, "Write them as columns of a model.")
            elif folder == "models":
                self.notes.add(Group.CHANGED, path, "SQLMesh loads no model from this file")
            else:
                self.notes.add(Group.MISSING, path, "nothing in this file was imported")


def _python_model(model: SqlmeshModel) -> PythonModel:
    properties = model.properties()
    properties.pop("columns", None)
    columns = model.columns()
    if decimals := [name for name, kind in columns.items() if kind.startswith("decimal")]:
        message = f"{', '.join(decimals)}: a float is not rounded to a decimal, but fails"
        model.note(Group.LOOK, message, "Round it in the function.")
    return PythonModel(
        name=model.name(),
        kind=model.kind(),
        options=model.options(),
        properties=properties,
        columns=columns,
        depends_on=[model.name(one) for one in model.each["depends_on"]],
        audits=model.audits(),
        signals=model.calls("signals"),
        entrypoint=str(model.each["entrypoint"]),
    )
