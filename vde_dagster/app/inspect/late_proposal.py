"""What `late_data` could be for a model, from its sources' metadata: no Spark, nothing written."""

from __future__ import annotations

from collections.abc import Iterator

from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.late_data_proposal import Proposal, SourceMetadata, proposed
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.names import ModelName, TableName


def late_proposal(services: Services, graph: Graph, name: ModelName) -> Proposal:
    """A `late_data` property for a model of the files.

    Raises:
        Refused: The model cannot have it, has it already, or reads nothing that can be tracked.
    """
    return proposed(graph, name, tuple(_metadata(services, graph, name)))


def _metadata(services: Services, graph: Graph, name: ModelName) -> Iterator[SourceMetadata]:
    for each in tables_read(graph, graph[name]):
        if graph[each].model.kind.is_source:
            table = services.catalog.table(TableName(each.schema, each.name))
            if table is not None:
                yield SourceMetadata(
                    name=each,
                    columns=table.columns,
                    partition_columns=table.partition_columns,
                )
