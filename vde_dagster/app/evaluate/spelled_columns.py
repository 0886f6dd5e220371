"""Whether sources are declared with the names that their columns have, where the case is data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.data_names import takes_all_names
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.ports.catalog import TableState


def check_spelling(
    graph: Graph, node: Node, query: str, sources: Mapping[ModelName, TableState]
) -> None:
    """Refuse a query that makes data of names which the catalog spells otherwise (rule R13).

    A table is read with the columns that are declared. Their case counts only where a call takes
    all of them, as in ``to_json(struct(*))``.

    Args:
        graph: The models and the declared sources.
        node: The model.
        query: Its text, in Spark's dialect.
        sources: The tables of the sources that it reads.

    Raises:
        Refused: A column would be written into the rows under a name that it does not have.
    """
    different = [
        f"{name}.{there} is declared as {declared}"
        for name, table in sources.items()
        for declared, there in _spelled_otherwise(graph[name], table)
    ]
    if different and takes_all_names(read_spark(query)):
        raise Refused(
            f"{node.name} writes column names into its rows, and {'; '.join(different)}",
            advice="Run `vde create-external-models`, which reads the names from the catalog, "
            "or correct external_models.yaml.",
        )


def _spelled_otherwise(source: Node, table: TableState) -> Iterator[tuple[str, str]]:
    there = {each.name.lower(): each.name for each in table.columns}
    for column in source.columns:
        name = there.get(column.name.lower(), column.name)
        if name != column.name:
            yield column.name, name
