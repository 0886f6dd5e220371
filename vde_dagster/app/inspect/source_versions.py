"""What identifies the rows of a source, for those who write it."""

from __future__ import annotations

from vde_dagster.app.binding import Binding
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName


def source_version(services: Services, binding: Binding, source: str) -> str:
    """The token of a source's rows as they are now, from its table's metadata alone.

    It is the one that decides what is reused (docs/reuse.md).

    Args:
        services: The ports.
        binding: The models that read sources.
        source: The source's name, with or without the project's catalog.

    Raises:
        InvalidName: That is no name.
        Refused: It is no source of the project, or its table does not exist.
    """
    name = ModelName.parse(source).within(services.naming.catalog)
    if name not in binding.graph or not binding.graph[name].model.kind.is_source:
        raise Refused(
            f"{source} is no source of this project",
            advice="Declare it in external_models.yaml, and plan a model that reads it.",
        )
    state = services.source(name)
    if state is None:
        raise Refused(
            f"the source {name} does not exist in the catalog, so its rows have no version",
            advice="Ask for it after the table was written.",
        )
    head = state.iceberg_snapshot_id
    rows_of = None if head is None else services.catalog.origin(state.name, head)
    return state.token(rows_of)
