"""How a model looks in Dagster. Users subclass `VdeTranslator` to change that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dagster as dg

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.freshness import expected_within
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.model import Model, PythonFunction, SeedRows, UpdatesOn
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import TableName, ViewNaming, environment_view
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.core.planning.plan_text import bound_text
from vde_dagster.core.time.intervals import format_duration
from vde_dagster.orchestration.keys import AssetKey, AssetTag

_OWNER: Final = re.compile(r"[A-Za-z0-9_-]+")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_TAG: Final = re.compile(r"[A-Za-z0-9_.-]{1,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VdeTranslatorData:
    """What a translator gets to know of one model or source."""

    environment: str
    """The environment of the code location."""
    node: Node
    """The model or source, with its inputs."""
    snapshot: ModelSnapshot
    """The snapshot that the environment runs."""
    folder: Path
    """The project's folder."""
    unplanned_change: str | None = None
    """The category that a plan would give to an edit of the file; None if there is no edit."""
    naming: ViewNaming = field(default_factory=ViewNaming)
    """How the environment's views are named."""
    paused: Pause | None = None
    """Who paused the model, when and why; None if it is not paused."""

    @property
    def is_source(self) -> bool:
        """Whether others write the table."""
        return self.node.model.kind.is_source

    @property
    def table(self) -> TableName:
        """Where people read it: the environment's view, or the source itself."""
        return readable_table(self.node, self.environment, self.naming)

    @property
    def group(self) -> str:
        """The group of its asset: a schema of one environment, whichever name has the suffix."""
        return readable_table(self.node, self.environment, ViewNaming()).namespace


class VdeTranslator:
    """Maps models to Dagster's assets, and audits to their checks; see docs/how-to/translator.md.

    Example:
        ```python
        class OurTranslator(VdeTranslator):
            def get_asset_spec(self, data: VdeTranslatorData) -> dg.AssetSpec:
                spec = super().get_asset_spec(data)
                return spec.replace_attributes(owners=["team:data"])
        ```
    """

    def get_asset_spec(self, data: VdeTranslatorData) -> dg.AssetSpec:
        """Key, group (an environment's schema), texts and metadata of a model or source.

        A model with ``freshness`` has a freshness policy: it fails where the latest result is older
        than the longest time between two ticks of its cron and its ``freshness`` together.

        Dependencies, partitions and the code version follow from the model and are set afterwards.
        Keys must be different for different models, also between environments of one Dagster.
        """
        model = data.node.model
        window = expected_within(model)
        return dg.AssetSpec(
            key=asset_key(data.table),
            group_name=data.group,
            description=_description(data),
            kinds=_kinds(data),
            owners=_owners(model.owner),
            tags=_tags(data),
            metadata=_metadata(data),
            freshness_policy=None
            if window is None
            else dg.FreshnessPolicy.time_window(fail_window=window),
        )

    def get_asset_check_spec(
        self, data: VdeTranslatorData, spec: dg.AssetCheckSpec
    ) -> dg.AssetCheckSpec | None:
        """The check that shows what an audit of a model found.

        ``spec`` is what it is by default: the audit's name, whether it blocks, its arguments as the
        description. Return another one of the same asset to change that, or None for no check. The
        audit itself runs in any case, and refuses rows where it blocks.
        """
        return spec


def readable_table(node: Node, environment: str, naming: ViewNaming) -> TableName:
    """Where people of an environment read a model; a source has one name for all of them."""
    if node.model.kind.is_source:
        return TableName(node.name.schema, node.name.name, node.name.catalog)
    return environment_view(node.name, environment, naming)


def asset_key(table: TableName) -> dg.AssetKey:
    """The key that a table or view has unless a translator changes it."""
    return dg.AssetKey([part for part in (table.catalog, table.namespace, table.name) if part])


