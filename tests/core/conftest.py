"""Graphs of a few models, made by the code that reads a project's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

DEFAULTS = Defaults()
RAW = {
    "a": "int",
    "b": "string",
    "c": "double",
    "ts": "timestamp",
    "day": "date",
    "e": "array<int>",
}


def external(name: str, columns: Mapping[str, str]) -> Model:
    place = Place(path=Path("external_models.yaml"))
    return read_model(
        external_source(ModelName.parse(name), dict(columns), place=place, defaults=DEFAULTS)
    )


def read(name: str, text: str, attachments: Mapping[str, str] | None = None) -> Model:
    """A model of this name from the text of its file, SQL or Python."""
    suffix = ".py" if "from vde_dagster import" in text else ".sql"
    return read_model(
        ModelSource(
            path=Path("models", *name.split(".")).with_suffix(suffix),
            text=text,
            defaults=DEFAULTS.as_texts(),
            attachments=attachments or {},
        )
    )


def build(texts: Mapping[str, str]) -> Graph:
    """Models by name over the sources raw.t and raw.u."""
    sources = [external("raw.t", RAW), external("raw.u", RAW)]
    return build_graph([*sources, *(read(name, text) for name, text in texts.items())])
