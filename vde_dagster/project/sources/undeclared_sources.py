"""Sources that models read and that nothing declares, for uses without their columns."""

from __future__ import annotations

from collections.abc import Collection, Container
from pathlib import Path

from vde_dagster.core.errors import Place
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model
from vde_dagster.project.sources.declared_sources import EXTERNAL_MODELS


def undeclared_sources(
    models: Collection[Model],
    *,
    unread: Container[ModelName],
    disabled: Container[ModelName],
    defaults: Defaults,
) -> list[Model]:
    """A source without columns for each table that models read and nothing declares, by name.

    Args:
        models: All that can be read and is enabled, declared sources among them.
        unread: Models whose files could not be read.
        disabled: Models that are switched off: reading one is an error.
        defaults: The project's settings.
    """
    read = {parent for model in models for parent in model.parents}
    place = Place(path=Path(EXTERNAL_MODELS))
    return [
        read_model(external_source(name, {}, place=place, defaults=defaults))
        for name in sorted(read - {model.name for model in models})
        # Another catalog's table is a problem, whatever its columns are.
        if not (name.catalog or name in unread or name in disabled)
    ]
