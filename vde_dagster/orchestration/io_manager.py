"""The IO manager: evaluates what an asset's body asks for, and reads versions for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from vde_dagster.app.publish.table_heads import readable
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import held_intervals
from vde_dagster.core.names import environment_view
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.intervals import subtract
from vde_dagster.orchestration._unpublished import set_data_version
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import (
    data_version,
    entries_metadata,
    stale_metadata,
    work_metadata,
)
from vde_dagster.orchestration.partitions import contiguous, is_partitioned
from vde_dagster.orchestration.steps import Evaluation, carry_out, current_binding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.app.binding import Binding
    from vde_dagster.core.graph.graph import Node


class VdeIcebergIOManager(dg.IOManager):
    """Writes versions of models to Iceberg, and reads them as Spark DataFrames.

    Args:
        location: The environment whose models are written and read.
    """

    def __init__(self, location: Location) -> None:
        self._location = location

    def handle_output(self, context: dg.OutputContext, obj: Evaluation) -> None:
        """Carry out an evaluation; its D-SHA becomes the data version of the materialization."""
        with failures():
            carry_out(self._location, obj)
        latest = {entry.interval: entry for each in obj.done for entry in each.entries}
        entries = [entry for at, entry in sorted(latest.items()) if obj.interval.contains(at)]
        keys = {name: spec.key for name, spec in self._location.specs.items()}
        set_data_version(context, data_version(entries))
        context.add_output_metadata(
            {
                **entries_metadata(obj.binding, obj.node, entries, keys),
                **work_metadata(obj.done),
                **stale_metadata(obj.stale_inputs),
            }
        )

    def load_input(self, context: dg.InputContext) -> DataFrame:
        """The rows of a model's version as the ledger holds them, for an asset of a user's own.

        Raises:
            Failure: The asset is no model of this project, or its version lacks what is asked for.
        """
        with failures():
            name = self._location.name(context.asset_key)
            if name is None:
                raise Refused(f"{context.asset_key.to_user_string()} is no model of this project.")
            binding = current_binding(self._location, name)
            node = binding.node(name)
            keys = list(context.asset_partition_keys) if context.has_asset_partitions else []
            return self._read(binding, node, keys)

    def _read(self, binding: Binding, node: Node, partitions: list[str]) -> DataFrame:
        from vde_dagster.lakehouse.evaluation import table_sql

        project, key = self._location.project, binding.key(node.name)
        catalog = project.configuration.catalog.name
        entries = project.services.state.ledger([key]).get(key, ())
        if not entries:
            raise Refused(f"{node.name} holds nothing yet in {binding.environment}.")
        if node.model.kind.is_view:
            naming = naming_of(project.services, binding.environment)
            view = environment_view(node.name, binding.environment, naming)
            return project.open_spark_for_users(reading=[view]).table(table_sql(catalog, view))
        spark = project.open_spark_for_users()
        head = readable(project.services, key, project.services.state.heads([key])[key])
        frame = (
            spark.read.option("versionAsOf", str(head))
            .format("iceberg")
            .load(table_sql(catalog, key.table))
        )
        if not (partitions and is_partitioned(node)):
            return frame
        wanted = contiguous(node.model.unit, partitions)
        missing = subtract([wanted], held_intervals(entries))
        if missing:
            raise Refused(
                f"{node.name} does not hold {', '.join(map(str, missing))} in "
                f"{binding.environment}. Materialize it first."
            )
        return frame.where(_condition(node, wanted))


def _condition(node: Node, wanted: object) -> str:
    from sqlglot import exp

    from vde_dagster.core.time.intervals import Interval

    axis = node.time_axis
    assert axis is not None, f"{node.name} has intervals"
    assert isinstance(wanted, Interval)
    column = exp.column(exp.to_identifier(axis.column, quoted=True))
    return within(column, wanted, time_type=axis.type).sql(dialect="spark")
