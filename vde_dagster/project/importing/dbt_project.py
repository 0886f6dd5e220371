"""A project of dbt as a draft. What it says comes from a target folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vde_dagster.project.importing.dbt_audits import Audits
from vde_dagster.project.importing.dbt_models import DbtModel
from vde_dagster.project.importing.dbt_nodes import Node, Project
from vde_dagster.project.importing.dbt_seeds import seed_draft
from vde_dagster.project.importing.dbt_target import Target
from vde_dagster.project.importing.dbt_unit_tests import texts_of, unit_tests
from vde_dagster.project.importing.draft import Draft, Group, ModelDraft, NotImportable, Source

_FRESHNESS: Final = (
    "A signal that looks for the newest row can hold intervals back (Signals, "
    "reference/models in the docs); Dagster's freshness policies watch assets."
)
_LEFT_OUT: Final = {
    "exposures": "Write a Dagster asset that depends on the table.",
    "metrics": "Keep it in the tool that reads metrics, or write a VIEW.",
    "semantic_models": "Keep it in the tool that reads metrics, or write a VIEW.",
    "saved_queries": "Write a VIEW or a FULL model.",
    "functions": "Create it in Spark, or with a statement before the query.",
}
"""Sections of a manifest without a counterpart, and what to do."""


def dbt_draft(target: Target, *, name: str) -> Draft:
    """What a project of dbt becomes.

    Args:
        target: What dbt wrote of it.
        name: The project's name here.

    Raises:
        NotImportable: There is no compiled code.
    """
    nodes = [
        each
        for each in target.manifest["nodes"].values()
        if each["resource_type"] == "model" and each.get("language") != "python"
    ]
    if nodes and not any(each.get("compiled_code") for each in nodes):
        raise NotImportable(
            "the manifest has no compiled code",
            advice="Run the script of `vde import script dbt`, or `dbt compile`.",
        )
    return _Reading(Project.of(target)).draft(name)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is gathered while a manifest is read."""

    project: Project
    files: dict[str, str] = field(default_factory=dict)

    def draft(self, name: str) -> Draft:
        """The whole project."""
        models = dict(self._models())
        audits = Audits(self.project, models, self.files).gather()
        tests = unit_tests(self.project, models)
        self.files.update(texts_of(tests))
        sources = list(self._sources({each.name for each in models.values()}))
        self._note_rest()
        kinds = Counter(each.kind for each in models.values())
        return Draft(
            tool=f"dbt {self.project.target.manifest['metadata']['dbt_version']}",
            settings={"name": name},
            models=list(models.values()),
            sources=sources,
            files=self.files,
            remarks=tuple(self.project.notes.found),
            carried={
                **dict(sorted(kinds.items())),
                "sources": len(sources),
                "tests and constraints": audits,
                "unit tests": sum(map(len, tests.values())),
            },
        )

    def _models(self) -> Iterator[tuple[str, ModelDraft]]:
        for node in self.project.nodes("model", "snapshot", "seed"):
            model = DbtModel(self.project, node)
            is_seed = node["resource_type"] == "seed"
            draft = seed_draft(model, self.files) if is_seed else model.draft()
            if draft is not None:
                yield node["unique_id"], draft

    def _sources(self, written: set[str]) -> Iterator[Source]:
        for node in self.project.target.manifest["sources"].values():
            name = self.project.names[node["unique_id"]]
            self._note_source(node)
            if name in written:
                message = (
                    f"the source {node['source_name']}.{node['name']} is written by "
                    f"the model {name}"
                )
                self.project.note(
                    node, Group.CHANGED, message, "Downstream models read that model."
                )
                continue
            columns = self.project.columns(node)
            if not columns:
                message = f"the columns of {name} are not known"
                advice = "`vde create-external-models` adds them from the catalog."
                self.project.note(node, Group.EDIT, message, advice)
            texts = [node.get("description"), node.get("source_description")]
            description = next((each.strip() for each in texts if each), "")
            yield Source(name=name, columns=columns, description=description)

    def _note_source(self, node: Node) -> None:
        name = f"{node['source_name']}.{node['name']}"
        if freshness := node.get("freshness"):
            limits = {key: value for key, value in freshness.items() if value}
            message = f"the freshness of the source {name} ({_shown(limits)}) was left out"
            self.project.note(node, Group.MISSING, message, _FRESHNESS)
        for key in ("meta", "tags", "loader"):
            if node.get(key):
                message = f"{key} ({_shown(node[key])}) of the source {name} was left out"
                self.project.note(node, Group.MISSING, message)
        described = [
            key for key, each in node.get("columns", {}).items() if each.get("description")
        ]
        if described:
            message = f"column descriptions of the source {name} were left out"
            self.project.note(
                node, Group.MISSING, message, "They belong in the comments of the table itself."
            )

    def _note_rest(self) -> None:
        """Say what else a manifest has."""
        note, manifest = self.project.note, self.project.target.manifest
        for section, advice in _LEFT_OUT.items():
            for node in manifest.get(section, {}).values():
                what = node.get("type") if isinstance(node.get("type"), str) else ""
                shown = " ".join(filter(None, (section.rstrip("s"), what, node["name"])))
                reads = ", ".join(map(self._known, node.get("depends_on", {}).get("nodes", ())))
                note(node, Group.MISSING, f"the {shown} was left out; it reads {reads}", advice)
        for node in self.project.nodes("operation"):
            text = " ".join(str(node.get("compiled_code") or node["raw_code"]).split())
            message = f"{', '.join(node.get('tags', ()))} was left out: `{text}`"
            note(
                node,
                Group.MISSING,
                message,
                "Write statements that models need before or after their queries.",
            )
        for node in self.project.nodes("analysis"):
            note(node, Group.MISSING, "an analysis was left out", "Run queries with `vde query`.")
        for nodes in manifest.get("disabled", {}).values():
            for node in nodes:
                note(node, Group.MISSING, f"{node['name']} is disabled and was left out")
        self._note_groups(manifest)
        for macro in manifest.get("macros", {}).values():
            if macro["package_name"] == manifest["metadata"]["project_name"]:
                note(macro, Group.CHANGED, "macros were expanded where models call them")
        self._note_settings()

    def _note_groups(self, manifest: Mapping[str, Any]) -> None:
        for group in manifest.get("groups", {}).values():
            message = f"the group {group['name']} ({_shown(group.get('owner'))}) became an owner"
            self.project.note(
                group, Group.CHANGED, message, "Its models name the group as their owner."
            )

    def _note_settings(self) -> None:
        metadata = self.project.target.manifest["metadata"]
        if not self.project.dialect:
            message = (
                f"sqlglot has no dialect for {metadata['adapter_type']}, so its "
                "generic dialect was used"
            )
            self.project.notes.add(Group.LOOK, "dbt_project.yml", message, "Check each query.")
        packages = {each["package_name"] for each in self.project.nodes("model", "seed")}
        for package in sorted(packages - {metadata["project_name"]}):
            message = f"models of the package {package} are now models of this project"
            self.project.notes.add(Group.CHANGED, "packages.yml", message)
        self.project.notes.add(
            Group.LOOK,
            "dbt_project.yml",
            "models run each day, starting in 1970 unless a start is set",
            "Write `defaults` with `start`, the first day of the data, and `cron` in vde.yaml.",
        )

    def _known(self, unique_id: str) -> str:
        return self.project.names.get(unique_id, unique_id)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(each)}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else " ".join(str(value).split())
