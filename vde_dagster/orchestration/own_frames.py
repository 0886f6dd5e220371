"""The tables of own assets that return a frame and name our IO manager (ADR 14)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.own_rows import own_binding, write_rows
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import PRODUCTION, InvalidName, ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration._unpublished import set_data_version
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import data_version, entries_metadata, work_metadata
from vde_dagster.orchestration.steps import current_binding
from vde_dagster.project.own_models import own_model

TABLE: Final = "vde/table"
"""The metadata key of what an own asset says about its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """The table of an own asset that returns rows."""

    model: Model
    binding: Binding


def own_table(location: Location, spec: dg.AssetSpec) -> OwnTable:
    """The table that an own asset writes.

    Raises:
        Refused: It does not say what it has to say, or says it wrong.
    """
    place = f"the asset {spec.key.to_user_string()}"
    arguments = spec.metadata.get(TABLE)
    arguments = arguments.data if isinstance(arguments, dg.JsonMetadataValue) else arguments
    if not isinstance(arguments, Mapping):
        raise Refused(
            f"{place} is written by vde_io_manager and does not say which columns it returns",
            advice=f'Add `metadata={{"{TABLE}": {{"columns": {{"day": "date"}}}}}}` with all of '
            "its columns.",
        )
    if not spec.code_version:
        raise Refused(
            f"{place} is written by vde_io_manager and has no code version, which its table has in "
            "its name",
            advice='Add `code_version="1"`, and count it up whenever the code changes.',
        )
    try:
        model = own_model(
            _name(location, spec.key),
            {**arguments, **_timed(spec.partitions_def, arguments, place)},
            version=_version(location, spec),
            defaults=location.project.configuration.defaults,
        )
    except Refused as error:
        raise Refused(f"{place}: {error.message}", advice=error.advice) from error
    return OwnTable(model=model, binding=own_binding(model, location.environment))


def write_frame(location: Location, context: dg.OutputContext, frame: object) -> None:
    """Write what an own asset returned, and report it; its D-SHA is the data version.

    Raises:
        Refused: The environment has moved since the location was loaded; see `own_table`, too.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The rows do not fit, or an audit found bad ones.
    """
    spec = context.asset_spec
    for name in _upstream(location, spec):
        current_binding(location, name)
    table = own_table(location, spec)
    interval = None
    if context.has_asset_partitions:
        window = context.asset_partitions_time_window
        interval = Interval(window.start, window.end)
    place = f"the asset {spec.key.to_user_string()}"
    services, binding = location.project.services, table.binding
    done = write_rows(services, binding, table.model, frame, interval, place=place)
    set_data_version(context, data_version(done.entries))
    node = binding.node(table.model.name)
    metadata = entries_metadata(binding, node, done.entries, {}) | work_metadata([done])
    context.add_output_metadata(metadata)


def _upstream(location: Location, spec: dg.AssetSpec) -> list[ModelName]:
    """The models that an asset depends on."""
    found = (location.name(dep.asset_key) for dep in spec.deps)
    graph = location.binding.graph
    return sorted(
        each for each in found if each is not None and not graph[each].model.kind.is_source
    )


def _name(location: Location, key: dg.AssetKey) -> ModelName:
    """The name of its table: the key without the environment.

    Raises:
        Refused: The key is no name of a table, or the project has a model of that name.
    """
    *before, name = key.path
    schema = before[-1] if before else ""
    if location.environment != PRODUCTION:
        schema = schema.removesuffix(f"__{location.environment}")
    try:
        found = ModelName.parse(f"{schema}.{name}")
    except InvalidName as error:
        raise Refused(
            "its key is no name of a table", advice='Give it one like `key=["mart", "report"]`.'
        ) from error
    if found in location.binding.graph:
        raise Refused(
            f"the project has a model or source {found}", advice="Give the asset another key."
        )
    return found


def _timed(
    partitions: dg.PartitionsDefinition | None, arguments: Mapping[object, object], place: str
) -> dict[str, object]:
    """The schedule that follows from the asset's partitions.

    Raises:
        Refused: The partitions and the kind do not fit each other.
    """
    kind = arguments.get("kind", "FULL")
    keyword = kind.get("name") if isinstance(kind, Mapping) else kind
    is_timed = keyword == "INCREMENTAL_BY_TIME_RANGE"
    if partitions is None:
        if is_timed:
            raise Refused("it is loaded by time range, and has no partitions")
        return {}
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition) or (
        partitions.timezone != "UTC"
    ):
        raise Refused("its partitions are no windows of time in UTC")
    if not is_timed:
        raise Refused(
            "it has partitions, and does not say which column has the time",
            advice=f'Add `"kind": {{"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": ...}}` to '
            f"`{TABLE}`.",
        )
    return {"cron": partitions.cron_schedule, "start": partitions.start.date().isoformat()}


def _version(location: Location, spec: dg.AssetSpec) -> str:
    """What the rows follow from apart from data: the code, what is upstream, the environment."""
    upstream = [
        f"{name} {location.binding.key(name).version}" for name in _upstream(location, spec)
    ]
    return json.dumps([location.environment, spec.code_version, *upstream])
