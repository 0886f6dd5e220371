"""The IO manager: evaluates models for their assets, and reads versions for users' assets."""

from __future__ import annotations

import dagster as dg

from vde_dagster.app.inspect.user_reads import read_version
from vde_dagster.core.errors import Refused
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import entries_metadata, stale_metadata, work_metadata
from vde_dagster.orchestration.partitions import contiguous, is_partitioned
from vde_dagster.orchestration.steps import (
    Evaluation,
    EvaluationResult,
    current_binding,
    evaluate_step,
)
from vde_dagster.ports.engine import UserFrame


class VdeIcebergIOManager(dg.IOManager):
    """Writes versions of models to Iceberg, and reads them as Spark DataFrames.

    An asset's body calls `write` before it yields its output, and yields what was written: Dagster
    passes nothing back from ``handle_output``, and lets only the body set a data version.

    Args:
        location: The environment whose models are written and read.
    """

    def __init__(self, location: Location) -> None:
        self._location = location

    def write(self, evaluation: Evaluation) -> EvaluationResult:
        """Evaluate, publish and record what is asked for, and let the environment show it.

        Raises:
            Failure: It cannot be done now, another process was first, or a query failed.
        """
        with failures():
            return evaluate_step(self._location, evaluation)

    def handle_output(self, context: dg.OutputContext, obj: EvaluationResult) -> None:
        """Report to Dagster what `write` wrote."""
        keys = {name: spec.key for name, spec in self._location.specs.items()}
        asked = obj.evaluation
        context.add_output_metadata(
            {
                **entries_metadata(asked.binding, asked.node, obj.entries, keys),
                **work_metadata(obj.done),
                **stale_metadata(obj.stale_inputs),
            }
        )

    def load_input(self, context: dg.InputContext) -> UserFrame:
        """The rows of a model's version that the ledger says are loaded, for a user's own asset.

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
            by_interval = bool(keys) and is_partitioned(node)
            interval = contiguous(node.model.unit, keys) if by_interval else None
            return read_version(self._location.project.services, binding, name, interval)
