"""The tables of own assets that return a frame and name our IO manager (ADR 14)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.own_rows import UNKNOWN, own_binding, write_rows
from vde_dagster.app.promote.promotion import end_promotions
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.kinds import IncrementalByTimeRange
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import PRODUCTION, InvalidName, ModelName, TableName
from vde_dagster.core.time.cron import Cron
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration._unpublished import set_data_version
from vde_dagster.orchestration.assets.metadata import data_version, entries_metadata, work_metadata
from vde_dagster.orchestration.assets.steps import current_binding
from vde_dagster.orchestration.keys import AssetKey
from vde_dagster.orchestration.location import Location
from vde_dagster.project.own_models import own_model

Shown = Mapping[ModelName, TableName | None]
"""The tables that views of own assets showed when the code was loaded; None for no view."""

_PARTS: Final = 2
_LOOKED_AT: Final = 50
"""How many partitions are looked at: their borders repeat much sooner."""


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
    arguments = spec.metadata.get(AssetKey.TABLE)
    arguments = arguments.data if isinstance(arguments, dg.JsonMetadataValue) else arguments
    if not isinstance(arguments, Mapping):
        raise Refused(
            f"{place} is written by vde_io_manager and does not declare its columns",
            advice=f'Add `metadata={{"{AssetKey.TABLE}": {{"columns": {{"day": "date"}}}}}}` with '
            "all of its columns.",
        )
    if not spec.code_version:
        raise Refused(
            f"{place} is written by vde_io_manager and has no code version, which is part of its "
            "table's name",
            advice='Add `code_version="1"`, and increase it whenever the code changes.',
        )
    try:
        model = own_model(
            _name(location, spec.key),
            {**arguments, **_timed(spec.partitions_def)},
            version=_version(location, spec),
            defaults=location.project.configuration.defaults,
        )
        _check_partitions(spec.partitions_def, model)
    except Refused as error:
        raise Refused(f"{place}: {error.message}", advice=error.advice) from error
    return OwnTable(model=model, binding=own_binding(model, location.environment))


def write_frame(location: Location, context: dg.OutputContext, frame: object, shown: Shown) -> None:
    """Write what an own asset returned, and report it; its D-SHA is the data version.

    ``shown`` is what the views of assets showed when the code was loaded; one that has moved since
    stays.

    Raises:
        Refused: The environment has moved since the location was loaded; see `own_table`, too.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The rows do not fit, or an audit found bad ones.
    """
    spec = context.asset_spec
    end_promotions(location.project.services, location.environment)
    for name in _upstream(location, spec):
        current_binding(location, name)
    table = own_table(location, spec)
    interval = None
    if context.has_asset_partitions:
        window = context.asset_partitions_time_window
        interval = Interval(window.start, window.end)
    place = f"the asset {spec.key.to_user_string()}"
    services, binding = location.project.services, table.binding
    known: TableName | Literal["unknown"] | None = shown.get(table.model.name, UNKNOWN)
    done = write_rows(services, binding, table.model, frame, interval, place=place, replaces=known)
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
        Refused: The key is not a name of a table, or the project has a model of that name.
    """
    if len(key.path) != _PARTS:
        raise Refused(
            "its key is not a valid table name: it needs two parts, schema and name",
            advice='Give it one like `key=["mart", "report"]`.',
        )
    schema, name = key.path
    if location.environment != PRODUCTION:
        schema = schema.removesuffix(f"__{location.environment}")
    try:
        found = ModelName.parse(f"{schema}.{name}")
    except InvalidName as error:
        raise Refused(
            "its key is not a valid table name", advice='Give it one like `key=["mart", "report"]`.'
        ) from error
    if found in location.binding.graph:
        raise Refused(
            f"the project has a model or source {found}", advice="Give the asset another key."
        )
    return found


def _timed(partitions: dg.PartitionsDefinition | None) -> dict[str, object]:
    """The schedule that follows from the asset's partitions.

    Raises:
        Refused: They are not windows of time in UTC.
    """
    if partitions is None:
        return {}
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition) or (
        partitions.timezone != "UTC"
    ):
        raise Refused("its partitions are not time windows in UTC")
    return {"cron": partitions.cron_schedule, "start": partitions.start.date().isoformat()}


def _check_partitions(partitions: dg.PartitionsDefinition | None, model: Model) -> None:
    """Refuse partitions that the table cannot be written by.

    Raises:
        Refused: They and the kind do not fit each other, or their windows begin at an offset.
    """
    is_timed = isinstance(model.kind, IncrementalByTimeRange)
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        if is_timed:
            raise Refused("it is loaded by time range, and has no partitions")
        return
    if not is_timed:
        raise Refused(
            "it has partitions, but does not name its time column",
            advice=f'Add `"kind": {{"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": ...}}` to '
            f"`{AssetKey.TABLE}`.",
        )
    ticks = islice(_ticks(partitions), _LOOKED_AT)
    if any(model.unit.floor(each) != each for each in ticks):
        raise Refused(
            f"its partitions ({partitions.cron_schedule}) do not start at the boundaries of a "
            f"{model.unit.value}",
            advice="Leave the offsets out, such as `hour_offset`.",
        )


def _ticks(partitions: dg.TimeWindowPartitionsDefinition) -> Iterator[datetime]:
    """When windows of time begin."""
    cron = Cron.parse(partitions.cron_schedule)
    tick = cron.following(partitions.start.astimezone(UTC))
    while True:
        yield tick
        tick = cron.following(tick)


def _version(location: Location, spec: dg.AssetSpec) -> str:
    """What the rows follow from apart from data: the code, what is upstream, the environment."""
    upstream = [
        f"{name} {location.binding.key(name).version}" for name in _upstream(location, spec)
    ]
    return json.dumps([location.environment, spec.code_version, *upstream])
