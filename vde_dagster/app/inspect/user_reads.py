"""What a user's own code reads of a model: the recorded rows of its version."""

from __future__ import annotations

from vde_dagster.app.binding import Binding
from vde_dagster.app.publish.foreign_writes import readable
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import loaded_intervals
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.core.time.intervals import Interval, subtract
from vde_dagster.ports.engine import TableRows, UserFrame


def read_version(
    services: Services, binding: Binding, name: ModelName, interval: Interval | None = None
) -> UserFrame:
    """The rows of a model as they are recorded, whatever is committed meanwhile.

    Args:
        services: The ports.
        binding: What the environment runs.
        name: A model of it; for a VIEW the view of the environment is read.
        interval: For a model by interval, only the rows of this time; None for all.

    Raises:
        Refused: The version is not loaded yet, or not for all of the interval.
        EvaluationFailed: Its rows cannot be read.
    """
    node, key = binding.node(name), binding.key(name)
    entries = services.state.ledger([key]).get(key, ())
    if not entries:
        raise Refused(f"{name} is not loaded yet in {binding.environment}.")
    if node.model.kind.is_view:
        naming = naming_of(services, binding.environment)
        view = environment_view(name, binding.environment, naming)
        return services.engine.read(TableRows(table=view))
    head = readable(services, key, services.state.heads([key])[key])
    if interval is None:
        return services.engine.read(TableRows(table=key.table, iceberg_snapshot_id=head))
    missing = subtract([interval], loaded_intervals(entries))
    if missing:
        raise Refused(
            f"{name} is not loaded for {', '.join(map(str, missing))} in {binding.environment}",
            advice="Materialize it first.",
        )
    axis = node.time_axis
    assert axis is not None, f"{name} has intervals"
    return services.engine.read(
        TableRows(table=key.table, iceberg_snapshot_id=head, axis=axis, intervals=(interval,))
    )
