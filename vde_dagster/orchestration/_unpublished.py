"""All uses of Dagster's unpublished interfaces (dagster 1.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import dagster as dg
from dagster._core.definitions.target import ANONYMOUS_ASSET_JOB_PREFIX
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition as UnresolvedAssetJob,
)
from dagster._core.scheduler.instigation import InstigatorStatus, InstigatorType

if TYPE_CHECKING:
    from dagster._core.definitions.declarative_automation.operators import (
        AndAutomationCondition as AndCondition,
    )

__all__ = [
    "HIDDEN_JOB",
    "AndCondition",
    "UnresolvedAssetJob",
    "io_manager_key",
    "is_switched_on",
    "reads_by_partition",
    "set_data_version",
]

HIDDEN_JOB: Final = ANONYMOUS_ASSET_JOB_PREFIX
"""The prefix of the names of jobs that Dagster creates for a target, and does not list."""


def is_switched_on(context: dg.SensorEvaluationContext, sensor: str) -> bool:
    """Whether another sensor of the code location that a tick belongs to is switched on.

    One that nobody ever switched on has no state, or that of its definition. If a context does not
    have its code location, as those of tests, any sensor of that name counts.
    """
    origin = context.code_location_origin
    return any(
        state.instigator_name == sensor
        and state.status is InstigatorStatus.RUNNING
        and (origin is None or state.selector.location_name == origin.location_name)
        for state in context.instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    )


def reads_by_partition(context: dg.InputContext) -> bool:
    """Whether the partitions of an input are those of its reader, and not all that there are.

    An asset without partitions is given all partitions of what it reads, also those that are not
    due yet. A context without a step, as tests build it, counts as that of a partitioned reader.
    """
    if not context.has_asset_partitions:
        return False
    try:
        return context.step_context.entity_partitions_def is not None
    except dg.DagsterInvariantViolationError:  # it has no step
        return True


def set_data_version(context: dg.OutputContext, version: str) -> None:
    """Set the data version of what an IO manager stores, which Dagster lets only assets do."""
    context.step_context.set_data_version(context.asset_key, dg.DataVersion(version))


def io_manager_key(asset: dg.AssetsDefinition, key: dg.AssetKey) -> str:
    """The resource that stores one of the outputs of an asset definition."""
    return asset.get_io_manager_key_for_asset_key(key)