def table_schema(columns: tuple[Column, ...], node: Node) -> dg.TableSchema:
    """Columns as Dagster shows them, with the model's own descriptions where they have none."""
    descriptions = {column.name.lower(): column.description for column in node.columns}
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column.name,
                type=column.type,
                description=column.description or descriptions.get(column.name.lower()) or None,
            )
            for column in columns
        ]
    )


def bound_metadata(snapshot: ModelSnapshot) -> dict[str, str]:
    """From when on a version is bounded, for people; empty if it is not."""
    if snapshot.bounded is None:
        return {}
    return {AssetKey.BOUNDED: f"{bound_text(snapshot.bounded)}, and never promoted"}


def _description(data: VdeTranslatorData) -> str | None:
    """The author's words, which lists of assets show in one line."""
    own = data.node.model.description
    if data.is_source:
        return own or "A source: this table is not written by the project."
    return own or None


def _kinds(data: VdeTranslatorData) -> set[str]:
    if data.is_source:
        return {"iceberg"}
    match data.node.model.body:
        case PythonFunction():
            written = "python"
        case SeedRows():
            written = "csv"
        case _:
            written = "sql"
    return {"pyspark", "iceberg", written, *_kind_of_model(data.node.model)}


def _kind_of_model(model: Model) -> Iterator[str]:
    """What people call a model's kind, where it is none of the usual tables."""
    if model.kind.is_view:
        yield "view"
    if model.kind.is_seed:
        yield "seed"
    if model.kind.keeps_history:
        yield "scd2"


def _owners(owner: str) -> list[str]:
    """Dagster knows people by e-mail address and teams; a plain name is a team's."""
    if _EMAIL.fullmatch(owner) or owner.startswith("team:"):
        return [owner]
    return [f"team:{owner}"] if _OWNER.fullmatch(owner) else []


def _tags(data: VdeTranslatorData) -> dict[str, str]:
    tags = {tag: "" for tag in data.node.model.tags if _TAG.fullmatch(tag)}
    tags[AssetTag.KIND] = data.node.model.kind.keyword
    if not data.is_source:
        tags[AssetTag.ENVIRONMENT] = data.environment
    if data.unplanned_change is not None:
        tags[AssetTag.UNPLANNED_CHANGE] = data.unplanned_change
    if data.paused is not None:
        tags[AssetTag.PAUSED] = "true"
    if data.snapshot.bounded is not None:
        tags[AssetTag.BOUNDED] = "true"
    return tags


def _metadata(data: VdeTranslatorData) -> dict[str, object]:
    node = data.node
    metadata: dict[str, object] = {
        AssetKey.COLUMN_SCHEMA: table_schema(node.columns, node),
        AssetKey.TABLE_NAME: str(data.table),
    }
    if data.is_source:
        return metadata
    language = "python" if isinstance(node.model.body, PythonFunction) else "sql"
    place = node.model.place
    reference = dg.LocalFileCodeReference(
        file_path=str(data.folder / place.path), line_number=place.line
    )
    if data.node.model.freshness is not None:
        metadata[AssetKey.FRESHNESS] = format_duration(data.node.model.freshness)
    if data.node.model.updates_on is not UpdatesOn.ANY:
        metadata[AssetKey.UPDATES_ON] = data.node.model.updates_on.value
    if data.paused is not None:
        metadata[AssetKey.PAUSED] = f"{data.paused}. To resume: {data.paused.resume}"
    return metadata | {
        **bound_metadata(data.snapshot),
        AssetKey.CODE_REFERENCES: dg.CodeReferencesMetadataValue(code_references=[reference]),
        AssetKey.SOURCE: dg.MetadataValue.md(
            f"```{language}\n{node.model.source.text.strip()}\n```"
        ),
        AssetKey.PHYSICAL_TABLE: str(data.snapshot.key.table),
        AssetKey.VERSION: data.snapshot.version,
        AssetKey.FINGERPRINT: data.snapshot.fingerprint.digest,
    }
