"""The declared sources of a project: ``external_models.yaml``, read as models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Problem
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source
from vde_dagster.project.properties.table_properties import column_type
from vde_dagster.project.sources.external_entries import ENTRY_KEYS
from vde_dagster.project.unread import Unread
from vde_dagster.project.yaml_document import Entry, Reader

EXTERNAL_MODELS: Final = "external_models.yaml"


def declared_sources(
    configuration: Configuration, problems: list[Problem], unread: Unread
) -> Iterator[ModelSource]:
    """Each source that the file declares; what is wrong in it is added to ``problems``."""
    path = configuration.folder / EXTERNAL_MODELS
    if not os.path.lexists(path):
        return
    reader = Reader()
    root = reader.file(path, Path(EXTERNAL_MODELS))
    if root is None:
        unread.every = True
    elif root.value is not None or root.children:
        message = "this file has to be a list of sources, each with `name` and `columns`"
        reader.add(root.place, message, "Start each source with `- name: schema.name`.")
        unread.every = True
    for entry in root.items if root is not None else ():
        source = _external(entry, reader, configuration.defaults, unread)
        if source is not None:
            yield source
    problems += reader.problems


def _external(
    entry: Entry, reader: Reader, defaults: Defaults, unread: Unread
) -> ModelSource | None:
    reader.known(entry, ENTRY_KEYS, "a source")
    written = entry.children.get("name")
    if written is None:
        advice = "Add a line like `name: raw.orders`."
        reader.add(entry.place, "the source has no name", advice)
        return None
    try:
        name = ModelName.parse(reader.text(written, "unnamed"))
    except InvalidName as error:
        reader.add(written.place, str(error), "Write it like `name: raw.orders`.")
        return None
    columns = reader.mapping(entry.children.get("columns"))
    if not columns:
        reader.add(
            entry.place, f"the source {name} has no columns", "List the columns with their types."
        )
    types = {column: column_type(written) for column, written in columns.items()}
    wrong = [column for column, kind in types.items() if kind is None]
    for column in wrong:
        place = entry.children["columns"].children[column].place
        message = f"{columns[column]!r} is not a column type"
        reader.add(place, message, "Write a Spark type, such as bigint, string or timestamp.")
    if wrong or not columns:
        unread.add_name(str(name))
        return None
    known = {column: kind for column, kind in types.items() if kind is not None}
    return external_source(name, known, place=entry.place, defaults=defaults)
